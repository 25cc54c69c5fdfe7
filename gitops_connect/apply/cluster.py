"""What applying needs of a Connect cluster: `connect.client.ConnectClient` has it, and so may anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed import ObservedConnector
from gitops_connect.model.offsets import OffsetPatch, Offsets


class Cluster(Protocol):
    """A Connect cluster, used by several threads at once.

    A write that returns was accepted, which is not yet its effect. One that was certainly not carried out raises
    RebalanceInProgress, ConnectUnavailable or a ConnectRefused; OutcomeUnknown means that it may have been.
    """

    def connectors(self) -> tuple[Mapping[ConnectorName, ObservedConnector], frozenset[ConnectorName]]:
        """All connectors that have a status, and the names of those that could not be read, in one request."""

    def await_herder(self) -> None:
        """Return when the cluster knows all its connectors, and takes requests."""

    def absent(self, names: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
        """Those of them that are certainly not there, with a status or without."""

    def create(
        self,
        name: ConnectorName,
        config: Mapping[str, str],
        initial_state: TargetState | None = None,
        *,
        sensitive: Iterable[str] = (),
    ) -> None:
        """Make it, running where `initial_state` is None. Raises AlreadyExists."""

    def configure(self, name: ConnectorName, config: Mapping[str, str], *, sensitive: Iterable[str] = ()) -> None:
        """Give it exactly this config."""

    def stop(self, name: ConnectorName) -> None:
        """Ask it to stop and to give up its tasks."""

    def pause(self, name: ConnectorName) -> None:
        """Ask it and its tasks to pause."""

    def resume(self, name: ConnectorName) -> None:
        """Ask it to run."""

    def offsets(self, name: ConnectorName) -> Offsets:
        """The offsets that stand. Raises NotFound."""

    def alter_offsets(self, name: ConnectorName, offsets: OffsetPatch) -> str:
        """Set these, and take those away that are None; the rest stays. Returns what Connect warns of, mostly nothing.

        Raises NotStopped and GroupInUse (not now), OffsetsNotSupported, OffsetsNotChanged (it failed at it).
        """

    def alter_offsets_with(self, name: ConnectorName, body: bytes) -> str:
        """The same with a body that is ready, as KIP-875 has it: for more offsets than are to be held as values."""

    def reset_offsets(self, name: ConnectorName) -> str:
        """Take all away; returns and raises as `alter_offsets`."""

    def delete(self, name: ConnectorName) -> None:
        """Take it away; that it is not there is no error."""
