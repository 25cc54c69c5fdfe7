"""Applies one large change for each order, without Spark, and dies before the step with the number `die_at`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.cluster.large_world import APPLY, LargeWorld

from death.program import Fate, main
from death.watched import watch_method
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
        # The ledger writes each piece and each record with `Database.write`.
        for owner, method in (
            (ConnectClient, "alter_offsets_with"),
            (ConnectClient, "save_offsets"),
            (Database, "write"),
        ):
            watch_method(owner, method, lambda *_, method=method: fate.tell(method))
        (outcome,) = runtime.run()
    return {"result": outcome.result.value, "message": outcome.message}


if __name__ == "__main__":
    main(carry_out)
