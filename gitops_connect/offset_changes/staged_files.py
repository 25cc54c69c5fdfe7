"""Manifests as files that Spark can open: unchanged if the engine reads their format, else as lines with places.

Staged files are kept under the digest of their content, so that later reconciliations need not copy them again. A
manifest in memory can become files, and staged files that turn out to be small become a manifest in memory.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import IO, Any
from uuid import uuid4

from gitops_connect.connect.unreadable import TOO_LARGE, Place, Unreadable
from gitops_connect.documents.manifest_paths import (
    SUFFIXES,
    Glob,
    directory_of,
    is_glob,
    is_hidden,
    is_manifest,
    suffix_of,
)
from gitops_connect.errors import SparkFailed
from gitops_connect.model.desired import DesiredOffsetChange, ManifestUri
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import LargeFile, LineFault, Manifest, ManifestEntry, ManifestFault, SavedOffsets
from gitops_connect.model.offsets import Offsets
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.content import Faults
from gitops_connect.offsets.formats.field_places import LinePlaces, is_json
from gitops_connect.offsets.formats.manifest_parser import Line
from gitops_connect.safe_files import locked_file, make_private, open_regular
from gitops_connect.settings.own import is_protected
from gitops_connect.spark.file_copy import CopiedFile

Copy = Callable[[str, Callable[[str], bool], str], Sequence[CopiedFile]]
"""Copies the files at a URI.

The arguments are the URI of a file, of a directory with everything below it, or a glob; a function that says whether a
path is copied; and the directory for the copies. The result is empty if there are no such files.
"""

KEPT_FOR = 7 * 24 * 3600.0
"""Seconds since the last use."""
_LISTING = "listing.json"
_LOCK = "lock"
_PLACE = struct.Struct("<II")
_HIGHEST = 2**32 - 1


@contextmanager
def opened(directory: Path) -> Iterator[Store]:
    """The store in that directory; nothing is removed from it meanwhile. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    make_private(directory)
    with locked_file(directory / _LOCK, fcntl.LOCK_SH):
        yield Store(directory)


def remove_unused(directory: Path) -> None:
    """Remove content that was not used for a week; do nothing if a process is using the store. Raises OSError.

    While this process has the store `opened`, this removes nothing, because the process's own lock is in the way.
    """
    if not directory.is_dir():
        return
    try:
        with locked_file(directory / _LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for kept in directory.iterdir():
                if kept.is_dir() and time.time() - kept.stat().st_mtime > KEPT_FOR:
                    shutil.rmtree(kept)
    except BlockingIOError:
        return


def blob_key(entry: Entry) -> str:
    """The key of a file of the repository: its content, and the format that its name indicates."""
    try:
        return f"{entry.blob_id}{suffix_of(entry.path)}"
    except Unreadable:
        return entry.blob_id


class Store:
    """A store of directories, each complete as soon as it has its name."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def blob(self, entry: Entry, chunks: Iterable[bytes]) -> LargeFile:
        """A file of the repository. The chunks are only read if the file is not in the store.

        Errors of the chunks are passed on, and then nothing is stored. Raises OSError.
        """
        key = blob_key(entry)
        (file,) = self.kept(key) or self.keep(key, lambda directory: [stage(entry.path, chunks, directory)])
        return replace(file, name=entry.path)

    def kept(self, key: str) -> tuple[LargeFile, ...]:
        """The files under that key; empty if there are none."""
        directory = self._directory / key
        try:
            listing = json.loads((directory / _LISTING).read_text())
        except FileNotFoundError:
            return ()
        os.utime(directory)
        files = (LargeFile(**{**one, "faults": tuple(LineFault(*fault) for fault in one["faults"])}) for one in listing)
        return tuple(_moved(file, Path(), directory) for file in files)

    def keep(self, key: str, fill: Callable[[Path], Sequence[LargeFile]]) -> tuple[LargeFile, ...]:
        """Store what `fill` writes to an empty directory, all or nothing. Errors of `fill` are passed on.

        Raises OSError.
        """
        partial = self._directory / f"{key}.{secrets.token_hex(4)}.partial"
        partial.mkdir()
        try:
            files = fill(partial)
            with (partial / _LISTING).open("w") as stream:
                json.dump([asdict(_moved(file, partial, Path())) for file in files], stream)
                secure(stream)
            try:
                partial.rename(self._directory / key)
            except OSError:
                if not (self._directory / key).is_dir():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return self.kept(key)


def _moved(file: LargeFile, source: Path, target: Path) -> LargeFile:
    places = None if file.places is None else str(target / Path(file.places).relative_to(source))
    return replace(file, path=str(target / Path(file.path).relative_to(source)), places=places)


def stage(name: str, chunks: Iterable[bytes], directory: Path) -> LargeFile:
    """Stage the file of that name from its bytes. The directory must exist and be empty.

    At most a few MiB are in memory. Errors of `chunks` are passed on. Raises OSError.
    """
    raw = directory / "raw"
    with raw.open("wb") as stream:
        stream.writelines(chunks)
        secure(stream)
    return stage_file(name, raw, directory)


def stage_file(name: str, raw: Path, directory: Path) -> LargeFile:
    """Stage a file that is already in the directory; `raw` is moved or deleted. Raises OSError."""
    try:
        is_unchanged = manifest_parser.is_staged_as_it_is(name)
    except Unreadable:
        is_unchanged = False
    if is_unchanged:
        path = directory / f"content{suffix_of(name)}"
        raw.rename(path)
        return LargeFile(name, str(path))
    path, places = directory / "content.jsonl", directory / "content.places"
    faults = _convert(name, raw, path, places)
    raw.unlink()
    return LargeFile(name, str(path), str(places), faults)


def _convert(name: str, raw: Path, path: Path, places: Path) -> tuple[LineFault, ...]:
    faults = Faults()
    with raw.open("rb") as stream, path.open("wb") as text_stream, places.open("wb") as places_stream:
        try:
            write_lines(manifest_parser.lines(name, _Content(stream), faults), text_stream, places_stream)
        except manifest_parser.NoText as error:
            text_stream.truncate(0)
            places_stream.truncate(0)
            return (error.fault,)
        secure(text_stream)
        secure(places_stream)
    return tuple(fault for _, fault in faults.listed)


class _Content:
    """A file that is read by slices. If it were mapped into memory, all of it would count as this process's memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._descriptor = stream.fileno()
        self._size = os.fstat(self._descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        return os.pread(self._descriptor, max(stop - start, 0), start)


def write_lines(lines: Iterable[Line], text: IO[bytes], places: IO[bytes]) -> None:
    """Write the entries to `text`, one a line, and their places to `places`."""
    for line, place in lines:
        text.write(line.encode() + b"\n")
        places.write(pack_place(*place))


def pack_place(line: int, column: int) -> bytes:
    """A place in a file of places: two 32-bit numbers, little-endian; higher ones are cut."""
    return _PLACE.pack(min(line, _HIGHEST), min(column, _HIGHEST))


def unpack_places(content: bytes) -> list[tuple[int, int]]:
    return list(_PLACE.iter_unpack(content))


def secure(stream: IO[Any]) -> None:
    """Write the file to the disk before its directory gets its name: a power failure must not leave a partial file."""
    stream.flush()
    os.fsync(stream.fileno())


def read_small(files: Sequence[LargeFile]) -> Manifest | None:
    """The manifest in staged files; None if they are too large for this process, or Parquet. Raises OSError."""
    if sum(Path(file.path).stat().st_size for file in files) > manifest_parser.MAX_SIZE:
        return None
    parts = [
        manifest_parser.parse(Blob(file.name, "", Path(file.path).read_bytes()))
        if file.places is None
        else _read_lines(file, unpack_places(Path(file.places).read_bytes()))
        for file in files
    ]
    entries = tuple(entry for part in parts for entry in part.entries)
    faults = tuple(fault for part in parts for fault in part.faults)
    if len(entries) > manifest_parser.MAX_ENTRIES or any(fault.rule == TOO_LARGE for fault in faults):
        return None
    return Manifest(parts[0].location, entries, faults)


def _read_lines(file: LargeFile, places: Sequence[tuple[int, int]]) -> Manifest:
    """The manifest in a file of lines, with the place of each line in the original file."""
    text = Path(file.path).read_bytes().decode()
    read = manifest_parser.read_lines(text)
    fields = LinePlaces(dict(zip(places, text.split("\n"), strict=False))) if is_json(file.name) else None
    entries = (ManifestEntry(value, Location(file.name, *places[line - 1]), fields) for value, line, _ in read.entries)
    faults = [ManifestFault(one.rule, one.found, Location(file.name, one.line, one.column)) for one in file.faults]
    faults += [ManifestFault(one.rule, one.found, Location(file.name, *places[one.line - 1])) for one in read.faults]
    return Manifest(Location(file.name), tuple(entries), tuple(faults))


def large_manifest(
    offset_change: DesiredOffsetChange, manifest: Manifest | tuple[LargeFile, ...], context: ManifestContext, path: Path
) -> LargeManifest:
    """The manifest of an offset change, without current offsets.

    `path` is the beginning of the names of the files that are written. Raises OSError.
    """
    if not isinstance(manifest, Manifest):
        return LargeManifest(offset_change.locate("manifest"), manifest, context, offset_change.kind)
    everything: list[ManifestEntry | ManifestFault] = [*manifest.entries, *manifest.faults]
    everything.sort(key=lambda one: one.location.file)
    by_file = groupby(everything, key=lambda one: one.location.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    files = (_written(name, list(found), f"{path}.{number}") for number, (name, found) in enumerate(by_file))
    return LargeManifest(manifest.location, tuple(files), context, offset_change.kind)


def offsets_file(current: Offsets | SavedOffsets, path: Path) -> LargeFile:
    """The file of the current offsets; `path` is written if they are in memory. Raises OSError."""
    if isinstance(current, SavedOffsets):
        return current.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f'{{"partition":{one},"offset":{offset}}}\n' for one, offset in current.items())
    return LargeFile("the current offsets", str(path))


def _written(name: str, found: list[ManifestEntry | ManifestFault], path: str) -> LargeFile:
    text, places = Path(f"{path}.jsonl"), Path(f"{path}.places")
    with text.open("wb") as lines, places.open("wb") as positions:
        write_lines((_line(one) for one in found if isinstance(one, ManifestEntry)), lines, positions)
    faults = (one for one in found if isinstance(one, ManifestFault))
    located = tuple(LineFault(one.rule, one.found, one.location.line, one.location.column) for one in faults)
    return LargeFile(name, str(text), str(places), located)


def _line(entry: ManifestEntry) -> Line:
    place = Place(entry.location.line, entry.location.column)
    if entry.places is not None:
        return entry.places.line(place, entry.value), place
    # Leading whitespace marks a line of a JSON file whose fields have other places in that file.
    return f"{' ' if is_json(entry.location.file) else ''}{json.dumps(entry.value)}", place


# Manifests at a URI, checked with the SHA-256 that was reviewed: exactly the reviewed content is applied.

_UNREADABLE = "offsets/uri"
_NAMED = 5
"""The number of files that are named individually in a command."""


class UriRefused(Exception):
    """The content at a URI cannot be used: the rule, and what to do."""

    def __init__(self, rule: str, summary: str, hint: str) -> None:
        super().__init__(summary)
        self.rule = rule
        self.hint = hint


def require_allowed(manifest: ManifestUri, allowed: Sequence[str]) -> None:
    """Raise UriRefused if none of the patterns allows the URI.

    It is compared without steps up, without repeated slashes, and without the empty host of `file:`.
    """
    place = _Place.of(manifest)
    if not any(fnmatchcase(f"{'file:' if place.is_local else place.root}{place.path}", pattern) for pattern in allowed):
        hint = 'ask the administrator to allow it with [spark] uris = ["…"], a list of URI patterns'
        raise UriRefused(_UNREADABLE, f"the settings do not allow reading {manifest.uri}", hint)


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Which local files may be read: those that the patterns allow, also after all links, and none of `own`."""

    allowed: Sequence[str]
    own: frozenset[Path]

    def require(self, path: str) -> str:
        """The path without links. Raises OSError if it may not be read."""
        real = os.path.realpath(path)
        patterns = (*self.allowed, *map(_without_links, self.allowed))
        if not any(fnmatchcase(f"file:{real}", pattern) for pattern in patterns):
            raise OSError(f"{path} is a link to a file that [spark] uris does not allow")
        if is_protected(Path(real), self.own):
            raise OSError(f"{path} belongs to gitops-connect or to the system, and is never read for a document")
        return real


def _without_links(pattern: str) -> str:
    """The pattern with its directory, as far as it has no wildcards, without links."""
    path = pattern.removeprefix("file:")
    directory = directory_of(path) if is_glob(path) else path
    return f"file:{os.path.realpath(directory).rstrip('/')}{path[len(directory) :]}" if path[:1] == "/" else pattern


def stage_uri(store: Store, manifest: ManifestUri, copy: Copy, local: LocalFiles) -> tuple[LargeFile, ...]:
    """The files at that URI, in the order of their names. Raises UriRefused, and OSError for the store.

    `copy` is Spark's; it is not called for `file:`, nor for content in the store. Its SparkFailed becomes UriRefused: a
    URI that cannot be read must not block others.
    """
    # The names at the URI determine the format of the content.
    key = f"{manifest.sha256}-{hashlib.sha256(manifest.uri.encode()).hexdigest()[:16]}"
    return store.kept(key) or store.keep(key, lambda directory: _fill(manifest, copy, local, directory))


def _fill(manifest: ManifestUri, copy: Copy, local: LocalFiles, directory: Path) -> list[LargeFile]:
    place = _Place.of(manifest)
    copies = directory / "copies"
    copies.mkdir()
    try:
        unsorted = (
            _copy_local(place, local, copies) if place.is_local else copy(place.to_copy, place.takes, str(copies))
        )
        # The order of sort(1) in the C locale.
        copied = sorted(unsorted, key=lambda one: os.fsencode(place.relative(one.path)))
    except (SparkFailed, OSError) as error:
        hint = "check that it exists, and that this program may read it"
        why = f"the offset manifest at {manifest.uri} cannot be read: {_reason(error)}"
        raise UriRefused(_UNREADABLE, why, hint) from error
    if not copied:
        hint = f"use one of the suffixes {', '.join(SUFFIXES)}; names that begin with _ or . are skipped"
        raise UriRefused(_UNREADABLE, f"there is no offset manifest at {manifest.uri}", hint)
    is_one_file = [one.path for one in copied] == [place.path]
    found = copied[0].sha256 if is_one_file else _digest({place.relative(one.path): one.sha256 for one in copied})
    if found != manifest.sha256:
        what = "file" if is_one_file else "files"
        command = f"sha256sum {quote(place.path)}" if is_one_file else place.command(copied)
        raise UriRefused(
            "offsets/sha256",
            f"the SHA-256 of the {what} at the URI is {found}, expected {manifest.sha256} (reviewed)",
            f"if this content is intended, set this sha256; to compute it from a copy, run: {command}",
        )
    files = []
    for number, one in enumerate(copied):
        own = directory / f"{number}"
        own.mkdir()
        with Path(one.file).open("rb") as stream:
            secure(stream)
        files.append(stage_file(f"{place.root}{one.path}", Path(one.file), own))
    copies.rmdir()
    return files


def _digest(files: dict[str, str]) -> str:
    """The SHA-256 of the output of sha256sum(1) for these files, with their digests."""
    digest = hashlib.sha256()
    for name, sha256 in files.items():
        escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
        digest.update(os.fsencode(f"{'' if escaped == name else chr(92)}{sha256}  {escaped}\n"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Place:
    """The parts of a URI: the part before the path (`s3a://bucket`), and the path.

    `directory` is the path of a directory, or the part of a glob without wildcards.
    """

    root: str
    path: str
    directory: str

    @staticmethod
    def of(manifest: ManifestUri) -> _Place:
        scheme, _, rest = manifest.uri.partition(":")
        host, _, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        root = f"{scheme}://{host}" if rest.startswith("//") else f"{scheme}:"
        path = os.path.normpath("/" + path.lstrip("/"))
        return _Place(root, path, directory_of(path) if is_glob(path) else path)

    @property
    def is_local(self) -> bool:
        """Whether this process reads the URI itself, without Spark."""
        return self.root.startswith("file:")

    @property
    def to_copy(self) -> str:
        """The URI for the copy: `**` means nothing to Spark, and braces mean nothing in manifest URIs."""
        path = self.directory if "**" in self.path else self.path
        return self.root + path.replace("{", "\\{").replace("}", "\\}")

    def takes(self, path: str) -> bool:
        """Whether the file at that path belongs to the manifest."""
        if path == self.path:
            return True
        if is_glob(self.path):
            return Glob(self.path).matches(path) and is_manifest(path)
        return not is_hidden(self.relative(path)) and is_manifest(path)

    def relative(self, path: str) -> str:
        return path[len(self.directory.rstrip("/")) + 1 :]

    def command(self, copied: Sequence[CopiedFile]) -> str:
        """The command that computes the digest of a local copy of several files."""
        names = [self.relative(one.path) for one in copied]
        directory = f"cd {quote(self.directory or '/')}"
        if len(names) <= _NAMED:
            return f"{directory} && sha256sum {' '.join(map(quote, names))} | sha256sum"
        if is_glob(self.path) and "**" not in self.path:
            listed = f"printf '%s\\0' {self.path[len(self.directory) + 1 :]}"
        else:
            suffixes = sorted({suffix_of(name) for name in names})
            wanted = " -o ".join(f"-iname '*{suffix}'" for suffix in suffixes)
            listed = f"find . -type f ! -path '*/[._]*' \\( {wanted} \\) -printf '%P\\0'"
        return f"{directory} && {listed} | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror} ({error.filename})" if error.filename else error.strerror
    return str(error)


def _copy_local(place: _Place, local: LocalFiles, directory: Path) -> Iterator[CopiedFile]:
    """Copy local files as Spark copies remote ones. Raises OSError."""
    if place.root not in ("file:", "file://"):
        raise OSError(f"a file: URI must not name a host, found {place.root.removeprefix('file://')!r}")
    exists = os.path.lexists(place.path)
    is_file = exists and not Path(place.path).is_dir()
    paths = [place.path] if is_file else _files_below(place.path if exists else place.directory)
    for path in filter(place.takes, paths):
        copied = directory / uuid4().hex
        with open_regular(local.require(path), follow=False) as source, copied.open("w+b") as target:
            shutil.copyfileobj(source, target)
            target.seek(0)
            yield CopiedFile(path, str(copied), hashlib.file_digest(target, "sha256").hexdigest())


def _files_below(directory: str) -> Iterator[str]:
    def pass_on(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for root, directories, names in os.walk(directory or "/", onerror=pass_on):
        directories[:] = [name for name in directories if not is_hidden(name)]
        yield from (os.path.join(root, name) for name in names if not is_hidden(name))  # noqa: PTH118 - of strings
