"""The pages as HTML: what they contain, their filter, and values from outside."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.files.tables import rows
from support.planner.situations import CLUSTER, REVISION
from support.server.made_up import PROD, World
from support.server.markup import Markup

from gitops_connect.errors import LedgerBusy
from gitops_connect.model.names import ConnectorName
from gitops_connect.report.text import TextReport

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
    page = client.get("/clusters/local").text
    assert expected.strip() in outline(client, "/clusters/local").text
    assert '<span class="t-green">+</span>' in page
    assert "hunter2-secret" not in page
    text = outline(client, "/clusters/local/operations/rewind-in-may").text
    assert '{"position":1200}{"position":100}' in "".join(text.split())
    assert "applied" in text


def test_the_filter_is_in_the_url(client: TestClient) -> None:
    assert listed(client, "/")[0] == "local/customers-sink-0003", "what does not work comes first"
    for path, connectors in rows(__file__, "filters"):
        assert listed(client, path) == connectors, path
    assert "No connector matches the filter." in client.get("/?search=nothing-like-this").text
    page = client.get("/?search=%22%3E%3Cb%3E&attention=1").text
    assert 'value="&quot;&gt;&lt;b&gt;"' in page
    assert 'name="attention" value="1" checked' in page


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
    assert "No plan was made yet." in outline(client, "/clusters/local").text
    assert client.get("/clusters/local/plan.txt").status_code == 404


@pytest.mark.parametrize("path", ["/nothing", "/clusters/nowhere", "/clusters/local/connectors/x", "/static/../app.py"])
def test_an_unknown_page(client: TestClient, path: str) -> None:
    page = client.get(path, headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "<h1>Not Found</h1>" in page.text
    assert client.get(path).json()["status"] == 404


def test_names_with_any_characters_have_pages(client: TestClient, made: World) -> None:
    name = ConnectorName('a/b c?d#e%"<é>')
    one = made.served.snapshot.clusters[CLUSTER].connectors[0]
    made.daemon.state.update_cluster(CLUSTER, connectors=(replace(one, name=name),))
    (link,) = set(re.findall(r'href="(/clusters/local/connectors/[^"]*)"', client.get("/?cluster=local").text)) - {
        "/clusters/local/connectors/orders",
        "/clusters/local/connectors/lines",
    }
    assert outline(client, link).headings[0] == 1
    assert client.get(f"/api/v1{link}").json()["name"] == name


def test_a_ledger_that_cannot_be_read_is_an_error_page(client: TestClient, made: World, monkeypatch: Any) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise LedgerBusy("the ledger is locked by another process")

    monkeypatch.setattr(made.ledger.status, "steps", busy)
    page = client.get("/", headers={"Accept": "text/html"})
    assert (page.status_code, "the ledger is locked" in page.text) == (503, True)
    assert page.headers["retry-after"] == "5"


def test_static_files_change_their_url_with_their_content(client: TestClient) -> None:
    for url in re.findall(r'(?:href|src)="(/static/[^"]*)"', client.get("/").text):
        answer = client.get(url)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert client.get(url.partition("?")[0]).headers["cache-control"] == "no-cache"
    assert REVISION[:7] in client.get("/").text
