"""Whether the API, the status page and the metrics of a leader say what the ledger and the cluster say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from starlette.requests import Request
from starlette.responses import Response

from gitops_connect.server import api, page_routes
from gitops_connect.server.metrics import SnapshotCollector
from gitops_connect.server.served import Served
from simulation.declared import SUSPEND
from simulation.promises import FOREIGN, LOCAL

if TYPE_CHECKING:
    from simulation.world import Replica

_MOST = 1000


def disagreements(replica: Replica) -> Iterator[str]:
    """What one of them says otherwise. The last reconciliation has to be a moment ago, with nothing left to do."""
    world, ledger = replica.world, replica.world.ledger
    known = (world.settings, replica.daemon, ledger, None, None, None)
    served = Served(*cast(Any, known))
    records = ledger.offset_changes.records(LOCAL)
    shown = {one["name"]: one["state"] for one in _json(api.offset_changes, served)["operations"]}
    if shown != (expected := {name: record.state.value for name, record in records.items()}):
        yield f"the API shows the offset changes {shown}, and the ledger has {expected}"
    connectors = {one["name"]: one for one in _json(api.connectors, served)["connectors"]}
    present = {name: one.state.value for name, one in world.cluster.present.items()}
    states = {name: one["state"] for name, one in connectors.items() if name in present}
    if states != present:
        yield f"the API shows {states}, and the cluster has {present}"
    page = bytes(_answer(page_routes.front, served).body).decode()
    metrics = {
        sample.labels["connector"]: sample.labels
        for family in SnapshotCollector(replica.daemon.state, _MOST).collect()
        for sample in family.samples
        if sample.name == "gitops_connect_connector_info"
    }
    conditions = ledger.status.conditions.of(LOCAL)
    if conditions != replica.view.conditions:
        yield f"the API shows the conditions {replica.view.conditions}, and the ledger has {conditions}"
    for name, one in connectors.items():
        labels = metrics[name]
        if (labels["sync_status"], labels["health_status"]) != (one["sync"], one["health"]):
            yield f"the metrics say that {name} is {labels}, and the API {one}"
        if name not in page or one["health"] not in page:
            yield f"the page does not show that {name} is {one['health']}"
        declared = world.promises.latest.get(name)
        is_declared = declared is not None and declared.is_left and declared.hold == SUSPEND
        if name != FOREIGN and bool(one["suspension"]) != (is_declared or name in ledger.suspensions(LOCAL).connectors):
            yield f"the API shows the suspension {one['suspension']} of {name}"


def _answer(endpoint: Callable[[Request], Response], served: Served) -> Response:
    app = SimpleNamespace(state=SimpleNamespace(served=served))
    return endpoint(Request({"type": "http", "app": app, "query_string": b"", "headers": [], "path_params": {}}))


def _json(endpoint: Callable[[Request], Response], served: Served) -> Any:
    return json.loads(bytes(_answer(endpoint, served).body))
