"""The shape of a connector's partitions and offsets: their fields, their order, and what the config fixes in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, partial
from typing import Any

from gitops_connect.families.field_kinds import ANY, FieldKind
from gitops_connect.families.log_fields import NO_LOGS, LogFacts, LogFields
from gitops_connect.families.resume import ResumeRules
from gitops_connect.families.ties import Tied, Ties
from gitops_connect.model.canonical import canonical
from gitops_connect.model.differences import Direction
from gitops_connect.model.findings import Finding, LazyWords, show
from gitops_connect.model.observed_state import ReplicationSlot
from gitops_connect.model.offsets import OffsetText
from gitops_connect.model.units import Scale, Unit

Choice = str | bool | None
_NOTHING = (None, 0, "NULL")


@dataclass(frozen=True)
class ShapeFields:
    """The fields of a partition or an offset.

    `any_of`: at least one of these optional fields must exist. `nullable` fields may contain null. Further fields are
    valid if their names begin with one of `prefixes`. `choices` are the values that a field may have, if they are a
    closed set; they restrict the field more than its type.
    """

    required: Mapping[str, FieldKind] = field(default_factory=dict)
    optional: Mapping[str, FieldKind] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    any_of: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    choices: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)

    @cached_property
    def types(self) -> Mapping[str, FieldKind]:
        return {**self.required, **self.optional}


class Demand(Enum):
    """What Connect or the class itself (`alterOffsets`) requires of a partition before its offset is set."""

    NOTHING = "nothing"
    FIELDS = "fields"
    TYPES = "types"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A field whose unchanged value makes the change of another field ineffective, or gives it another effect.

    `changed` differs from the current offset. `kept` does not, and is not null, "NULL" or 0. `effect` says what the
    connector does with such an offset, `hint` what to write instead. `is_limit`: it is a contradiction only if the
    change goes back, to less than `kept`. `unless` is a config key that allows the combination if its value is true.
    """

    changed: str
    kept: str
    effect: str
    hint: str
    is_limit: bool = False
    unless: str = ""

    def applies(self, config: Mapping[str, str]) -> bool:
        """False if the connector's config rules it out."""
        return config.get(self.unless, "").strip().lower() != "true"

    def _is_in(self, types: Mapping[str, FieldKind], before: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
        old, new, kept = before.get(self.changed), declared.get(self.changed), declared.get(self.kept)
        if old is None or new is None or old == new or kept in _NOTHING or before.get(self.kept) != kept:
            return False
        if not self.is_limit:
            return True
        first, second, limit = types[self.changed].rank(old), types[self.changed].rank(new), types[self.kept].rank(kept)
        return first is not None and second is not None and limit is not None and second < min(first, limit)

    def _words(self, before: Mapping[str, Any], declared: Mapping[str, Any]) -> Mapping[str, str]:
        return {
            "found": f"changed from {show(before[self.changed])} to {show(declared[self.changed])}",
            "other": f"{self.kept} stays {show(declared[self.kept])}",
            "effect": self.effect,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Shape:
    """The partitions and offsets of a connector class.

    `partitions` are alternatives; if there are none, every partition is valid. `position` are the fields of an offset
    that say how far the offset is, the most significant first. `frame` are the fields that must be equal for two
    positions to be comparable. `unit` is what the difference of two positions counts if one of the fields `measured`
    decides, else None. `skipped` are fields that count as 0 if they are missing.

    `instead` names the field that the connector reads if another field is missing; `if_both` are fields that decide
    only if both offsets have them. `contradictions` are about the current and the declared offset, `check` finds what
    is wrong inside one offset. `in_snapshot` says whether an offset makes the next start take the snapshot again: it is
    before every offset that does not.

    `tied` are the fields of the partition that must be equal to a value of the config; `reads` returns all other limits
    of a config. `lenient`: Connect drops unknown fields (of sinks); otherwise it stores them, and a partition with an
    additional field is another partition. Connect rejects a partition that does not meet the `demand`, and stores every
    other partition, even if nothing ever reads its offset. `resume` says what decides where a connector of that config
    resumes; None if that is not known. `slot` is the replication slot that also decides, if it was asked for. `log` is
    how offsets name positions in Kafka's partitions, if they do, and `logs` what the brokers say of these.
    """

    name: str
    partitions: tuple[ShapeFields, ...]
    offset: ShapeFields
    position: tuple[str, ...]
    unit: Unit | None = None
    measured: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    if_both: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    check: Callable[[Mapping[str, Any]], Iterator[Finding]] | None = None
    in_snapshot: Callable[[Mapping[str, Any]], bool] | None = None
    tied: tuple[Tied, ...] = ()
    reads: Callable[[Mapping[str, str]], Ties] | None = None
    lenient: bool = False
    demand: Demand = Demand.NOTHING
    resume: ResumeRules | None = None
    slot: ReplicationSlot | None = None
    log: LogFields | None = None
    logs: LogFacts = NO_LOGS

    @property
    def scale(self) -> Scale:
        found = {name: kind.notation for name, kind in self.offset.types.items() if kind.notation is not None}
        return Scale(self.unit, {**{name: found[name] for name in self.position if name in found}, **found})

    def has_form_of(self, other: Shape) -> bool:
        """Whether partitions and offsets of both shapes have the same fields, even if their resume rules differ."""
        return (self.partitions, self.offset) == (other.partitions, other.offset)

    def ties(self, config: Mapping[str, str] | None) -> Ties:
        """What the config fixes. Values that a worker resolves from elsewhere are not known here."""
        if config is None:
            return Ties()
        found = self.reads(config) if self.reads is not None else Ties()
        equal = (expected for one in self.tied if (expected := one.expectation(config)) is not None)
        return Ties((*equal, *found.expectations), found.filters)

    def contradicted(
        self, rules: tuple[Contradiction, ...], current: OffsetText, declared: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """The contradictions between a current and a declared offset: one finding for each unchanged field."""
        before, types = json.loads(current), self.offset.types
        reported = set()
        for one in rules:
            if one.kept not in reported and one._is_in(types, before, declared):  # noqa: SLF001 - of this module
                reported.add(one.kept)
                words = LazyWords(partial(one._words, before, declared))  # noqa: SLF001 - of this module
                yield Finding("manifest/contradiction", f"offset.{one.changed}", words)


def compare(
    shape: Shape | None, current: Mapping[str, Any], declared: Mapping[str, Any]
) -> tuple[Direction, int | None]:
    """The direction in which an offset moves, and the distance in the shape's `unit`, or None.

    The distance is None if it does not depend on one number alone. SAME means that nothing differs at all. CHANGED
    means that the direction is unknown: the class is unknown, a field of the position is missing or cannot be ordered,
    or another field than those of the position differs and may matter more.
    """
    if current == declared and canonical(current) == canonical(declared):
        return Direction.SAME, None
    if shape is None:
        return Direction.CHANGED, None
    if shape.in_snapshot is not None and shape.in_snapshot(current) is not (again := shape.in_snapshot(declared)):
        return (Direction.REWIND if again else Direction.FORWARD), None
    if any(_value(current, name) != _value(declared, name) for name in shape.frame):
        return Direction.CHANGED, None
    return _by_position(shape, current, declared)


def _by_position(shape: Shape, current: Mapping[str, Any], declared: Mapping[str, Any]) -> tuple[Direction, int | None]:
    types = shape.offset.types
    for name in shape.position:
        before, after = _operand(shape, current, name), _operand(shape, declared, name)
        if name in shape.if_both and (before is None or after is None):
            continue
        if before == after and type(before) is type(after):
            continue
        order = types.get(name, ANY).order(before, after)
        if order is None:
            return Direction.CHANGED, None
        if order:
            distance = abs(order) if shape.unit is not None and name in shape.measured else None
            return (Direction.FORWARD if order > 0 else Direction.REWIND), distance
    return Direction.CHANGED, None


def _value(offset: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The value with its type, so that 1, 1.0 and true are three values."""
    value = offset.get(name)
    return type(value).__name__, value


def _operand(shape: Shape, offset: Mapping[str, Any], name: str) -> Any:
    value = offset.get(name)
    if value is None and name in shape.instead:
        value = offset.get(shape.instead[name])
    return 0 if value is None and name in shape.skipped else value
