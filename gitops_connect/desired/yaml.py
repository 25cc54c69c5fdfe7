"""Parses the bytes of a file into documents with places and errors: pure, and rejects as little as possible.

The file is split at its `---` lines before it is parsed. YAML forbids such a line inside any document (section 9.1.2),
so that a syntax error affects only its own document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from gitops_connect.desired.encoding import decode, place_after, refuse_control_characters
from gitops_connect.desired.nodes import Mapping, Node, Scalar, compose
from gitops_connect.desired.refused import Refused
from gitops_connect.desired.strimzi.kubernetes_yaml import KUBERNETES
from gitops_connect.desired.strimzi.recognition import is_kubernetes
from gitops_connect.desired.values import CORE_SCHEMA, read
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob, Document

MAX_DOCUMENTS = 10_000
"""Documents in one file: each costs as much as a small file, and nobody reviews a file with so many."""

_DOCUMENT = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
"""The beginning or the end of a document (YAML 1.2, section 9.1)."""
_BOUNDARY = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:[ \t]*+(?:#.*)?\r?\n|%.*\n)*+[ \t]*+(?:#.*)?")


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of one file. `broken` ones could be read in part; `complete`: no part is unreadable.

    `strimzi` are the resources of Strimzi and the ConfigMaps among them, once the documents are sorted out.
    """

    documents: tuple[Document, ...] = ()
    broken: tuple[Document, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    complete: bool = True
    strimzi: tuple[Document, ...] = ()
    broken_strimzi: tuple[Document, ...] = ()


def parse(blob: Blob) -> ParsedFile:
    """Every document of a YAML or JSON file whose root is a mapping; its content is never executed or looked up."""
    parts = list(parse_each(blob))
    return ParsedFile(
        documents=tuple(document for part in parts for document in part.documents),
        broken=tuple(document for part in parts for document in part.broken),
        diagnostics=Diagnostics.of(item for part in parts for item in part.diagnostics),
        complete=all(part.complete for part in parts),
    )


def parse_each(blob: Blob) -> Iterator[ParsedFile]:
    """The documents of the file, one after the other."""
    try:
        text = decode(blob.content)
        refuse_control_characters(text)
        _refuse_too_many(text)
    except Refused as refused:
        yield ParsedFile(diagnostics=Diagnostics.of([_diagnostic(refused, blob.path)]), complete=False)
        return
    yield from (_parse_part(part, line, blob.path) for part, line in _parts(text))


def _refuse_too_many(text: str) -> None:
    """Count the documents before anything is parsed: a file of 10 MiB has room for a million."""
    for number, found in enumerate(_DOCUMENT.finditer(text), start=1):
        if number > MAX_DOCUMENTS:
            summary = f"the file has more than {MAX_DOCUMENTS:,} documents"
            raise Refused(
                "document/too-many", summary, place_after(text[: found.start()]), "split it into several files"
            )


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


def _parse_part(text: str, first_line: int, path: str) -> ParsedFile:
    try:
        parsed = [_document(root, path) for root in compose(text, first_line) if not _is_empty(root)]
    except Refused as refused:
        return ParsedFile(diagnostics=Diagnostics.of([_diagnostic(refused, path)]), complete=False)
    return ParsedFile(
        documents=tuple(document for document, problems in parsed if not problems),
        broken=tuple(document for document, problems in parsed if problems),
        diagnostics=Diagnostics.of(problem for _, problems in parsed for problem in problems),
    )


def _document(root: Node, path: str) -> tuple[Document, list[Diagnostic]]:
    if not isinstance(root, Mapping):
        raise Refused("yaml/root", "a document must be a mapping that begins with apiVersion", root.place)
    reading = read(root, KUBERNETES if is_kubernetes(root) else CORE_SCHEMA)
    document = Document(Location(path, *root.place), reading.value, reading.positions, reading.texts)
    connector = document.connector if reading.refusals else None  # once: a document may have thousands of problems
    return document, [replace(_diagnostic(refused, path), connector=connector) for refused in reading.refusals]


def _is_empty(root: Node) -> bool:
    return isinstance(root, Scalar) and root.plain and not root.text


def _diagnostic(refused: Refused, path: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, refused.rule, refused.summary, Location(path, *refused.place), refused.hint)
