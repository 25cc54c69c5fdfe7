"""Finds and reads the files that `convert` gets, and reports what declares no connector."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path

from gitops_connect.checks import document_schemas
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.errors import UsageError
from gitops_connect.exchange.declarations import BodyFile, ConnectorDeclaration, FileFormat, FileReading
from gitops_connect.exchange.kustomized_files import without_built
from gitops_connect.exchange.readers import own_documents, reader
from gitops_connect.exchange.readers.reading import MAX_CONNECTORS, MAX_KEYS, NO_CONNECTOR
from gitops_connect.exchange.readers.unknown_values import MARK, expression_of, without_marks
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.report.printable import shortened
from gitops_connect.safe_files import open_regular

STDIN = Path("-")
_SHOWN = 3
_START = 8192
"""Bytes of which one is zero in a binary file, as Git decides it."""
_MAX_MENTIONS = 100
"""Skipped files that are listed. The others are only counted."""
_CONVERT_TOO = "convert that file, too"
_MAX_CONFIG = 1024 * 1024
"""Characters of one connector: a worker stores a config in one record, which by default has at most 1 MiB."""


@dataclass(frozen=True, slots=True)
class FileConnectors:
    """The connectors of all files, each once, and all problems. `files` counts the files that were read.

    `without` counts those that declare no connector, and `skipped` the files that were not read, by their suffix.
    """

    connectors: tuple[ConnectorDeclaration, ...]
    diagnostics: Diagnostics
    files: int
    without: Counter[str]
    skipped: Counter[str]


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
    files = _Files(forced, cluster, strimzi)
    for path in paths:
        files.read(path, out)
    declared = files.found
    found = [one if cluster is None else replace(one, cluster=cluster) for one in declared if _size(one) <= _MAX_CONFIG]
    too_large = [_too_large(one) for one in declared if _size(one) > _MAX_CONFIG]
    unique, repeated = _unique(found)
    problems = Diagnostics.of([*files.problems, *too_large, *repeated])
    return FileConnectors(tuple(unique), problems, files.count, files.without, files.skipped)


@dataclass(slots=True)
class _Files:
    """Reads files, and collects what they declare."""

    forced: FileFormat | None
    cluster: ClusterName | None
    strimzi: StrimziOptions
    found: list[ConnectorDeclaration] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    count: int = 0
    without: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    _connectors: int = 0
    _keys: int = 0
    _mentions: int = 0

    def read(self, path: Path, out: Path | None) -> None:
        """Read the file, or the directory with everything below it."""
        if path == STDIN or not path.is_dir():
            blob = _blob(path, path)
            readings, others = {path: [self._read(blob, "")]}, list[Path]()
        else:
            files, not_built = without_built(path, list(_files(path, out)))
            self.problems += not_built
            readings = {file: [self._read_found(file)] for file in files if file.name.endswith(reader.SUFFIXES)}
            others = [file for file in files if file not in readings]
        sent = self._sent(path, readings)
        for replaced in (one for file in sent for one in readings.get(file, ())):
            self._add_count(replaced, -1)
        readings |= sent
        if path in readings and not any(one.recognized for found in readings.values() for one in found):
            summary = "the file declares no connector, in any of the formats"
            self.problems.append(Diagnostic(Severity.ERROR, NO_CONNECTOR, summary, Location(str(path))))
        for file in others:
            if file not in readings:
                self._skip(file)
        for file, found in sorted(readings.items()):
            self._collect(file, found)

    def _collect(self, file: Path, found: Sequence[FileReading]) -> None:
        self.count += 1
        self.without[file.suffix or file.name] += not any(one.recognized or one.files for one in found)
        for one in found:
            self.found += one.declarations
            self.problems += one.diagnostics

    def _read_found(self, file: Path) -> FileReading:
        """Read a file of a directory. If it mentions a connector and has none, this is a warning."""
        blob = _blob(file, file)
        return _with_mention(self._read(blob, ""), blob)

    def _read(self, blob: Blob, name: str) -> FileReading:
        reading = _with_documents(reader.read(blob, self.forced, name), self.cluster, self.strimzi)
        reading = replace(without_marks(reading, has_cluster=self.cluster is not None), documents=(), resources=())
        self._add_count(reading, 1)
        return reading

    def _add_count(self, reading: FileReading, sign: int) -> None:
        self._connectors += sign * len(reading.declarations)
        self._keys += sign * sum(len(one.config) for one in reading.declarations)
        if self._connectors > MAX_CONNECTORS or self._keys > MAX_KEYS:
            limit = f"more than {MAX_CONNECTORS:,} connectors or {MAX_KEYS:,} config keys at a time"
            raise UsageError(f"cannot convert {limit}; convert the files in several parts")

    def _sent(self, path: Path, readings: Mapping[Path, Sequence[FileReading]]) -> Mapping[Path, list[FileReading]]:
        """The files that scripts send, as in `curl -d @orders.json`: each once for each name in a URL.

        Only files in the directory that is converted, or in that of the script, are read.
        """
        root = path if path.is_dir() else path.parent
        sent = [(script, body) for script, found in readings.items() for one in found for body in one.files]
        known = {file.resolve(): file for file in readings} if sent else {}
        names: dict[Path, set[str]] = defaultdict(set)
        for script, body in sent:
            file = None if script == STDIN else _sent_file(body, script.parent, root)
            if file is None:
                shown = shortened(expression_of(body.path))
                summary = f"the file {shown} that the script sends is not in its directory: it is not read"
                problem = Diagnostic(Severity.WARNING, "convert/body-file", summary, body.location, _CONVERT_TOO)
                self.problems.append(problem)
            elif body.name or file.resolve() not in known:
                names[known.get(file.resolve(), file)].add(body.name)
        size, found = 0, defaultdict[Path, list[FileReading]](list)
        for file, each in names.items():
            for name in sorted(each - {""} or each):
                blob = _blob(file.resolve(), file)
                size += len(blob.content)
                if size > MAX_SIZE:
                    raise UsageError("the files that the scripts send are larger than 10 MiB; convert them separately")
                found[file].append(self._read(blob, name))
        return found

    def _skip(self, file: Path) -> None:
        """Count a file with another suffix. A text that mentions a connector is a warning."""
        suffix = file.suffix or file.name
        self.skipped[suffix] += 1
        try:
            with open_regular(file, follow=False) as stream:
                start = stream.read(_START)
                content = b"" if b"\0" in start else start + stream.read(MAX_SIZE - len(start))
        except PermissionError as error:
            found, line = f"the file cannot be read: {error.strerror}", 1
        except OSError:  # a link, or no regular file
            return
        else:
            mention = reader.mention(content)
            if mention is None:
                return
            found, line = f"the file contains {mention.text!r}, and {suffix} is not read in a directory", mention.line
        self._mentions += 1
        if self._mentions <= _MAX_MENTIONS:
            where = Location(file.as_posix(), line)
            hint = "name the file itself, or import the connector from its cluster"
            self.problems.append(Diagnostic(Severity.WARNING, NO_CONNECTOR, f"{found}: it is skipped", where, hint))
        elif self._mentions == _MAX_MENTIONS + 1:
            summary = f"more than {_MAX_MENTIONS} skipped files contain connectors: the others are not listed"
            self.problems.append(Diagnostic(Severity.WARNING, NO_CONNECTOR, summary, Location(file.as_posix())))


def _with_mention(reading: FileReading, blob: Blob) -> FileReading:
    """The reading with a warning, if nothing was read from a file that mentions a connector."""
    mention = None if reading.recognized else reader.mention(blob.content)
    if mention is None or any(one.severity is not Severity.NOTE for one in reading.diagnostics):
        return reading
    why = next((one.summary for one in reading.diagnostics), "it declares no connector")
    summary = f"the file contains {mention.text!r}, and is not converted: {why}"
    problem = Diagnostic(Severity.WARNING, NO_CONNECTOR, summary, Location(blob.path, mention.line))
    return replace(reading, diagnostics=Diagnostics.of([problem]))


def _sent_file(body: BodyFile, directory: Path, root: Path) -> Path | None:
    """The file that a script sends, if it is in one of the directories. `$DIR/` at its begin is one of them."""
    found = MARK.match(body.path)
    path = body.path[found.end() :].lstrip("/") if found else body.path
    if MARK.search(path) or not path:
        return None
    for base in (directory, root):
        file = Path(os.path.normpath(base / path))
        try:
            resolved = file.resolve()
            inside = any(resolved.is_relative_to(one.resolve()) for one in (directory, root))
            if inside and resolved.is_file():
                return file
        except (OSError, ValueError):  # a loop of links, or a character that no path has
            continue
    return None


def _files(path: Path, out: Path | None) -> Iterator[Path]:
    """The files of the directory and below, sorted. Not the hidden ones."""
    found: list[Path] = []
    for directory, directories, names in os.walk(path, onerror=_refuse):
        here = Path(directory)
        directories[:] = [name for name in directories if not name.startswith(".") and here / name != out]
        found += (here / name for name in names if name[0] != ".")
    yield from sorted(found)


def _refuse(error: OSError) -> None:
    raise UsageError(f"cannot read the directory {error.filename}: {error.strerror}") from error


def _blob(path: Path, shown: Path) -> Blob:
    """The file's content. At most one byte more than the allowed size is read. `shown` is its path in messages."""
    try:
        if path == STDIN:
            return Blob(str(STDIN), "", sys.stdin.buffer.read(MAX_SIZE + 1))
        with open_regular(path) as stream:
            return Blob(shown.as_posix(), "", stream.read(MAX_SIZE + 1))
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
