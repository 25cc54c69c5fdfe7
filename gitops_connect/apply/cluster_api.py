"""What applying needs of a Connect cluster. `connect.client.ConnectClient` implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.offsets import OffsetPatch, Offsets


class Cluster(Protocol):
    """A Connect cluster, used by several threads at once.

    A write that returns was accepted; its effect may come later. A write that was certainly not carried out raises
    RebalanceInProgress, ConnectUnavailable or a ConnectRefused. OutcomeUnknown means that it may have been carried out.
    """

    def connectors(self) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        """All connectors that have a status, and the names of those that could not be read, in one request."""

    def await_herder(self) -> None:
        """Return when the cluster knows all its connectors and accepts requests."""

    def absent(self, names: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
        """Those of `names` that certainly do not exist, neither with a status nor without."""

    def create(
        self,
        name: ConnectorName,
        config: Mapping[str, str],
        initial_state: TargetState | None = None,
        *,
        sensitive: Iterable[str] = (),
    ) -> None:
        """Create the connector. It runs if `initial_state` is None. Raises AlreadyExists."""

    def configure(self, name: ConnectorName, config: Mapping[str, str], *, sensitive: Iterable[str] = ()) -> None:
        """Replace the connector's config with exactly this config."""

    def stop(self, name: ConnectorName) -> None:
        """Request that the connector stops and gives up its tasks."""

    def pause(self, name: ConnectorName) -> None:
        """Request that the connector and its tasks pause."""

    def resume(self, name: ConnectorName) -> None:
        """Request that the connector runs."""

    def restart(self, name: ConnectorName, *, include_tasks: bool, only_failed: bool) -> None:
        """Request that the connector starts again, with its tasks or without, or only what has failed (Kafka 3.0)."""

    def restart_part(self, name: ConnectorName, task: int | None) -> None:
        """Request that one task, or the connector without its tasks (None), starts again."""

    def offsets(self, name: ConnectorName) -> Offsets:
        """The connector's current offsets. Raises NotFound."""

    def alter_offsets(self, name: ConnectorName, offsets: OffsetPatch) -> str:
        """Set these offsets, and remove those that are None; other offsets stay.

        Returns Connect's warning, mostly empty. Raises NotStopped and GroupInUse (not possible now),
        OffsetsNotSupported, and OffsetsNotChanged (the request failed).
        """

    def alter_offsets_with(self, name: ConnectorName, body: bytes) -> str:
        """Change offsets as `alter_offsets` does, with a finished body (KIP-875): for offsets that exceed memory."""

    def reset_offsets(self, name: ConnectorName) -> str:
        """Remove all offsets. Returns and raises what `alter_offsets` does."""

    def delete(self, name: ConnectorName) -> None:
        """Delete the connector. A connector that does not exist is no error."""
