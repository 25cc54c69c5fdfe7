"""An offset manifest as it was read and not yet checked: partitions with their offsets, each with its location."""

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
class ManifestContext:
    """The data with which a manifest is compared: its connector's config and current offsets. None: not known.

    `schema` is the repository's schema for the class of the connector, if there is one. `acknowledged` are the effects
    that the document of the manifest acknowledges.
    """

    connector: ConnectorName
    config: Mapping[str, str] | None = field(default=None, repr=False)
    current: Offsets | None = field(default=None, repr=False)
    schema: OffsetSchema | None = None
    acknowledged: frozenset[Acknowledgement] = frozenset()


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
