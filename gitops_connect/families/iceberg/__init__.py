"""The Iceberg sinks of Apache and of Databricks (formerly Tabular). `facts.yaml` has the facts."""

from __future__ import annotations

from gitops_connect.families.family import Config
from gitops_connect.families.kafka_use import KafkaUse


def control_clients(_config: Config) -> KafkaUse:
    """The control topic is read and written with clients of the class itself."""
    return KafkaUse(own_clients="iceberg.control.topic")
