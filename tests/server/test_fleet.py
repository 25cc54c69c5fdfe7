"""Lists of connectors: what a query selects, in which order, in which groups, and in which pages."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from support.files.tables import rows, table
from support.planner.situations import NOW
from support.server.made_up import statuses

from gitops_connect.daemon.state import ClusterView, RepositoryView, Snapshot
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import ActorKind
from gitops_connect.model.verdicts import NextStep, Verdict, VerdictKind
from gitops_connect.server.fleet import SORTS, ConnectorQuery, Fleet, Index, Selection

EAST, WEST = ClusterName("east"), ClusterName("west")


def snapshot(count: int = 300) -> Snapshot:
    views = {one: ClusterView(one, connectors=statuses(one, count, NOW)) for one in (EAST, WEST)}
    named = views[EAST].connectors
    blocked = Verdict(VerdictKind.BLOCKED, "no review", blocked_by=HoldKind.UNREVIEWED.value, next=NextStep("merge"))
    first = replace(
        named[0],
        name=ConnectorName("Ünïcode-<b>"),
        verdict=blocked,
        class_name="io.debezium.PostgresConnector",
        location=Location("clusters/east/a.yaml", 4),
    )
    views[EAST] = replace(views[EAST], connectors=(first, *named[1:]))
    return Snapshot(1, RepositoryView(), views)


@pytest.fixture(scope="module")
def index() -> Index:
    return Fleet().at(snapshot())


def select(index: Index, text: str, size: int = 100) -> Selection:
    return index.select(ConnectorQuery.of(QueryParams(text), size))


@pytest.mark.parametrize("query", table(__file__, "queries"))
def test_a_query_selects(index: Index, query: str) -> None:
    wanted = table(__file__, "queries")[query]
    found = select(index, query)
    assert found.total == wanted["total"]
    first = [f"{one.cluster}/{one.name}" for one in found.connectors[: len(wanted["first"])]]
    assert first == wanted["first"]


@pytest.mark.parametrize(("query", "why"), rows(__file__, "rejected"))
def test_an_unknown_value_is_an_error_that_says_what_is_allowed(query: str, why: str) -> None:
    with pytest.raises(HTTPException) as error:
        ConnectorQuery.of(QueryParams(query))
    assert error.value.status_code == 400
    assert why in str(error.value.detail)


def test_a_long_value_is_rejected_because_each_link_repeats_it() -> None:
    with pytest.raises(HTTPException, match="cause: expected at most 20 values of at most 500 characters"):
        ConnectorQuery.of(QueryParams({"cause": "x" * 501}))


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("sort", SORTS)
def test_the_pages_of_a_list_are_the_whole_list_once(index: Index, sort: str, direction: str) -> None:
    found, after = list[Any](), ""
    while True:
        page = select(index, f"sort={sort}&dir={direction}&after={after}", size=70)
        found += page.connectors
        if page.next is None:
            break
        after = page.next
    whole = select(index, f"sort={sort}&dir={direction}", size=10_000).connectors
    assert found == list(whole)
    assert {(one.cluster, one.name) for one in found} == {(one.cluster, one.name) for one in whole}
    assert len(found) == page.total == index.total


def test_a_page_goes_on_after_a_connector_that_is_gone(index: Index) -> None:
    first = select(index, "sort=name", size=50)
    views = snapshot().clusters
    gone = first.connectors[-1]
    left = {
        name: replace(view, connectors=tuple(one for one in view.connectors if one != gone))
        for name, view in views.items()
    }
    later = select(Fleet().at(Snapshot(2, RepositoryView(), left)), f"sort=name&after={first.next}", size=50)
    assert list(later.connectors) == list(select(index, "sort=name", size=100).connectors[50:100])


def test_groups_and_counts_are_those_of_the_list(index: Index) -> None:
    whole = select(index, "", size=10_000)
    for by in ("cause", "cluster", "class", "verdict"):
        groups = select(index, f"group={by}", size=500).groups
        assert sum(one.count for one in groups) == whole.total == sum(whole.counts.values())
        ranks = [one.rank for one in groups]
        assert ranks == sorted(ranks), "the most urgent group comes first"
        for group in groups:
            assert len(group.first) == min(3, group.count)
    for kind, count in whole.counts.items():
        chosen = select(index, f"verdict={kind.value}")
        assert chosen.total == count
        assert chosen.counts == whole.counts, "what another verdict would select is counted, too"
    attention = select(index, "attention=1")
    assert attention.total == index.attention == sum(one.verdict.needs_attention for one in whole.connectors)


def test_any_query_finds_what_a_look_at_each_connector_finds(index: Index) -> None:
    chance = random.Random(7)  # noqa: S311 - nothing is secret
    everything = select(index, "", size=10_000).connectors
    for _ in range(60):
        kind, cluster = chance.choice([*VerdictKind]), chance.choice([EAST, WEST])
        word = chance.choice(["orders", "-orders", "sink", "db-7", "-db-7"])
        found = select(index, f"verdict={kind.value}&cluster={cluster}&q={word}", size=10_000).connectors
        wanted = {
            one.name
            for one in everything
            if one.verdict.kind is kind
            and one.cluster == cluster
            and (word.lstrip("-") in f"{one.name} {one.message} {one.verdict.cause}".lower()) != (word[0] == "-")
        }
        assert {one.name for one in found} == wanted


@pytest.mark.parametrize(
    ("actors", "wanted"),
    [
        ("actor=rollback", ["west/orders-source-0000"]),
        ("actor=rollback&actor=command", ["east/orders-source-0004", "west/orders-source-0000"]),
        ("actor=rollback&actor=command&cluster=west", ["west/orders-source-0000"]),
        ("actor=person", []),
    ],
)
def test_the_actor_of_the_last_step_selects(actors: str, wanted: list[str]) -> None:
    known = {
        (WEST, ConnectorName("orders-source-0000")): ActorKind.ROLLBACK,
        (EAST, ConnectorName("orders-source-0004")): ActorKind.COMMAND,
        (EAST, ConnectorName("gone")): ActorKind.PERSON,
    }
    found = select(Fleet(lambda: known).at(snapshot()), actors)
    assert [f"{one.cluster}/{one.name}" for one in found.connectors] == wanted
    assert sum(found.counts.values()) == found.total == len(wanted)


def test_columns_are_in_the_links_of_a_list_in_one_order() -> None:
    query = ConnectorQuery.of(QueryParams("columns=tasks&columns=cause&columns=tasks&q=a"))
    assert query.columns == ("cause", "tasks")
    assert query.url("/connectors", sort="name") == "/connectors?q=a&sort=name&columns=cause&columns=tasks"


def test_a_cluster_without_changes_is_indexed_once() -> None:
    fleet, now = Fleet(), snapshot(20)
    first = fleet.at(now)
    assert fleet.at(replace(now, number=2)) is first
    changed = {**now.clusters, WEST: replace(now.clusters[WEST], connectors=now.clusters[WEST].connectors[1:])}
    later = fleet.at(replace(now, number=3, clusters=changed))
    assert later.clusters[EAST] is first.clusters[EAST]
    assert later.total == first.total - 1
