"""Finds and reads the files that `convert` gets, and reports what declares no connector."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from gitops_connect.checks import document_schemas
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.errors import UsageError
from gitops_connect.exchange.declarations import ConnectorDeclaration, FileFormat, FileReading
from gitops_connect.exchange.kustomized_files import without_built
from gitops_connect.exchange.readers import openshift, own_documents, reader
from gitops_connect.exchange.readers.reading import MAX_CONNECTORS, MAX_KEYS
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.report.printable import shortened
from gitops_connect.safe_files import open_regular

STDIN = Path("-")
_SHOWN = 3
_MAX_CONFIG = 1024 * 1024
"""Characters of one connector: a worker stores a config in one record, which by default has at most 1 MiB."""


@dataclass(frozen=True, slots=True)
class FileConnectors:
    """The connectors of all files, each once, and all problems. `files` counts the files that were read."""

    connectors: tuple[ConnectorDeclaration, ...]
    diagnostics: Diagnostics
    files: int


def read_all(
    paths: Sequence[Path],
    forced: FileFormat | None,
    cluster: ClusterName | None,
    out: Path | None,
    strimzi: StrimziOptions,
) -> FileConnectors:
    """Read every file. `forced` is the format of all files; None: each file is recognized.

    `cluster` replaces the clusters of all connectors, if it is not None. `out` is a directory that is not read. Raises
    UsageError if a file cannot be read.
    """
    found: list[ConnectorDeclaration] = []
    problems: list[Diagnostic] = []
    files = keys = 0
    for path in paths:
        to_read, not_built = without_built(path, [*_files(path, out)])
        problems += not_built
        for file in to_read:
            reading = _with_documents(reader.read(_blob(file), forced), cluster, strimzi)
            files += 1
            found += (one for one in reading.declarations if _size(one) <= _MAX_CONFIG)
            problems += map(_too_large, (one for one in reading.declarations if _size(one) > _MAX_CONFIG))
            problems += reading.diagnostics
            keys += sum(len(one.config) for one in reading.declarations)
            if len(found) > MAX_CONNECTORS or keys > MAX_KEYS:
                limit = f"more than {MAX_CONNECTORS:,} connectors or {MAX_KEYS:,} config keys at a time"
                raise UsageError(f"cannot convert {limit}; convert the files in several parts")
            if file == path and not reading.recognized:
                summary = "the file declares no connector, in any of the formats"
                problems.append(Diagnostic(Severity.ERROR, "convert/no-connector", summary, Location(str(path))))
    if cluster is not None:
        found = [replace(one, cluster=cluster) for one in found]
    unique, repeated = _unique(found)
    return FileConnectors(tuple(unique), Diagnostics.of([*problems, *repeated]), files)


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
        with open_regular(path) as stream:
            return Blob(path.as_posix(), "", stream.read(MAX_SIZE + 1))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _with_documents(reading: FileReading, cluster: ClusterName | None, strimzi: StrimziOptions) -> FileReading:
    """The reading with the connectors of its documents and resources, which are checked here."""
    translated = own_documents.documents_of(reading.resources, strimzi, cluster)
    documents = replace(
        translated, documents=tuple(sorted((*reading.documents, *translated.documents), key=attrgetter("location")))
    )
    problems = document_schemas.check(documents)
    invalid = {id(documents.of(error)) for error in problems.errors}
    declarations = list(reading.declarations)
    diagnostics = [*reading.diagnostics, *translated.diagnostics, *problems]
    for document in documents.documents:
        if id(document) not in invalid:
            declaration, found = own_documents.read(document)
            diagnostics += found
            declarations += [declaration] if declaration else []
    if reading.parameters:
        known = [openshift.with_unknown(one, reading.parameters) for one in declarations]
        declarations = [one for one in known if isinstance(one, ConnectorDeclaration)]
        diagnostics += [one for one in known if isinstance(one, Diagnostic)]
    return replace(reading, declarations=tuple(declarations), diagnostics=Diagnostics.of(diagnostics))


def _size(declaration: ConnectorDeclaration) -> int:
    texts = [*declaration.config.items(), *declaration.unknown.items(), *declaration.annotations.items()]
    return len(declaration.name) + sum(len(key) + len(value) for key, value in texts)


def _too_large(declaration: ConnectorDeclaration) -> Diagnostic:
    summary = f"the connector has {_size(declaration):,} characters, expected at most {_MAX_CONFIG:,}"
    return Diagnostic(Severity.ERROR, "document/too-large", summary, declaration.location)


def _unique(declarations: Iterable[ConnectorDeclaration]) -> tuple[list[ConnectorDeclaration], list[Diagnostic]]:
    """The connectors that are declared once, and an error at each place of every other connector."""
    by_name: Mapping[tuple[object, str], list[ConnectorDeclaration]] = defaultdict(list)
    for one in declarations:
        by_name[one.cluster, one.name].append(one)
    problems = []
    for same in by_name.values():
        for one in same if len(same) > 1 else ():
            others = [str(other.location) for other in same[: _SHOWN + 1] if other is not one][:_SHOWN]
            more = f" and {len(same) - 1 - _SHOWN:,} more" if len(same) - 1 > _SHOWN else ""
            where = f" of cluster {one.cluster}" if one.cluster else ""
            summary = f"connector {shortened(one.name)}{where} is declared more than once"
            summary += f": also at {', '.join(others)}{more}"
            hint = "keep one of them, or convert the files of each cluster with its own --cluster"
            rule = "convert/same-connector"
            problems.append(Diagnostic(Severity.ERROR, rule, summary, one.location, hint, one.name))
    return [same[0] for same in by_name.values() if len(same) == 1], problems
