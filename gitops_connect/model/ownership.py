"""Which connectors are managed: only managed connectors are ever deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision


class Origin(Enum):
    CREATED = "created"
    ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Ownership:
    """One connector that was created or adopted by gitops-connect.

    `on_delete` is from the last document of the connector: a connector that is no longer declared has no document.

    `desired` is the keyed digest of the whole desired connector that was last applied. If the document still has this
    digest and the cluster differs, the cluster drifted. `applied` has, for each sensitive config key, the keyed digest
    of the value that was last applied: it shows whether a value that the server masks must be sent again, and nothing
    else. `references` has the source of the value that was last applied, for each key of `spec.secrets`.
    """

    cluster: ClusterName
    connector: ConnectorName
    origin: Origin
    revision: Revision
    since: datetime
    desired: Digest | None = None
    applied: Mapping[str, Digest] = field(default_factory=dict)
    on_delete: OnDelete = OnDelete.KEEP
    references: Mapping[str, str] = field(default_factory=dict)
