"""ksqlDB's statements `CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH (…);`. Other statements are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from gitops_connect.desired.encoding import decode
from gitops_connect.desired.fields import CLASS, TASKS
from gitops_connect.desired.foreign.findings import Draft, Findings
from gitops_connect.desired.foreign.line_starts import LineStarts
from gitops_connect.desired.refused import Refused
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.file_formats import FileFormat

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\r\n]*|/\*.*?\*/)
      | '(?P<string>(?:[^']|'')*)'
      | `(?P<exact>(?:[^`]|``)*)`
      | "(?P<quoted>(?:[^"]|"")*)"
      | (?P<variable>\$\{[A-Za-z_][A-Za-z0-9_@]*\})
      | (?P<number>-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![A-Za-z0-9_@])
      | (?P<word>[A-Za-z0-9_][A-Za-z0-9_@]*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_JDBC_SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_KEY_TRANSFORMS = {
    "ksqlCreateKey": ("ValueToKey", "fields"),
    "ksqlExtractString": ("ExtractField$Key", "field"),
}
"""The transforms that ksqlDB adds: their class, and the option that gets the name of the column."""
_QUOTES = {"string": "'", "exact": "`", "quoted": '"'}
_FOUND = {
    "string": "a string",
    "exact": "a name in quotes",
    "quoted": "a name in quotes",
    "variable": "a variable",
    "number": "a number",
    "word": "a word",
    "end": "the end of the statement",
}
"""What an error calls a token: its text may be a secret. Only a sign is repeated."""
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")
_LONGEST_NUMBER = 200
_MOST_EXPONENT_DIGITS = 3
_BOOLEANS = ("TRUE", "FALSE")
_TOKENS_BEFORE_NAME = 3


class _Token(NamedTuple):
    kind: str
    text: str
    at: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        return self.kind == "other" and self.text == sign


class _NotSql(Exception):
    def __init__(self, expected: str, token: _Token) -> None:
        super().__init__(expected)
        self.expected = expected
        self.token = token


def read(blob: Blob, findings: Findings) -> None:
    """Read every statement of a file."""
    try:
        text = decode(blob.content)
    except Refused as refused:
        findings.error(refused.rule, refused.summary, refused.place, refused.hint)
        return
    reader = _Reader(LineStarts(text), len(text), findings)
    for statement in _statements(text):
        reader.read(statement)


def _statements(text: str) -> Iterator[list[_Token]]:
    tokens: list[_Token] = []
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        if kind == "skip":
            continue
        content = found.group(kind)
        if kind in _QUOTES:
            content = content.replace(_QUOTES[kind] * 2, _QUOTES[kind])
        token = _Token(kind, content, found.start())
        if token.is_sign(";"):
            yield tokens
            tokens = []
        else:
            tokens.append(token)
    if tokens:
        yield tokens


@dataclass(slots=True)
class _Reader:
    lines: LineStarts
    end: int
    findings: Findings
    defined: dict[str, str] = field(default_factory=dict)
    """The variables that `DEFINE` statements set before."""

    def read(self, tokens: list[_Token]) -> None:
        words = [token.text.upper() if token.kind == "word" else "" for token in tokens]
        if words[:1] == ["DEFINE"] and len(tokens) == _TOKENS_BEFORE_NAME + 1 and tokens[3].kind == "string":
            self.defined[tokens[1].text] = tokens[3].text
        if words[:1] != ["CREATE"] or words[2:3] != ["CONNECTOR"]:
            return
        try:
            self._connector(tokens[_TOKENS_BEFORE_NAME:], self._where(tokens[0]))
        except _NotSql as error:
            found = _FOUND.get(error.token.kind, repr(error.token.text))
            summary = f"this statement cannot be read: expected {error.expected}, found {found}"
            self.findings.error("convert/syntax", summary, self._where(error.token))

    def _connector(self, tokens: list[_Token], where: Location) -> None:
        rest = _Rest(tokens, self.end)
        if rest.take_words("IF", "NOT", "EXISTS"):
            summary = "IF NOT EXISTS is left out: gitops-connect also updates a connector that exists"
            self.findings.note("convert/unknown-field", summary, where)
        name = self._name(rest.take("a name", "exact", "quoted", "word"))
        self.findings.begin(name)
        draft = Draft(name, FileFormat.KSQLDB, where)
        if not rest.take_words("WITH"):
            raise _NotSql("WITH", rest.next())
        rest.take_sign("(")
        while True:
            self._property(rest, draft)
            if rest.next().is_sign(")"):
                break
            rest.take_sign(",")
        _add_key_of_jdbc(draft)
        self.findings.declare(draft)

    def _name(self, token: _Token) -> str:
        if token.kind != "word" or token.text == token.text.upper():
            return token.text
        summary = f"ksqlDB writes names without quotes in capitals: the connector is called {token.text.upper()!r}"
        self.findings.warning("convert/name", summary, self._where(token))
        return token.text.upper()

    def _property(self, rest: _Rest, draft: Draft) -> None:
        token = rest.take("a config key", "string", "exact", "quoted", "word")
        key = token.text.upper() if token.kind == "word" else token.text
        draft.places[key] = self._where(token)
        if key in draft.config or key in draft.unknown:
            raise _NotSql(f"each key once, and {key!r} repeats", token)
        rest.take_sign("=")
        value = rest.take("a value", "string", "number", "word", "variable")
        if value.is_word("NULL"):
            summary = f"the value of {key!r} is NULL: the key is left out"
            self.findings.warning("convert/null", summary, draft.places[key])
            return
        text, is_known = self._text(value)
        (draft.config if is_known else draft.unknown)[key] = text

    def _text(self, token: _Token) -> tuple[str, bool]:
        """The value as ksqlDB sends it, and whether all of its variables are defined."""
        if token.kind == "number":
            return _number(token), True
        if token.kind == "word":
            if not token.is_word(*_BOOLEANS):
                raise _NotSql("a string, a number, TRUE or FALSE", token)
            return token.text.lower(), True
        return self._substituted(token.text)

    def _substituted(self, text: str) -> tuple[str, bool]:
        """The text with the values of variables: `${name}`, or `${name:-default}`. `$${` means `${`."""
        unknown = []

        def value(found: re.Match[str]) -> str:
            if found.group(1) is None:
                return found.group()[1:]
            name, separator, default = found.group(1).partition(":-")
            if _VARIABLE_NAME.fullmatch(name) and name not in self.defined and not separator:
                unknown.append(name)
            return self.defined.get(name, default if separator else found.group())

        substituted = _VARIABLE.sub(value, text)
        return (text, False) if unknown else (substituted, True)

    def _where(self, token: _Token) -> Location:
        return Location(self.findings.path, *self.lines.place(token.at))


@dataclass(slots=True)
class _Rest:
    """The tokens of a statement that are not read yet."""

    tokens: list[_Token]
    end: int

    def next(self) -> _Token:
        return self.tokens[0] if self.tokens else _Token("end", "", self.end)

    def take(self, expected: str, *kinds: str) -> _Token:
        if self.next().kind not in kinds:
            raise _NotSql(expected, self.next())
        return self.tokens.pop(0)

    def take_sign(self, sign: str) -> None:
        if not self.next().is_sign(sign):
            raise _NotSql(sign, self.next())
        self.tokens.pop(0)

    def take_words(self, *words: str) -> bool:
        taken = self.tokens[: len(words)]
        if len(taken) < len(words) or not all(token.is_word(word) for token, word in zip(taken, words, strict=True)):
            return False
        del self.tokens[: len(words)]
        return True


def _add_key_of_jdbc(draft: Draft) -> None:
    """What ksqlDB sends for a JDBC source: one task by default, and transforms for `key`, which is not sent.

    Source: `JdbcSource.resolveConfigs` of ksqlDB.
    """
    if draft.config.get(CLASS) != _JDBC_SOURCE:
        return
    if TASKS not in draft.unknown:
        draft.config.setdefault(TASKS, "1")
    values = draft.unknown if "key" in draft.unknown else draft.config
    key = values.pop("key", None)
    if key is None:
        return
    for name, (kind, option) in _KEY_TRANSFORMS.items():
        draft.config[f"transforms.{name}.type"] = f"{_TRANSFORMS}.{kind}"
        values[f"transforms.{name}.{option}"] = key
    own = [draft.config["transforms"]] if "transforms" in draft.config else []
    draft.config["transforms"] = ",".join([*own, *_KEY_TRANSFORMS])


def _number(token: _Token) -> str:
    """The number as Java writes it. A number with an exponent is a double."""
    digits = token.text
    if len(digits) > _LONGEST_NUMBER:
        raise _NotSql("a shorter number", token)
    if "e" in digits.lower():
        return _java_double(float(digits))
    return format(Decimal(digits), "f") if "." in digits else str(int(digits))


def _java_double(number: float) -> str:
    """`Double.toString`: decimal from 0.001 to 10,000,000, otherwise with an exponent."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    digits, _, exponent = f"{Decimal(repr(number)):E}".partition("E")
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
