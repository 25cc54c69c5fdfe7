"""A connector as a file in any format or a cluster declares it: what `convert` and `import` read and write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gitops_connect.model.desired import SecretReference, TargetState
from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ClusterName, ConnectorName


class FileFormat(Enum):
    GITOPS_CONNECT = "gitops-connect"
    STRIMZI = "strimzi"
    JIKKOU = "jikkou"
    JSON = "json"
    PROPERTIES = "properties"
    TERRAFORM = "terraform"
    KSQLDB = "ksqldb"
    CONFLUENT = "confluent"
    AIVEN = "aiven"
    NS4KAFKA = "ns4kafka"
    KPOPS = "kpops"
    MSK = "msk"


class TargetFormat(Enum):
    GITOPS_CONNECT = "gitops-connect"
    STRIMZI = "strimzi"
    JSON = "json"

    @property
    def suffix(self) -> str:
        return ".json" if self is TargetFormat.JSON else ".yaml"


@dataclass(frozen=True, slots=True)
class ConnectorDeclaration:
    """One connector of a file or of a cluster.

    `config` is complete, with `connector.class` and `tasks.max` if the file has them, and without `name`. `unknown` has
    the config keys whose values are not in the file, each with the expression for its value, or empty. `sensitive`
    are the keys that the file calls secret; if `is_described`, the types of all keys are known. `fields` are the other
    fields of `spec` of a `Connector` document, such as `autoRestart`. `places` has the location of each config key, of
    each field, and of `labels` and `annotations`. `note` becomes a comment, if it is not empty. A reader fills the
    mappings while it reads the file.
    """

    name: ConnectorName
    format: FileFormat
    location: Location
    config: dict[str, str] = field(default_factory=dict, repr=False)
    state: TargetState = TargetState.RUNNING
    cluster: ClusterName | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    sensitive: set[str] = field(default_factory=set)
    secrets: Mapping[str, SecretReference] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict, repr=False)
    places: dict[str, Location] = field(default_factory=dict, repr=False)
    note: str = ""
    is_described: bool = False

    def locate(self, key: str) -> Location:
        """The location of a config key or of a field, or of the connector."""
        return self.places.get(key, self.location)


@dataclass(frozen=True, slots=True)
class BodyFile:
    """A file that a script sends to Connect, as in `curl -d @orders.json`. `name` is that in the URL, or empty."""

    path: str
    name: str
    location: Location


@dataclass(frozen=True, slots=True)
class FileReading:
    """The content of one file: connectors, and problems.

    `documents` of this project are not checked yet, `resources` of Strimzi are not translated yet, and `files` are not
    read yet. `recognized`: the file is in one of the formats, also if it contains errors.
    """

    declarations: tuple[ConnectorDeclaration, ...] = ()
    documents: tuple[Document, ...] = ()
    resources: tuple[Document, ...] = ()
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    files: tuple[BodyFile, ...] = ()
    recognized: bool = True


_REFERENCE = re.compile(
    r"""\(?(?:
      (?:count|data|each|local|module|path|self|terraform|var)(?:\.[A-Za-z_][\w-]*)+
    | [a-z][a-z0-9]*_[a-z0-9_]*(?:\.[A-Za-z_][\w-]*){2,}    # the attribute of a resource
    | \$\{[A-Za-z_][A-Za-z0-9_@]*\}                        # ksqlDB, OpenShift
    | \{\{\ *[A-Za-z_][A-Za-z0-9_]*\ *\}\}                  # Jinja
    )\)?""",
    re.VERBOSE,
)


def reference_of(expression: str) -> str:
    """The expression if it is only a reference; every other one may contain a secret, and be a forgotten quote."""
    return expression if _REFERENCE.fullmatch(expression) else "an expression"
