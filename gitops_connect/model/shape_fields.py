"""The parts of a shape: its fields, their types, and the fields that the connector's config determines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from gitops_connect.model.resume import ResumeRules
from gitops_connect.model.units import Notation, Scale, Unit

Choice = str | bool | None
"""A value of a closed set."""


class FieldType(Enum):
    """The type of a field of a partition or an offset, in words. A number has at most 64 bits, as Java's `long`."""

    TEXT = "a string"
    NUMBER = "a whole number of 0 or more"
    SMALL = "a whole number from 0 to 2147483647"
    """Java's `int`: the number of a Kafka partition."""
    SIGNED = "a whole number"
    ZERO = "the number 0"
    """Checkpoints and heartbeats of MirrorMaker, whose offsets are always 0."""
    SERVER = "a whole number, the id of a server"
    """Positions in two different servers cannot be compared."""
    FLAG = "true or false"
    BINLOG = "a string that ends in a dot and a number, such as mysql-bin.000003"
    GTIDS = "a string with a set of global transaction ids"
    LSN = "a string such as 0000002b:00000c70:0003"
    PG_LSN = "a whole number of 0 or more, or an LSN in PostgreSQL's notation, such as 0/1985390"
    """Connect stores the number."""
    MILLISECONDS = "a whole number, milliseconds since 1970"
    DIGITS = "a whole number in quotes"
    SEQUENCE = "a whole number in quotes, or NULL"
    """The log sequence numbers of Informix, of at most 64 bits."""
    COMMIT_SCN = "a string such as 2868506:1:0400050048030000, with a system change number for each redo thread"
    NANOS = "a whole number from 0 to 999999999"
    """The fraction of a second in nanoseconds, as in `java.sql.Timestamp`."""
    VGTID = "a string with a JSON list of the keyspaces and shards of Vitess, each with its gtid"
    TOKEN = "a string with a resume token"  # noqa: S105 - a position in MongoDB's change stream, and no credential
    ANY = "a string, a number, true or false, or null"
    """Any value that Connect accepts (`OffsetUtils.validateFormat`)."""


@dataclass(frozen=True)
class ShapeFields:
    """The fields of a partition or an offset.

    `any_of`: at least one of these optional fields must exist. `nullable` fields may contain null. Further fields are
    valid if their names begin with one of `prefixes`. `choices` are the values that a field may have, if they are a
    closed set; they restrict the field more than its type.
    """

    required: Mapping[str, FieldType] = field(default_factory=dict)
    optional: Mapping[str, FieldType] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    any_of: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    choices: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)

    @cached_property
    def types(self) -> Mapping[str, FieldType]:
        """All fields with their types."""
        return {**self.required, **self.optional}


class Demand(Enum):
    """What Connect or the class itself (`alterOffsets`) requires of a partition before its offset is set."""

    NOTHING = "nothing"
    FIELDS = "fields"
    """The fields of the partition must exist, with any value."""
    TYPES = "types"
    """The fields of the partition must exist, each with its type."""


class Tie(Enum):
    """The config value that a field of the partition must be equal to."""

    ALIAS = "cluster alias"
    FILE = "file"
    SERVER = "logical name"
    DATABASE = "database"
    TOPICS = "topic patterns"
    """The topic patterns of MirrorMaker."""
    TABLES = "tables"
    """The tables of a JDBC source, or its query."""
    TASKS = "tasks"
    """The tasks of Vitess, if the offset of each task is stored separately."""


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


@dataclass(frozen=True, slots=True)
class Tied:
    """A field of the partition that the config determines: an offset with another value is never read.

    `keys`: the first one that the config has counts; `default` is the value if the config has none of them.
    """

    field: str
    tie: Tie
    keys: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """One family of connectors: the fields of its partitions and offsets.

    `partitions` are alternatives; if there are none, every partition is valid. `position` are the fields of an offset
    that say how far the offset is, the most significant first. `frame` are the fields that must be equal for two
    positions to be comparable. `unit` is what the difference of two positions counts if one of the fields `measured`
    decides, else None; `noun` is the word for the unit if a schema of the repository names it. `skipped` are fields
    that count as 0 if they are missing.

    `instead` names the field that the connector reads if another field is missing; `if_both` are fields that decide
    only if both offsets have them. `contradictions` are about the current and the declared offset. `fraction` are two
    fields of one offset, a time in milliseconds and the nanoseconds of its last second, which replace its milliseconds.

    `lenient`: Connect drops unknown fields (of sinks); otherwise it stores them, and a partition with an additional
    field is another partition. Connect rejects a partition that does not meet the `demand`, and stores every other
    partition, even if nothing ever reads its offset. `resume` says what decides where a connector of that config
    resumes; None if that is not known.
    """

    name: str
    partitions: tuple[ShapeFields, ...]
    offset: ShapeFields
    position: tuple[str, ...]
    unit: Unit | None = None
    noun: str = ""
    measured: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    if_both: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    fraction: tuple[str, str] | None = None
    tied: tuple[Tied, ...] = ()
    lenient: bool = False
    demand: Demand = Demand.NOTHING
    resume: ResumeRules | None = None

    @property
    def scale(self) -> Scale:
        """The units and notations of the shape's distances."""
        notations = {name: _NOTATIONS[kind] for name, kind in self.offset.types.items() if kind in _NOTATIONS}
        ordered = {name: notations[name] for name in self.position if name in notations}
        return Scale(self.unit, self.noun, {**ordered, **notations})

    def has_form_of(self, other: Shape) -> bool:
        """Whether partitions and offsets of both shapes have the same fields, even if their resume rules differ."""
        return (self.partitions, self.offset) == (other.partitions, other.offset)


_NOTATIONS = {FieldType.PG_LSN: Notation.PG_LSN, FieldType.MILLISECONDS: Notation.MILLISECONDS}
