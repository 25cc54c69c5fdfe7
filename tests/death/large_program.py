"""Applies one large change for each order, without Spark, and dies before the step with the number `die_at`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cluster.large_world import APPLY, LargeWorld

from death.program import Fate, main
from gitops_connect.connect.client import ConnectClient
from gitops_connect.ledger.database import Database
from gitops_connect.model.names import ConnectorName
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import ClusterSettings


def carry_out(order: dict[str, Any], say: Callable[[str, Any], None]) -> dict[str, Any]:
    fate = Fate(order, say)
    with ConnectClient(ClusterSettings(APPLY, (order["url"],)), SystemClock()) as client:
        runtime = LargeWorld(client, order["url"], Path(order["directory"]), chunks=order["chunks"])
        runtime.take(ConnectorName(order["connector"]), order["many"])
        _watch(ConnectClient, "alter_offsets_with", fate)
        _watch(ConnectClient, "save_offsets", fate)
        _watch(Database, "write", fate)  # the ledger writes each piece and each record with this method
        (outcome,) = runtime.run()
    return {"result": outcome.result.value, "message": outcome.message}


def _watch(owner: type, method: str, fate: Fate) -> None:
    """Report a step before each call, and a step after it."""
    real = getattr(owner, method)

    def watched(*arguments: Any, **more: Any) -> Any:
        fate.tell(method)
        found = real(*arguments, **more)
        fate.tell(f"after {method}")
        return found

    setattr(owner, method, watched)


if __name__ == "__main__":
    main(carry_out)
