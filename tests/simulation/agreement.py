"""Whether the API, the status page and the metrics of a leader say what the ledger and the cluster say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from starlette.requests import Request
from starlette.responses import Response

from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.server import api, page_routes
from gitops_connect.server.metrics import PREFIX, SnapshotCollector
from gitops_connect.server.page_values import verdict_words
from gitops_connect.server.served import Served
from simulation.declared import SUSPEND
from simulation.promises import FOREIGN, LOCAL

if TYPE_CHECKING:
    from simulation.world import Replica

_MOST = 1000
_ROW = re.compile(r'<tr id="c/local/([^"]+)"[^>]*>(.*?)</tr>', re.DOTALL)


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
    conditions = ledger.status.conditions.of(LOCAL)
    if conditions != replica.view.conditions:
        yield f"the API shows the conditions {replica.view.conditions}, and the ledger has {conditions}"
    for name, one in connectors.items():
        declared = world.promises.latest.get(name)
        is_declared = declared is not None and declared.is_left and declared.hold == SUSPEND
        if name != FOREIGN and bool(one["suspension"]) != (is_declared or name in ledger.suspensions(LOCAL).connectors):
            yield f"the API shows the suspension {one['suspension']} of {name}"
    yield from _verdicts(replica, served, connectors)


def _verdicts(replica: Replica, served: Served, connectors: Mapping[str, Any]) -> Iterator[str]:
    """What the page and the metrics say of a connector otherwise than the API."""
    page = dict(_ROW.findall(bytes(_answer(page_routes.connectors, served).body).decode()))
    samples = [one for family in SnapshotCollector(replica.daemon.state, _MOST).collect() for one in family.samples]
    metrics = {one.labels["connector"]: one.labels for one in samples if one.name == f"{PREFIX}connector_info"}
    counted = {one.labels["verdict"]: one.value for one in samples if one.name == f"{PREFIX}connector_verdicts"}
    verdicts = Counter(one["verdict"]["kind"] for one in connectors.values())
    if {kind: count for kind, count in counted.items() if count} != verdicts:
        yield f"the metrics count the verdicts {counted}, and the API {verdicts}"
    for name, one in connectors.items():
        labels, kind = metrics[name], VerdictKind(one["verdict"]["kind"])
        if (labels["sync_status"], labels["health_status"]) != (one["sync"], one["health"]):
            yield f"the metrics say that {name} is {labels}, and the API {one}"
        if verdict_words(kind) not in page.get(name, ""):
            yield f"the page does not show that {name} is {kind.value}"
        if kind is VerdictKind.OK and (one["holds"] or (one["sync"], one["health"]) != ("Synced", "Healthy")):
            yield f"the verdict on {name} is ok, and it is {one}"


def _answer(endpoint: Callable[[Request], Response], served: Served) -> Response:
    app = SimpleNamespace(state=SimpleNamespace(served=served))
    return endpoint(Request({"type": "http", "app": app, "query_string": b"", "headers": [], "path_params": {}}))


def _json(endpoint: Callable[[Request], Response], served: Served) -> Any:
    return json.loads(bytes(_answer(endpoint, served).body))
