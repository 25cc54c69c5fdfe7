"""Exactly-once sources on real workers, with that support and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster.kafka_records import committed_records

from acceptance.test_offsets import LINES, Lines
from acceptance.test_strimzi_annotations import Resource
from acceptance.workplace import MIRROR, SINK, SOURCE, Workplace
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.jars import BROKER_RELEASE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
BLOCKED = "Connect cannot remove offsets there"
OTHER = {"partition": {"filename": "/other"}, "offset": {"position": 1}}
OWN_TOPIC = "exactlyOnce: {support: required, offsetsTopic: own-offsets}"


@pytest.fixture(scope="module", params=[BROKER_RELEASE, pytest.param("3.9.1", marks=pytest.mark.thorough)])
def enabled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Workers that support exactly-once sources."""
    if request.param == BROKER_RELEASE:
        yield request.getfixturevalue("sandbox").worker_urls
        return
    directory = tmp_path_factory.mktemp("exactly-once") / "sandbox"
    options = SandboxOptions(directory=directory, workers=1, release=request.param, heap=512, tied=True)
    with Sandbox.up(options) as sandbox:
        yield sandbox.worker_urls


@pytest.fixture(scope="module", params=[BROKER_RELEASE, pytest.param("3.9.1", marks=pytest.mark.thorough)])
def disabled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Workers that do not."""
    if request.param == BROKER_RELEASE:
        yield request.getfixturevalue("other_sandbox").worker_urls
        return
    directory = tmp_path_factory.mktemp("at-least-once") / "sandbox"
    support = ExpectedSupport.DISABLED
    options = SandboxOptions(directory, workers=1, release=request.param, heap=512, exactly_once=support, tied=True)
    with Sandbox.up(options) as sandbox:
        yield sandbox.worker_urls


@pytest.fixture
def at(enabled: tuple[str, ...], tmp_path: Path) -> Iterator[Workplace]:
    place = Workplace(tmp_path, enabled)
    yield place
    place.clean()


@pytest.fixture
def without(disabled: tuple[str, ...], tmp_path: Path) -> Iterator[Workplace]:
    place = Workplace(tmp_path, disabled)
    yield place
    place.clean()


@pytest.fixture
def lines(at: Workplace) -> Lines:
    """A source with an offsets topic of its own, which has read its file."""
    made = Lines(at)
    at.deploy("lines.yaml", made.document(OWN_TOPIC))
    at.await_position("lines", len(LINES))
    return made


@pytest.mark.parametrize("removal", ["reset", "null", "replace"])
def test_a_removal_that_connect_cannot_carry_out_is_blocked(at: Workplace, lines: Lines, removal: str) -> None:
    spec = {
        "reset": "operation: reset\nacknowledge: [reset]",
        "null": f"operation: alter\nacknowledge: [tombstone]\n{lines.offsets(None)}",
        "replace": f"operation: replace\nacknowledge: [tombstone, unread]\noffsets: {json.dumps([OTHER])}",
    }
    at.commit("change.yaml", lines.change("again", spec[removal]))
    support = "support for exactly-once sources (exactly.once.source.support): enabled"
    at.run("plan").expect(said=(BLOCKED, support, "blocked"))
    at.run("apply", "--yes").expect(said=BLOCKED)
    assert (at.states(), lines.position()) == ({"lines": "RUNNING"}, len(LINES))


def test_an_undo_that_removes_offsets_is_blocked(at: Workplace, lines: Lines) -> None:
    at.apply_change("more", "lines", f"operation: alter\nacknowledge: [unread]\noffsets: {json.dumps([OTHER])}")
    assert len(at.offsets("lines")) == 2
    at.undo("more")
    at.run("plan").expect(said=BLOCKED)


def test_an_annotation_that_removes_offsets_is_a_warning(at: Workplace) -> None:
    resource = Resource(at)
    own = {"offsets.storage.topic": "own-offsets"}
    resource.commit({}, "state: running", **own)
    at.apply()
    at.await_position("lines", len(LINES))
    resource.commit({"strimzi.io/connector-offsets": "reset"}, **own)
    at.run("apply", "--yes").expect(said=BLOCKED)
    assert (at.states(), resource.position) == ({"lines": "STOPPED"}, len(LINES))


def test_a_deletion_keeps_the_connector_if_its_offsets_cannot_be_removed(at: Workplace, lines: Lines) -> None:
    at.commit("lines.yaml", lines.document(f"{OWN_TOPIC}\nstate: absent\nonDelete: {{offsets: reset}}"))
    at.run("plan").expect(out=("not deleted, because onDelete removes its offsets first", BLOCKED))
    at.apply()
    assert at.states() == {"lines": "RUNNING"}
    at.deploy("lines.yaml", lines.document(f"{OWN_TOPIC}\nstate: absent"))
    assert at.states() == {}


def test_setting_offsets_works_in_an_offsets_topic_of_the_connector(at: Workplace, lines: Lines) -> None:
    at.deploy("change.yaml", lines.alter("again", 2, "acknowledge: [rewind]"))
    lines.await_position(len(LINES))
    at.run("offsets", "history", at.name("lines")).expect(0, out="again")


def test_the_plan_says_where_the_offsets_are_read_next_and_what_is_guaranteed(at: Workplace, lines: Lines) -> None:
    name, change = at.name("lines"), "delivery: exactly-once -> at-least-once"
    at.run("describe", "connector", name).expect(out="exactly-once\n")
    at.commit("copy.yaml", at.document("copy", SINK, "", {"topics": name, "file": "/dev/null"}))
    at.run("plan").expect(out=f"also read records of aborted transactions: {at.name('copy')} ({name})")
    at.commit("copy.yaml")
    other = "state: stopped\nexactlyOnce: {offsetsTopic: other-offsets}"
    at.commit("lines.yaml", lines.document(other))
    at.run("plan").expect(
        said=("blocked by missing acknowledgement", "connector/weaker-delivery", "add `acknowledge: [delivery]`")
    )
    at.run("apply", "--yes")
    assert at.rest("GET", f"/connectors/{name}/config")["exactly.once.support"] == "required"
    at.commit("lines.yaml", lines.document(f"{other}\nacknowledge: [delivery]"))
    at.run("plan").expect(out=(change, 'offsets are read from the topic "other-offsets" from now on'))
    at.apply()
    assert [one["offset"] for one in at.offsets("lines")] == [None], "the offsets topic of the workers is not read"
    at.run("describe", "connector", name, "-o", "json").expect(out='"Delivery": "at-least-once"')
    at.commit("lines.yaml", lines.document("state: stopped"))
    at.run("plan").expect(out="offsets are read from the worker's offsets topic, which may have older offsets or none")


def test_saved_offsets_are_set_in_a_new_offsets_topic_in_the_same_commit(at: Workplace, lines: Lines) -> None:
    at.run("offsets", "get", at.name("lines"), "--save", str(at.repository / "saved.json")).expect(0)
    at.write("moved.yaml", lines.change("moved", "operation: alter\nmanifest: {path: saved.json}"))
    at.deploy(
        "lines.yaml", lines.document("state: stopped\nexactlyOnce: {support: required, offsetsTopic: further-offsets}")
    )
    assert lines.position() == len(LINES)


def kafka_settings(sandbox: Sandbox, *more: str) -> str:
    worker = '[clusters.local.worker]\ngroup_id = "connect-sandbox"\n' + "".join(more)
    return f'{worker}\n[clusters.local.kafka]\nbootstrap_servers = ["{sandbox.bootstrap}"]'


@pytest.mark.parametrize("enabled", [BROKER_RELEASE], indirect=True)
def test_all_tasks_are_fenced_before_offsets_are_changed(at: Workplace, sandbox: Sandbox) -> None:
    """Connect itself fences only the tasks that the source has now."""
    kafka = pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
    at.settings(more=kafka_settings(sandbox))
    lines, name = Lines(at), at.name("lines")
    at.deploy("lines.yaml", lines.document("tasksMax: 2"))
    lines.await_position(len(LINES))
    former = kafka.Producer(
        {"bootstrap.servers": sandbox.bootstrap, "transactional.id": f"connect-sandbox-{name}-1", "log_level": 0}
    )
    former.init_transactions(30)
    former.begin_transaction()
    former.produce(name, b"of a former task")
    at.commit("change.yaml", lines.alter("again", 4, "acknowledge: [rewind]"))
    ids = f"the transactional ids connect-sandbox-{name}-0 to connect-sandbox-{name}-1"
    at.run("plan").expect(out=f"before its offsets are read and changed, the producers of {ids} are fenced")
    at.apply()
    with pytest.raises(kafka.KafkaException, match="_FENCED"):
        former.commit_transaction(30)
    lines.await_position(len(LINES))
    last = LINES.encode().splitlines()
    assert committed_records(sandbox.bootstrap, name) == [*last, *last[1:]]


@pytest.mark.parametrize("enabled", [BROKER_RELEASE], indirect=True)
def test_a_check_of_brokers_without_an_authorizer(at: Workplace, sandbox: Sandbox) -> None:
    pytest.importorskip("confluent_kafka", reason="the client of Kafka is an extra")
    rest = {"config_topic": "c", "offsets_topic": "o", "status_topic": "s", "principal": "User:a"}
    at.settings(more=kafka_settings(sandbox, *(f'{key} = "{value}"\n' for key, value in rest.items())))
    at.run("acls", "--check").expect(1, out="", err="they have no authorizer (authorizer.class.name)")


def test_a_class_without_transactions_of_its_own(at: Workplace) -> None:
    at.commit("lines.yaml", Lines(at).document("exactlyOnce: {support: required, boundary: connector}"))
    at.run("plan").expect(said=("connect/boundary-unsupported", "use the boundary poll or interval"))


def test_connect_accepts_each_field(at: Workplace) -> None:
    fields = "{support: requested, boundary: interval, interval: 500ms, offsetsTopic: own-offsets}"
    at.deploy("lines.yaml", Lines(at).document(f"exactlyOnce: {fields}"))
    at.await_position("lines", len(LINES))
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_the_isolation_of_a_mirror_is_checked_as_connect_checks_it(at: Workplace) -> None:
    consumer, source = "consumer.isolation.level", "source.consumer.isolation.level"
    for keys, is_supported in (
        ({}, False),
        ({source: "read_committed"}, True),
        ({source: "READ_COMMITTED"}, False),
        ({consumer: "read_committed"}, True),
        ({consumer: "read_committed", source: "read_uncommitted"}, False),
        ({"source.cluster.isolation.level": "read_committed"}, False),
    ):
        mirror = {"exactly.once.support": "required", "source.cluster.alias": "a", "topics": "none", **keys}
        body = {"connector.class": MIRROR, "name": "x", "source.cluster.bootstrap.servers": "127.0.0.1:1", **mirror}
        answer = at.rest("PUT", "/connector-plugins/MirrorSourceConnector/config/validate", body)
        found = {one["value"]["name"]: one["value"]["errors"] for one in answer["configs"]}
        assert any("isolation.level" in error for error in found["exactly.once.support"]) is not is_supported, keys
        at.write("mirror.yaml", at.document("mirror", MIRROR, "", mirror))
        validated = at.run("validate", "--offline", str(at.repository))
        assert ("connector/mirror-isolation" in validated.out) is not is_supported, keys


@pytest.mark.parametrize("value", ["0", "-1"])
def test_the_interval_has_the_limit_of_connect(at: Workplace, value: str) -> None:
    keys = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": value}
    body = {"connector.class": SOURCE, "name": "x", "topic": "t", **keys}
    found = at.rest("PUT", "/connector-plugins/FileStreamSource/config/validate", body)
    assert (found["error_count"] == 0) is (value == "0")


def test_workers_are_enabled(at: Workplace) -> None:
    at.settings('connect_validate = false\nexactly_once = "preparing"')
    at.run("doctor").expect(out="enabled, but exactly_once is 'preparing' in the settings")
    at.run("plan").expect(out="exactly_once is 'preparing' in [clusters.local]")


def test_workers_are_not_enabled(without: Workplace) -> None:
    lines = Lines(without)
    without.run("doctor").expect(out="support for exactly-once sources: not enabled")
    without.commit("lines.yaml", lines.document(OWN_TOPIC))
    without.run("plan").expect(said=("connect/exactly-once-not-enabled", "exactly.once.source.support): not enabled"))
    without.run("status").expect(
        said="cluster local: support for exactly-once sources (exactly.once.source.support): not"
    )
    own = "exactlyOnce: {support: requested, offsetsTopic: own-offsets}"
    without.deploy("lines.yaml", lines.document(own))
    lines.await_position(len(LINES))
    without.deploy("change.yaml", lines.change("again", "operation: reset\nacknowledge: [reset]"))
    lines.await_position(len(LINES))
    without.run("offsets", "history", without.name("lines")).expect(0, out="again")
