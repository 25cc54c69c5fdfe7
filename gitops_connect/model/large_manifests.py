"""Manifests too large for memory: where their files are, and the result of their check."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import Digest
from gitops_connect.model.operations import OperationKind

_PLACE = struct.Struct("<II")
_HIGHEST = 2**32 - 1


class LineFault(NamedTuple):
    """A place without a readable entry: the id of the rule, the value found, and line and column from 1."""

    rule: str
    found: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class LargeFile:
    """A file of entries, one a line, or Parquet: `name` as it is shown, `path` where every executor can open the file.

    The end of the path names the format: `.parquet`, or else the compression of the lines: `.gz`, `.zst`, or none. A
    file of another format was rewritten as lines. Then `places` is a file with the original position of each line's
    entry under `name` (see `pack_place`), and `faults` are the places without a readable entry.
    """

    name: str
    path: str
    places: str | None = None
    faults: tuple[LineFault, ...] = ()


def pack_place(line: int, column: int) -> bytes:
    """A place in a file of places: two 32-bit numbers, little-endian; higher ones are cut."""
    return _PLACE.pack(min(line, _HIGHEST), min(column, _HIGHEST))


def unpack_places(content: bytes) -> list[tuple[int, int]]:
    """The places of the lines, in their order."""
    return list(_PLACE.iter_unpack(content))


@dataclass(frozen=True, slots=True)
class SavedOffsets:
    """The offsets of a connector that are too many for memory: a file with one entry a line, as Connect returns them.

    `size` is in bytes. `digest` is that of the file's content.
    """

    path: str
    entries: int
    size: int
    digest: Digest

    @property
    def file(self) -> LargeFile:
        """The file, to compare a manifest with it."""
        return LargeFile("the current offsets", self.path)


@dataclass(frozen=True, slots=True)
class LargePatch:
    """The offsets to send: files in their order, with one canonical entry a line, and each partition once.

    `size` is in bytes, line feeds included.
    """

    files: tuple[str, ...]
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class LargeManifest:
    """One manifest, in one file or several, and the data with which it is compared.

    `current` is a file with the current offsets, one entry a line; it replaces `context.current`, and is None if the
    current offsets are unknown. `is_checked` is False for files that Connect or gitops-connect has written: they are
    only compared.
    """

    location: Location
    files: tuple[LargeFile, ...]
    context: ManifestContext
    kind: OperationKind
    current: LargeFile | None = None
    is_checked: bool = True


class LinesRead(NamedTuple):
    """The strict parser's result: values with their line and column, and the places without a readable entry."""

    entries: Sequence[tuple[Any, int, int]]
    faults: Sequence[LineFault]


@dataclass(frozen=True, slots=True)
class LargeVerdict:
    """The result of the check of a large manifest: its errors and its effect, without its offsets.

    `entries` counts the entries that could be read, `partitions` the different partitions among them; as lines they
    have about `size` bytes. `difference` has the counts and sums of all moves, and the largest moves of each direction;
    it is None if an error blocks the manifest, or the current offsets are unknown. `distribution` has, for each
    direction with distances, how many are in [1, 10), [10, 100), and so on. `patch` has the offsets to send, if they
    were requested and nothing blocks them.
    """

    entries: int
    partitions: int
    size: int = 0
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    unread: int = 0
    difference: Difference | None = None
    distribution: Mapping[Direction, tuple[int, ...]] = field(default_factory=dict)
    patch: LargePatch | None = None
