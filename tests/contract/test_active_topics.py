"""The active topics of connectors (KIP-558): what a worker records, returns and forgets.

The tests run with the stand-in and the shared worker, and if they are thorough, with workers of other releases.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from acceptance.test_other_versions import RELEASES
from standin.connect import StandIn
from support.cluster.memory_cluster import MemoryCluster

from contract.under_test import Contract, sink_entry
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import TopicTrackingDisabled
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.jars import DEFAULT_RELEASE
from gitops_connect.sandbox.sandbox_state import TopicTracking
from gitops_connect.settings.sections import ClusterSettings

pytestmark = pytest.mark.slow

_MARKS = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(900)]
OTHERS = [pytest.param(one, marks=_MARKS) for one in RELEASES]
ROUTER = {
    "transforms": "route",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": ".*",
    "transforms.route.replacement": "routed",
}
Start = Callable[[str, TopicTracking], str]
"""Starts a worker of a release with this topic tracking, and ends the one before. Returns its URL."""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """The workers of a release have one broker, so the next one has the topics and connectors of the one before."""
    directory = tmp_path_factory.mktemp("releases")
    with ExitStack() as stack:
        running: dict[str, Sandbox] = {}

        def up(release: str, tracking: TopicTracking) -> str:
            own = directory / release
            if release in running and running[release].state().topic_tracking is not tracking:
                running[release].down()
            options = SandboxOptions(own, 1, release, heap=512, topic_tracking=tracking, tied=True)
            running[release] = stack.enter_context(Sandbox.up(options))
            return running[release].worker_urls[0]

        yield up


@pytest.fixture(params=["standin", "model", pytest.param("real", marks=pytest.mark.e2e), *OTHERS])
def url(request: pytest.FixtureRequest, model: MemoryCluster) -> Iterator[str]:
    if request.param in ("standin", "model"):
        with StandIn(model.rules if request.param == "model" else None) as standin:
            yield standin.url
    elif request.param == "real":
        shared = os.environ.get("GITOPS_CONNECT_CONTRACT_URL")
        yield shared or request.getfixturevalue("sandbox").worker_urls[0]
    else:
        yield request.getfixturevalue("start")(request.param, TopicTracking.ENABLED)


def await_topics(contract: Contract, name: ConnectorName, *topics: str) -> None:
    """Wait until these are the active topics. In the stand-in, each read of the states lets time pass."""

    def look() -> frozenset[str]:
        contract.client.connectors()
        return contract.client.active_topics(name)

    contract.await_that(look, lambda found: found == {*topics})


def used(contract: Contract, *names: str) -> list[str]:
    """New topics, each with a record."""
    return [contract.topic(name) for name in names]


def writes(contract: Contract, line: str) -> None:
    """Add a line to the file of `contract.source`."""
    with (contract.directory / "in.txt").open("a") as file:
        file.write(f"{line}\n")


def reset(contract: Contract, name: ConnectorName) -> tuple[int, object]:
    return contract.json("PUT", f"/connectors/{name}/topics/reset")


def test_a_source_has_the_topics_behind_its_transforms_and_a_sink_those_before(contract: Contract) -> None:
    config = contract.source(topic="unrouted", **ROUTER)
    source = contract.running("source", config)
    assert contract.json("GET", f"/connectors/{source}/topics") == (200, {source: {"topics": []}}), "no record yet"
    writes(contract, "a")
    await_topics(contract, source, "routed")
    contract.client.configure(source, {**config, "topic": "other", "transforms": ""})
    contract.await_state(source, "RUNNING", ["RUNNING"])
    assert contract.client.active_topics(source) == {"routed"}, "a new config resets nothing"
    topics = used(contract, "one", "two")
    sink = contract.create("sink", {**contract.sink(**ROUTER), "topics": "", "topics.regex": "|".join(topics)})
    await_topics(contract, sink, *topics)


def test_an_absent_connector_has_no_topics_and_is_not_missed(contract: Contract) -> None:
    absent = ConnectorName("no-such-connector")
    assert contract.json("GET", f"/connectors/{absent}/topics") == (200, {absent: {"topics": []}})
    assert reset(contract, absent) == (202, None)
    for name in ("with space", "ünï-日本", "q?x#y", "{curly}", 'quote"s'):
        contract.client.reset_active_topics(ConnectorName(name))
        assert contract.client.active_topics(ConnectorName(name)) == frozenset()


def test_a_reset_topic_is_back_with_its_next_record(contract: Contract) -> None:
    name = contract.running("source", contract.source(topic="again"))
    writes(contract, "a")
    await_topics(contract, name, "again")
    assert reset(contract, name) == (202, None)
    await_topics(contract, name)
    writes(contract, "b")
    await_topics(contract, name, "again")


def test_neither_a_restart_nor_another_config_resets_and_topics_of_a_stopped_connector_stay_reset(
    contract: Contract,
) -> None:
    """KIP-558 says that a sink forgets topics that its new config no longer reads. No release does that."""
    one, two = used(contract, "one", "two")
    config = contract.sink(topics=f"{one},{two}", **{"tasks.max": "1"})
    name = contract.create("sink", config)
    await_topics(contract, name, one, two)
    contract.client.configure(name, {**config, "topics": one})
    contract.await_offsets(name, sink_entry(one, 1) | sink_entry(two, 1))
    contract.await_state(name, "RUNNING", ["RUNNING"])
    contract.client.restart(name, include_tasks=True, only_failed=False)
    contract.await_state(name, "RUNNING", ["RUNNING"])
    contract.stop(name)
    assert contract.client.active_topics(name) == {one, two}
    contract.client.reset_active_topics(name)
    await_topics(contract, name)
    contract.run(name)
    assert contract.client.active_topics(name) == frozenset(), "no new record"


@pytest.mark.parametrize("stopped", [False, True])
def test_a_deletion_resets(contract: Contract, *, stopped: bool) -> None:
    name = contract.running("source", contract.source(topic="deleted"))
    writes(contract, "a")
    await_topics(contract, name, "deleted")
    if stopped:
        contract.stop(name)
    contract.client.delete(name)
    await_topics(contract, name)


@pytest.fixture(params=["standin", pytest.param(DEFAULT_RELEASE, marks=_MARKS), *OTHERS])
def tracked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[TopicTracking], Contract]]:
    """A cluster whose worker has this topic tracking."""
    with ExitStack() as stack:
        standin = stack.enter_context(StandIn()) if request.param == "standin" else None

        def track(tracking: TopicTracking) -> Contract:
            if standin is None:
                url = request.getfixturevalue("start")(request.param, tracking)
            else:
                url, standin.cluster.topic_tracking = standin.url, tracking
            settings = ClusterSettings(ClusterName("tracked"), (url,))
            return Contract(stack.enter_context(ConnectClient(settings, SystemClock())), url, tmp_path)

        yield track


def test_tracking_and_its_reset_can_be_turned_off_and_a_deletion_then_leaves_topics(
    tracked: Callable[[TopicTracking], Contract],
) -> None:
    contract = tracked(TopicTracking.ENABLED)
    gone, kept = (contract.running("source", contract.source(topic="tracked")) for _ in range(2))
    writes(contract, "a")
    for name in (gone, kept):
        await_topics(contract, name, "tracked")

    contract = tracked(TopicTracking.DISABLED)
    off = {"error_code": 403, "message": "Topic tracking is disabled."}
    assert contract.json("GET", f"/connectors/{gone}/topics") == reset(contract, gone) == (403, off)
    for request in (contract.client.active_topics, contract.client.reset_active_topics):
        with pytest.raises(TopicTrackingDisabled, match=r"set topic\.tracking\.enable=true on all workers"):
            request(gone)
    contract.client.delete(gone)

    contract = tracked(TopicTracking.NO_RESET)
    assert contract.client.active_topics(gone) == {"tracked"}, "nothing was forgotten while tracking was off"
    off = {"error_code": 403, "message": "Topic tracking reset is disabled."}
    assert reset(contract, kept) == (403, off)
    with pytest.raises(TopicTrackingDisabled, match=r"set topic\.tracking\.allow\.reset=true on all workers"):
        contract.client.reset_active_topics(kept)
    contract.client.delete(kept)
    await_topics(contract, kept)

    contract = tracked(TopicTracking.ENABLED)
    contract.client.reset_active_topics(gone)
    await_topics(contract, gone)
