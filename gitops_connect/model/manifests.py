"""Offset manifests: their formats, the entries of a small one, and the files and the verdict of a large one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.field_places import FieldPlaces
from gitops_connect.model.names import Digest
from gitops_connect.model.offsets import OffsetPatch
from gitops_connect.model.unreadable import FORMAT, Unreadable, shown

# An offset manifest as it was read and not yet checked: partitions with their offsets, each with its location.


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
    """All entries of one file or of one document's `offsets`, in their order, and the places without a readable entry.

    `location` is the beginning of the manifest, for errors that concern all of it.
    """

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


# The format and the compression of a manifest, by its name.


class Format(Enum):
    """The format of the entries."""

    JSON = "JSON"
    YAML = "YAML"
    LINES = "JSON Lines"
    CSV = "CSV"
    PARQUET = "Parquet"


_BY_SUFFIX = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".jsonl": Format.LINES,
    ".ndjson": Format.LINES,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}
SUFFIXES = tuple(_BY_SUFFIX)
"""The suffixes of the formats; `.gz` or `.zst` may follow, except for Parquet, which is compressed inside."""
_COMPRESSIONS = (".gz", ".zst")


def format_of(path: str) -> tuple[Format, str]:
    """The format of a file of that name, and how it is compressed: `.gz`, `.zst`, or empty. Raises Unreadable."""
    name = path.rpartition("/")[2].lower()
    compression = next((suffix for suffix in _COMPRESSIONS if name.endswith(suffix)), "")
    plain = name.removesuffix(compression)
    suffix = plain[plain.rfind(".") :] if "." in plain else ""
    if suffix not in _BY_SUFFIX:
        found = f"the suffix of its name is {shown(suffix)}" if suffix else "its name has no suffix"
        known = ", ".join(SUFFIXES)
        raise Unreadable(FORMAT, f"{found}, expected one of {known}, each also with {' or '.join(_COMPRESSIONS)}")
    if _BY_SUFFIX[suffix] is Format.PARQUET and compression:
        raise Unreadable(FORMAT, f"it is Parquet in {compression}; use plain Parquet, which has compression of its own")
    return _BY_SUFFIX[suffix], compression


def suffix_of(path: str) -> str:
    """The suffix that determines the format, in lower case: `.json.gz`. Raises Unreadable."""
    _, compression = format_of(path)
    plain = path.lower().removesuffix(compression)
    return plain[plain.rfind(".") :] + compression


def is_manifest(path: str) -> bool:
    """Whether a file of that name is a manifest, if a directory or a glob means all manifests in it."""
    try:
        format_of(path)
    except Unreadable:
        return False
    return True


# Manifests too large for memory: where their files are, and the result of their check.

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


# A file of a manifest outside the repository, copied byte for byte.


class CopiedFile(NamedTuple):
    """`path` is the original path without scheme and host, `file` the path of the copy; `sha256` is of the content."""

    path: str
    file: str
    sha256: str


Copy = Callable[[str, Callable[[str], bool], str], Sequence[CopiedFile]]
"""Copies the files at a URI.

The arguments are the URI of a file, of a directory with everything below it, or a glob; a function that says whether a
path is copied; and the directory for the copies. The result is empty if there are no such files.
"""
