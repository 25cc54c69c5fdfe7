"""Which of the Kafka clusters in the settings a connector uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitops_connect.settings.sections import ClusterSettings, KafkaSettings

_ADDRESS = re.compile(r"(?:[a-z0-9._-]*://)?\[?([^\[\]/]+?)\]?:(\d+)")
"""As Kafka reads an address: it may begin with a protocol, and an IPv6 address may be in brackets."""


def kafka_of(servers: str, cluster: ClusterSettings) -> tuple[str, KafkaSettings] | None:
    """The settings of the Kafka cluster that has one of these `bootstrap.servers`, and where they are, for errors.

    Without `servers`, those of the workers' Kafka cluster. Only addresses of the settings are ever contacted.
    """
    tables = {"kafka": cluster.kafka} if cluster.kafka is not None else {}
    if servers.strip():
        tables |= {f"kafka_clusters.{alias}": one for alias, one in cluster.kafka_clusters.items()}
    wanted = _addresses(servers.split(","))
    for name, settings in tables.items():
        if not servers.strip() or wanted & _addresses(settings.bootstrap_servers):
            return f"[clusters.{cluster.name}.{name}]", settings
    return None


def _addresses(servers: Iterable[str]) -> set[tuple[str, str]]:
    found = (_ADDRESS.fullmatch(one.strip().lower()) for one in servers)
    return {(one[1], one[2].lstrip("0")) for one in found if one is not None}
