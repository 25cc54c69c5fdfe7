from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ledger.ledger_places import LedgerPlace

from gitops_connect.errors import UsageError
from gitops_connect.ledger.archive import read_archive, write_archive
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.desired import OnDelete, TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.restart_records import RequestKind, RestartRecord
from gitops_connect.model.revisions import RevisionMark, Revisions
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice, RolloutDecision
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions

pytestmark = pytest.mark.slow

LOCAL = ClusterName("local")
A, B = ConnectorName("a"), ConnectorName("b")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ORDERS = Ownership(
    LOCAL,
    ConnectorName("orders"),
    Origin.CREATED,
    Revision("a" * 40),
    NOON,
    Digest("d" * 64),
    {"database.password": Digest("e" * 64)},
)

# Text that SQLite can store: no lone surrogates and no NUL. Names in documents cannot contain them either.
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
times = st.datetimes(
    datetime(2000, 1, 1),  # noqa: DTZ001 - bounds of times in any zone
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.builds(lambda h: timezone(timedelta(hours=h)), st.integers(-12, 14)),
)
ownerships = st.builds(
    Ownership,
    cluster=st.just(LOCAL),
    connector=words,
    origin=st.sampled_from(Origin),
    revision=words,
    since=times,
    desired=st.none() | words,
    applied=st.dictionaries(words, words, max_size=3),
    on_delete=st.sampled_from(OnDelete),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(ownerships, max_size=4, unique_by=lambda one: one.connector))
def test_ownership_makes_the_round_trip(ledger: Ledger, entries: list[Ownership]) -> None:
    for name in ledger.ownership(LOCAL):
        ledger.forget(LOCAL, name)
    for entry in entries:
        ledger.record(entry)
    found = ledger.ownership(LOCAL)
    assert found == {entry.connector: entry for entry in entries}
    assert list(found) == sorted(found)
    assert all(one.since.utcoffset() == timedelta(0) for one in found.values())
    assert read_archive(write_archive(ledger.export()), "a.json") == ledger.export()


def test_recording_again_keeps_how_and_since_when_it_is_ours(ledger: Ledger, place: LedgerPlace) -> None:
    assert (ledger.ownership(LOCAL), ledger.revisions(LOCAL)) == ({}, Revisions())
    ledger.record(ORDERS)
    assert place.open().ownership(LOCAL) == {"orders": ORDERS}
    later = Ownership(
        LOCAL,
        ORDERS.connector,
        Origin.ADOPTED,
        Revision("b" * 40),
        NOON + timedelta(days=1),
        on_delete=OnDelete.RESET,
    )
    ledger.record(later)
    assert ledger.ownership(LOCAL) == {"orders": replace(later, origin=Origin.CREATED, since=NOON)}


def test_forgetting_takes_away_that_one_only(ledger: Ledger) -> None:
    other = replace(ORDERS, connector=ConnectorName("Orders"))
    elsewhere = replace(ORDERS, cluster=ClusterName("other"))
    for one in (ORDERS, other, elsewhere):
        ledger.record(one)
    ledger.forget(LOCAL, ORDERS.connector)
    ledger.forget(LOCAL, ConnectorName("never-there"))
    assert ledger.ownership(LOCAL) == {"Orders": other}, "names are case-sensitive"
    assert ledger.ownership(ClusterName("other")) == {"orders": elsewhere}


def test_attempted_and_applied_are_kept_apart(ledger: Ledger) -> None:
    later = NOON + timedelta(minutes=5)
    ledger.record_attempt(LOCAL, Revision("r1"), NOON)
    ledger.record_applied(LOCAL, Revision("r1"), NOON, "3 steps")
    ledger.record_attempt(LOCAL, Revision("r2"), later)
    ledger.record_attempt(LOCAL, Revision("r2"), later, "1 of 3 steps failed")
    assert ledger.revisions(LOCAL) == Revisions(
        RevisionMark(Revision("r2"), later, "1 of 3 steps failed"), RevisionMark(Revision("r1"), NOON, "3 steps")
    )
    assert ledger.revisions(ClusterName("other")) == Revisions()


def test_the_values_of_connectors_are_replaced_and_removed(ledger: Ledger, place: LedgerPlace) -> None:
    first, second = RestartRecord(1, NOON), RestartRecord(2, NOON + timedelta(minutes=2))
    whole, tasks, other = (A, RequestKind.CONNECTOR), (A, RequestKind.TASKS), (B, RequestKind.TASKS)
    ledger.restarts.record(LOCAL, {A: first, B: first})
    ledger.restarts.record(LOCAL, {A: second})
    ledger.stopped.record(LOCAL, {A: TargetState.RUNNING, B: TargetState.PAUSED})
    for requests in ({whole: "1", other: "1"}, {whole: "2", tasks: "1"}):
        ledger.restart_requests.record(LOCAL, requests)
    again = place.open()
    assert again.restarts.of(LOCAL) == {A: second, B: first}
    assert again.stopped.of(LOCAL) == {A: TargetState.RUNNING, B: TargetState.PAUSED}
    assert again.restart_requests.of(LOCAL) == {whole: "2", tasks: "1", other: "1"}
    assert again.restarts.of(ClusterName("other")) == {}
    ledger.restarts.record(LOCAL, {}, [A])
    ledger.restarts.record(ClusterName("other"), {}, [B])
    ledger.restart_requests.record(LOCAL, {}, [tasks])
    assert ledger.restarts.of(LOCAL) == {B: first}
    ledger.forget(LOCAL, B)
    assert ledger.stopped.of(LOCAL) == {A: TargetState.RUNNING}
    assert ledger.restart_requests.of(LOCAL) == {whole: "2"}


def test_the_last_suspension_is_kept_until_it_is_resumed_or_the_connector_is_deleted(ledger: Ledger) -> None:
    for who in ("ana@a", "bob@b"):
        whole = Suspension(SuspendedBy.COMMAND, whole_cluster=True, who=who, since=NOON, reason="INC-4711")
        alone = replace(whole, whole_cluster=False)
        ledger.suspend(LOCAL, A, alone)
        ledger.suspend(LOCAL, None, whole)
    assert ledger.suspensions(LOCAL) == Suspensions(whole, {A: alone})
    assert ledger.suspensions(ClusterName("other")) == Suspensions()
    ledger.suspend(ClusterName("other"), A, alone)
    assert ledger.resume(LOCAL, None)
    assert ledger.suspensions(LOCAL) == Suspensions(None, {A: alone})
    assert not ledger.resume(LOCAL, None)
    assert ledger.resume(LOCAL, A)
    assert ledger.suspensions(LOCAL) == Suspensions()
    assert ledger.suspensions(ClusterName("other")) == Suspensions(None, {A: alone})
    ledger.suspend(LOCAL, A, alone)
    ledger.forget(LOCAL, A)
    assert ledger.suspensions(LOCAL) == Suspensions()


def test_a_relative_path_starts_from_the_given_directory_and_an_absolute_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    Ledger.open("sqlite:///below/a.db", tmp_path, None)
    Ledger.open(f"sqlite:///{tmp_path}/b.db", tmp_path / "below", None)
    assert (tmp_path / "below/a.db").is_file()
    assert (tmp_path / "b.db").is_file()


@pytest.mark.parametrize(
    "url", ["state.db", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "nosuch://x/y"]
)
def test_a_url_that_cannot_be_a_ledger_is_a_usage_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[state\] url"):
        Ledger.open(url, tmp_path, b"k" * 32)


def test_a_password_in_the_url_is_in_no_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not installed") as caught:
        Ledger.open("mysql+oursql_none://me:hunter2@db/x", tmp_path, b"k" * 32)
    assert "hunter2" not in str(caught.value)


def test_neither_the_key_nor_a_digest_is_in_the_repr(ledger: Ledger) -> None:
    assert ledger.key.hex() not in repr(ledger)
    assert repr(ledger.key) not in repr(ledger)


def test_decisions_about_rollouts_are_kept_until_the_connector_is_deleted(ledger: Ledger) -> None:
    decision = RolloutDecision(RolloutChoice.CONTINUE, "ana", NOON, "INC-4711")
    whole, alone = (Revision("r1"), WHOLE_ROLLOUT), (Revision("r1"), A)
    ledger.rollouts.record(LOCAL, {whole: decision, alone: replace(decision, choice=RolloutChoice.SKIP)})
    assert ledger.rollouts.of(LOCAL)[whole] == decision
    ledger.forget(LOCAL, A)
    assert set(ledger.rollouts.of(LOCAL)) == {whole}
    ledger.rollouts.record(LOCAL, {}, [whole])
    assert ledger.rollouts.of(LOCAL) == {}
