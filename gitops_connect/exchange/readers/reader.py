"""Chooses the reader of a file by its format, its suffix or its content; of YAML and JSON by each document's fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from gitops_connect.documents import recognition
from gitops_connect.documents.encoding import Refused, decode
from gitops_connect.documents.fields import items_of
from gitops_connect.documents.fields import read as read_values
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.documents.recognition import GROUP, JIKKOU
from gitops_connect.documents.yaml import parse_each
from gitops_connect.exchange.declarations import FileFormat, FileReading
from gitops_connect.exchange.readers import (
    forms,
    json_configs,
    json_nodes,
    ksqldb,
    openshift,
    properties,
    terraform,
)
from gitops_connect.exchange.readers.excerpts import Excerpt, excerpt_of_scalar
from gitops_connect.exchange.readers.reading import MAX_TEXT, NO_CONNECTOR, Findings, LineStarts, Part, TextBudget
from gitops_connect.exchange.readers.scripts import MENTIONS, MENTIONS_IN_TEXT, Script
from gitops_connect.exchange.readers.unknown_values import mark
from gitops_connect.model import strimzi
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import CONNECTOR, KINDS, Blob, Document

_SUFFIXES = {
    ".yaml": None,
    ".yml": None,
    ".json": None,
    ".properties": FileFormat.PROPERTIES,
    ".tf": FileFormat.TERRAFORM,
    ".tfstate": None,
    ".sql": FileFormat.KSQLDB,
    ".ksql": FileFormat.KSQLDB,
}
"""The format of each suffix; None: YAML or JSON, which say themselves what they are."""
_Language = Callable[[Script, Excerpt], None]
_SCRIPTS: dict[str, _Language] = {
    ".sh": Script.add_shell,
    ".bash": Script.add_shell,
    ".http": Script.add_requests,
    ".rest": Script.add_requests,
}
_PAGES = (".md", ".markdown", ".adoc")
_LANGUAGES: dict[_Language, str] = {
    Script.add_shell: "a shell script",
    Script.add_requests: "a file with HTTP requests",
    Script.add_page: "a page in Markdown or AsciiDoc",
}
SUFFIXES = (*_SUFFIXES, *_SCRIPTS)
"""The suffixes of the files that are read in a directory."""
_STDIN, _JSON_BODY = "-", ".json"
"""The paths of texts inside files: they name no connector. YAML is no body of a request."""
_IMPORT = "import the connector from its cluster, or copy it to a file in one of the formats"
_SQL = re.compile(rb"\bCREATE\s++(?:SOURCE|SINK)\s++CONNECTOR\b", re.IGNORECASE)
_HCL = re.compile(rb'^[ \t]*+resource\s++"', re.MULTILINE)
_PROPERTY = re.compile(rb"^[ \t\f]*+connector\.class[ \t\f]*+=", re.MULTILINE)
_SHELL = re.compile(rb"\bcurl\s|<<")
_REQUEST = re.compile(rb"(?:\s*+(?:\#|//|@)[^\n]*+\n)*+\s*+(?:GET|POST|PUT|PATCH|DELETE)[ \t]++\S")
_BLOCK = re.compile(rb"^[ \t]*+(?:```|~~~|----)", re.MULTILINE)
_YAML = re.compile(rb"""(?:[ \t]*+(?:\#[^\n]*+)?\r?\n)*+(?:---|%|-[ ]|[\w"'./-]++[ \t]*+:\s)""")
_IN_COMPOSE = re.compile(r"\$\$|\$(?:\{([A-Za-z_][A-Za-z0-9_]*+)[^{}\n]*+\}|([A-Za-z_][A-Za-z0-9_]*+))")
_BY_CONTENT = ((_SQL, FileFormat.KSQLDB), (_HCL, FileFormat.TERRAFORM), (_PROPERTY, FileFormat.PROPERTIES))
_TEXT: dict[FileFormat, Callable[[Blob, Findings], None]] = {
    FileFormat.PROPERTIES: properties.read,
    FileFormat.TERRAFORM: terraform.read,
    FileFormat.KSQLDB: ksqldb.read,
}
_MAPPINGS = (terraform.read_json, json_configs.read, forms.read_nested)
_LOOK_ALIKES = (CONNECTOR, *strimzi.KINDS)
_MAX_UNREADABLE = 10
"""Documents of one file. A document of which nothing can be read may cost as much time as a large one."""
_TEMPLATE = re.compile(rb"\{\{|\$\{\{")


def read(blob: Blob, forced: FileFormat | None = None, given: str = "", texts: TextBudget | None = None) -> FileReading:
    """The connectors of a file. `forced` is the format that the user names, or None.

    `given` is the name of a connector that has none in the file. `texts` is the budget of a text inside a file.
    """
    findings = Findings(blob.path, given, texts or TextBudget())
    if len(blob.content) > MAX_SIZE:
        summary = f"the file is larger than {MAX_SIZE // 1024**2} MiB; it is not read"
        findings.error("document/too-large", summary, (1, 1), "split it")
        return findings.reading()
    language = None if forced in _TEXT else _language_of(blob)
    found = forced or _format_of(blob)
    is_json = found is FileFormat.TERRAFORM and blob.content.lstrip()[:1] == b"{"
    try:
        if language is not None:
            _read_script(blob, language, forced, findings)
        elif found in _TEXT and not is_json:
            _TEXT[found](blob, findings)
        else:
            for part in _parts(blob, findings):
                _read_one(part, blob, forced, findings)
    except Refused as refused:
        findings.error(refused.rule, refused.summary, refused.place, refused.hint)
    return findings.reading()


class Mention(NamedTuple):
    """What a file with a connector contains, and its line."""

    text: str
    line: int


def mention(content: bytes) -> Mention | None:
    """The first mention of a connector in a file."""
    found = MENTIONS.search(content)
    return Mention(found.group().decode(), content.count(b"\n", 0, found.start()) + 1) if found else None


def _language_of(blob: Blob) -> _Language | None:
    """The language of a script or a page, by its suffix or its content; None for every other file."""
    content = blob.content
    name = blob.path.rpartition("/")[2]
    suffix = name[name.rfind(".") :] if "." in name else ""
    if suffix in _SCRIPTS or suffix in {*_SUFFIXES} - {".json"} or content.lstrip()[:1] in (b"{", b"["):
        return _SCRIPTS.get(suffix)
    if suffix in _PAGES or name.startswith("README"):
        return Script.add_page
    if content.startswith(b"#!"):
        return Script.add_shell if b"sh" in content.partition(b"\n")[0] else None
    if _REQUEST.match(content):
        return Script.add_requests
    is_other = _YAML.match(content) or any(one.search(content) for one in (_HCL, _BLOCK))
    return Script.add_shell if _SHELL.search(content) and not is_other else None


def _format_of(blob: Blob) -> FileFormat | None:
    suffix = next((one for one in _SUFFIXES if blob.path.endswith(one)), None)
    if suffix is not None:
        return _SUFFIXES[suffix]
    if blob.content.lstrip()[:1] in (b"{", b"["):
        return None
    return next((found for pattern, found in _BY_CONTENT if pattern.search(blob.content)), None)


@lru_cache(maxsize=2)
def _contains(pattern: re.Pattern[bytes], content: bytes) -> bool:
    """Whether the file matches. This is asked for each problem of a file."""
    return pattern.search(content) is not None


@lru_cache(maxsize=2)
def _is_data(content: bytes) -> bool:
    """Whether the file begins as JSON or YAML does."""
    return _begin(content) in (b"{", b"[") or _YAML.match(content) is not None


def _begin(content: bytes) -> bytes:
    return content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]


def _parts(blob: Blob, findings: Findings) -> Iterator[Part]:
    start = blob.content.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        yield from _json(blob) if start[:1] in (b"{", b"[") and not start.startswith(b"{{") else _yaml(blob, findings)
    except Refused as refused:
        place = Location(blob.path, *refused.place)
        _report(blob, Diagnostic(Severity.ERROR, refused.rule, refused.summary, place, refused.hint), findings)


def _json(blob: Blob) -> Iterator[Part]:
    """The roots of a JSON file, each of which may be a list. YAML may begin with a bracket, too."""
    text = decode(blob.content)
    try:
        roots = json_nodes.compose(text)
    except Refused as refused:
        parsed = [] if blob.path.endswith(".json") else [*parse_each(blob, lists=True)]
        if not parsed or any(one.diagnostics for one in parsed):
            raise refused from None
        yield from (Part.of(document) for one in parsed for document in one.documents)
        return
    for root in roots:
        reading = read_values(root, max_nodes=2 * json_nodes.MAX_VALUES)
        for refusal in reading.refusals:
            raise refusal
        document = Document(Location(blob.path, *root.place), reading.value, reading.positions, reading.texts)
        yield Part(document, reading.value)


def _yaml(blob: Blob, findings: Findings) -> Iterator[Part]:
    values = unreadable = 0
    for parsed in parse_each(blob, lists=True):
        for problem in parsed.diagnostics:
            _report(blob, problem, findings)
        for document in (*parsed.documents, *parsed.broken):
            values += len(document.positions)
            if values > json_nodes.MAX_VALUES:
                raise json_nodes.too_many_values((document.location.line, document.location.column))
        unreadable += not parsed.complete
        if unreadable == _MAX_UNREADABLE:
            place = next(iter(parsed.diagnostics)).location
            summary = f"{unreadable} documents of the file cannot be read: the rest of the file is not read"
            raise Refused("yaml/syntax", summary, (place.line, place.column))
        yield from map(Part.of, parsed.documents)


def _report(blob: Blob, problem: Diagnostic, findings: Findings) -> None:
    """An error; a note if the file can declare no connector. A template is named as such."""
    where = problem.location
    if not (blob.path.endswith(recognition.SUFFIXES) or _is_data(blob.content)):
        findings.note(NO_CONNECTOR, "the file is a text in none of the formats: it is ignored", (1, 1))
    elif not _contains(MENTIONS, blob.content):
        summary = f"the file contains no connector, and cannot be read: {problem.summary}"
        findings.note(NO_CONNECTOR, summary, where)
    elif _contains(_TEMPLATE, blob.content):
        summary = f"the file is a template, which has to be rendered first: {problem.summary}"
        hint = "convert the output of the template, as of `helm template`, or put each expression in quotes"
        findings.error("convert/template", summary, where, hint)
    else:
        findings.error(problem.rule, problem.summary, where, problem.hint)


def _read_one(part: Part, blob: Blob, forced: FileFormat | None, findings: Findings) -> None:
    listed = part if isinstance(part.value, list) else part.get("items")
    if isinstance(listed.value, list) and (listed is part or str(part.get("kind").value).endswith("List")):
        for item in items_of(listed.document, listed.value, listed.pointer):
            _read_one(Part.of(item), blob, forced, findings)
        return
    if openshift.is_template(part):
        for item in openshift.objects(part, findings):
            _read_one(Part.of(item), blob, forced, findings)
        return
    recognized = _read_resource(part, forced, findings) if isinstance(part.value, Mapping) else False
    if not (recognized or any(read(part, findings) for read in _MAPPINGS)):
        _read_texts(part, blob, forced, findings)


def _read_texts(part: Part, blob: Blob, forced: FileFormat | None, findings: Findings) -> None:
    """Read the scripts and files inside a document in none of the formats, such as a Compose file or a ConfigMap."""
    is_compose = isinstance(part.get("services").value, Mapping)
    first, unread = findings.count, None
    rest = [("", part)]
    while rest:
        key, one = rest.pop()
        items = list(one.items())
        texts = [one] if isinstance(one.value, str) else [item for item in items if isinstance(item.value, str)]
        found = next((text for text in texts if MENTIONS_IN_TEXT.search(text.value)), None)
        before = findings.count
        if found is not None and (one is found or len(texts) == len(items)):
            source = findings.source(blob.content)
            _read_text([_excerpt(text, *source, is_compose=is_compose) for text in texts], key, forced, findings)
        else:
            found = one if MENTIONS_IN_TEXT.search(key) else None
            rest += reversed([*(("", item) for item in items), *one.fields()])
        unread = unread or (found if findings.count == before else None)
    kind = part.get("kind").value
    what = f"a {kind}, in none of the formats" if isinstance(kind, str) else "no connector, in none of the formats"
    what = "a Compose file" + " without connectors" * (findings.count == first) if is_compose else what
    if unread is not None:
        summary = f"the document is {what}, and this mention of a connector is not converted"
        findings.warning(NO_CONNECTOR, summary, unread.location, _IMPORT)
    elif findings.count == first:
        findings.note(NO_CONNECTOR, f"the document is {what}: it is ignored", part.location)


def _excerpt(part: Part, source: str, lines: LineStarts, *, is_compose: bool) -> Excerpt:
    """A string of the file. Compose replaces its variables before a shell reads them, and `$$` is one `$`."""
    start = lines.index(part.location.line, part.location.column)
    is_field = bool(part.pointer) and isinstance(part.pointer[-1], str)
    found = excerpt_of_scalar(source, start, part.value, lines.place, is_field=is_field)
    if not is_compose:
        return found
    return found.replaced(_IN_COMPOSE, lambda one: mark(one.group(1) or one.group(2)) if one.lastindex else "$")


def _read_text(texts: Sequence[Excerpt], key: str, forced: FileFormat | None, findings: Findings) -> None:
    """Read one string, which may be a file with the name `key`, or the words of a command."""
    if len(texts) == 1:
        _read_excerpt(texts[0], key if key.endswith(SUFFIXES) else _STDIN, "", forced, findings)
        return
    script = Script(findings.path)
    script.add_words(texts)
    _read_bodies(script, forced, findings)


def _read_script(blob: Blob, language: _Language, forced: FileFormat | None, findings: Findings) -> None:
    if len(blob.content) > MAX_TEXT:
        report = findings.error if _contains(MENTIONS, blob.content) else findings.note
        report("document/too-large", "the script is larger than 1 MiB; it is not read", (1, 1), "split it")
        return
    script = Script(blob.path)
    language(script, Excerpt.whole(decode(blob.content)))
    _read_bodies(script, forced, findings)
    if not findings.count:
        summary = f"the file is {_LANGUAGES[language]} without connectors: it is ignored"
        findings.note(NO_CONNECTOR, summary, (1, 1))


def _read_bodies(script: Script, forced: FileFormat | None, findings: Findings) -> None:
    findings.files += script.files
    for body in script.bodies:
        for name in body.names or ("",):
            is_json = body.excerpt.text.lstrip()[:1] in ("{", "[")
            _read_excerpt(body.excerpt, _JSON_BODY if is_json else _STDIN, name, forced, findings)


def _read_excerpt(excerpt: Excerpt, path: str, name: str, forced: FileFormat | None, findings: Findings) -> None:
    """Read a text inside the file as a file of its own, with places in this file."""
    findings.texts.take(len(excerpt.text), excerpt.place(0))
    if excerpt.text.lstrip()[:1] in ("{", "["):
        excerpt = excerpt.as_json()
    blob = Blob(path, "", excerpt.text.encode(errors="replace"))
    inner = read(blob, forced, name, findings.texts)
    findings.texts.depth -= 1
    findings.add(inner, partial(excerpt.locate, findings.path))


def _read_resource(part: Part, forced: FileFormat | None, findings: Findings) -> bool:
    """Read a resource with `apiVersion` and `kind`. Returns whether it is one that declares a connector."""
    version, kind = str(part.get("apiVersion").value or ""), part.get("kind").value
    if forced not in (FileFormat.GITOPS_CONNECT, FileFormat.STRIMZI, FileFormat.JIKKOU) and forms.read(part, findings):
        return True
    group = version.partition("/")[0]
    if group in strimzi.COPIES or forced is FileFormat.STRIMZI:
        part = Part.of(recognition.as_strimzi(part.document, (group,)))
        version = str(part.get("apiVersion").value or "")
    if version.startswith(GROUP) or (forced is FileFormat.GITOPS_CONNECT and kind in KINDS):
        findings.documents.append(part.document)
    elif kind == "KafkaConnector" and (version.startswith(JIKKOU) or forced is FileFormat.JIKKOU):
        forms.read_jikkou(part, findings)
    elif version.startswith(f"{strimzi.GROUP}/") or (forced is FileFormat.STRIMZI and kind in strimzi.KINDS):
        return _read_strimzi(part.document, findings, is_forced=forced is FileFormat.STRIMZI)
    elif kind in _LOOK_ALIKES:
        summary = f"{kind} of {version or 'no apiVersion'!r} is in none of the formats"
        hint = "if it is compatible with one of them, name that format with --from"
        findings.error("convert/unsupported", summary, part.location, hint)
    else:
        return False
    return True


def _read_strimzi(resource: Document, findings: Findings, *, is_forced: bool) -> bool:
    """Keep a resource of Strimzi that declares connectors. Returns whether it does."""
    membership = recognition.classify_resource(resource)
    if membership is recognition.Membership.MISTAKEN and not is_forced:
        mistake = recognition.resource_mistake(resource)
        findings.error(mistake.rule, mistake.summary, mistake.location, mistake.hint)
        return True
    if resource.value.get("kind") not in strimzi.KINDS:
        return False
    findings.resources.append(resource)
    return True
