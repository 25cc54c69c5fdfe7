"""Which offset changes are planned, in which order, around which steps, and what blocks the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from situations import NOW, REVISION, change, current_offsets, full, record, seen, situation, skipping, wanted

from gitops_connect.model.desired import DesiredConnector, DesiredOperation, OnDelete
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.operations import Operation, OperationRecord, clear_name, seed_name
from gitops_connect.model.plans import OperationStatus, Plan
from gitops_connect.model.shapes import shape_of
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, Unit
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy, Unfinished

A20, A30, A10 = current_offsets(a=20), current_offsets(a=30), current_offsets(a=10)


def offsets(
    current: Mapping[str, Offsets],
    declared: Mapping[str, OffsetPatch | None],
    *records: OperationRecord,
    **more: Any,
) -> OffsetSituation:
    known = {one.name: one for one in records}
    return OffsetSituation(NOW, known, manifests=declared, current=current, shapes={"a": shape_of(full({}))}, **more)


def of_server(lsn: int) -> Offsets:
    return {partition_text({"server": "shop"}): offset_text({"lsn": lsn})}


def postgres(declared: Mapping[str, OffsetPatch | None], config: Mapping[str, str]) -> OffsetSituation:
    """A connector of Debezium for PostgreSQL at LSN 100."""
    shape = shape_of({"connector.class": "PostgresConnector", **config})
    return replace(offsets({"a": of_server(100)}, declared), shapes={"a": shape})  # type: ignore[dict-item]


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


def statuses(made: Plan) -> dict[str, OperationStatus]:
    return {one.name: one.status for one in made.operations}


def rules(made: Plan) -> list[tuple[str, str]]:
    return [(one.rule, one.severity.value) for one in made.diagnostics]


def planned(
    desired: DesiredConnector,
    *changes: DesiredOperation,
    there: str | None = "RUNNING",
    about: OffsetSituation,
    **more: Any,
) -> Plan:
    observed = [seen("a", there)] if there else []
    return plan(situation([desired], observed, owned=["a"] if there else (), changes=changes, offsets=about, **more))


class TestOrder:
    @pytest.mark.parametrize(
        ("there", "state", "steps"),
        [
            ("RUNNING", "running", ["stop", "alter", "resume"]),
            ("PAUSED", "running", ["stop", "alter", "resume"]),
            ("PAUSED", "paused", ["stop", "alter", "pause"]),
            ("RUNNING", "paused", ["stop", "alter", "pause"]),
            ("RUNNING", "stopped", ["stop", "alter"]),
            ("STOPPED", "stopped", ["alter"]),
            ("STOPPED", "running", ["alter", "resume"]),
            ("FAILED", "running", ["stop", "alter", "resume"]),
            (None, "running", ["create", "alter", "resume"]),
            (None, "paused", ["create", "alter", "pause"]),
            (None, "stopped", ["create", "alter"]),
        ],
    )
    def test_offsets_are_changed_while_it_is_stopped_and_then_it_is_as_declared(self, there, state, steps) -> None:
        one = change("c", "a")
        made = planned(
            wanted("a", state), one, there=there, about=offsets({"a": A20} if there else {}, {"c": A20 | A30})
        )
        assert actions(made) == steps

    def test_the_config_comes_before_the_offsets_and_both_before_the_start(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a", config={"topic": "new"}), one, about=offsets({"a": A20}, {"c": A30}))
        assert actions(made) == ["stop", "configure", "alter", "resume"]

    def test_several_changes_run_in_the_order_of_their_names_each_on_what_the_one_before_leaves(self) -> None:
        later, earlier = change("2", "a", acknowledge=["rewind"]), change("1", "a")
        made = planned(wanted("a"), later, earlier, about=offsets({"a": A20}, {"1": A30, "2": A20}))
        assert [step.operation.name for step in made.steps if step.operation] == ["1", "2"]
        moves = [one.difference.moves[0] for one in made.operations]
        assert [(move.current, move.declared) for move in moves] == [
            ('{"position":20}', '{"position":30}'),
            ('{"position":30}', '{"position":20}'),
        ]

    def test_a_reset_is_a_reset(self) -> None:
        one = change("c", "a", "reset", acknowledge=["reset"])
        made = planned(wanted("a"), one, about=offsets({"a": A20}, {}))
        assert actions(made) == ["stop", "reset", "resume"]

    def test_a_plan_is_the_same_while_offsets_move(self) -> None:
        one = change("c", "a")
        first, second = (planned(wanted("a"), one, about=offsets({"a": current}, {"c": A30})) for current in (A10, A20))
        assert (first.digest, first.fingerprint) == (second.digest, second.fingerprint)

    def test_another_manifest_is_another_plan(self) -> None:
        first, second = (
            planned(wanted("a"), change("c", "a", digest=digest), about=offsets({"a": A10}, {"c": A30}))
            for digest in ("d1", "d2")
        )
        assert first.digest != second.digest


class TestAcknowledgements:
    @pytest.mark.parametrize(
        ("kind", "declared", "needed"),
        [
            ("alter", A10, "rewind"),
            ("alter", current_offsets(a=70_000), "skip"),
            ("alter", dict.fromkeys(A20), "tombstone"),
            ("replace", current_offsets(b=1), "tombstone"),
            ("reset", None, "reset"),
        ],
    )
    def test_what_is_destructive_is_refused_unless_its_document_says_so(self, kind, declared, needed) -> None:
        about = offsets({"a": A20}, {"c": declared} if declared is not None else {})
        refused = planned(wanted("a"), change("c", "a", kind), about=about)
        assert actions(refused) == []
        assert rules(refused) == [("offsets/unacknowledged", "error")]
        (problem,) = refused.diagnostics
        assert f"acknowledge: [{needed}]" in problem.hint
        assert statuses(refused) == {"c": OperationStatus.WAITING}
        assert not refused.complete

        allowed = planned(wanted("a"), change("c", "a", kind, acknowledge=[needed]), about=about)
        assert "resume" in actions(allowed)
        assert rules(allowed) == []

    @pytest.mark.parametrize(
        ("config", "lsn", "needed"),
        [
            ({}, 90, ["external", "rewind"]),
            ({"flush.lsn.source": "false"}, 90, ["rewind"]),
            ({}, 110, ["external"]),
            ({"flush.lsn.source": "false"}, 110, ["external"]),
            ({}, 100, []),
        ],
    )
    def test_where_the_offset_alone_does_not_decide_the_document_says_that_it_knows(self, config, lsn, needed) -> None:
        about = postgres({"c": of_server(lsn)}, config)
        refused = planned(wanted("a"), change("c", "a"), about=about)
        assert sorted(problem.hint for problem in refused.diagnostics) == [
            f"if this is intended, add `acknowledge: [{one}]`" for one in needed
        ]
        assert {rule for rule, _ in rules(refused)} <= {"offsets/unacknowledged"}
        allowed = planned(wanted("a"), change("c", "a", acknowledge=needed), about=about)
        assert ("record" if lsn == 100 else "alter") in actions(allowed)
        assert rules(allowed) == []
        (shown,) = allowed.operations
        assert shown.difference is not None
        assert any(line.external for line in shown.difference.resume) == ("external" in needed)

    def test_a_reset_that_reads_nothing_again_says_so(self) -> None:
        about = postgres({}, {"snapshot.mode": "no_data"})
        refused = planned(wanted("a"), change("c", "a", "reset", acknowledge=["reset"]), about=about)
        assert [problem.hint for problem in refused.diagnostics] == [
            "if this is intended, add `acknowledge: [external]`"
        ]
        about = postgres({}, {})
        assert "reset" in actions(planned(wanted("a"), change("c", "a", "reset", acknowledge=["reset"]), about=about))

    def test_a_skip_has_the_limit_of_its_unit(self) -> None:
        about = postgres({"c": of_server(100 + 70_000)}, {})
        refused = planned(wanted("a"), change("c", "a", acknowledge=["external"]), about=about)
        (problem,) = refused.diagnostics
        assert problem.summary == (
            "offset change c: 70,000 bytes of WAL are skipped, but the limit is 65,536 bytes of WAL"
            " (`wal_bytes` of the setting `max_skip`)"
        )
        limits = Policy(max_skip={**DEFAULT_SKIP_LIMITS, Unit.WAL_BYTES: 70_000})
        allowed = planned(wanted("a"), change("c", "a", acknowledge=["external"]), about=about, policy=limits)
        assert "alter" in actions(allowed)

    def test_what_is_not_destructive_needs_none(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": A20}, {"c": A30 | current_offsets(new=1)}))
        assert actions(made) == ["stop", "alter", "resume"]

    def test_the_limit_for_skips_is_the_operators(self) -> None:
        about = offsets({"a": A20}, {"c": A30})
        assert actions(planned(wanted("a"), change("c", "a"), about=about, policy=skipping(9))) == []
        assert actions(planned(wanted("a"), change("c", "a"), about=about, policy=skipping(10))) != []

    def test_a_refused_change_keeps_nothing_from_stopping_and_everything_from_starting(self) -> None:
        about = offsets({"a": A20}, {"c": A10})
        assert actions(planned(wanted("a", "stopped"), change("c", "a"), about=about)) == ["stop"]
        held = planned(wanted("a"), change("c", "a"), there="STOPPED", about=about)
        assert actions(held) == []
        assert held.connectors[0].notes == ("offset change c is blocked: no step that starts the connector is planned",)
        absent = planned(wanted("a"), change("c", "a", "reset"), there=None, about=offsets({}, {}))
        assert actions(absent) == []

    def test_no_other_connector_is_held_up(self) -> None:
        made = plan(
            situation(
                [wanted("a"), wanted("b")],
                [seen("a")],
                changes=[change("c", "a")],
                offsets=offsets({"a": A20}, {"c": A10}),
            )
        )
        assert [step.connector for step in made.steps] == ["b"]


class TestOnce:
    def test_a_settled_change_plans_nothing_and_says_when_it_was_applied(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, about=offsets({}, {}, record(one, "applied")))
        assert made.is_empty
        assert [(op.name, op.message) for op in made.applied] == [
            ("c", "applied 2026-11-21 09:30:00 UTC, commit 1a2b3c4")
        ]
        assert made.operations == ()

    def test_one_that_was_adopted_without_its_digest_is_settled(self) -> None:
        one = change("c", "a")
        assert planned(wanted("a"), one, about=offsets({}, {}, record(one, "applied", digest=None))).complete

    def test_a_rewritten_one_is_an_error_and_holds_nothing_else_up(self) -> None:
        one, rewritten, other = change("c", "a"), change("c", "a", digest="d2"), change("d", "a")
        about = offsets({"a": A20}, {"d": A30}, record(one, "applied"))
        made = planned(wanted("a"), rewritten, other, about=about)
        assert rules(made) == [("offsets/rewritten", "error")]
        assert [step.operation.name for step in made.steps if step.operation] == ["d"]

    def test_one_that_failed_waits_and_later_ones_with_it(self) -> None:
        one, later = change("c", "a"), change("d", "a")
        failed = record(one, "failed", failures=3, message="the worker said no", since=NOW - timedelta(minutes=3))
        made = planned(wanted("a"), one, later, about=offsets({"a": A20}, {"c": A30, "d": A30}, failed))
        assert made.is_empty
        assert statuses(made) == {"c": OperationStatus.WAITING, "d": OperationStatus.WAITING}
        assert made.operations[0].message == (
            "it failed 3 times; next retry at 09:31:00 UTC or when its document changes: the worker said no"
        )

    @pytest.mark.parametrize(
        ("minutes", "failures", "again"), [(1, 1, True), (3, 3, False), (4, 3, True), (61, 99, True)]
    )
    def test_it_is_tried_again_after_a_while_that_grows(self, minutes: int, failures: int, again: bool) -> None:
        one = change("c", "a")
        failed = record(one, "failed", failures=failures, since=NOW - timedelta(minutes=minutes))
        made = planned(wanted("a"), one, about=offsets({"a": A20}, {"c": A30}, failed))
        assert made.is_empty is not again

    def test_it_is_tried_again_at_once_when_its_document_changes_unless_nothing_else_helps(self) -> None:
        one, mended = change("c", "a"), change("c", "a", digest="d2")
        failed = record(one, "failed", failures=9, final=True, message="not supported")
        about = offsets({"a": A20}, {"c": A30}, failed)
        assert planned(wanted("a"), one, about=replace(about, now=NOW + timedelta(days=9))).is_empty
        assert not planned(wanted("a"), mended, about=about).is_empty

    def test_manifests_with_errors_are_not_applied(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": A20}, {"c": None}))
        assert made.is_empty
        assert made.operations[0].message == "its offsets have errors"

    def test_offsets_that_cannot_be_read_are_not_changed(self) -> None:
        about = offsets({}, {"c": A30}, unread={"a": "its offsets could not be read: HTTP 500"})
        made = planned(wanted("a"), change("c", "a"), about=about)
        assert made.is_empty
        assert made.operations[0].message == "its offsets could not be read: HTTP 500"

    def test_an_older_connect_cannot(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({}, {}), version="3.5.0")
        assert rules(made) == [("offsets/too-old", "error")]


class TestUnfinished:
    def begun(self, one: DesiredOperation, before: Offsets, declared: OffsetPatch, current: Offsets) -> OffsetSituation:
        operation = Operation(one.name, one.connector, one.kind, one.digest, REVISION, declared, one.acknowledged)
        return offsets(
            {"a": current}, {}, record(one, "in_progress"), unfinished={one.name: Unfinished(operation, before)}
        )

    @pytest.mark.parametrize("current", [A20, A10], ids=["before-its-effect", "after-its-effect"])
    def test_it_is_finished_wherever_it_was_cut_off_and_needs_no_second_acknowledgement(self, current: Offsets) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, there="STOPPED", about=self.begun(one, A20, A10, current))
        assert actions(made) == ["alter", "resume"]
        assert statuses(made) == {"c": OperationStatus.UNFINISHED}

    def test_it_is_finished_when_it_was_withdrawn(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), there="STOPPED", about=self.begun(one, A20, A10, A20))
        assert actions(made) == ["alter", "resume"]
        assert "removed from Git" in made.operations[0].message

    def test_it_is_finished_as_it_was_begun_when_it_was_rewritten(self) -> None:
        one = change("c", "a")
        about = self.begun(one, A20, A10, A20)
        made = planned(wanted("a"), change("c", "a", digest="d2"), there="STOPPED", about=about)
        assert made.steps[0].operation.offsets == A10
        assert rules(made) == [("offsets/rewritten", "error")]

    @pytest.mark.parametrize("there", ["STOPPED", "RUNNING"])
    def test_it_is_not_sent_again_when_the_connector_ran_in_between(self, there: str) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, there=there, about=self.begun(one, A20, A10, current_offsets(a=15)))
        assert made.is_empty
        assert rules(made) == [("offsets/unfinished", "error")]
        assert "gitops-connect ledger resolve c" in next(iter(made.diagnostics)).summary

    def test_nothing_starts_the_connector_while_its_offsets_cannot_be_read(self) -> None:
        one = change("c", "a")
        about = replace(self.begun(one, A20, A10, A20), current={}, unread={"a": "HTTP 500"})
        made = planned(wanted("a"), one, there="STOPPED", about=about)
        assert made.is_empty
        assert made.operations[0].status is OperationStatus.WAITING

    def test_it_is_finished_when_its_connector_is_there_again(self) -> None:
        one = change("c", "a")
        about = replace(self.begun(one, A20, A10, A20), current={})
        made = planned(wanted("a"), one, there=None, about=about)
        assert actions(made) == ["create", "alter", "resume"]
        assert made.steps[0].initial_state.value == "stopped"

    def test_it_is_left_alone_when_its_connector_is_to_be_absent(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a", "absent"), one, there="STOPPED", about=self.begun(one, A20, A10, A20))
        assert actions(made) == ["delete"]

    def test_it_is_finished_although_its_connector_is_declared_no_more(self) -> None:
        one = change("c", "a")
        made = plan(situation([], [seen("a", "STOPPED")], offsets=self.begun(one, A20, A10, A20)))
        assert actions(made) == ["alter"]
        assert "the connector stays stopped" in made.connectors[0].notes[0]


class TestHistory:
    def test_a_new_ledger_replays_nothing_on_a_connector_that_has_offsets(self) -> None:
        changes = [change("1", "a"), change("2", "a")]
        made = planned(wanted("a"), *changes, about=offsets({"a": A20}, {"1": A30, "2": A30}, is_new=True))
        assert made.is_empty
        assert statuses(made) == {"1": OperationStatus.UNKNOWN, "2": OperationStatus.UNKNOWN}
        assert rules(made) == [("offsets/unknown", "warning")] * 2
        assert made.complete

    def test_where_there_are_no_offsets_nothing_can_be_replayed(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": {}}, {"c": A30}, is_new=True))
        assert actions(made) == ["stop", "alter", "resume"]

    def test_what_could_not_be_read_counts_as_offsets(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({}, {"c": A30}, is_new=True))
        assert statuses(made) == {"c": OperationStatus.UNKNOWN}

    def test_nor_is_one_replayed_whose_connector_cannot_be_planned_now(self) -> None:
        about = offsets({}, {}, is_new=True)
        invalid = planned(wanted("a"), change("c", "a"), about=about, invalid=frozenset({"a"}))
        assert statuses(invalid) == {"c": OperationStatus.UNKNOWN}
        undeclared = plan(situation([], [seen("a")], changes=[change("c", "a")], offsets=about))
        assert statuses(undeclared) == {"c": OperationStatus.UNKNOWN}

    def test_it_waits_until_somebody_says_what_was_applied(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, about=offsets({"a": A20}, {"c": A30}, record(one, "unknown")))
        assert made.is_empty
        assert rules(made) == [("offsets/unknown", "warning")]


class TestSeeds:
    def seeded(self, state: str = "running", digest: str = "d1") -> DesiredConnector:
        seed = change(seed_name("a"), "a", "seed", digest=digest)
        return replace(wanted("a", state), initial_offsets=seed)

    def about(self, *records: OperationRecord, current: Mapping[str, Offsets] | None = None) -> OffsetSituation:
        return offsets(current or {}, {seed_name("a"): A20}, *records)

    def record(self, state: str, **more: Any) -> OperationRecord:
        return record(change(seed_name("a"), "a", "seed"), state, **more)

    def test_it_is_created_stopped_seeded_and_then_started(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about())
        assert actions(made) == ["create", "alter", "resume"]
        create = made.steps[0]
        assert create.initial_state.value == "stopped"
        assert create.operation.name == seed_name("a")

    def test_an_older_worker_stops_it_at_once(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about(), version="3.6.2")
        assert actions(made) == ["create", "stop", "alter", "resume"]
        assert "it runs briefly before that" in made.connectors[0].notes[0]

    def test_never_again(self) -> None:
        made = planned(self.seeded(), about=self.about(self.record("applied")))
        assert made.is_empty
        gone = planned(self.seeded(), there=None, about=self.about(self.record("applied")))
        assert actions(gone) == ["create"]

    def test_what_was_seeded_may_be_edited_without_an_effect(self) -> None:
        made = planned(self.seeded(digest="d2"), about=self.about(self.record("applied")))
        assert made.is_empty
        assert rules(made) == [("offsets/rewritten", "warning")]
        assert made.complete

    def test_a_connector_that_was_there_before_is_not_seeded(self) -> None:
        made = planned(self.seeded(), about=self.about(current={"a": A20}))
        assert made.is_empty
        assert made.complete
        assert made.operations == ()
        assert "so they are not applied" in made.connectors[0].notes[0]

    @pytest.mark.parametrize("state", ["intended", "failed"])
    def test_one_that_was_cut_off_before_it_was_seeded_is_seeded(self, state: str) -> None:
        known = self.record(state, since=NOW - timedelta(days=1), failures=1)
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": {}}))
        assert actions(made) == ["alter", "resume"]

    def test_one_that_could_not_be_seeded_is_not_started(self) -> None:
        known = self.record("failed", failures=1, message="no")
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": {}}))
        assert made.is_empty

    def test_left_over_offsets_are_not_thrown_back_unacknowledged(self) -> None:
        known = self.record("intended")
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": A30}))
        assert made.is_empty
        assert rules(made) == [("offsets/unacknowledged", "error")]

    def test_one_that_was_deleted_with_its_offsets_is_seeded_again(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about(self.record("released")))
        assert actions(made) == ["create", "alter", "resume"]


class TestDeletion:
    def test_its_offsets_go_first(self) -> None:
        gone = replace(wanted("a", "absent"), on_delete=OnDelete.RESET)
        assert actions(planned(gone, about=offsets({}, {}))) == ["stop", "reset", "delete"]
        assert actions(planned(gone, there="STOPPED", about=offsets({}, {}))) == ["reset", "delete"]
        assert actions(planned(wanted("a", "absent"), about=offsets({}, {}))) == ["delete"]

    def test_an_undeclared_one_is_deleted_as_its_document_said_last(self) -> None:
        given = situation([wanted("b")], [seen("a"), seen("b")], owned=["a", "b"], policy=Policy(prune=True))
        owned = {**given.ownership, "a": replace(given.ownership["a"], on_delete=OnDelete.RESET)}
        assert actions(plan(replace(given, ownership=owned))) == ["stop", "reset", "delete"]

    def test_what_was_cut_off_is_finished_whatever_is_declared_by_now(self) -> None:
        half = OperationRecord(
            clear_name("a"),
            "a",
            change("c", "a").kind,
            record(change("c", "a"), "in_progress").state,
            "d",
            REVISION,
            NOW,
        )
        made = planned(wanted("a"), there="STOPPED", about=offsets({}, {}, half))
        assert actions(made) == ["reset", "delete"]
        assert "the next reconciliation creates it" in made.connectors[0].notes[-1]

    def test_an_older_connect_cannot_and_so_does_not_delete(self) -> None:
        gone = replace(wanted("a", "absent"), on_delete=OnDelete.RESET)
        made = planned(gone, about=offsets({}, {}), version="3.5.0")
        assert made.is_empty


class TestStrays:
    def test_a_change_without_a_declared_connector_is_an_error(self) -> None:
        made = plan(situation([wanted("orders")], [], changes=[change("c", "order")], offsets=offsets({}, {})))
        (problem,) = made.diagnostics
        assert (problem.rule, problem.severity.value) == ("offsets/no-connector", "error")
        assert "did you mean 'orders'" in problem.summary
        assert statuses(made) == {"c": OperationStatus.WAITING}

    def test_one_that_was_applied_is_history_when_its_connector_is_gone(self) -> None:
        one = change("c", "a")
        made = plan(situation([], [], changes=[one], offsets=offsets({}, {}, record(one, "applied"))))
        assert rules(made) == []
        assert [op.name for op in made.applied] == ["c"]

    def test_one_waits_for_a_broken_document(self) -> None:
        made = plan(situation([], [seen("a")], held=["a"], changes=[change("c", "a")], offsets=offsets({}, {})))
        assert rules(made) == []
        assert made.operations[0].message == "the document of its connector has errors"
