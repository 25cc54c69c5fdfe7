"""Manifests too large to be held in memory: where their files are, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.operations import OperationKind


@dataclass(frozen=True, slots=True)
class LargeFile:
    """A file of entries, one a line: `name` as it is shown, `path` where every executor can open it.

    The name's end says how it is compressed: `.gz`, `.zst`, or not at all.
    """

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class LargeManifest:
    """One manifest, in one file or several, and what it is held against.

    `live` is a file with the offsets that stand, an entry a line, in place of `context.live`. None: not known.
    """

    location: Location
    files: tuple[LargeFile, ...]
    context: ManifestContext
    kind: OperationKind
    live: LargeFile | None = None


class LineFault(NamedTuple):
    """A place where no entry could be read: the id of the rule, what was found, and line and column from 1."""

    rule: str
    found: str
    line: int = 1
    column: int = 1


class LinesRead(NamedTuple):
    """What the strict reader makes of a text: values with their line and column, and where there are none."""

    entries: Sequence[tuple[Any, int, int]]
    faults: Sequence[LineFault]


@dataclass(frozen=True, slots=True)
class LargeVerdict:
    """What is wrong, and what the manifest would change: as the `ManifestVerdict` of a small one, but for its offsets.

    `entries` could be read, `partitions` of them are different ones. `difference` counts and sums up all moves and has
    the largest of each direction; it is None where an error holds the manifest up, or nothing live is known.
    """

    entries: int
    partitions: int
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    unread: int = 0
    difference: Difference | None = None
