"""The Kafka clusters of a connector's clients, as far as its config names other ones than the worker's (KIP-458)."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.sensitivity import is_mask, is_reference

PRODUCER_SERVERS = "producer.override.bootstrap.servers"
CONSUMER_SERVERS = "consumer.override.bootstrap.servers"
ADMIN_SERVERS = "admin.override.bootstrap.servers"


def has_other_admin(config: Mapping[str, str]) -> bool:
    """Whether the consumer of a sink uses another Kafka cluster than the admin client, as far as the config shows."""
    return bool(config.get(CONSUMER_SERVERS)) and _differ(config, CONSUMER_SERVERS, ADMIN_SERVERS)


def reads_elsewhere(config: Mapping[str, str]) -> bool:
    """Whether the consumer of a source's offsets uses another Kafka cluster than its producer."""
    return _differ(config, PRODUCER_SERVERS, CONSUMER_SERVERS)


def _differ(config: Mapping[str, str], *keys: str) -> bool:
    """Whether the keys name different servers, as far as the config shows; the order of servers does not matter."""
    values = [config.get(key, "") for key in keys]
    known = not any(is_reference(one) or is_mask(one) for one in values)
    return known and len({frozenset(one.strip() for one in value.split(",")) for value in values}) > 1
