"""What a source writes to Kafka, and which clients a connector opens itself: what its permissions depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_KEEPS_TOPIC = re.compile(
    r"org\.apache\.kafka\.connect\.transforms\.(?:Cast|DropHeaders|ExtractField|Filter|Flatten|HeaderFrom|HoistField"
    r"|InsertField|InsertHeader|MaskField|ReplaceField|SetSchemaMetadata|TimestampConverter|ValueToKey)(?:\$.+)?"
)
"""Kafka's transforms that do not change the topic of a record."""


@dataclass(frozen=True, slots=True)
class KafkaUse:
    """What a class does with Kafka for one config, before transforms.

    `topics` are the names of topics that it writes. `prefixes` are the beginnings of further names, which only the
    source system decides, and `suffixes` the ends of names that it may write, too. `own_clients` are the config keys of
    the clients that the class opens itself, besides those that Connect opens for it.
    """

    topics: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    own_clients: str = ""
    suffixes: tuple[str, ...] = ()


def renaming_transform(config: Mapping[str, str]) -> str:
    """The alias of a transform that may change the topics of records; empty if there is none."""
    for alias in filter(None, (one.strip() for one in config.get("transforms", "").split(","))):
        if not _KEEPS_TOPIC.fullmatch(config.get(f"transforms.{alias}.type", "")):
            return alias
    return ""
