"""A manifest as it was read: a list of partitions with their offsets, each at its place, not checked yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.field_places import FieldPlaces
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.operations import Acknowledgement


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One entry, whatever stands there: `{"partition": …, "offset": …}` where it is as it should be."""

    value: Any = field(repr=False)
    location: Location
    places: FieldPlaces | None = field(default=None, repr=False, compare=False)

    def locate(self, name: str) -> Location:
        """The place of a field (`offset.lsn`) if the format of the manifest tells it, else that of the entry."""
        if self.places is None or not name:
            return self.location
        place = self.places.locate((self.location.line, self.location.column), name)
        return replace(self.location, line=place[0], column=place[1])


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """A place where no entry could be read: the id of the rule (`checks.rules`), and what was found."""

    rule: str
    found: str
    location: Location


@dataclass(frozen=True, slots=True)
class Manifest:
    """All entries of one file or of one document's `offsets`, in their order, and what could not be read.

    `location` is where it begins: for what is wrong with all of it.
    """

    location: Location
    entries: tuple[ManifestEntry, ...] = ()
    faults: tuple[ManifestFault, ...] = ()


@dataclass(frozen=True, slots=True)
class OffsetSchema:
    """What the repository itself says of a connector class: a JSON Schema of one entry, from `offset-schemas/`.

    `position` and `unit` are its keys `x-position` and `x-unit`: the fields of an offset that say how far it is, the
    most significant first, and what a difference of them counts.
    """

    class_name: str
    path: str
    document: Mapping[str, Any] | bool = field(repr=False)
    position: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ManifestContext:
    """What a manifest is held against: its connector's config, and the offsets that stand. None: not known.

    `schema` is the repository's own for the class of the connector, if there is one. `acknowledged` is what the
    document that names the manifest does on purpose.
    """

    connector: ConnectorName
    config: Mapping[str, str] | None = field(default=None, repr=False)
    live: Offsets | None = field(default=None, repr=False)
    schema: OffsetSchema | None = None
    acknowledged: frozenset[Acknowledgement] = frozenset()


@dataclass(frozen=True, slots=True)
class ManifestVerdict:
    """The checked offsets, None where there is an error; and what is wrong, each with its place.

    Of many offenders some are in `diagnostics` and the others a number there; `counts` has all of them by rule, and
    `errors` those that hold the manifest up. `unread` are the entries that need `Acknowledgement.UNREAD`, whether they
    have it or not.
    """

    offsets: OffsetPatch | None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    unread: int = 0
