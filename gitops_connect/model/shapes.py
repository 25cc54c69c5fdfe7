"""What partitions and offsets of the connectors that people run look like, as data: one shape for each family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class FieldType(Enum):
    """What stands in a field of a partition or an offset."""

    TEXT = "a text"
    NUMBER = "a whole number of 0 or more"
    ANY = "any value"


@dataclass(frozen=True, slots=True)
class Shape:
    """One family: which fields its partitions and offsets have.

    `position` are the fields of an offset that say how far it is, the most significant first; `unit` is what a
    difference of two positions counts, where it is a single number, else empty.
    """

    name: str
    partition: Mapping[str, FieldType]
    offset: Mapping[str, FieldType]
    position: tuple[str, ...]
    unit: str = ""


_SINK = Shape(
    "sink",
    {"kafka_topic": FieldType.TEXT, "kafka_partition": FieldType.NUMBER},
    {"kafka_offset": FieldType.NUMBER},
    ("kafka_offset",),
    "records",
)


def shape_of(config: Mapping[str, str]) -> Shape | None:
    """The shape for a connector of that config; None for a class that is not known here."""
    if "topics" in config or "topics.regex" in config:
        return _SINK
    return None
