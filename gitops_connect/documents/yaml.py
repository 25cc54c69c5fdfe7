"""Parses the bytes of a file into documents with places and errors: pure, and rejects as little as possible.

The file is split at its `---` lines before it is parsed. YAML forbids such a line inside any document (section 9.1.2),
so that a syntax error affects only its own document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from gitops_connect.documents.encoding import Refused, decode, place_after, refuse_control_characters
from gitops_connect.documents.fields import CORE_SCHEMA, ScalarRules, read
from gitops_connect.documents.nodes import (
    FLOAT,
    NOT_FINITE,
    NUMBER_STARTS,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Value,
    compose,
)
from gitops_connect.documents.recognition import is_kubernetes
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob, Document, Documents

MAX_DOCUMENTS = 10_000
"""Documents in one file: each costs as much as a small file, and nobody reviews a file with so many."""

_DOCUMENT = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
"""The beginning or the end of a document (YAML 1.2, section 9.1)."""
_BOUNDARY = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:[ \t]*+(?:#.*)?\r?\n|%.*\n)*+[ \t]*+(?:#.*)?")


def parse(blob: Blob) -> Documents:
    """Every document of a YAML or JSON file whose root is a mapping; its content is never executed or looked up."""
    return Documents.merged(parse_each(blob))


def parse_each(blob: Blob, *, lists: bool = False) -> Iterator[Documents]:
    """The documents of each part of the file. `lists`: the root may also be a list."""
    roots = (MappingNode, SequenceNode) if lists else (MappingNode,)
    try:
        text = decode(blob.content)
        refuse_control_characters(text)
        _refuse_too_many(text)
    except Refused as refused:
        yield Documents(diagnostics=Diagnostics.of([_diagnostic(refused, blob.path)]), complete=False)
        return
    yield from (_parse_part(part, line, blob.path, roots) for part, line in _parts(text))


def _refuse_too_many(text: str) -> None:
    """Count the documents before anything is parsed: a file of 10 MiB has room for a million."""
    for number, found in enumerate(_DOCUMENT.finditer(text), start=1):
        if number > MAX_DOCUMENTS:
            summary = f"the file has more than {MAX_DOCUMENTS:,} documents"
            place = place_after(text[: found.start()])
            raise Refused("document/too-many", summary, place, "split it into several files")


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The text between two `---` lines, each with the number of its first line."""
    starts = [found.start() for found in _BOUNDARY.finditer(text)]
    edges = [0, *(start for start in starts if start), len(text)]
    line = 1
    for start, end in pairwise(edges):
        part = text[start:end]
        if not _NOTHING.fullmatch(part):
            yield part, line
        line += part.count("\n")


def _parse_part(text: str, first_line: int, path: str, roots: tuple[type[Node], ...]) -> Documents:
    try:
        parsed = [_document(root, path, roots) for root in compose(text, first_line) if not _is_empty(root)]
    except Refused as refused:
        return Documents(diagnostics=Diagnostics.of([_diagnostic(refused, path)]), complete=False)
    return Documents(
        documents=tuple(document for document, problems in parsed if not problems),
        broken=tuple(document for document, problems in parsed if problems),
        diagnostics=Diagnostics.of(problem for _, problems in parsed for problem in problems),
    )


def _document(root: Node, path: str, roots: tuple[type[Node], ...]) -> tuple[Document, list[Diagnostic]]:
    if not isinstance(root, roots):
        raise Refused("yaml/root", "a document must be a mapping that begins with apiVersion", root.place)
    reading = read(root, KUBERNETES if is_kubernetes(root) else CORE_SCHEMA)
    document = Document(Location(path, *root.place), reading.value, reading.positions, reading.texts)
    # once: a document may have thousands of problems
    connector = document.connector if reading.refusals and isinstance(root, MappingNode) else None
    return document, [replace(_diagnostic(refused, path), connector=connector) for refused in reading.refusals]


def _is_empty(root: Node) -> bool:
    return isinstance(root, ScalarNode) and root.plain and not root.text


def _diagnostic(refused: Refused, path: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, refused.rule, refused.summary, Location(path, *refused.place), refused.hint)


# The values of a Kubernetes resource as `kubectl` reads them: `sigs.k8s.io/yaml`, which is go-yaml v2 and then JSON.
#
# go-yaml v2 has the booleans and octal numbers of YAML 1.1 (`y`, `off`, `017`), but neither its dates nor its numbers
# to base 60: `2026-01-01` and `10:30` are strings. Numbers then become JSON numbers, so that `1.0` is 1.
# `tests/strimzi/test_kubernetes_yaml.yaml` has a table of values that Go printed.

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|(0[oO]?[0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LONGEST_NUMBER = 400
"""Characters. A longer number is refused: Go reads it as a string or as a float, which nobody means."""
_LEAST, _MOST = -(2**63), 2**64 - 1
"""What Go reads as an integer: an `int64` or a `uint64`."""
_JSON_EXPONENT = 1e21
"""From this number on, Go writes a float with an exponent. A smaller one without a fraction becomes an integer."""


def resolve_kubernetes(text: str) -> Value:
    """The value of a plain scalar. Raises ValueError for a number that JSON cannot hold: infinite, NaN or too long."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in NUMBER_STARTS:
        return text
    if NOT_FINITE.fullmatch(text) or len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    return _kubernetes_number(text, _BETWEEN_DIGITS.sub("", text) if text[0] == "." else text.replace("_", ""))


def _kubernetes_number(text: str, plain: str) -> Value:
    integer = _integer(plain)
    if integer is not None:
        return integer
    if not FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    return text if math.isinf(number) else _as_json(number)


def _integer(plain: str) -> int | None:
    """The integer of 64 bits, or None. Other numbers are floats, or strings if they are not decimal."""
    found = _INTEGER.fullmatch(plain)
    if found is None:
        return None
    bases = zip(found.groups(), _BASES, strict=True)
    number = next(int(digits.lower().removeprefix("0o"), base) for digits, base in bases if digits)
    number = -number if plain[0] == "-" else number
    return number if _LEAST <= number <= _MOST else None


def _as_json(number: float) -> int | float:
    """A float as Go's JSON has it: `1e6` is 1000000. The digits are the shortest ones that mean this float."""
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < _JSON_EXPONENT else number


def _kubernetes_key(value: Value) -> str | None:
    """Keys that are booleans or integers become strings: the key `on` is `true`."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case _:
            return None


KUBERNETES = ScalarRules(resolve_kubernetes, _kubernetes_key, last_merge_wins=True)
