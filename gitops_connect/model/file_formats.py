"""The formats of files with connectors, which `gitops-connect convert` reads and writes."""

from __future__ import annotations

from enum import Enum


class FileFormat(Enum):
    """The formats that can be read."""

    GITOPS_CONNECT = "gitops-connect"
    STRIMZI = "strimzi"
    JIKKOU = "jikkou"
    JSON = "json"
    PROPERTIES = "properties"
    TERRAFORM = "terraform"
    KSQLDB = "ksqldb"


class TargetFormat(Enum):
    """The formats that can be written."""

    GITOPS_CONNECT = "gitops-connect"
    STRIMZI = "strimzi"
    JSON = "json"

    @property
    def suffix(self) -> str:
        """The suffix of a file."""
        return ".json" if self is TargetFormat.JSON else ".yaml"
