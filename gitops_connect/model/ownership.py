"""Which connectors are ours: only these are ever deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision


class Origin(Enum):
    """How a connector came to be ours."""

    CREATED = "created"
    ADOPTED = "adopted"


@dataclass(frozen=True, slots=True)
class Ownership:
    """One connector that was created or adopted here.

    `on_delete` is what its document said last: when it is deleted for being declared no more, there is none to ask.

    `desired` is the keyed digest of the whole desired connector that was last applied: where the document still has
    it and the cluster differs, the cluster drifted. `applied` holds, for each sensitive config key, the keyed digest of
    the value that was last applied: it tells whether a value that the server masks has to be sent again, and tells
    nothing else.
    """

    cluster: ClusterName
    connector: ConnectorName
    origin: Origin
    revision: Revision
    since: datetime
    desired: Digest | None = None
    applied: Mapping[str, Digest] = field(default_factory=dict)
    on_delete: OnDelete = OnDelete.KEEP
