"""Manifests too large to be held in memory: where their files are, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.names import Digest
from gitops_connect.model.operations import OperationKind


class LineFault(NamedTuple):
    """A place where no entry could be read: the id of the rule, what was found, and line and column from 1."""

    rule: str
    found: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class LargeFile:
    """A file of entries, one a line, or Parquet: `name` as it is shown, `path` where every executor can open it.

    The end of the path says what it is: `.parquet`, and else how the lines are compressed: `.gz`, `.zst`, or not at
    all. A file of another format was rewritten as lines: `places` is then a file that holds for each of them where its
    entry stands under `name` (line and column, two 32-bit numbers, little-endian), and `faults` where there was none.
    """

    name: str
    path: str
    places: str | None = None
    faults: tuple[LineFault, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedOffsets:
    """The offsets of a connector that are too many to be held: a file with an entry a line, as Connect has them.

    `size` is in bytes. `digest` is that of the file's content.
    """

    path: str
    entries: int
    size: int
    digest: Digest


@dataclass(frozen=True, slots=True)
class LargePatch:
    """What is to be sent: files in their order, with an entry a line, canonical, each partition once.

    `size` is in bytes, line feeds included.
    """

    files: tuple[str, ...]
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class LargeManifest:
    """One manifest, in one file or several, and what it is held against.

    `live` is a file with the offsets that stand, an entry a line, in place of `context.live`. None: not known.
    `is_judged` is False for what Connect or this program has written: that is only compared.
    """

    location: Location
    files: tuple[LargeFile, ...]
    context: ManifestContext
    kind: OperationKind
    live: LargeFile | None = None
    is_judged: bool = True


class LinesRead(NamedTuple):
    """What the strict reader makes of a text: values with their line and column, and where there are none."""

    entries: Sequence[tuple[Any, int, int]]
    faults: Sequence[LineFault]


@dataclass(frozen=True, slots=True)
class LargeVerdict:
    """What is wrong, and what the manifest would change: as the `ManifestVerdict` of a small one, but for its offsets.

    `entries` could be read, `partitions` of them are different ones; as lines they have about `size` bytes.
    `difference` counts and sums up all moves and has the largest of each direction; it is None where an error holds the
    manifest up, or nothing live is known.
    `distribution` has, of each direction with distances, how many are in [1, 10), [10, 100), and so on. `patch` is what
    is to be sent, where that was asked for and nothing holds it up.
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
