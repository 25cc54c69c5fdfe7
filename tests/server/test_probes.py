"""The probes, the stream of changes, and the server in its thread next to a daemon."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from starlette.testclient import TestClient
from support.cluster.manual_clock import ManualClock
from support.server.made_up import World, made_up_state

from gitops_connect.server.event_stream import EventStream


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
        events = EventStream(state)
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
    expected = [f"event: change\ndata: {before + more}\n\n" for more in range(3)]
    assert [event[event.index("event") :] for event in events] == expected
