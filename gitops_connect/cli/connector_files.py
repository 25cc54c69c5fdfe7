"""Finds and reads the files that `convert` gets, and reports what declares no connector."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.checks import document_schemas
from gitops_connect.desired.file_content import MAX_SIZE
from gitops_connect.desired.foreign import own_documents, reader
from gitops_connect.errors import UsageError
from gitops_connect.model.declarations import ConnectorDeclaration, FileReading
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob, Documents
from gitops_connect.model.file_formats import FileFormat
from gitops_connect.model.names import ClusterName

STDIN = Path("-")


@dataclass(frozen=True, slots=True)
class Declared:
    """The connectors of all files, each once, and all problems. `files` counts the files that were read."""

    connectors: tuple[ConnectorDeclaration, ...]
    diagnostics: Diagnostics
    files: int


def read_all(
    paths: Sequence[Path], forced: FileFormat | None, cluster: ClusterName | None, out: Path | None
) -> Declared:
    """Read every file. `cluster` replaces the clusters of all connectors, if it is given. `out` is not read.

    Raises UsageError if a file cannot be read.
    """
    found: list[ConnectorDeclaration] = []
    problems: list[Diagnostic] = []
    files = 0
    for path in paths:
        for file in _files(path, out):
            reading = _with_documents(reader.read(_blob(file), forced))
            files += 1
            found += reading.declarations
            problems += reading.diagnostics
            if file == path and not reading.recognized:
                summary = "the file declares no connector, in any of the formats"
                problems.append(Diagnostic(Severity.ERROR, "convert/no-connector", summary, Location(str(path))))
    if cluster is not None:
        found = [replace(one, cluster=cluster) for one in found]
    unique, repeated = _unique(found)
    return Declared(tuple(unique), Diagnostics.of([*problems, *repeated]), files)


def _files(path: Path, out: Path | None) -> Iterator[Path]:
    """The file, or the files of the directory and below that may declare a connector, sorted. Not the hidden ones."""
    if path == STDIN or not path.is_dir():
        yield path
        return
    found: list[Path] = []
    for directory, directories, names in os.walk(path, onerror=_refuse):
        here = Path(directory)
        directories[:] = [name for name in directories if not name.startswith(".") and here / name != out]
        found += (here / name for name in names if name.endswith(reader.SUFFIXES) and name[0] != ".")
    yield from sorted(found)


def _refuse(error: OSError) -> None:
    raise UsageError(f"cannot read the directory {error.filename}: {error.strerror}") from error


def _blob(path: Path) -> Blob:
    """The file's content. At most one byte more than the allowed size is read."""
    try:
        if path == STDIN:
            return Blob(str(STDIN), "", sys.stdin.buffer.read(MAX_SIZE + 1))
        with path.open("rb") as stream:
            return Blob(path.as_posix(), "", stream.read(MAX_SIZE + 1))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _with_documents(reading: FileReading) -> FileReading:
    """The reading with the connectors of its documents of this project, which are checked here."""
    documents = Documents(reading.documents, Diagnostics(), complete=True)
    problems = document_schemas.check(documents)
    invalid = {id(documents.at(error.location)) for error in problems.errors}
    declarations, diagnostics = list(reading.declarations), [*reading.diagnostics, *problems]
    for document in reading.documents:
        if id(document) not in invalid:
            declaration, found = own_documents.read(document)
            diagnostics += found
            declarations += [declaration] if declaration else []
    return replace(reading, declarations=tuple(declarations), diagnostics=Diagnostics.of(diagnostics))


def _unique(
    declarations: Iterable[ConnectorDeclaration],
) -> tuple[list[ConnectorDeclaration], list[Diagnostic]]:
    """The connectors that are declared once, and an error at each place of every other connector."""
    by_name: Mapping[tuple[object, str], list[ConnectorDeclaration]] = defaultdict(list)
    for one in declarations:
        by_name[one.cluster, one.name].append(one)
    problems = []
    for same in by_name.values():
        for one in same if len(same) > 1 else ():
            others = ", ".join(str(other.location) for other in same if other is not one)
            where = f" of cluster {one.cluster}" if one.cluster else ""
            summary = f"connector {one.name}{where} is declared more than once: also at {others}"
            hint = "keep one of them, or convert the files of each cluster with its own --cluster"
            error = Diagnostic(Severity.ERROR, "convert/same-connector", summary, one.location, hint, one.name)
            problems.append(error)
    return [same[0] for same in by_name.values() if len(same) == 1], problems
