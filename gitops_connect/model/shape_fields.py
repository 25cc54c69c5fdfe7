"""What a shape is made of: the types of its fields, which fields there are, and what the connector's config fixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class FieldType(Enum):
    """What stands in a field of a partition or an offset, in words. A number has at most 64 bits, as Java's `long`."""

    TEXT = "a text"
    NUMBER = "a whole number of 0 or more"
    SMALL = "a whole number from 0 to 2147483647"
    """Java's `int`: the number of a Kafka partition."""
    SIGNED = "a whole number"
    ZERO = "the number 0"
    """Checkpoints and heartbeats of MirrorMaker, which have no offset to speak of."""
    SERVER = "a whole number, the id of a server"
    """Two positions in two servers cannot be compared."""
    FLAG = "true or false"
    BINLOG = "a text that ends in a dot and a number, as mysql-bin.000003"
    GTIDS = "a text, a set of global transaction ids"
    LSN = "a text as 0000002b:00000c70:0003"
    DIGITS = "a whole number in quotes"
    TOKEN = "a text, a resume token"  # noqa: S105 - a position in MongoDB's change stream, and no credential
    ANY = "a text, a number, true or false, or null"
    """Whatever Connect keeps (`OffsetUtils.validateFormat`)."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a partition or an offset.

    `any_of`: at least one of these optional fields has to be there. `nullable` may hold null. `prefixes` begin the
    names of further fields that are as they should be.
    """

    required: Mapping[str, FieldType] = field(default_factory=dict)
    optional: Mapping[str, FieldType] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    any_of: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    @property
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
    what the difference of two positions counts, where one of the fields `measured` decides; else it is empty. `skipped`
    are fields that count as 0 where they are missing. `lenient`: Connect leaves out the fields that it does not know
    (of sinks); otherwise it keeps them, and a partition with one more is another partition. A partition that does not
    meet the `demand` is refused; every other one is kept, though nothing may ever read its offset.
    """

    name: str
    partitions: tuple[Fields, ...]
    offset: Fields
    position: tuple[str, ...]
    unit: str = ""
    measured: tuple[str, ...] = ()
    frame: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    tied: tuple[Tied, ...] = ()
    lenient: bool = False
    demand: Demand = Demand.NOTHING
