"""The read-only commands: `plan`, `get`, `describe`, `status` and `doctor`, in each of their formats."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from acceptance.workplace import SINK, Ran, Workplace
from standin.connect import StandIn
from support.files.tables import rows

from gitops_connect.sandbox.sandbox_state import TopicTracking

pytestmark = pytest.mark.slow

Parse = Callable[[str], Any]
FORMATS = [("json", json.loads), ("yaml", yaml.safe_load)]
GONE = '[clusters.gone]\nurl = ["http://127.0.0.1:1"]'


def table(ran: Ran) -> list[list[str]]:
    return [line.split() for line in ran.out.splitlines()]


def test_a_plan_as_json_is_json_and_everything_else_is_on_stderr(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"), at.source("broken", "state: runing"))
    ran = at.run("plan", "-o", "json").expect(4, err="did you mean 'running'")
    assert json.loads(ran.out)["format_version"]


def test_get_connectors(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.rest(
        "POST", "/connectors", {"name": at.name("zebra"), "config": at.config("orders") | {"name": at.name("zebra")}}
    )
    rows = table(at.run("get", "connectors"))
    assert rows[0] == ["CLUSTER", "NAME", "TYPE", "STATE", "TASKS", "CLASS", "OWNED"]
    found = [[row[1], row[3], row[-1]] for row in rows[1:]]
    assert found == [[at.name("orders"), "RUNNING", "created"], [at.name("zebra"), "RUNNING", "-"]]


@pytest.mark.parametrize(("name", "parse"), FORMATS)
def test_get_plugins(at: Workplace, name: str, parse: Parse) -> None:
    values = parse(at.run("get", "plugins", "-o", name).out)
    classes = [value["class"] for value in values]
    assert classes == sorted(classes)
    assert {
        "cluster": "local",
        "type": "sink",
        "version": "4.3.1",
        "class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    } in values
    assert [row[-1] for row in table(at.run("get", "plugins"))] == ["CLASS", *classes]


@pytest.fixture
def users(at: Workplace) -> tuple[str, str]:
    """A source that has written `orders` and `lines`, and a sink that has read `lines`."""
    (at.directory / "in.txt").write_text("a\n")
    for topic in ("orders", "lines"):
        at.deploy("orders.yaml", at.source("orders", file=str(at.directory / "in.txt"), topic=topic))
        with (at.directory / "in.txt").open("a") as file:
            file.write("b\n")
        at.states()
    at.deploy("copy.yaml", at.document("copy", SINK, "", {"topics": "lines"}))
    at.states()
    return at.name("orders"), at.name("copy")


def test_get_topics_lists_the_topics_of_connectors_and_the_connectors_of_a_topic(
    at: Workplace, users: tuple[str, str]
) -> None:
    orders, copy = users
    expected = [
        ["local", copy, "sink", "lines"],
        ["local", orders, "source", "lines"],
        ["local", orders, "source", "orders"],
    ]
    for name, parse in FORMATS:
        values = parse(at.run("get", "topics", "-o", name).expect(0).out)
        assert values == [dict(zip(("cluster", "connector", "type", "topic"), row, strict=True)) for row in expected]
    header = ["CLUSTER", "CONNECTOR", "TYPE", "TOPIC"]
    for arguments, shown in (
        ((), expected),
        ((orders,), expected[1:]),
        (("--topic", "lines"), expected[:2]),
        ((orders, "--topic", "lines", "--topic", "none"), expected[1:2]),
        (("--topic", "none"), []),
    ):
        assert table(at.run("get", "topics", *arguments).expect(0)) == [header, *shown]
    described = json.loads(at.run("describe", "connector", orders, "-o", "json").out)[0]
    assert described["Active topics"] == ["lines", "orders"]
    assert described["Delivery"] == "at-least-once"


def test_a_deleted_connector_may_have_topics_that_connect_has_kept(
    at: Workplace, standin: StandIn, users: tuple[str, str]
) -> None:
    orders, copy = users
    standin.cluster.topic_tracking = TopicTracking.DISABLED
    at.rest("DELETE", f"/connectors/{copy}")
    standin.cluster.topic_tracking = TopicTracking.ENABLED
    assert table(at.run("get", "topics", copy).expect(0))[1:] == [["local", copy, "-", "lines"]]
    assert copy not in at.run("get", "topics").expect(0, out=orders).out
    ran = at.run("get", "topics", "nobody", orders).expect(1, err="error: there is no connector 'nobody' on local\n")
    assert ran.out.count(orders) == 2


def test_topics_of_one_connector_that_cannot_be_read_do_not_hide_those_of_others(
    at: Workplace, standin: StandIn, users: tuple[str, str]
) -> None:
    orders, copy = users
    for arguments in ((), (orders, copy)):
        standin.answer("GET", f"/connectors/{orders}/topics", 200, {orders: {"topics": ["a b"]}})
        ran = at.run("get", "topics", *arguments)
        ran.expect(1, err=f"error: cluster local: GET /connectors/{orders}/topics: this is not an answer of Kafka")
        assert table(ran)[1:] == [["local", copy, "sink", "lines"]]
    standin.answer("GET", f"/connectors/{orders}/topics", 200, [])
    at.run("describe", "connector", orders).expect(0, out="Active topics: unknown: connect cluster local: GET")


def test_topics_that_are_not_tracked_are_one_error(at: Workplace, standin: StandIn, users: tuple[str, str]) -> None:
    standin.cluster.topic_tracking = TopicTracking.DISABLED
    why = "Topic tracking is disabled. (HTTP 403"
    assert at.run("get", "topics").expect(1, err=why).err.count("error:") == 1
    at.run("describe", "connector", users[0]).expect(0, out=why)
    standin.cluster.version = "2.4.1"
    at.run("get", "topics").expect(1, err="cannot return and reset the active topics of connectors (2.5 and later can)")
    assert "Active topics" not in at.run("describe", "connector", users[0]).expect(0).out


@pytest.mark.parametrize("command", ["plan -o json", "get connectors -o json", "get plugins -o json"])
def test_the_other_clusters_are_shown_if_one_is_unreachable(at: Workplace, command: str) -> None:
    at.settings(more=GONE)
    at.commit("clusters/local/orders.yaml", at.source("orders"))
    ran = at.run(*command.split()).expect(1, err="error: cluster gone: ")
    assert ran.err.count("cluster gone") == 1, "once"
    found = json.loads(ran.out)
    shown = found["clusters"] if command.startswith("plan") else found
    assert {one["cluster"] for one in shown} == (set() if "connectors" in command else {"local"})


@pytest.mark.parametrize(("name", "parse"), FORMATS)
def test_describe_masks_what_the_plugin_calls_a_password(
    at: Workplace, standin: StandIn, name: str, parse: Parse
) -> None:
    document = at.mirror("orders", "state: stopped", **{"ssl.key.password": "hunter2", "sasl.jaas.config": "hunter3"})
    at.deploy("orders.yaml", document)
    ran = at.run("describe", "connector", at.name("orders"), "-o", name).expect(0)
    (value,) = parse(ran.out)
    assert (value["Name"], value["State"]) == (at.name("orders"), "STOPPED")
    assert value["Config"]["ssl.key.password"] == value["Config"]["sasl.jaas.config"] == "***"
    assert value["Config"]["source.cluster.alias"] == "a"
    assert value["Ownership"]["Origin"] == "created"
    standin.cluster.fail(at.name("orders"), "java.lang.Boom: hunter2")
    failed = at.run("describe", "connector", at.name("orders")).expect(0, out="java.lang.Boom: ***")
    assert "hunter" not in ran.out + failed.out


@pytest.mark.parametrize(("version", "why"), rows(__file__, "unknown_plugins"))
def test_describe_masks_everything_if_no_worker_describes_the_plugin(
    at: Workplace, standin: StandIn, version: str, why: str
) -> None:
    at.deploy("orders.yaml", at.source("orders", pin="1234"))
    standin.cluster.version = version
    before = standin.count("GET", "/connector-plugins/.*/config.*")
    standin.refuse("GET", "/connector-plugins/.*", 404, "Unknown plugin", times=1)
    shown = at.run("describe", "connector", at.name("orders"))
    shown.expect(0, out="pin:", err=f"all config values are masked: {why}")
    assert "1234" not in shown.out
    assert version == "4.3.1" or standin.count("GET", "/connector-plugins/.*/config.*") == before


@pytest.mark.parametrize("noun", ["connector", "connectors"])
def test_connectors_are_selected_by_name_with_either_noun(at: Workplace, noun: str) -> None:
    at.deploy("orders.yaml", at.source("orders"), at.source("more"), at.source("other"))
    orders, more, other = map(at.name, ("orders", "more", "other"))
    rows = json.loads(at.run("get", noun, orders, more, orders, "-o", "json").out)
    assert [row["name"] for row in rows] == [more, orders]
    ran = at.run("get", noun, other, "nobody", "othr-" + at.suffix).expect(1)
    assert [line.split()[1] for line in ran.out.splitlines()[1:]] == [other]
    assert ran.err == (
        "error: there is no connector 'nobody' on local\n"
        f"error: there is no connector 'othr-{at.suffix}' on local; did you mean {other!r}?\n"
    )
    assert at.run("describe", noun, orders).out.startswith(f"Name:          {orders}\n")
    said = "there is no connector 'nobody' on local; run `gitops-connect get connectors` to list all connectors"
    at.run("describe", noun, "nobody").expect(1, out="", err=said)


def test_status_shows_the_observed_and_the_desired_state(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"), at.source("more"))
    at.by_hand("pause", "orders")
    ran = at.run("status")
    rows = {row[1]: row for row in table(ran)[1:]}
    assert "PAUSED" in " ".join(rows[at.name("orders")]).upper()
    assert "RUNNING" in " ".join(rows[at.name("more")]).upper()
    revision = at.git("rev-parse", "--short=7", "HEAD")
    assert f"cluster local: desired commit {revision}, last applied commit {revision}" in ran.err
    assert ran.code == 0
    assert at.run("status", "--exit-code").code == 1
    at.by_hand("resume", "orders")
    at.commit("broken.yaml", "apiVersion: gitops-connect/v1\nkind: [\n")
    at.run("status").expect(0)
    at.run("status", "--exit-code").expect(1)  # for an error that belongs to no connector
    for name, parse in FORMATS:
        names = {value["name"] for value in parse(at.run("status", "-o", name).out)}
        assert names == {at.name("orders"), at.name("more")}


def test_doctor_checks_every_part_and_worker_even_if_some_are_down(at: Workplace, standin: StandIn) -> None:
    at.urls = (standin.url, "http://127.0.0.1:1")
    at.settings()
    assert [row[0] for row in table(at.run("doctor").expect(1))[-2:]] == ["ok", "error"]
    at.urls = (standin.url,)
    at.settings(more=GONE)
    ran = at.run("doctor", "-o", "json").expect(1)
    verdicts = {value["part"]: value["verdict"] for value in json.loads(ran.out)}
    assert verdicts.pop("java") in ("ok", "note")
    good = ("gitops-connect", "git", "pyspark", "repository", "ledger", "cluster local")
    assert verdicts == {**dict.fromkeys(good, "ok"), "cluster gone": "error"}
    standin.cluster.version = "2.2.1"
    at.run("doctor").expect(1, out="cannot list the states and configs of its connectors (2.3 and later can)")
    (at.directory / "gitops-connect.toml").write_text("[clusters]\nlocal = 1\n")
    found = table(at.run("doctor").expect(1))
    assert (found[1][:2], found[-1][:2]) == (["ok", "gitops-connect"], ["error", "settings"])


def test_workers_of_different_versions_are_found_and_said_in_the_plan(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders", "state: stopped"))
    with StandIn() as older:
        older.cluster.version = "3.4.1"
        at.urls = (standin.url, older.url)
        at.settings()
        found = at.run("doctor").out
        assert f"different versions ({standin.url}: 4.3.1, {older.url}: 3.4.1)" in found
        planned = at.run("plan").expect(0).out
        assert "warning: the workers have different versions (3.4.1, 4.3.1), and the plan is for the oldest" in planned
        assert "Kafka Connect 3.4.1 cannot stop connectors" in planned
    assert "different versions" not in at.run("plan").out, "a worker that is down is not asked"


def test_workers_with_different_settings_and_plugins_are_found(at: Workplace, standin: StandIn) -> None:
    of_kafka, own = "org.apache.kafka.connect.tools.MockSinkConnector", "com.example.Sink"
    plugins = [{"class": name, "type": "sink", "version": "1.0"} for name in (of_kafka, own)]
    with StandIn() as other:
        at.urls = (standin.url, other.url)
        at.settings()
        for version, lacks in (("4.3.1", f"lacks {own} 1.0, {of_kafka} 1.0"), ("4.3.0", f"lacks {own} 1.0")):
            other.cluster.version = version
            other.answer("GET", "/connector-plugins.connectorsOnly=false", 200, plugins)
            words = f"its workers have different plugins ({standin.url}: {lacks}, {other.url}: "
            assert words in at.run("doctor").expect(0).out
        other.cluster.topic_tracking = TopicTracking.DISABLED
        shown = at.run("doctor").out
    tracking = f"its workers have different topic tracking ({standin.url}: enabled, {other.url}: disabled)"
    assert tracking in shown


def test_doctor_names_the_secrets_that_are_missing(at: Workplace) -> None:
    """Also those that only `run` needs: without the tokens of its server, it does not start."""
    server = '[server]\nlisten = "0.0.0.0:8080"\nread_token = {file = "read-token"}\n'
    at.settings(more=f'{server}[notifications.targets]\nteam = {{env = "GONE"}}')
    found = {one["part"]: (one["verdict"], one["found"]) for one in json.loads(at.run("doctor", "-o", "json").out)}
    for part, setting in (("server", "[server] read_token"), ("credential", "[notifications] targets.team")):
        assert found[part][0] == "error"
        assert f"{setting}: " in found[part][1]
    (at.directory / "read-token").write_text("a-token-of-the-tests")
    found = {one["part"]: (one["verdict"], one["found"]) for one in json.loads(at.run("doctor", "-o", "json").out)}
    assert found["server"] == ("ok", "0.0.0.0, port 8080")


@pytest.mark.parametrize(("allowed", "expected"), rows(__file__, "allowed_secrets"))
def test_doctor_warns_if_the_settings_allow_too_many_secrets(at: Workplace, allowed: str, expected: str) -> None:
    at.settings(more=f"[secrets]\n{allowed}")
    found = [value["found"] for value in json.loads(at.run("doctor", "-o", "json").out) if value["part"] == "secrets"]
    assert (len(found), expected in " ".join(found)) == (1 if expected else 0, True)


@pytest.mark.parametrize(("version", "expected"), rows(__file__, "old_workers"))
def test_doctor_says_what_an_old_worker_cannot_do(
    at: Workplace, standin: StandIn, version: str, expected: list[str]
) -> None:
    standin.cluster.version = version
    ran = at.run("doctor", "-o", "json")
    first, *others = (value for value in json.loads(ran.out) if value["part"] == "cluster local")
    assert (ran.code, first["verdict"]) == (0, "ok")
    assert first["found"] == f"Kafka Connect {version}, 0 connectors"
    assert others.pop(0)["found"].startswith("topic tracking is enabled; only a reset shows")
    is_old = tuple(map(int, version.split(".")[:2])) < (3, 3)
    assert others.pop(0)["found"].endswith("exactly-once sources: " + ("not enabled" if is_old else "enabled"))
    assert {other["verdict"] for other in others} <= {"note"}
    assert [re.findall(r"\((.*) and later can\)|(KAFKA-\d+)", other["found"])[0] for other in others] == [
        ("", one) if one.startswith("KAFKA") else (one, "") for one in expected
    ]
    stop = "cannot stop connectors (3.5 and later can): no step is planned for a connector with `state: stopped`"
    assert any(stop in other["found"] for other in others) is ("3.5" in expected)


@pytest.mark.parametrize(("fault", "found"), rows(__file__, "topic_tracking"))
def test_doctor_says_whether_topics_are_tracked_and_resets_nothing(
    at: Workplace, standin: StandIn, fault: list[Any], found: str
) -> None:
    standin.refuse("GET", "/connectors/.*/topics", *fault)
    ran = at.run("doctor", "-o", "json").expect(0)
    assert [
        (value["verdict"], value["found"][: len(found)])
        for value in json.loads(ran.out)
        if "topic tracking" in value["found"]
    ] == [("note", found)]
    assert standin.count("PUT", ".*/topics/reset") == 0
    standin.cluster.version = "2.4.1"
    assert "topic tracking" not in at.run("doctor").expect(0, out="cannot return and reset the active topics").out


@pytest.mark.parametrize(("second", "stated", "expected"), rows(__file__, "exactly_once"))
def test_doctor_says_which_workers_support_exactly_once_sources(
    at: Workplace, standin: StandIn, second: bool | None, stated: str, expected: list[str]
) -> None:
    with StandIn() as other:
        other.cluster.exactly_once = bool(second)
        at.urls = (standin.url,) if second is None else (standin.url, other.url)
        at.settings(cluster=f'exactly_once = "{stated}"' if stated else "")
        found = json.loads(at.run("doctor", "-o", "json").out)
        urls = (standin.url, other.url)
    lines = [f"{one['verdict']} {one['part']} {one['found']}" for one in found if "exactly-once" in one["found"]]
    lines = [line.replace(urls[0], "URL").replace(urls[1], "URL") for line in lines]
    assert [line.replace("support for exactly-once sources: ", "") for line in lines] == expected


def test_status_shows_the_failures_of_an_unmanaged_connector(at: Workplace, standin: StandIn) -> None:
    config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "lines"}
    at.rest("POST", "/connectors", {"name": "theirs", "config": config})
    standin.cluster.fail_task("theirs", 0, "java.lang.Boom: no\n\tat a.B")
    ran = at.run("status", "--exit-code").expect(
        out="task 0 is FAILED: java.lang.Boom: no", err="gitops-connect restart connector theirs --failed"
    )
    assert ran.code == 0, "it is not judged"
    assert at.run("plan").out.endswith("No changes. Your connectors match the configuration.\n")


@pytest.fixture
def labelled(at: Workplace) -> Workplace:
    """Connectors with labels, of a document and of a Strimzi resource, and one without."""
    labels = 'labels: {team: payments, "odd\\e[31m": "\\e[31mred"}'
    at.commit("orders.yaml", at.source("orders").replace("metadata: {", f"metadata: {{{labels}, "), at.source("plain"))
    at.commit(
        "resource.yaml",
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata:\n"
        f"  name: {at.name('resource')}\n  labels: {{strimzi.io/cluster: local, team: search, count: 3}}\n"
        f"spec: {{class: {SINK}, tasksMax: 1, config: {{file: /tmp/x, topics: a}}}}\n",
    )
    at.apply()
    return at


@pytest.mark.parametrize(("options", "selected"), rows(__file__, "selected"))
def test_which_connectors_are_selected(labelled: Workplace, options: list[str], selected: list[str]) -> None:
    for command in (["status"], ["get", "connectors"]):
        values = json.loads(labelled.run(*command, *options, "-o", "json").expect(0).out)
        assert [one["name"].rpartition("-")[0] for one in values] == selected, command


def test_labels_are_shown_and_escaped(labelled: Workplace) -> None:
    for command in (["status"], ["get", "connectors"]):
        ran = labelled.run(*command, "--show-labels").expect(
            0, out=("LABELS\n", r"odd\u001b[31m=\u001b[31mred,team=payments", "strimzi.io/cluster=local,team=search")
        )
        assert "\x1b" not in ran.out
    labelled.run("status", "-l", "team=\x1b[31m").expect(64, err=r"found 'team=\x1b[31m'")
    labelled.settings()
    file = labelled.directory / "gitops-connect.toml"
    file.write_text(file.read_text().replace('url = "repository"', ""))
    labelled.run("get", "connectors", "-l", "team").expect(
        64, err=("--label needs the documents", "select with NAME, --selector or --cluster")
    )


def test_an_error_in_a_document_counts_whatever_is_selected(labelled: Workplace) -> None:
    labelled.run("status", "--exit-code", "-l", "team=payments").expect(0)
    labelled.commit("broken.yaml", labelled.source("broken", "state: runing"))
    labelled.run("status", "--exit-code", "-l", "team=payments").expect(1)


@pytest.mark.parametrize(("options", "error"), rows(__file__, "watch_refused"))
def test_what_cannot_be_watched(at: Workplace, options: list[str], error: str) -> None:
    at.run("status", *options).expect(64, err=error)
    at.run("get", "connectors", *options).expect(64, err=error)


@pytest.mark.parametrize("command", [["status"], ["get", "connectors"], ["status", "-o", "json"]])
def test_what_changes_is_printed_until_a_signal_ends_it(at: Workplace, command: list[str]) -> None:
    at.deploy("orders.yaml", at.source("orders"), at.source("other"))
    arguments = at.command(*command, "--watch", "--interval", "100ms")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        first = [watching.stdout.readline() for _ in range(2 if "json" in command else 3)]
        at.by_hand("pause", "orders")
        changed = watching.stdout.readline()
        at.rest("DELETE", f"/connectors/{at.name('other')}")
        gone = next((line for line in watching.stderr if "is gone" in line), "") if command[0] == "get" else ""
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(30) == 0
    assert [one for one in first if at.name("other") in one]
    assert at.name("orders") in changed
    assert "PAUSED" in changed
    assert (json.loads(changed)["state"] if "json" in command else "PAUSED") == "PAUSED"
    assert gone in ("", f"note: {at.name('other')} on local is gone\n")
    assert bool(gone) is (command[0] == "get")


def test_a_watch_keeps_the_labels_while_the_repository_cannot_be_read(labelled: Workplace) -> None:
    command = labelled.command("get", "connectors", "-l", "team=payments", "--watch", "--interval", "100ms")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        _, first = (watching.stdout.readline() for _ in range(2))
        labelled.repository.rename(labelled.directory / "away")
        for action in ("pause", "resume"):
            for _ in range(2):
                assert next(line for line in watching.stderr if "cannot read the repository" in line)
            labelled.by_hand(action, "orders")
        watching.send_signal(signal.SIGTERM)
        assert "is gone" not in watching.stderr.read()
        changed = watching.stdout.read()
    assert "RUNNING" in first
    assert "PAUSED" in changed
