"""The pages as HTML, and the JSON API: they contain what the snapshot and the ledger contain, and no value is a tag.

Each answer of the API is as `openapi.json` says.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient
from support.files.tables import rows, table
from support.planner.offset_change_values import SKIP, offsets
from support.planner.situations import CLUSTER, REVISION, current_offsets
from support.server.made_up import PROD, World, made_up_lag
from support.server.markup import Markup

from gitops_connect.daemon.state import DaemonState
from gitops_connect.errors import ConnectUnavailable, LedgerBusy
from gitops_connect.forge.web_links import WebLinks
from gitops_connect.model.diagnostics import Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.health import OffsetProgress
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import OffsetPosition, PartitionPosition
from gitops_connect.model.offset_changes import OffsetChangeKind, OffsetChangeState
from gitops_connect.model.offsets import PartitionText, offset_text
from gitops_connect.model.outcomes import (
    Actor,
    ActorKind,
    ManualAction,
    ReconciliationOutcome,
    Result,
    StepOutcome,
    by_hand,
)
from gitops_connect.model.plans import Action, OffsetChangeStatus
from gitops_connect.model.pull_requests import CommitState
from gitops_connect.model.status import ConditionStatus, ConditionType, Health, Sync
from gitops_connect.model.suspensions import SuspendedBy
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report.text import TextReport
from gitops_connect.server.app import API, application
from gitops_connect.server.fleet import BLOCKS, COLUMNS, SORTS
from gitops_connect.server.pages import static_file
from gitops_connect.server.values import WORDS
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, ForgeSettings

pytestmark = pytest.mark.slow

PAGES = rows(__file__, "pages")


def outline(client: TestClient, path: str) -> Markup:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    found = Markup(answer.text)
    assert not {"style"} & found.attributes.keys(), "the policy forbids it"
    return found


def listed(client: TestClient, path: str) -> list[str]:
    return re.findall(r'<tr id="c/([^"]*)"', client.get(path).text)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_well_formed(client: TestClient, path: str) -> None:
    page = outline(client, path)
    assert page.open == []
    ids = page.attributes["id"]
    assert len(set(ids)) == len(ids)
    assert set(page.attributes.get("aria-labelledby", ())) <= set(ids)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1


def test_the_overview_shows_everything_at_a_glance(client: TestClient) -> None:
    text = outline(client, "/").text
    assert [part for part in rows(__file__, "overview") if part not in text] == []


def test_a_plan_is_shown_as_in_the_terminal_and_an_offset_change_before_and_after(
    client: TestClient, made: World
) -> None:
    plan = made.served.snapshot.clusters[CLUSTER].plan
    assert plan is not None
    expected = TextReport(coloured=False).plans([plan])
    assert client.get("/clusters/local/plan.txt").text == expected
    page = client.get("/clusters/local/plan").text
    assert expected.strip() in outline(client, "/clusters/local/plan").text
    assert '<span class="t-green">+</span>' in page
    assert "hunter2-secret" not in page
    text = outline(client, "/clusters/local/operations/rewind-in-may").text
    assert '{"position":1200}{"position":100}' in "".join(text.split())
    assert "applied" in text


def test_the_page_of_an_offset_change_has_its_receipt_and_a_hundred_partitions_at_once(
    client: TestClient, made: World
) -> None:
    page = client.get("/clusters/local/operations/rewind-in-may").text
    assert "approved by &lt;ada&gt;, pull request #12, digest 3f2a9c0e" in page
    text = outline(client, "/clusters/local/operations/rewind-in-may").text
    assert [one for one in table(__file__, "receipt") if one not in text] == []
    change = replace(SKIP, name=OffsetChangeName("many"), offsets=offsets(*range(120)))
    with made.ledger.lease(CLUSTER, made.clock) as lease:
        store = made.ledger.under(lease).offset_changes
        store.begin(CLUSTER, change, offsets(*range(1, 121)), made.clock.now())
    first, second = (client.get(f"/clusters/local/operations/many{part}").text for part in ("", "?start=100"))
    assert (first.count('data-name="Before"'), second.count('data-name="Before"')) == (100, 20)
    assert ('href="?start=100"' in first, "Next partitions" in second) == (True, False)
    assert client.get("/clusters/local/operations/many?start=x").status_code == 400


def test_the_lag_is_shown_if_it_is_known(client: TestClient) -> None:
    paths = [f"/clusters/local/connectors/{name}" for name in ("failed", "orders")]
    assert ["148 (3 h 12 min)" in outline(client, path).text for path in paths] == [True, False]
    known, unknown = (get(client, path)["lag"] for path in paths)
    assert (known["records"], known["worst_partition"], known["seconds"], unknown) == (148, "orders/3", 11520, None)


def test_the_partitions_of_a_connector_are_listed_on_demand(client: TestClient, made: World) -> None:
    path = "/clusters/local/connectors/failed"
    closed, opened = outline(client, path).text, outline(client, f"{path}?open=offsets").text
    assert ("3 partitions" in closed, "orders/3" in closed, "Show partitions" in closed) == (True, False, True)
    words = " ".join(opened.split())
    assert [part for part in rows(__file__, "offsets") if part not in words] == []
    answer, document = get(client, path), get(client, "/openapi.json")
    validator(document, "/clusters/{cluster}/connectors/{connector}", "get", "200").validate(answer)
    found = answer["offsets"]
    assert (found["counted"], [one["moved"] for one in found["partitions"]]) == (3, [-1000, 20, 0])
    assert found["partitions"][0] == {
        "partition": {"kafka_topic": "orders", "kafka_partition": 3},
        "current": 56_000,
        "end": 56_100,
        "lag": 100,
        "seconds": 11520,
        "moved": -1000,
        "same_since": None,
        "change": None,
    }
    lag = made_up_lag(datetime.now(UTC))
    many = tuple(replace(lag.partitions[0], position=number) for number in range(120))
    made.daemon.state.update_cluster(
        CLUSTER, lags={ConnectorName("failed"): replace(lag, counted=4000, partitions=many)}
    )
    first, second = (client.get(f"{path}?open=offsets{start}").text for start in ("", "&start=100"))
    assert (first.count('data-name="End"'), second.count('data-name="End"')) == (100, 20)
    assert ('href="?open=offsets&amp;start=100#offsets"' in first, "Next partitions" in second) == (True, False)
    assert "keeps 120 of the partitions. <code>gitops-connect offsets get failed --cluster local</code>" in first
    assert client.get(f"{path}?start=x").status_code == 400


def test_offsets_that_a_reconciliation_has_read_are_listed_with_the_next_change(
    client: TestClient, made: World
) -> None:
    """Without a lag, those in the ledger: the partition that has not moved for the longest time comes first."""
    path, now = "/clusters/local/connectors/orders", made.clock.now()
    assert ("Offsets</h2>" in client.get(f"{path}?open=offsets").text, get(client, path)["offsets"]) == (False, None)
    (secret, old), (later, new) = [*current_offsets(a=5).items(), *current_offsets(b=7).items()]
    secret = PartitionText(secret.replace('"a"', '"https://ana:hunter2@db.example/a"'))
    positions = {later: PartitionPosition(new, now), secret: PartitionPosition(old, now - timedelta(hours=1))}
    made.ledger.status.offset_positions.record(
        CLUSTER, {ConnectorName("orders"): OffsetPosition(Digest("d"), now, positions)}
    )
    plan = made.served.snapshot.clusters[CLUSTER].plan
    assert plan is not None
    move = Move(later, offset_text({"url": "https://ana:hunter2@db.example/b"}), None, Direction.REMOVED)
    change = replace(plan.offset_changes[0], difference=Difference(moves=(move,)), status=OffsetChangeStatus.WAITING)
    connectors = [replace(one, offset_changes=(change,) if one.name == "orders" else ()) for one in plan.connectors]
    progress = {ConnectorName("orders"): OffsetProgress(now, None, 0, "", "")}
    plan = replace(plan, connectors=tuple(connectors), offset_progress=progress)
    made.daemon.state.update_cluster(CLUSTER, plan=plan)
    assert 'data-name="Same since"' not in client.get(path).text
    page = client.get(f"{path}?open=offsets").text
    assert "hunter2" not in page
    assert page.index("db.example") < page.index('data-name="Same since"') < page.index("&quot;b&quot;")
    assert f'operations/{change.name}">{change.name}</a>: <code>(none)</code>' in page
    answer = client.get(f"/api/v1{path}")
    assert "hunter2" not in answer.text
    for place in (f"/clusters/local/operations/{change.name}", f"/api/v1/clusters/local/operations/{change.name}"):
        text = client.get(place).text
        assert ("db.example/b" in text, "hunter2" in text) == (True, False), place
    first, second = answer.json()["offsets"]["partitions"]
    assert (first["current"], first["change"], second["change"]) == ({"position": 5}, None, change.name)
    made.ledger.status.offset_positions.record(CLUSTER, {}, [ConnectorName("orders")])
    assert "keeps 0 of the partitions." in client.get(f"{path}?open=offsets").text


def test_active_topics_are_shown_if_the_daemon_has_read_them(client: TestClient) -> None:
    text = outline(client, "/clusters/local/connectors/failed").text
    assert [part in text for part in ("<orders>.000", "<orders>.099", "<orders>.100", "and 3 more")] == [
        True,
        True,
        False,
        True,
    ]
    assert "Active topics" not in outline(client, "/clusters/local/connectors/orders").text
    read, unread = (get(client, f"/clusters/local/connectors/{name}")["active_topics"] for name in ("failed", "orders"))
    assert (len(read), read[0], unread) == (103, "<orders>.000", None)


def test_the_filter_is_in_the_url(client: TestClient) -> None:
    assert listed(client, "/connectors")[0] == "local/customers-sink-0003", "what does not work comes first"
    for path, connectors in rows(__file__, "filters"):
        assert listed(client, path) == connectors, path
    assert "No connector matches the filter." in client.get("/connectors?q=nothing-like-this").text
    page = client.get("/connectors?q=%22%3E%3Cb%3E&attention=1").text
    assert 'value="&quot;&gt;&lt;b&gt;"' in page
    assert 'name="attention" value="1" checked' in page


def test_the_url_chooses_the_columns_of_a_list(client: TestClient, made: World) -> None:
    one = made.served.snapshot.clusters[CLUSTER].connectors[0]
    labels = (("team", "<payments>"), ("tier", "1"))
    made.daemon.state.update_cluster(CLUSTER, connectors=(replace(one, labels=labels),))
    usual = ["Cluster", "Cause", "Since", "Class"]
    for path, wanted in (
        ("/connectors", usual),
        ("/clusters/local", usual[1:]),
        ("/connectors?columns=tasks&columns=labels&columns=state", ["State", "Tasks", "Labels"]),
    ):
        page, count = client.get(path).text, len(wanted)
        headers = re.findall('<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]*)', page)
        assert headers[: count + 2] == ["Verdict", "Connector", *wanted], path
        assert re.findall('<td data-name="([^"]*)"', page)[: count + 1] == ["Verdict", *wanted], path
    assert "team=<payments>, tier=1" in Markup(page).text
    assert 'href="/connectors?columns=state&amp;columns=labels"><span class="silent">hide ' in page
    assert 'href="/connectors?sort=name&amp;columns=state&amp;columns=tasks&amp;columns=labels"' in page
    assert '<input type="hidden" name="columns" value="labels">' in page, "a search keeps the columns"
    assert get(client, "/connectors?columns=state") == get(client, "/connectors"), "an answer has all fields"


def test_a_change_of_a_connector_by_another_actor_is_seen_at_once(client: TestClient, made: World) -> None:
    assert listed(client, "/connectors?actor=automatic-restart") == ["local/orders"]
    ana = Actor(ActorKind.COMMAND, "ana@ops-1")
    step = by_hand(ana, (CLUSTER, ConnectorName("orders")), ManualAction.SUSPEND, made.clock.now(), "")
    made.ledger.status.record_steps(CLUSTER, [step])
    assert listed(client, "/connectors?actor=automatic-restart") == []
    page = client.get("/connectors?actor=command").text
    assert re.findall(r'<tr id="c/([^"]*)"', page) == ["local/orders"]
    assert '<a class="chip" href="/connectors"><span class="silent">Remove the filter </span>actor: command' in page


def test_what_an_administrator_must_know_is_at_the_top(client: TestClient, made: World) -> None:
    state = made.daemon.state
    state.set_repository(replace(state.snapshot.repository, error="SourceUnavailable: no route to host"))
    state.set_leader(is_leader=False)
    state.update_cluster(PROD, error="ConnectUnavailable: no worker answered")
    text = outline(client, "/").text
    for part in ("The repository cannot be read. SourceUnavailable", "Another replica makes", "no worker answered"):
        assert part in text


def test_a_daemon_that_has_just_started_has_pages(client: TestClient, made: World) -> None:
    state = made.daemon.state
    for name in state.snapshot.clusters:
        state.update_cluster(name, plan=None, connectors=(), conditions={}, observed=None, applied=None, next=None)
    state.set_repository(replace(state.snapshot.repository, revision=None, polled=None))
    assert "reads the repository for the first time" in outline(client, "/").text
    assert "No plan was made yet." in outline(client, "/clusters/local/plan").text
    assert "not read yet" in outline(client, "/clusters/local").text
    assert client.get("/clusters/local/plan.txt").status_code == 404
    connector = client.get("/clusters/local/connectors/orders")
    assert (connector.status_code, connector.headers["retry-after"]) == (503, "5"), "an open page asks again"


@pytest.mark.parametrize("path", ["/nothing", "/clusters/nowhere", "/clusters/local/connectors/x", "/static/../app.py"])
def test_an_unknown_page(client: TestClient, path: str) -> None:
    page = client.get(path, headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "<h1>Not Found</h1>" in page.text
    assert "<script" not in page.text, "it would read the page again and again"
    assert client.get(path).json()["status"] == 404


def test_names_with_any_characters_have_pages(client: TestClient, made: World) -> None:
    name = ConnectorName('a/b c?d#e%"<é>')
    one = made.served.snapshot.clusters[CLUSTER].connectors[0]
    made.daemon.state.update_cluster(CLUSTER, connectors=(replace(one, name=name),))
    listed_once = client.get("/connectors?cluster=local").text
    (link,) = set(re.findall(r'href="(/clusters/local/connectors/[^"]*)"', listed_once))
    assert outline(client, link).headings[0] == 1
    assert client.get(f"/api/v1{link}").json()["name"] == name


def test_a_ledger_that_cannot_be_read_is_an_error_page(client: TestClient, made: World, monkeypatch: Any) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise LedgerBusy("the ledger is locked by another process")

    monkeypatch.setattr(made.ledger.status, "steps", busy)
    page = client.get("/clusters/local", headers={"Accept": "text/html"})
    assert (page.status_code, "the ledger is locked" in page.text) == (503, True)
    assert page.headers["retry-after"] == "5"


def test_static_files_change_their_url_with_their_content(client: TestClient) -> None:
    for url in re.findall(r'(?:href|src)="(/static/[^"]*)"', client.get("/").text):
        answer = client.get(url)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert client.get(url.partition("?")[0]).headers["cache-control"] == "no-cache"
    assert REVISION[:7] in client.get("/").text


class MovingState(DaemonState):
    """Each read of the snapshot is followed by a new one."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name == "snapshot":
            self.snapshot = replace(found, number=found.number + 1)
        return found


@pytest.mark.parametrize("path", ["/", "/connectors", "/clusters/local"])
def test_a_page_has_the_number_of_the_oldest_snapshot_in_it(client: TestClient, made: World, path: str) -> None:
    """With a later number, the script would not read it again after a change that came while it was rendered."""
    made.daemon.state = MovingState(made.served.snapshot.clusters)
    assert 'data-snapshot="0"' in client.get(path).text


def test_the_stylesheet_and_the_script_are_small() -> None:
    files = {name: static_file(name) for name in ("style.css", "page.js")}
    assert len(files["page.js"].splitlines()) <= 400
    assert sum(len(gzip.compress(content)) for content in files.values()) <= 12_000


TOKEN = "0123456789abcdef-token"
SECRET = Credential(value=TOKEN)
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def get(client: TestClient, path: str) -> Any:
    answer = client.get(f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def outcome(made: World, cluster: ClusterName, result: Result) -> ReconciliationOutcome:
    plan = made.served.snapshot.clusters[CLUSTER].plan
    assert plan is not None
    return ReconciliationOutcome(cluster, REVISION, plan, Diagnostics(), (StepOutcome(plan.steps[0], result, "why"),))


def validator(document: Any, path: str, method: str, code: str) -> jsonschema.Draft202012Validator:
    schema = document["paths"][path][method]["responses"][code]["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def test_every_answer_is_as_described(client: TestClient, made: World) -> None:
    made.daemon.reconciliations.request([CLUSTER])
    made.daemon.reconciliations.poll_ended(1)
    made.daemon.reconciliations.end(CLUSTER, 1, outcome(made, CLUSTER, Result.APPLIED), 1.0)
    made.daemon.reconciliations.end(PROD, 1, ConnectUnavailable("no worker answered"), 1.0)
    document, examples = get(client, "/openapi.json"), table(__file__, "examples")
    for path in (path for path, methods in document["paths"].items() if "get" in methods and path != "/history.csv"):
        answer = get(client, examples.get(path, path))
        validator(document, path, "get", "200").validate(answer)
        assert answer
    routes = {(re.sub(":[a-z]+}", "}", route.path), method.lower()) for route in API for method in route.methods or ()}
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert {(path, method) for path, method in routes if method != "head"} == described
    jsonschema.Draft202012Validator.check_schema(document["components"]["schemas"]["Cluster"])


VALUES = {
    "Condition.type": ConditionType,
    "Condition.status": ConditionStatus,
    "Suspension.by": SuspendedBy,
    "Connector.sync": Sync,
    "Connector.health": Health,
    "Step.action": Action,
    "Step.result": Result,
    "JournalStep.action": Action,
    "JournalStep.result": Result,
    "HistoryStep.action": (*Action, *ManualAction),
    "HistoryStep.result": Result,
    "Actor.kind": ActorKind,
    "Operation.operation": OffsetChangeKind,
    "Operation.state": OffsetChangeState,
    "Operation.status": OffsetChangeStatus,
    "Diagnostic.severity": Severity,
    "PullRequest.state": CommitState,
}


def test_each_list_of_values_is_complete(client: TestClient) -> None:
    document = get(client, "/openapi.json")
    schemas = {name: one["properties"] for name, one in document["components"]["schemas"].items()}
    described = {
        f"{name}.{key}": one["enum"] for name, found in schemas.items() for key, one in found.items() if "enum" in one
    }
    assert described.pop("Result.result") == list(WORDS)
    assert described == {name: [one.value for one in kind] for name, kind in VALUES.items()}
    for key, kind in (("sync", Sync), ("health", Health)):
        assert list(schemas["Cluster"][key]["properties"]) == [one.value for one in kind]
    parameters = [
        one for methods in document["paths"].values() for way in methods.values() for one in way["parameters"]
    ]
    lists = {one["name"]: one["schema"]["enum"] for one in parameters if "enum" in one["schema"]}
    kinds = {"verdict": VerdictKind, "sync": Sync, "health": Health, "state": OffsetChangeState, "actor": ActorKind}
    known = {name: [one.value for one in kind] for name, kind in kinds.items()}
    more = {"blocked-by": list(BLOCKS), "sort": list(SORTS), "dir": ["asc", "desc"], "columns": list(COLUMNS)}
    assert lists == {**known, **more}


def test_a_plan_is_the_one_of_the_command_line(client: TestClient) -> None:
    plan = get(client, "/clusters/local/plan")
    assert plan["summary"]["create"] == 1
    assert plan["diagnostics"][0]["file"].startswith("connect/")
    assert "hunter2-secret" not in json.dumps(plan)


def test_an_offset_change_has_its_offsets_and_the_journal_has_pages(client: TestClient) -> None:
    change = get(client, "/clusters/local/operations/rewind-in-may")
    (move,) = change["offsets"]["moves"]
    assert (move["before"], move["after"], change["state"]) == ({"position": 1200}, {"position": 100}, "applied")
    receipt = change["receipt"]
    assert (change["status"], receipt["undo"]) == (
        "applied",
        "gitops-connect offsets undo rewind-in-may --cluster local",
    )
    assert [stage["stage"] for stage in receipt["stages"]] == ["stopped", "sent", "verified", "resumed"]
    assert (receipt["stopped_seconds"], receipt["effect"]["distances"]) == (8, {"rewind": 1100})
    assert get(client, "/operations?state=failed&cluster=local")["total"] == 1
    first = get(client, "/journal?limit=20")
    second = get(client, f"/journal?limit=20&before={first['next']}")
    ids = [step["id"] for step in [*first["steps"], *second["steps"]]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 32
    assert second["next"] is None
    assert {step["author"] for step in first["steps"]} == {"Ada Lovelace", "Grace Hopper"}
    assert {step["cluster"] for step in get(client, "/journal?cluster=prod-eu")["steps"]} == {"prod-eu"}


def test_pages_of_offset_changes_are_the_whole_list_once(client: TestClient, made: World) -> None:
    """Also if changes of several clusters have the same time."""
    for cluster in (PROD, CLUSTER):
        with made.ledger.lease(cluster, made.clock) as lease:
            store = made.ledger.under(lease).offset_changes
            for number in range(7):
                change = replace(SKIP, name=OffsetChangeName(f"same-{number}"), offsets=offsets(number))
                store.begin(cluster, change, offsets(9), made.clock.now() - timedelta(hours=number // 5))
    whole = get(client, "/operations?limit=1000")
    assert (whole["next"], len(whole["operations"])) == (None, whole["total"])
    names = [(one["since"], one["cluster"], one["name"]) for one in whole["operations"]]
    assert len({*names}) == len(names) == 20
    for query in ("", "&cluster=prod-eu", "&connector=orders&state=in_progress"):
        wanted = get(client, f"/operations?limit=1000{query}")["operations"]
        found, after = list[Any](), ""
        while after is not None:
            page = get(client, f"/operations?limit=3{query}&after={after}")
            assert page["total"] == len(wanted) > 3
            found, after = [*found, *page["operations"]], page["next"]
        assert found == wanted, query


def test_an_offset_change_that_is_only_planned_is_found_as_on_its_page(client: TestClient) -> None:
    path = "/clusters/local/operations/reset-lines"
    one, document = get(client, path), get(client, "/openapi.json")
    validator(document, "/clusters/{cluster}/operations/{operation}", "get", "200").validate(one)
    assert (one["name"], one["connector"], one["operation"]) == ("reset-lines", "lines", "reset")
    assert (one["state"], one["since"], one["commit"]) == (None, None, None)
    assert one["cause"] in outline(client, path).text
    assert (one["status"], one["receipt"]["undo"]) == ("blocked", None)


def on_forge(made: World) -> TestClient:
    """A client of the server whose settings name the repository on its forge."""
    forge = ForgeSettings(ForgeKind.GITEA, url="https://git.example/api/v1", repository="shop/connect")
    served = replace(made.served, settings=replace(made.served.settings, forge=forge))
    return TestClient(application(served), base_url="http://localhost")


def test_commits_and_files_are_links_to_the_forge(client: TestClient, made: World) -> None:
    commits, files = "https://git.example/shop/connect/commit", "https://git.example/shop/connect/src/commit"
    known = on_forge(made)
    paths = (
        "/history",
        "/clusters/local",
        "/clusters/local/connectors/orders",
        "/clusters/local/operations/rewind-in-may",
    )
    for path in (*paths, "/offset-changes"):
        assert "https://git.example/shop/connect/commit" not in client.get(path).text
        links = outline(known, path).attributes["href"]
        assert [one for one in links if one.startswith(f"{commits}/")], path
    page = known.get("/history?commit=0000").text
    assert (
        f'<a href="{commits}/{"0" * 40}" rel="noopener"><code class="commit" title="{"0" * 40}">0000000</code></a>'
        in page
    )
    assert f'<a href="/history?commit={"0" * 40}" title="All steps of this commit">Ada Lovelace</a>' in page
    (place,) = [
        one for one in outline(known, "/clusters/local/operations/reset-lines").attributes["href"] if files in one
    ]
    assert place.startswith(f"{files}/{REVISION}/connect/")
    assert re.search(r"#L\d+$", place)


@pytest.mark.parametrize(
    "commit", ["../../x", "javascript:alert(1)", "0" * 39, "f" * 40 + "/x", "F" * 40, "worktree-1"]
)
def test_what_is_no_commit_is_no_link(commit: str) -> None:
    links, place = WebLinks(page="https://git.example/shop/connect"), Location("a.yaml", 3)
    assert (links.commit(Revision(commit)), links.line(place, Revision(commit))) == ("", "")
    assert links.commit(Revision("f" * 40)) == f"https://git.example/shop/connect/commit/{'f' * 40}"


def test_the_history_has_pages_and_its_files_have_all_of_it(client: TestClient) -> None:
    first = get(client, "/history?limit=20")
    second = get(client, f"/history?limit=20&after={first['next']}")
    steps = [*first["steps"], *second["steps"]]
    assert [step["id"] for step in steps] == sorted((step["id"] for step in steps), reverse=True)
    assert (len(steps), second["next"]) == (33, None), "with the approval of a plan"
    assert get(client, "/history.json") == steps
    answer = client.get("/api/v1/history.csv?result=failed")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="history.csv"'
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(line["id"]) for line in lines] == [step["id"] for step in steps if step["result"] == "failed"]
    assert get(client, "/history?actor=forge")["steps"][0]["actor"]["who"] == "grace"
    assert {step["action"] for step in get(client, "/journal")["steps"]} <= {one.value for one in Action}


def test_the_page_of_the_history_filters_and_the_earlier_address_leads_to_it(client: TestClient) -> None:
    page = client.get("/history?result=failed").text
    assert "timeout: the connector did not become RUNNING" in Markup(page).text
    assert re.findall('<option value="([^"]*)" selected>', page) == ["failed"]
    page = client.get("/history?person=Ada+Lovelace&actor=person").text
    assert '<input type="hidden" name="person" value="Ada Lovelace">' in page
    assert 'href="/api/v1/history.csv?person=Ada+Lovelace&amp;actor=person"' in page
    answer = client.get("/journal?cluster=local&before=9&connector=a%26b", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (301, "/history?cluster=local&after=9&connector=a%26b")
    assert client.get("/journal", follow_redirects=False).headers["location"] == "/history"
    rejected = client.get("/history?actor=daemon", headers={"accept": "text/html"})
    assert rejected.status_code == 400
    assert "actor: expected one of person, automatic-restart" in Markup(rejected.text).text


def test_a_hostile_step_is_only_text_on_the_page_of_the_history(client: TestClient, made: World) -> None:
    for value in table(__file__, "hostile"):
        actor = Actor(ActorKind.COMMAND, value, Revision(value))
        step = by_hand(actor, (CLUSTER, ConnectorName(value)), ManualAction.SUSPEND, made.clock.now(), value)
        hostile = replace(step, offset_change=value, message=value, request=value, answer=value, approved_by=value)
        made.served.ledger.status.record_steps(CLUSTER, [replace(hostile, pull_request=7)])
        page = outline(on_forge(made), "/history")
        assert page.open == []
        assert not {"onerror", "onload"} & page.attributes.keys()
        forge = "https://git.example/shop/connect/commit/"
        assert all(
            one.startswith(("/", "#")) or re.fullmatch(f"{forge}[0-9a-f]{{40}}", one) for one in page.attributes["href"]
        ), value
        assert page.text.count("alert(1)") >= 5, value
    assert [path for path in ("/", "/clusters/local") if outline(client, path).open] == []


def test_connectors_are_filtered(client: TestClient, made: World) -> None:
    found = {
        query: {one["name"] for one in get(client, f"/connectors?{query}")["connectors"]}
        for query in ("", "cluster=prod-eu", "attention=1", *table(__file__, "api filters"))
    }
    everything, in_prod, attention, *others = found.values()
    assert len(everything) == sum(len(view.connectors) for view in made.served.snapshot.clusters.values()) - 3
    assert in_prod < everything
    assert {"failed", "orders"} < attention
    assert others == [set(names) for names in table(__file__, "api filters").values()]


def test_a_wrong_request_is_a_problem(client: TestClient) -> None:
    for path, status in rows(__file__, "wrong"):
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status


def test_a_request_to_reconcile(serve: Any) -> None:
    client = serve(token=SECRET)
    made: World = client.made
    assert client.post("/api/v1/reconcile?cluster=nowhere", headers=BEARER).status_code == 404
    answer = client.post("/api/v1/reconcile?cluster=local", headers=BEARER)
    document = get(client, "/openapi.json")
    validator(document, "/reconcile", "post", "202").validate(answer.json())
    assert (answer.status_code, answer.json()) == (202, {"request": 1, "clusters": ["local"]})
    path = "/reconcile/1?cluster=local"
    assert (get(client, path)["finished"], get(client, path)["polled"]) == (False, False)
    made.daemon.reconciliations.end(CLUSTER, 0, outcome(made, CLUSTER, Result.APPLIED), 1.0)
    assert get(client, path)["finished"] is False, "that one began before the request"
    made.daemon.reconciliations.poll_ended(1)
    made.daemon.reconciliations.end(CLUSTER, 1, outcome(made, CLUSTER, Result.FAILED), 1.0)
    done = get(client, path)
    assert (done["finished"], done["results"][0]["result"]) == (True, "failed")
    client.post("/api/v1/reconcile?cluster=local", headers=BEARER)
    made.daemon.reconciliations.poll_ended(2)
    path = "/reconcile/2?cluster=local"
    made.daemon.reconciliations.end(CLUSTER, 2, LedgerBusy("another process"), 1.0)
    (postponed,) = get(client, path)["results"]
    assert (postponed["result"], postponed["commit"], postponed["planned"]) == ("postponed", None, 0)
    assert (postponed["error"], postponed["message"], postponed["steps"]) == ("LedgerBusy", "another process", [])


def test_a_request_ends_if_the_repository_was_never_read(serve: Any) -> None:
    client = serve(token=SECRET)
    state = client.made.daemon.state
    state.set_repository(replace(state.snapshot.repository, revision=None, error="no route to host"))
    client.post("/api/v1/reconcile", headers=BEARER)
    client.made.daemon.reconciliations.poll_ended(1)
    done = get(client, "/reconcile/1")
    assert (done["finished"], done["repository_error"], done["results"]) == (True, "no route to host", [])


def test_a_request_to_review_and_a_replica_that_is_not_the_leader(serve: Any) -> None:
    client = serve(token=SECRET)
    answer = client.post("/api/v1/pull-requests/review", headers=BEARER)
    validator(get(client, "/openapi.json"), "/pull-requests/review", "post", "202").validate(answer.json())
    assert (answer.status_code, client.made.daemon.reviews) == (202, 1)
    client.made.daemon.state.set_leader(is_leader=False)
    for path in ("/api/v1/reconcile", "/api/v1/pull-requests/review"):
        assert client.post(path, headers=BEARER).status_code == 409
    assert (client.made.daemon.reconciliations.last, client.made.daemon.reviews) == (0, 1)
    assert get(client, "/pull-requests")["is_leader"] is False


def test_a_pull_request_has_its_plan_and_its_approvals(client: TestClient) -> None:
    assert [one["number"] for one in get(client, "/pull-requests")["pull_requests"]] == [12, 14]
    one = get(client, "/pull-requests/12")
    assert (one["state"], one["approvals"][0]["who"]) == ("success", "grace")
    assert one["approvals"][0]["digest"] == one["digest"]
    assert "+ new" in one["text"]
    assert get(client, "/pull-requests/12/plan")["commit"] == one["head"]
    other = get(client, "/pull-requests/14")
    assert (other["state"], other["errors"], len(other["diagnostics"])) == ("failure", 1, 2)
    assert other["diagnostics"][0]["file"] == "b.yaml", "from the root of the repository"
    assert "hunter2" not in json.dumps([one, get(client, "/pull-requests/12/plan")])


def test_secrets_of_a_pull_request_are_masked(client: TestClient, made: World) -> None:
    state = made.daemon.state
    (view, _) = state.snapshot.pull_requests
    state.set_pull_requests((replace(view, plan=replace(view.plan, secrets=frozenset({"batch.size"}))),))
    for path in ("/api/v1/pull-requests/12", "/api/v1/pull-requests/12/plan", "/pull-requests/12/plan.txt"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "batch.size" not in answer.text
        assert "***" in answer.text


def test_without_a_token_the_server_is_read_only(client: TestClient) -> None:
    assert client.post("/api/v1/reconcile", headers={"Authorization": "Bearer "}).status_code == 403
