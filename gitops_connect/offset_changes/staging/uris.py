"""Checks a manifest's URI with the SHA-256 that was reviewed: exactly the reviewed content is applied."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from gitops_connect.desired.manifests.formats import SUFFIXES, is_manifest, suffix_of
from gitops_connect.errors import SparkFailed
from gitops_connect.model.copies import CopiedFile, Copy
from gitops_connect.model.desired import ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.globs import Glob, folder_of, is_glob, is_hidden
from gitops_connect.model.large_manifests import LargeFile
from gitops_connect.model.names import ConnectorName
from gitops_connect.offset_changes.staging import local
from gitops_connect.offset_changes.staging.files import secure, take
from gitops_connect.offset_changes.staging.store import Store

UNREAD = "offsets/uri"
MISMATCH = "offsets/sha256"
_NAMED = 5
"""The number of files that are named individually in a command."""


def is_local(manifest: ManifestUri) -> bool:
    """Whether this process reads the URI itself, without Spark."""
    return manifest.uri.startswith("file:")


def plain_uri(manifest: ManifestUri) -> str:
    """The URI that is read: without steps up, without repeated slashes, and `file:` without an empty host."""
    place = _Place.of(manifest)
    return f"{'file:' if is_local(manifest) else place.root}{place.path}"


def uri_key(manifest: ManifestUri) -> str:
    """The key of the content at the URI: its digest, and a hash of the URI, whose names determine the format."""
    return f"{manifest.sha256}-{hashlib.sha256(manifest.uri.encode()).hexdigest()[:16]}"


def stage_uri(
    store: Store, manifest: ManifestUri, connector: ConnectorName, copy: Copy
) -> tuple[LargeFile, ...] | Diagnostic:
    """The files at that URI, in the order of their names; or a diagnostic if they cannot be used.

    `copy` is Spark's; it is not called for `file:`, nor for content in the store. Its SparkFailed becomes a diagnostic:
    a URI that cannot be read must not block others. Raises OSError for the store.
    """
    kept = store.kept(uri_key(manifest))
    if kept:
        return kept
    try:
        return store.keep(uri_key(manifest), lambda folder: _filled(_Place.of(manifest), manifest, copy, folder))
    except _NotTaken as error:
        return Diagnostic(Severity.ERROR, error.rule, str(error), manifest.location, error.hint, connector)


class _NotTaken(Exception):
    def __init__(self, rule: str, summary: str, hint: str) -> None:
        super().__init__(summary)
        self.rule = rule
        self.hint = hint


def _filled(place: _Place, manifest: ManifestUri, copy: Copy, folder: Path) -> list[LargeFile]:
    copies = folder / "copies"
    copies.mkdir()
    try:
        copied = (local.copy if is_local(manifest) else copy)(place.looked_at, place.takes, str(copies))
    except (SparkFailed, OSError) as error:
        hint = "check that it exists, and that this program may read it"
        raise _NotTaken(UNREAD, f"the offset manifest at {place.uri} cannot be read: {_reason(error)}", hint) from error
    if not copied:
        suffixes = ", ".join(SUFFIXES)
        hint = f"use one of the suffixes {suffixes}; names that begin with _ or . are skipped"
        raise _NotTaken(UNREAD, f"there is no offset manifest at {place.uri}", hint)
    found = place.digest(copied)
    if found != manifest.sha256:
        content = "files" if place.are_several(copied) else "file"
        summary = f"the SHA-256 of the {content} at the URI is {found}, expected {manifest.sha256} (reviewed)"
        raise _NotTaken(
            MISMATCH,
            summary,
            f"if this content is intended, set this sha256; to compute it from a copy, run: {place.command(copied)}",
        )
    files = []
    for number, one in enumerate(place.in_order(copied)):
        own = folder / f"{number}"
        own.mkdir()
        with Path(one.file).open("rb") as stream:
            secure(stream)
        files.append(take(place.shown(one), Path(one.file), own))
    copies.rmdir()
    return files


@dataclass(frozen=True, slots=True)
class _Place:
    """The parts of a URI: the part before the path (`s3a://bucket`), and the path."""

    uri: str
    root: str
    path: str

    @staticmethod
    def of(manifest: ManifestUri) -> _Place:
        scheme, _, rest = manifest.uri.partition(":")
        host, _, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        root = f"{scheme}://{host}" if rest.startswith("//") else f"{scheme}:"
        return _Place(manifest.uri, root, os.path.normpath("/" + path.lstrip("/")))

    @property
    def looked_at(self) -> str:
        """The URI for the copy: `**` means nothing to Spark, and braces mean nothing in manifest URIs."""
        path = folder_of(self.path) if "**" in self.path else self.path
        return self.root + "".join(
            f"\\{one}" if one in "{}" and not self.root.startswith("file:") else one for one in path
        )

    def takes(self, path: str) -> bool:
        if path == self.path:
            return True
        if is_glob(self.path):
            return Glob(self.path).matches(path) and is_manifest(path)
        return not is_hidden(self._name(path)) and is_manifest(path)

    def are_several(self, copied: Sequence[CopiedFile]) -> bool:
        """Whether the URI names a directory or a glob, even with a single file."""
        return [one.path for one in copied] != [self.path]

    def in_order(self, copied: Sequence[CopiedFile]) -> list[CopiedFile]:
        """The files in the order of sort(1) in the C locale."""
        return sorted(copied, key=lambda one: os.fsencode(self._name(one.path)))

    def digest(self, copied: Sequence[CopiedFile]) -> str:
        """The SHA-256 of the file, or of the output of sha256sum(1) for a directory or a glob."""
        if not self.are_several(copied):
            return copied[0].sha256
        digest = hashlib.sha256()
        for one in self.in_order(copied):
            name = self._name(one.path)
            escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
            digest.update(os.fsencode(f"{'' if escaped == name else chr(92)}{one.sha256}  {escaped}\n"))
        return digest.hexdigest()

    def command(self, copied: Sequence[CopiedFile]) -> str:
        """The command that computes the digest of a local copy of the files."""
        if not self.are_several(copied):
            return f"sha256sum {quote(self.path)}"
        folder = f"cd {quote(self._folder or '/')}"
        names = [self._name(one.path) for one in self.in_order(copied)]
        if len(names) <= _NAMED:
            return f"{folder} && sha256sum {' '.join(map(quote, names))} | sha256sum"
        if is_glob(self.path) and "**" not in self.path:
            listed = f"printf '%s\\0' {self._pattern}"
        else:
            suffixes = sorted({suffix_of(name) for name in names})
            wanted = " -o ".join(f"-iname '*{suffix}'" for suffix in suffixes)
            listed = f"find . -type f ! -path '*/[._]*' \\( {wanted} \\) -printf '%P\\0'"
        return f"{folder} && {listed} | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"

    def shown(self, one: CopiedFile) -> str:
        """The file as messages name it."""
        return f"{self.root}{one.path}"

    @property
    def _folder(self) -> str:
        return folder_of(self.path) if is_glob(self.path) else self.path

    @property
    def _pattern(self) -> str:
        return self.path[len(self._folder) + 1 :]

    def _name(self, path: str) -> str:
        """The path relative to the directory."""
        return path[len(self._folder.rstrip("/")) + 1 :]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror} ({error.filename})" if error.filename else error.strerror
    return str(error)
