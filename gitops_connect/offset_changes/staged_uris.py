"""Checks a manifest's URI with the SHA-256 that was reviewed: exactly the reviewed content is applied."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote
from uuid import uuid4

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
from gitops_connect.model.desired import ManifestUri
from gitops_connect.model.manifests import LargeFile
from gitops_connect.offset_changes.staged_files import Store, secure, stage_file
from gitops_connect.safe_files import open_regular
from gitops_connect.settings.own import is_protected
from gitops_connect.spark.file_copy import CopiedFile

_UNREADABLE = "offsets/uri"
_MISMATCH = "offsets/sha256"
_NAMED = 5
"""The number of files that are named individually in a command."""


Copy = Callable[[str, Callable[[str], bool], str], Sequence[CopiedFile]]
"""Copies the files at a URI.

The arguments are the URI of a file, of a directory with everything below it, or a glob; a function that says whether a
path is copied; and the directory for the copies. The result is empty if there are no such files.
"""


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
            _MISMATCH,
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
        """The path relative to the directory."""
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
