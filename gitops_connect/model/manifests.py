"""Offset manifests: the entries of a small one, and the files and the verdict of a large one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.names import Digest
from gitops_connect.model.offsets import OffsetPatch

# An offset manifest as it was read and not yet checked: partitions with their offsets, each with its location.


Place = tuple[int, int]
"""Line and column, from 1."""


class FieldPlaces(Protocol):
    """The positions of the fields of all entries of one file or document."""

    def locate(self, entry: Place, field: str) -> Place:
        """Line and column of a field (`offset.lsn`), or else of its partition or offset, or of the entry at `entry`."""

    def line(self, entry: Place, value: Any) -> str:
        """The entry as a line of JSON. If the file is JSON, `locate_in` can use the line."""


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One entry, in whatever form it was written; a valid entry is `{"partition": …, "offset": …}`."""

    value: Any = field(repr=False)
    location: Location
    places: FieldPlaces | None = field(default=None, repr=False, compare=False)

    def locate(self, name: str) -> Location:
        """The location of a field (`offset.lsn`) if the manifest's format has it, else that of the entry."""
        if self.places is None or not name:
            return self.location
        place = self.places.locate((self.location.line, self.location.column), name)
        return replace(self.location, line=place[0], column=place[1])


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """A place without a readable entry: the id of the rule (`checks.rules`), and the value found."""

    rule: str
    found: str
    location: Location


@dataclass(frozen=True, slots=True)
class Manifest:
    """All entries of a file or a list in their order, and unreadable places. `location` is the beginning of it."""

    location: Location
    entries: tuple[ManifestEntry, ...] = ()
    faults: tuple[ManifestFault, ...] = ()


@dataclass(frozen=True, slots=True)
class OffsetSchema:
    """What the repository declares about a connector class: a JSON Schema of one entry, from `offset-schemas/`.

    `position` and `unit` are its keys `x-position` and `x-unit`. `position` names the fields of an offset that say how
    far the offset is, the most significant first; `unit` is what a difference of two positions counts.
    """

    class_name: str
    path: str
    document: Mapping[str, Any] | bool = field(repr=False)
    position: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ManifestVerdict:
    """The result of a check: `offsets` if there is no error, else None; and all problems, each with its location.

    If there are many violations, `diagnostics` has some of them and the number of the others. `counts` has the number
    of violations by rule, `errors` the number of those that block the manifest. `unread` counts the entries that need
    `Acknowledgement.UNREAD`, whether the document has this acknowledgement or not.
    """

    offsets: OffsetPatch | None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    unread: int = 0


# Manifests too large for memory: where their files are, and the result of their check.


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

    @property
    def compression(self) -> str:
        """The end of the path if the lines are compressed, otherwise empty."""
        return next((suffix for suffix in (".gz", ".zst") if self.path.lower().endswith(suffix)), "")

    @property
    def is_parquet(self) -> bool:
        return self.path.lower().endswith(".parquet")


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
        return LargeFile("the current offsets", self.path)


@dataclass(frozen=True, slots=True)
class LargePatch:
    """The offsets to send: one canonical entry a line, each partition once. `size`: bytes with line feeds."""

    files: tuple[str, ...]
    entries: int
    size: int


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
