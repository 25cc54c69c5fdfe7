"""A connector of a standalone worker, in a `.properties` file, read as `java.util.Properties` reads it (Java 17)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gitops_connect.documents.fields import CLASS, NAME
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat
from gitops_connect.exchange.readers.reading import MAX_KEYS, Findings, too_many
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.findings import shorten
from gitops_connect.model.masking import masked_value
from gitops_connect.model.sensitivity import is_sensitive_key

_LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\r|\n|\Z)")
_BLANKS = " \t\f"
_KEY = re.compile(r"([^\\=: \t\f]*+(?:\\.[^\\=: \t\f]*+)*+)[ \t\f]*+(?:[=:][ \t\f]*+)?", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_WORKER, _STANDALONE_WORKER = "bootstrap.servers", "offset.storage.file.filename"
_EXACTLY_ONCE = "exactly.once.source.support"


class Property(NamedTuple):
    """A key, its value, and its first line, from 1. `has_separator`: the line contains a `=` or `:`."""

    key: str
    value: str
    line: int
    has_separator: bool = True


class MalformedEscape(ValueError):
    r"""`\u` without four hexadecimal digits: Java rejects the whole file."""

    def __init__(self, line: int) -> None:
        super().__init__("\\u must be followed by four hexadecimal digits")
        self.line = line


def parse(content: bytes) -> Iterator[Property]:
    """Every property in the order of the file; a key may repeat. Raises MalformedEscape."""
    for text, line in _logical_lines(content.decode("latin-1")):
        match = _KEY.match(text)
        end = match.end() if match else 0
        key = match.group(1) if match else ""
        yield Property(_unescape(key, line), _unescape(text[end:], line), line, "=" in text or ":" in text)


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Lines without comments and empty lines. A backslash at the end of a line joins the next line."""
    pending, first, is_open = "", 1, False
    for number, found in enumerate(_LINE.finditer(text), start=1):
        line = found.group(1)
        content = line.lstrip(_BLANKS)
        if not pending and (not content or content[0] in "#!"):
            # Java finds an empty key there.
            is_open = is_open and found.start() == len(text) and not text.endswith("\r\n")
            continue
        first = first if pending else number
        is_open = (len(content) - len(content.rstrip("\\"))) % 2 == 1
        pending += content[:-1] if is_open else content
        if not is_open:
            yield pending, first
            pending = ""
    if pending or is_open:
        yield pending, first


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda found: _character(found.group(1), line), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: str, line: int) -> str:
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape == "u":
        raise MalformedEscape(line)
    return _LETTERS.get(escape, escape)


def read(blob: Blob, findings: Findings) -> None:
    """Read the file as a standalone worker does: with Java's `Properties`. Raises Refused."""
    repeated, bare = dict[str, int](), list[int]()
    try:
        found = _last_values(blob, repeated, bare)
    except MalformedEscape as error:
        findings.error("convert/syntax", f"Java rejects this file: {error}", (error.line, 1), "write \\\\u for \\u")
        return
    if CLASS not in found:
        what = "of a worker" if _WORKER in found else "without connector.class"
        findings.note("convert/no-connector", f"these are properties {what}: they are ignored", (1, 1))
        if _STANDALONE_WORKER in found and (support := found.get(_EXACTLY_ONCE)) and support.value != "disabled":
            summary = f"a standalone worker ignores {_EXACTLY_ONCE}: only distributed workers support it"
            hint = "set it on the workers of the cluster for exactly-once sources (docs/how-to/move-to-exactly-once.md)"
            findings.note("convert/no-connector", summary, (support.line, 1), hint)
        return
    name = found[NAME].value if NAME in found else findings.given
    draft = findings.draft(name, FileFormat.PROPERTIES, (1, 1), hint="add a line `name=…`")
    if draft is None:
        return
    for key, one in found.items():
        draft.config[key], draft.places[key] = one.value, Location(blob.path, one.line)
    for line in bare:
        summary = "the line has no = after its key: it may be the rest of the value above"
        findings.error("convert/secret", summary, (line, 1), "end a line that continues with a backslash")
    for key, line in repeated.items():
        summary = f"the key {key!r} repeats: Java uses the last value, which is this one"
        findings.warning("convert/duplicate-key", summary, (line, 1), "keep only the correct value")
    _warn_of_encoding(draft, findings)
    findings.declare(draft)


def _last_values(blob: Blob, repeated: dict[str, int], bare: list[int]) -> dict[str, Property]:
    """The last property of each key. `repeated` gets the last line of each key that occurs more than once.

    `bare` gets the lines without a separator that may be a part of a secret.
    """
    found: dict[str, Property] = {}
    before = ""
    for one in parse(blob.content):
        if not one.has_separator and (not one.value or is_sensitive_key(before)):
            bare.append(one.line)
        before = one.key
        if one.key in found:
            repeated[one.key] = one.line
        found[one.key] = one
        if len(found) > MAX_KEYS:
            raise too_many(Location(blob.path, one.line))
    return found


def _warn_of_encoding(draft: ConnectorDeclaration, findings: Findings) -> None:
    """A file in UTF-8 has other values for a worker, which reads Latin-1."""
    for key, value in draft.config.items():
        try:
            meant = value.encode("latin-1").decode()
        except UnicodeError:
            continue
        if meant != value:
            shown, other = (shorten(masked_value(key, one)) for one in (value, meant))
            summary = f"the value of {key!r} is read as Latin-1, as a worker does: {shown!r}. In UTF-8 it is {other!r}"
            findings.warning("convert/encoding", summary, draft.locate(key), "correct the value in the new file")
