"""The history of steps on both kinds of database: filters, pages, what is kept, and who approved what."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import table
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import LOCAL, NOON

from gitops_connect.errors import LedgerUnusable
from gitops_connect.ledger import status_store
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.status_store import StatusStore
from gitops_connect.model.history_filter import ACTIONS, HistoryFilter
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.outcomes import Actor, ActorKind, Actors, JournalEntry, ManualAction, Result, by_hand
from gitops_connect.model.plans import Action
from gitops_connect.model.reviewed_plans import Approval, PlanPurpose, ReviewedConnector, ReviewedPlan
from gitops_connect.server import last_actors
from gitops_connect.server.last_actors import LastActors

pytestmark = pytest.mark.slow

CLUSTERS = (LOCAL, ClusterName("prod"))


def entry(number: int, **given: Any) -> JournalEntry:
    """The step of a row of the table, as many hours after noon as its number."""
    values = {
        "cluster": LOCAL,
        "at": NOON + timedelta(hours=number),
        "revision": Revision("f" * 40),
        "author": "",
        "connector": ConnectorName("orders"),
        "action": "configure",
        "offset_change": "",
        "result": "applied",
        "reason": "",
        "message": "",
        "seconds": 0.5,
        **given,
    }
    kinds = {"action": ACTIONS.__getitem__, "result": Result, "actor": ActorKind}
    return JournalEntry(**{name: kinds.get(name, lambda one: one)(value) for name, value in values.items()})


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    for number, row in enumerate(table(__file__, "steps")):
        one = entry(number, **row)
        ledger.status.record_steps(one.cluster, [one])
    return ledger


def test_filters_select_the_steps_that_they_name(filled: Ledger) -> None:
    """Both databases must agree, also on upper case, `%` and `_`."""
    for given, expected in table(__file__, "filters"):
        chosen = HistoryFilter.of(given, CLUSTERS, NOON + timedelta(hours=10))
        found = [round((one.at - NOON).total_seconds() / 3600) for one in filled.status.history(chosen)]
        assert found == expected, given


def test_a_step_is_read_as_it_was_recorded(filled: Ledger) -> None:
    found = filled.status.history(HistoryFilter())
    rows = [entry(number, **row) for number, row in enumerate(table(__file__, "steps"))]
    assert [replace(one, id=0) for one in reversed(found)] == rows


def test_pages_follow_one_another_without_a_gap_while_steps_are_added(ledger: Ledger) -> None:
    ledger.status.record_steps(LOCAL, [entry(number) for number in range(7)])
    first = ledger.status.history(HistoryFilter(), limit=3)
    ledger.status.record_steps(LOCAL, [entry(7)])
    rest = ledger.status.history(HistoryFilter(), before=first[-1].id, limit=10)
    hours = [(one.at - NOON).total_seconds() / 3600 for one in (*first, *rest)]
    assert hours == [6, 5, 4, 3, 2, 1, 0]


def test_the_whole_history_is_read_in_pages(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_store, "_PAGE", 3)
    ledger.status.record_steps(LOCAL, [entry(number) for number in range(9)])
    assert len({one.id for one in ledger.status.whole_history(HistoryFilter())}) == 9


def test_steps_are_removed_by_age_and_the_oldest_of_a_cluster_by_number(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_store, "KEPT_STEPS", 4)
    monkeypatch.setattr(status_store, "REMOVE_AFTER", 1)
    ledger.status.record_steps(CLUSTERS[1], [entry(0, cluster=CLUSTERS[1])])
    ledger.status.record_steps(LOCAL, [entry(number) for number in range(6)])
    assert len(ledger.status.history(HistoryFilter((LOCAL,)))) == 4
    assert ledger.status.remove_steps(NOON + timedelta(hours=4)) == 3
    assert [one.cluster for one in ledger.status.history(HistoryFilter())] == [LOCAL, LOCAL]


def test_the_author_of_an_earlier_commit_is_known_from_its_steps(ledger: Ledger) -> None:
    ledger.status.record_steps(LOCAL, [entry(0, revision=Revision("r1"), author="Ana")])
    found = [ledger.status.author_of(LOCAL, Revision(one)) for one in ("r1", "r2")]
    assert found == ["Ana", ""]


def test_approvals_and_revocations_are_in_the_history_of_each_cluster_of_the_plan(ledger: Ledger) -> None:
    connectors = {cluster: {ConnectorName("orders"): ReviewedConnector()} for cluster in CLUSTERS}
    plan = ReviewedPlan(7, Revision("abc"), Digest("d1"), connectors)
    ledger.reviews.record(plan, PlanPurpose.APPROVAL, NOON)
    approval = Approval(7, plan.digest, "ana", NOON, "comment 1 on pull request 7")
    for _ in range(2):
        assert ledger.reviews.approve(approval)
    assert ledger.reviews.revoke(replace(approval, who="bob"))
    assert not ledger.reviews.revoke(replace(approval, who="bob")), "nothing is approved any more"
    found = ledger.status.history(HistoryFilter(actors=(ActorKind.FORGE,)))
    assert [(one.action, one.who) for one in found] == [
        *[(ManualAction.REVOKE, "bob")] * 2,
        *[(ManualAction.APPROVE, "ana")] * 2,
    ]
    assert {one.cluster for one in found[:2]} == set(CLUSTERS)
    assert {(one.pull_request, one.approved_digest, one.commit) for one in found} == {(7, "d1", "abc")}


def test_what_people_decide_about_a_commit_proves_nothing_of_its_connectors(ledger: Ledger) -> None:
    failed, ana = entry(0, revision=Revision("abc"), result="failed"), Actor(ActorKind.COMMAND, "ana", Revision("abc"))
    decided = by_hand(ana, (LOCAL, failed.connector), ManualAction.CONTINUE_ROLLOUT, NOON, "")
    ledger.status.record_steps(LOCAL, [failed, decided])
    assert ledger.status.unproven(LOCAL, Revision("abc")) == {"orders"}


def test_the_steps_that_are_skipped_after_a_failed_one_do_not_hide_it(ledger: Ledger) -> None:
    results = enumerate(("failed", "skipped"))
    ledger.status.record_steps(LOCAL, [entry(at, revision=Revision("abc"), result=one) for at, one in results])
    assert ledger.status.unproven(LOCAL, Revision("abc")) == {"orders"}


def test_the_last_step_of_a_plan_says_whether_a_change_failed_whatever_people_did_since(ledger: Ledger) -> None:
    """A restart that did not help is no failed change."""
    steps = [
        entry(0, connector="orders", result="failed", message="400: no"),
        entry(1, connector="payments", result="failed"),
        entry(2, connector="lines", result="failed", action="restart"),
        entry(3, connector="orders", action="suspend"),
        entry(4, connector="payments"),
        entry(5, connector="orders", action="resume", result="skipped"),
        entry(6, connector="orders", action="restart", actor=ActorKind.COMMAND),
    ]
    ledger.status.record_steps(LOCAL, steps)
    assert ledger.status.failed_steps(LOCAL) == {"orders": "configure failed: 400: no"}


def test_the_last_step_of_each_connector_has_the_actor_who_changed_it_last(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first time, only newer steps are read, if they are not too many and for some minutes."""
    restart, person = ActorKind.AUTOMATIC_RESTART, ActorKind.PERSON
    ledger.status.record_steps(LOCAL, [entry(0, actor=person), entry(1, actor=restart)])
    ledger.status.record_steps(CLUSTERS[1], [entry(2, cluster=CLUSTERS[1], actor=person)])
    ledger.status.record_steps(LOCAL, [entry(3, actor=person, result="skipped"), entry(4, connector="", actor=person)])
    clusters, whole = [LOCAL], list[str]()
    last = LastActors(Watched(ledger.status, whole), lambda: clusters)
    assert last.read() == {(LOCAL, "orders"): restart}
    clusters.append(CLUSTERS[1])
    assert last.read() == {(LOCAL, "orders"): restart, (CLUSTERS[1], "orders"): person}
    first, _ = ledger.status.record_steps(LOCAL, [entry(5, actor=person), entry(6, connector="lines", actor=restart)])
    assert last.read() == {(LOCAL, "orders"): person, (LOCAL, "lines"): restart, (CLUSTERS[1], "orders"): person}
    assert ledger.status.later_actors(first) == {(LOCAL, "lines"): restart}
    assert whole == [LOCAL, *CLUSTERS], "one cluster after the other, and again only for another cluster"
    monkeypatch.setattr(last_actors, "_MOST_NEW", 1)
    ledger.status.record_steps(LOCAL, [entry(7), entry(8)])
    assert (last.read()[LOCAL, "orders"], whole) == (ActorKind.UNKNOWN, [LOCAL, *CLUSTERS, *CLUSTERS])


class Watched(StatusStore):
    """Notes the clusters of which all connectors are read."""

    def __init__(self, store: StatusStore, whole: list[str]) -> None:
        super().__init__(store._database)
        self.whole = whole

    def last_actors(self, cluster: ClusterName) -> Actors:
        self.whole.append(cluster)
        return super().last_actors(cluster)


@pytest.mark.parametrize(("later", "after"), [(1, last_actors._WHOLE_AFTER), (last_actors._OVERLAP + 1, 0.0)])
def test_a_step_that_appears_after_a_later_one_counts(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch, later: int, after: float
) -> None:
    """As that of a transaction of PostgreSQL which ends late. If very many are later, only a new look at all helps."""
    monkeypatch.setattr(last_actors, "_WHOLE_AFTER", after)
    with closing(place.open()) as ledger:
        ledger.status.record_steps(LOCAL, [entry(0, connector="lines"), *(entry(1) for _ in range(later))])
        place.run("UPDATE steps SET connector = '' WHERE connector = 'lines'")
        last = LastActors(ledger.status, lambda: CLUSTERS)
        assert last.read().keys() == {(LOCAL, "orders")}
        place.run("UPDATE steps SET connector = 'lines' WHERE connector = ''")
        assert last.read().keys() == {(LOCAL, "orders"), (LOCAL, "lines")}


def test_a_damaged_step_that_is_too_old_to_be_checked_is_an_error_of_the_ledger(place: LedgerPlace) -> None:
    with closing(place.open()) as ledger:
        ledger.status.record_steps(LOCAL, [entry(0)])
        place.run("UPDATE steps SET action = 'explode'")
        with pytest.raises(LedgerUnusable, match="table steps: 'explode'"):
            ledger.status.history(HistoryFilter())
        place.run("UPDATE steps SET actor = 'nobody'")
        with pytest.raises(LedgerUnusable, match="table steps: 'nobody'"):
            ledger.status.last_actors(LOCAL)


def test_a_page_of_a_long_history_uses_an_index(sqlite_ledger: Ledger) -> None:
    queries = (
        "SELECT id FROM steps WHERE cluster IN ('a') AND connector IN ('b') AND id < 9 ORDER BY id DESC LIMIT 100",
        "SELECT id FROM steps WHERE who IN ('Ana') AND id < 9 ORDER BY id DESC LIMIT 100",
        "SELECT id FROM steps WHERE cluster IN ('a') ORDER BY id DESC LIMIT 100",
        "SELECT author FROM steps WHERE cluster = 'a' AND revision = 'b' LIMIT 1",
        "SELECT id, actor FROM steps WHERE id > 9 AND connector != '' AND result != 'skipped' ORDER BY id",
        "SELECT max(id) FROM steps WHERE connector != '' AND result != 'skipped' AND cluster = 'a' GROUP BY connector",
    )
    with sqlite_ledger._database.read() as connection:
        for query in queries:
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]
            assert len(plan) == 1, (query, plan)
            assert plan[0].startswith("SEARCH steps USING"), (query, plan)


def test_a_restart_that_an_earlier_version_recorded_has_its_actor(new_place: LedgerPlace) -> None:
    new_place.run((Path(__file__).parent / "schemas" / "version_11.sql").read_text())
    with closing(new_place.open()) as ledger:
        found = ledger.status.history(HistoryFilter())
    expected = [
        (Action.RESTART, ActorKind.AUTOMATIC_RESTART, "Ann"),
        (Action.ROLL_BACK, ActorKind.ROLLBACK, "Ann"),
        (Action.CONFIGURE, ActorKind.UNKNOWN, "Ann"),
    ]
    assert [(one.action, one.actor, one.author) for one in reversed(found)] == expected
    assert {(one.who, one.commit, one.pull_request, one.request) for one in found} == {("", "", None, "")}


def test_a_search_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_store, "SEARCH_TIMEOUT", 0.0)
    with closing(LedgerPlace("sqlite:///state.db", tmp_path).open()) as ledger:
        ledger.status.record_steps(LOCAL, [entry(number) for number in range(100)])
        with pytest.raises(LedgerUnusable, match="did not answer a query within 0s; select fewer steps"):
            ledger.status.history(HistoryFilter(words=("nothing",)))
