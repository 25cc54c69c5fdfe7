"""What the settings say about Strimzi resources: which operator version, which clusters, and which placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.names import ClusterName

KAFKA_CONNECTOR, MIRROR_MAKER = "KafkaConnector", "KafkaMirrorMaker2"
KINDS = (KAFKA_CONNECTOR, MIRROR_MAKER)
"""The kinds of resources that declare connectors."""
GROUP = "kafka.strimzi.io"
"""Strimzi's API group."""
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class StrimziVersion:
    """A version of Strimzi's operator, as in 0.45 or 1.2. Patch releases do not change how resources are read."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


NEWEST = StrimziVersion(1, 2)
"""The newest version whose rules are known."""


def parse_strimzi_version(value: object) -> StrimziVersion:
    """A version from a string such as `0.45`, `0.45.0` or `1.2`. Raises ValueError for anything else."""
    found = _VERSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    return StrimziVersion(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class StrimziOptions:
    """How Strimzi resources are read.

    `clusters` has our cluster for each Connect cluster of Strimzi (`strimzi.io/cluster`), except for those with the
    same name. `placeholders` maps the beginning of a placeholder, as written after `${`, to the text that replaces it:
    `strimzienv:` -> `env:`. `workers`: Strimzi deploys the workers, which have its config providers and converters.
    """

    version: StrimziVersion = NEWEST
    clusters: Mapping[str, ClusterName] = field(default_factory=dict)
    placeholders: Mapping[str, str] = field(default_factory=dict)
    workers: bool = False


DEFAULT_OPTIONS = StrimziOptions()
"""The options without settings."""
