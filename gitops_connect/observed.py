"""One Connect cluster's answers -> `ObservedState`, in at most three calls however many connectors there are."""

from __future__ import annotations

from collections.abc import Collection

from gitops_connect.connect.client import ConnectClient
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedState


def observe(client: ConnectClient, expected: Collection[ConnectorName]) -> ObservedState:
    """Look at every connector of the cluster.

    `expected` are the names that somebody will ask for: declared or ours. One of them that the expanded list lacks is
    either absent, or has no status yet and was left out (`ConnectorsResource.listConnectors`); only where there is such
    a one, the plain list is fetched to tell. Raises what `ConnectClient` raises: what cannot be read is never absent.
    """
    info = client.info()
    connectors, unknown = client.connectors()
    missing = frozenset(expected) - connectors.keys() - unknown
    if missing:
        unknown |= missing & client.names()
    return ObservedState(client.cluster, info.version, connectors, unknown)
