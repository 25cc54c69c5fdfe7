"""The manifest that a command line names: a file, a directory or a glob, with the same meaning as in a document."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.documents.manifest_paths import SUFFIXES, directory_of, is_glob, is_manifest
from gitops_connect.documents.offset_changes import ManifestFiles, NoManifest
from gitops_connect.errors import UsageError
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ConnectorName
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.manifest_parser import MAX_SIZE
from gitops_connect.safe_files import open_regular

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TOO_LARGE = "manifest/too-large"


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """The files of one manifest, at least one: `shown` for outputs, `paths`, and `size` in bytes of all files."""

    shown: str
    paths: tuple[Path, ...]
    size: int

    @property
    def are_certainly_large(self) -> bool:
        """Whether their names and sizes alone show that they are too large for this process."""
        if not all(is_manifest(path.name) for path in self.paths):
            return False
        return self.size > MAX_SIZE or any(path.suffix.lower() == ".parquet" for path in self.paths)

    def read(self) -> Manifest | None:
        """The parsed manifest; None if it is too large for this process. Raises UsageError if a file cannot be read."""
        manifest = manifest_parser.parse_all(_blob(path) for path in self.paths)
        is_too_large = any(fault.rule == _TOO_LARGE for fault in manifest.faults)
        return None if is_too_large and all(is_manifest(path.name) for path in self.paths) else manifest


def find_manifest(path: Path, connector: ConnectorName) -> GivenFiles:
    """The manifest files at that path, which has the same meaning as in a document (`desired.manifest_files`).

    Raises UsageError if there are no manifest files, or if they cannot be read.
    """
    text = path.as_posix()
    try:
        if path.is_file():
            return _given(text, [path])
        if path.is_dir():
            return _given(text, list(_found(path, "", connector)))
        if is_glob(text):
            directory = directory_of(text)
            below = Path(directory or ("/" if text.startswith("/") else "."))
            return _given(text, list(_found(below, text.removeprefix(directory).lstrip("/"), connector)))
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
    if _URI.match(text):
        raise UsageError(f"{path} is not a local file; to check the manifest at a uri, run `gitops-connect plan`")
    reason = "it is neither a file nor a directory" if path.exists() else "no such file or directory"
    raise UsageError(f"cannot read the manifest {path}: {reason}")


def _found(directory: Path, pattern: str, connector: ConnectorName) -> Iterator[Path]:
    """The files that a document in this directory would find, if the directory were the repository's root."""
    entries = [Entry(path.relative_to(directory).as_posix(), "", None) for path in _files_below(directory)]
    matching = ManifestFiles(entries).find(pattern, "", connector)
    if isinstance(matching, NoManifest):
        raise UsageError(_nothing(directory, pattern, connector))
    yield from (directory / entry.path for entry in matching)


def _nothing(directory: Path, pattern: str, connector: ConnectorName) -> str:
    if not pattern and next(directory.glob("*.json"), None) is not None:
        return (
            f"the directory {directory} has no {connector.replace('->', '--')}.json, and its other .json files may"
            f" belong to other connectors; to use all of them, give the glob {(directory / '*.json').as_posix()!r}"
        )
    found = (
        f"matches {(directory / pattern).as_posix()!r}" if pattern else f"is in the directory {directory.as_posix()!r}"
    )
    known = f"use one of the suffixes {', '.join(SUFFIXES)}; files whose names begin with _ or . are ignored"
    return f"no offset manifest {found}; {known}"


def _files_below(directory: Path) -> Iterator[Path]:
    for place, _, names in os.walk(directory):
        yield from (Path(place) / name for name in names)


def _given(shown: str, paths: list[Path]) -> GivenFiles:
    sizes = [path.stat().st_size for path in paths]
    for path, size in zip(paths, sizes, strict=True):
        if size > MAX_SIZE:
            _refuse_holes(path, size)
    return GivenFiles(shown, tuple(paths), sum(sizes))


def _refuse_holes(path: Path, size: int) -> None:
    """Raise UsageError for a sparse file: it needs no space on its writer's disk, and reading it could take days."""
    with open_regular(path) as stream:
        begin = os.lseek(stream.fileno(), 0, os.SEEK_HOLE)
    if begin < size:
        text = f"the file is sparse: {size:,} bytes with a hole at byte {begin:,}; an offset manifest has no holes"
        raise UsageError(f"cannot read the manifest {path}: {text}")


def _blob(path: Path) -> Blob:
    """The file's content. At most one byte more than the allowed size is read."""
    try:
        with open_regular(path) as stream:
            return Blob(path.as_posix(), "", stream.read(MAX_SIZE + 1))
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
