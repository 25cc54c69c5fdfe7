"""What a shape is made of: the types of its fields, which fields there are, and what the connector's config fixes."""

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
    """What stands in a field of a partition or an offset, in words. A number has at most 64 bits, as Java's `long`."""

    TEXT = "a string"
    NUMBER = "a whole number of 0 or more"
    SMALL = "a whole number from 0 to 2147483647"
    """Java's `int`: the number of a Kafka partition."""
    SIGNED = "a whole number"
    ZERO = "the number 0"
    """Checkpoints and heartbeats of MirrorMaker, which have no offset to speak of."""
    SERVER = "a whole number, the id of a server"
    """Two positions in two servers cannot be compared."""
    FLAG = "true or false"
    BINLOG = "a string that ends in a dot and a number, such as mysql-bin.000003"
    GTIDS = "a string with a set of global transaction ids"
    LSN = "a string such as 0000002b:00000c70:0003"
    PG_LSN = "a whole number of 0 or more, or an LSN in PostgreSQL's notation, such as 0/1985390"
    """Connect keeps the number."""
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
    """Whatever Connect keeps (`OffsetUtils.validateFormat`)."""


@dataclass(frozen=True)
class ShapeFields:
    """The fields of a partition or an offset.

    `any_of`: at least one of these optional fields has to be there. `nullable` may hold null. `prefixes` begin the
    names of further fields that are as they should be. `choices` are the values that a field may have, if they are a
    closed set; this says more than the field's type.
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
    """What is asked of a partition before its offset is set, by Connect or by the class itself (`alterOffsets`)."""

    NOTHING = "nothing"
    FIELDS = "fields"
    """That its fields are there, whatever is in them."""
    TYPES = "types"
    """That they are there, each of its type."""


class Tie(Enum):
    """What a field of the partition has to be the same as."""

    ALIAS = "cluster alias"
    FILE = "file"
    SERVER = "logical name"
    DATABASE = "database"
    TOPICS = "topic patterns"
    """Of MirrorMaker."""
    TABLES = "tables"
    """Of a JDBC source: its tables, or its query."""
    TASKS = "tasks"
    """Of Vitess: the offset of each task, if they are kept apart."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A field that keeps its value and so makes the change of another one ineffective, or turns it into another one.

    `changed` has another value than in the current offset, and `kept` the same, which is not null, "NULL" or 0.
    `effect` says what the connector does with such an offset, `hint` what to write instead. `is_limit`: only if the
    change goes back, and to less than `kept`. `unless` is a config key that makes it no contradiction if it is true.
    """

    changed: str
    kept: str
    effect: str
    hint: str
    is_limit: bool = False
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Tied:
    """A field of the partition that the config fixes: with another value nothing ever reads the offset.

    `keys`: the first one that the config has counts; `default` is the value where it has none of them.
    """

    field: str
    tie: Tie
    keys: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """One family: which fields its partitions and offsets have.

    `partitions` are alternatives; none means that anything goes. `position` are the fields of an offset that say how
    far it is, the most significant first. `frame` are those that have to be equal for that to be comparable. `unit` is
    what the difference of two positions counts if one of the fields `measured` decides, else None; `noun` is its word
    if a schema of the repository names it. `skipped` are fields that count as 0 if they are missing.

    `instead` names the field that the connector takes if another one is missing; `if_both` are fields that decide only
    if both offsets have them. `contradictions` are about the current offset and the declared one; `fraction` are two
    fields of one offset, a time in milliseconds and the nanoseconds of its last second, which replace its milliseconds.

    `lenient`: Connect leaves out the fields that it does not know (of sinks); otherwise it keeps them, and a partition
    with one more is another partition. A partition that does not meet the `demand` is refused; every other one is kept,
    though nothing may ever read its offset. `resume` says what decides where a connector of that config resumes; None
    if that is not known.
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
        """How its distances are counted and written."""
        notations = {name: _NOTATIONS[kind] for name, kind in self.offset.types.items() if kind in _NOTATIONS}
        ordered = {name: notations[name] for name in self.position if name in notations}
        return Scale(self.unit, self.noun, {**ordered, **notations})

    def has_form_of(self, other: Shape) -> bool:
        """Whether partitions and offsets of both have the same fields, whatever decides where each resumes."""
        return (self.partitions, self.offset) == (other.partitions, other.offset)


_NOTATIONS = {FieldType.PG_LSN: Notation.PG_LSN, FieldType.MILLISECONDS: Notation.MILLISECONDS}
