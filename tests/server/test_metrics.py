"""The metrics with the page that explains them, the probes, and the stream of changes."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows
from support.planner.situations import CLUSTER
from support.server.made_up import World, made_up_state

from gitops_connect.daemon import events
from gitops_connect.daemon.state import DaemonState, Snapshot
from gitops_connect.errors import LedgerBusy
from gitops_connect.model.health import OffsetProgress
from gitops_connect.model.names import ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import RequestKind, Restart, RestartRequest
from gitops_connect.server.event_stream import EventStream, news
from gitops_connect.server.metrics import OTHERS, Metrics

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
REVISION = Revision("a" * 40)


def samples(client: TestClient) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = client.get("/metrics").text
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def value(client: TestClient, name: str, **labels: str) -> float:
    return samples(client)[f"gitops_connect_{name}", tuple(sorted(labels.items()))]


def assert_values(client: TestClient, name: str) -> None:
    """The values of a table."""
    for metric, expected, labels in rows(__file__, name):
        assert value(client, metric, **labels) == expected, (metric, labels)


def step(connector: str, action: Action, **more: Any) -> StepOutcome:
    return StepOutcome(Step(ConnectorName(connector), action, "why", **more), Result.APPLIED)


def test_the_gauges_are_those_of_the_snapshot(client: TestClient, made: World) -> None:
    view = made.served.snapshot.clusters[CLUSTER]
    assert_values(client, "gauges")
    assert value(client, "last_success_timestamp_seconds", cluster="local") == view.observed.timestamp()  # type: ignore[union-attr]


def test_log_events_are_counted(client: TestClient, made: World) -> None:
    metrics = made.served.metrics
    log = logging.getLogger("gitops_connect")
    level = log.level
    log.setLevel(logging.INFO)
    try:
        with metrics.counting(made.daemon.reconciliations):
            change = OffsetChange(OffsetChangeName("skip"), ConnectorName("a"), OffsetChangeKind.ALTER, "d", REVISION)  # type: ignore[arg-type]
            requested = Restart(request=RestartRequest(RequestKind.CONNECTOR, "1"))
            for one in (
                step("a", Action.ALTER, offset_change=change),
                step("a", Action.CREATE, offset_change=change),
                step("a", Action.RESTART, restart=Restart()),
                step("a", Action.RESTART, restart=requested),
            ):
                events.step_ended(CLUSTER, REVISION, one)
            made.daemon.reconciliations.end(CLUSTER, 0, LedgerBusy("x"), 3.0)
            made.daemon.reconciliations.end(CLUSTER, 0, ValueError("x"), 3.0)
        events.step_ended(CLUSTER, REVISION, step("a", Action.CREATE))
    finally:
        log.setLevel(level)
    assert_values(client, "counters")


def test_the_number_of_labels_is_bounded(serve: Any) -> None:
    client = serve(metrics_connectors=5)
    metrics: Metrics = client.made.served.metrics
    for number in range(20):
        fields = {"cluster": "local", "connector": f"c{number}", "action": "restart", "restart": "automatic"}
        metrics.event("step_applied", "info", fields)
    found = samples(client)
    names = {dict(labels)["connector"] for name, labels in found if name == "gitops_connect_connector_info"}
    counted = {dict(labels)["connector"] for name, labels in found if name == "gitops_connect_connector_restarts_total"}
    assert len(names) <= 10
    assert counted == {OTHERS, "c0", "c1", "c2", "c3", "c4"}
    labels = {"cluster": "local", "connector": OTHERS, "kind": "automatic", "result": "applied"}
    assert value(client, "connector_restarts_total", **labels) == 15
    everything = made_up_state(ManualClock().now()).snapshot.clusters[CLUSTER].connectors
    view, now = client.made.served.snapshot.clusters[CLUSTER], ManualClock().now()
    moving = OffsetProgress(now, now - timedelta(hours=1), 12, "records", "")
    progress = {one.name: moving for one in everything} | {everything[0].name: replace(moving, slowest=None, unit="")}
    state = client.made.served.daemon.state
    state.update_cluster(CLUSTER, plan=replace(view.plan, offset_progress=progress))
    offsets = {name: [*names] for name, names in groupby(sorted(samples(client)), itemgetter(0)) if "moved" in name}
    assert [len(names) for names in offsets.values()] == [5, 4]
    shown = {"cluster": "local", "connector": everything[1].name}
    assert value(client, "connector_offsets_moved_timestamp_seconds", **shown) == now.timestamp()
    assert value(client, "connector_slowest_partition_moved_timestamp_seconds", **shown) == now.timestamp() - 3600
    assert value(client, "connector_offsets_distance_total", **shown, unit="records") == 12
    assert value(client, "connectors_omitted", cluster="local") == len(everything) - 5


def test_labels_are_printable_and_bounded(client: TestClient, made: World) -> None:
    name = ConnectorName('a\x1b[2J\x9b\u202e\u2028\ufeff\ud800\r\n"\\' + "x" * 10_000)
    (one, *_) = made.served.snapshot.clusters[CLUSTER].connectors
    made.served.daemon.state.update_cluster(CLUSTER, connectors=(replace(one, name=name),))
    fields = {"cluster": "local", "connector": name, "action": "restart", "restart": "automatic"}
    made.served.metrics.event("step_applied", "info", fields)
    assert client.get("/metrics").text.replace("\n", "").isprintable()
    shown = {dict(labels).get("connector", "") for _, labels in samples(client)}
    assert [one[:9] for one in shown if len(one) > 100] == ["a\\u001b[2"]
    assert max(map(len, shown)) < 500


def test_the_page_explains_every_metric_and_no_other() -> None:
    registry = Metrics(made_up_state(ManualClock().now()), 10).registry
    suffix = {"counter": "_total"}
    real = {
        f"{family.name}{suffix.get(family.type, '')}": sorted({*getattr(family, "_labelnames", ())})
        for family in registry.collect()
        if family.name.startswith("gitops_connect_")
    }
    explained = set(re.findall(r"^\| `(gitops_connect_[a-z_]+)`", PAGE.read_text(), re.MULTILINE))
    assert explained == real.keys()


def test_alive_is_the_daemon_and_not_the_cluster(client: TestClient, made: World) -> None:
    for name in made.served.snapshot.clusters:
        made.daemon.state.update_cluster(name, error="no worker answered", plan=None, connectors=())
    assert (client.get("/healthz").status_code, client.get("/healthz").json()) == (200, {"alive": True})
    made.daemon.is_alive = False
    assert client.get("/healthz").status_code == 503


def test_ready_begins_with_the_first_poll(client: TestClient, made: World) -> None:
    repository = made.served.snapshot.repository
    made.daemon.state.set_repository(replace(repository, polled=None, revision=None))
    assert client.get("/readyz").status_code == 503
    made.daemon.state.set_repository(replace(repository, error="the server does not answer", revision=None))
    assert client.get("/readyz").status_code == 200, "restarting the daemon would not help"


def test_a_stream_has_an_event_for_each_change_and_ends_with_the_server() -> None:
    state = made_up_state(ManualClock().now())

    async def listen() -> list[str]:
        events = EventStream(state, pause=0)
        watching, found = asyncio.create_task(events.watch()), []
        async for event in events.stream():
            found.append(event)
            if len(found) == 3:
                events.close_soon()
            else:
                state.set_leader(is_leader=not state.snapshot.is_leader)
        assert events.streams == 0
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return found

    before = state.snapshot.number
    events = asyncio.run(listen())
    assert events[0].startswith("retry: ")
    expected = [f'event: change\ndata: {{"number": {before + more}}}\n\n' for more in range(3)]
    assert [event[event.index("event") :] for event in events] == expected


class WatchedState(DaemonState):
    """Records which snapshot the watching thread knows."""

    known = 0

    def wait(self, number: int, timeout: float) -> Snapshot:
        self.known = number
        return super().wait(number, timeout)


def test_changes_during_a_pause_are_one_event_even_if_the_last_takes_the_first_back() -> None:
    """A page may have been read between the two."""
    state, ahead = WatchedState({}), 0

    async def listen() -> list[str]:
        nonlocal ahead
        loop = asyncio.get_running_loop()
        began = loop.time
        loop.time = lambda: began() + ahead  # type: ignore[method-assign]
        events = EventStream(state, pause=20)
        watching = asyncio.create_task(events.watch())
        async with aclosing(events.stream()) as stream:
            found = [await anext(stream)]
            state.set_leader(is_leader=False)
            found += [await anext(stream)]
            later = asyncio.create_task(_first_change(stream))
            for is_leader in (True, False):
                state.set_leader(is_leader=is_leader)
                while state.known < state.snapshot.number:
                    await asyncio.sleep(0)
            assert not later.done()
            ahead = 20
            found += [await later]
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return found

    found = asyncio.run(asyncio.wait_for(listen(), 50))
    assert [json.loads(one.rpartition("data: ")[2])["number"] for one in found] == [0, 1, 3]


async def _first_change(stream: AsyncIterator[str]) -> str:
    while not (event := await anext(stream)).startswith("event: change"):
        pass
    return event


def test_only_what_a_page_would_show_differently_is_news() -> None:
    state = made_up_state(ManualClock().now())
    before = state.snapshot
    view = before.clusters[CLUSTER]
    assert view.observed is not None
    later = view.observed + timedelta(seconds=60)
    copies = tuple(replace(one) for one in view.connectors)
    state.update_cluster(CLUSTER, observed=later, next=None, connectors=copies, plan=view.plan and replace(view.plan))
    state.set_repository(replace(before.repository, polled=later))
    assert news(before, state.snapshot) is None
    state.update_cluster(CLUSTER, connectors=(replace(copies[0], state="PAUSED"), *copies[1:]))
    assert news(before, state.snapshot) == (state.snapshot.number, {CLUSTER})
    state.set_leader(is_leader=False)
    assert news(before, state.snapshot) == (state.snapshot.number, None)
