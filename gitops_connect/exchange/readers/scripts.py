"""Bodies of HTTP requests in scripts: curl and heredocs in shell scripts, request files, and code blocks of Markdown.

Nothing is run. What a script declares is what its text contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import unquote

from gitops_connect.exchange.declarations import BodyFile
from gitops_connect.exchange.readers.excerpts import Excerpt
from gitops_connect.exchange.readers.shell import ShellLexer, Token, TokenKind
from gitops_connect.exchange.readers.unknown_values import MARK, mark
from gitops_connect.model.diagnostics import Location

MENTIONS = re.compile(
    rb"connector\.class|connectorClass|kafka-connect_connector|aiven_kafka_connector|confluent_connector"
    rb"|aws_mskconnect_connector|\bkind[\"']?:[ \t]{0,9}[\"']?Connector\b|KafkaConnector|KafkaMirrorMaker"
    rb"|gitops-connect/v\d"
)
"""What every file with a connector contains. Errors of other files are not reported as errors."""
MENTIONS_IN_TEXT = re.compile(MENTIONS.pattern.decode())
_DATA = re.compile(
    r"(?:--(?:data(?:-raw|-binary|-ascii)?(?![\w-])|json|upload-file)=?|-[sSkifLvgNG]*[dT])(?P<value>.*)", re.DOTALL
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_NAME_IN_URL = re.compile(r"/connectors/([^/?#\s\"']+)/config(?![\w-])")
_VALIDATION = "/connector-plugins/"
_CONFIG_SUFFIXES = (".json", ".properties")
_NESTED = re.compile(r"\bcurl\s|<<")
_FENCE = re.compile(r"[ \t>]*(```+|~~~+|----+)")
_REQUEST = re.compile(
    r"(?:[ \t\r]*+(?:(?:\#|//|@)[^\n]*+)?\n)*+(?P<line>[^\n]*+)\n?(?:[ \t]*+[^\s][^\n]*+\n)*+(?:[ \t\r]*+\n)?"
)
_SEPARATOR = re.compile(r"^###", re.MULTILINE)
_HANDLER = re.compile(r"^(?:<?>)[ \t>]", re.MULTILINE)
_BODY_FILE = re.compile(r"\s*<(?:@\w*)?[ \t]+(?P<path>[^\n]+)")
_HTTP_VARIABLE = re.compile(r"\{\{[ \t$]*([A-Za-z_][\w]*)?[^{}\n]*\}\}")


@dataclass(slots=True)
class RequestBody:
    """A text that may declare connectors. `names` are those in URLs of requests that send it."""

    excerpt: Excerpt
    names: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class Script:
    """The bodies and the files of a script."""

    path: str
    bodies: list[RequestBody] = field(default_factory=list)
    files: list[BodyFile] = field(default_factory=list)
    _sources: dict[str, RequestBody] = field(default_factory=dict)
    """The body in a variable (`$NAME`) or in a file that the script has written (`@NAME`)."""

    def add_shell(self, text: Excerpt) -> None:
        self.add_tokens(ShellLexer(text.text, text.place).tokens())

    def add_words(self, words: Iterable[Excerpt]) -> None:
        """One command, as a list of its words."""
        self.add_tokens(Token(TokenKind.WORD, word) for word in words)

    def add_tokens(self, tokens: Iterable[Token]) -> None:
        pipeline = _Pipeline()
        for token in tokens:
            if token.kind is TokenKind.END:
                self._finish(pipeline)
                pipeline = _Pipeline()
            else:
                pipeline.take(token)
        self._finish(pipeline)

    def add_requests(self, text: Excerpt) -> None:
        """The requests of a file of the REST clients of VS Code and IntelliJ."""
        edges = [0, *(found.start() for found in _SEPARATOR.finditer(text.text)), len(text.text)]
        for start, end in pairwise(edges):
            request = text.part(start, end).replaced(_HTTP_VARIABLE, lambda one: mark(one.group(1) or ""))
            head = _REQUEST.match(request.text)
            if head is None or head.group("line").startswith("curl"):
                self.add_shell(request)
                continue
            handler = _HANDLER.search(request.text, head.end())
            body = request.part(head.end(), handler.start() if handler else None)
            name = _name_in(head.group("line"))
            if sent := _BODY_FILE.match(body.text):
                self._add_file(body.part(*sent.span("path")), name)
            elif MENTIONS_IN_TEXT.search(body.text) and _VALIDATION not in head.group("line"):
                self.bodies.append(RequestBody(body, {name: None} if name else {}))

    def add_page(self, text: Excerpt) -> None:
        """The code blocks of a page in Markdown or AsciiDoc."""
        fence, start, at = "", 0, 0
        for line in text.text.splitlines(keepends=True):
            at += len(line)
            found = _FENCE.match(line)
            if not fence and found:
                fence, start = found.group(1), at
            elif found and found.group(1).startswith(fence):
                block = text.part(start, at - len(line))
                self.bodies += [RequestBody(block)] if MENTIONS_IN_TEXT.search(block.text) else []
                fence = ""

    def _add_file(self, path: Excerpt, name: str) -> None:
        self.files.append(BodyFile(path.text.strip(), name, Location(self.path, *path.place(0))))

    def _finish(self, pipeline: _Pipeline) -> None:
        for target in pipeline.targets:
            self._sources.update((target, body) for body in pipeline.bodies)
        if pipeline.is_validation:
            return
        self.bodies += pipeline.bodies
        sent = [*pipeline.bodies, *(self._sources[use] for use in pipeline.uses if use in self._sources)]
        for body in sent if pipeline.name else ():
            body.names[pipeline.name] = None
        for use, path in pipeline.uses.items() if pipeline.is_request else ():
            if use not in self._sources and use.startswith("@") and use != "@-":
                self._add_file(path, pipeline.name)


@dataclass(slots=True)
class _Pipeline:
    """What the commands of one pipeline send, and where to."""

    name: str = ""
    bodies: list[RequestBody] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    uses: dict[str, Excerpt] = field(default_factory=dict)
    is_request: bool = False
    is_validation: bool = False
    _is_data: bool = False
    """Whether the last word is an option whose value is the next word."""
    _is_filter: bool = False
    """Whether the next words are programs of `jq`."""

    def take(self, token: Token) -> None:
        match token.kind:
            case TokenKind.OUTPUT:
                self.targets.append(f"@{token.excerpt.text}")
            case TokenKind.INPUT:
                if token.excerpt.text.endswith(_CONFIG_SUFFIXES):  # and no `<PASSWORD>` of a page
                    self.uses[f"@{token.excerpt.text}"] = token.excerpt
            case TokenKind.HEREDOC:
                self.bodies += [RequestBody(token.excerpt)] if MENTIONS_IN_TEXT.search(token.excerpt.text) else []
            case _:
                self._take_word(token.excerpt)

    def _take_word(self, word: Excerpt) -> None:
        data = None if self._is_data else _DATA.fullmatch(word.text)
        assigned = None if self._is_data or data else _ASSIGNMENT.match(word.text)
        value = word.part(data.start("value")) if data else word.part(assigned.end()) if assigned else word
        if assigned:
            self.targets.append(f"${assigned.group(1)}")
        elif self._is_data or data:
            self._use(value)
        else:
            self._take_url(value.text)
        self._is_data = bool(data and not value.text)
        self._is_filter = self._is_filter or value.text == "jq"
        is_script = _NESTED.search(value.text) and ("@" in value.text or MENTIONS_IN_TEXT.search(value.text))
        is_json = value.text.lstrip()[:1] in ("{", "[") and not self._is_filter
        if is_script or (is_json and MENTIONS_IN_TEXT.search(value.text)):
            self.bodies.append(RequestBody(value))

    def _use(self, value: Excerpt) -> None:
        if variable := MARK.fullmatch(value.text):
            self.uses[f"${variable.group(1)}"] = value
        elif value.text.startswith("@"):
            self.uses[value.text] = value.part(1)

    def _take_url(self, text: str) -> None:
        self.name = _name_in(text) or self.name
        self.is_request = self.is_request or "connectors" in text.lower()
        self.is_validation = self.is_validation or _VALIDATION in text


def _name_in(url: str) -> str:
    found = _NAME_IN_URL.search(url)
    return unquote(found.group(1)) if found else ""
