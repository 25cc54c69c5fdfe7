"""What a source writes to Kafka, and which clients a connector opens itself: what its permissions depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KafkaUse:
    """What a class does with Kafka for one config, before transforms.

    `topics` are the names of topics that it writes. `prefixes` are the beginnings of further names, which only the
    source system decides. `own_clients` are the config keys of the clients that the class opens itself, besides those
    that Connect opens for it.
    """

    topics: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    own_clients: str = ""
