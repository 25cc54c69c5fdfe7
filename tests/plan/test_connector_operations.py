"""Which offset changes are planned, in which order, around which steps, and what blocks the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.planner.situations import (
    NOW,
    REVISION,
    change,
    current_offsets,
    full,
    record,
    seen,
    situation,
    skipping,
    wanted,
)

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredConnector, DesiredOperation, OnDelete
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.operations import Operation, OperationRecord, clear_name, seed_name
from gitops_connect.model.plans import OperationStatus, Plan
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS
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
    return OffsetSituation(known, manifests=declared, current=current, shapes={"a": BUILT_IN.shape(full({}))}, **more)


def of_server(lsn: int) -> Offsets:
    return {partition_text({"server": "shop"}): offset_text({"lsn": lsn})}


def postgres(declared: Mapping[str, OffsetPatch | None], config: Mapping[str, str]) -> OffsetSituation:
    """A connector of Debezium for PostgreSQL at LSN 100."""
    shape = BUILT_IN.shape({"connector.class": "PostgresConnector", **config})
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
    def test_offsets_are_changed_while_the_connector_is_stopped_before_its_declared_state(
        self, there, state, steps
    ) -> None:
        one = change("c", "a")
        made = planned(
            wanted("a", state), one, there=there, about=offsets({"a": A20} if there else {}, {"c": A20 | A30})
        )
        assert actions(made) == steps

    def test_the_config_comes_before_the_offsets_and_both_before_the_start(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a", config={"topic": "new"}), one, about=offsets({"a": A20}, {"c": A30}))
        assert actions(made) == ["stop", "configure", "alter", "resume"]

    def test_several_changes_run_in_the_order_of_their_names_each_on_the_result_of_the_last(self) -> None:
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
    def test_a_destructive_change_is_blocked_without_its_acknowledgement(self, kind, declared, needed) -> None:
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
    def test_an_external_position_must_be_acknowledged(self, config, lsn, needed) -> None:
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
        limits = Policy(max_skip={**DEFAULT_SKIP_LIMITS, "wal_bytes": 70_000})
        allowed = planned(wanted("a"), change("c", "a", acknowledge=["external"]), about=about, policy=limits)
        assert "alter" in actions(allowed)

    def test_a_harmless_change_needs_no_acknowledgement(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": A20}, {"c": A30 | current_offsets(new=1)}))
        assert actions(made) == ["stop", "alter", "resume"]

    def test_the_limit_for_skips_comes_from_the_settings(self) -> None:
        about = offsets({"a": A20}, {"c": A30})
        assert actions(planned(wanted("a"), change("c", "a"), about=about, policy=skipping(9))) == []
        assert actions(planned(wanted("a"), change("c", "a"), about=about, policy=skipping(10))) != []

    def test_a_blocked_change_allows_a_stop_but_no_start_of_its_connector(self) -> None:
        about = offsets({"a": A20}, {"c": A10})
        assert actions(planned(wanted("a", "stopped"), change("c", "a"), about=about)) == ["stop"]
        held = planned(wanted("a"), change("c", "a"), there="STOPPED", about=about)
        assert actions(held) == []
        assert held.connectors[0].notes == ("offset change c is blocked: no step that starts the connector is planned",)
        absent = planned(wanted("a"), change("c", "a", "reset"), there=None, about=offsets({}, {}))
        assert actions(absent) == []

    def test_no_other_connector_is_blocked(self) -> None:
        made = plan(
            situation(
                [wanted("a"), wanted("b")],
                [seen("a")],
                owned=["a"],
                changes=[change("c", "a")],
                offsets=offsets({"a": A20}, {"c": A10}),
            )
        )
        assert [step.connector for step in made.steps] == ["b"]


class TestOnce:
    def test_an_applied_change_plans_nothing_and_says_when_it_was_applied(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, about=offsets({}, {}, record(one, "applied")))
        assert made.is_empty
        assert [(op.name, op.message) for op in made.applied] == [
            ("c", "applied 2026-11-21 09:30:00 UTC, commit 1a2b3c4")
        ]
        assert made.operations == ()

    def test_a_change_that_was_marked_without_its_digest_is_applied(self) -> None:
        one = change("c", "a")
        assert planned(wanted("a"), one, about=offsets({}, {}, record(one, "applied", digest=None))).complete

    def test_a_rewritten_change_is_an_error_and_blocks_nothing_else(self) -> None:
        one, rewritten, other = change("c", "a"), change("c", "a", digest="d2"), change("d", "a")
        about = offsets({"a": A20}, {"d": A30}, record(one, "applied"))
        made = planned(wanted("a"), rewritten, other, about=about)
        assert rules(made) == [("offsets/rewritten", "error")]
        assert [step.operation.name for step in made.steps if step.operation] == ["d"]

    def test_a_failed_change_waits_for_its_retry_and_blocks_later_ones(self) -> None:
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
    def test_a_failed_change_is_retried_after_growing_waits(self, minutes: int, failures: int, again: bool) -> None:
        one = change("c", "a")
        failed = record(one, "failed", failures=failures, since=NOW - timedelta(minutes=minutes))
        made = planned(wanted("a"), one, about=offsets({"a": A20}, {"c": A30}, failed))
        assert made.is_empty is not again

    def test_a_failed_change_is_retried_at_once_when_its_document_changes(self) -> None:
        one, edited = change("c", "a"), change("c", "a", digest="d2")
        failed = record(one, "failed", failures=9, final=True, message="not supported")
        about = offsets({"a": A20}, {"c": A30}, failed)
        assert planned(wanted("a"), one, about=about, now=NOW + timedelta(days=9)).is_empty
        assert not planned(wanted("a"), edited, about=about).is_empty

    def test_manifests_with_errors_are_not_applied(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": A20}, {"c": None}))
        assert made.is_empty
        assert made.operations[0].message == "its offsets have errors"

    def test_offsets_that_cannot_be_read_are_not_changed(self) -> None:
        about = offsets({}, {"c": A30}, unread={"a": "its offsets could not be read: HTTP 500"})
        made = planned(wanted("a"), change("c", "a"), about=about)
        assert made.is_empty
        assert made.operations[0].message == "its offsets could not be read: HTTP 500"

    def test_an_older_connect_cannot_change_offsets(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({}, {}), version="3.5.0")
        assert rules(made) == [("offsets/too-old", "error")]


class TestUnfinished:
    def begun(self, one: DesiredOperation, before: Offsets, declared: OffsetPatch, current: Offsets) -> OffsetSituation:
        operation = Operation(one.name, one.connector, one.kind, one.digest, REVISION, declared, one.acknowledged)
        return offsets(
            {"a": current}, {}, record(one, "in_progress"), unfinished={one.name: Unfinished(operation, before)}
        )

    @pytest.mark.parametrize("current", [A20, A10], ids=["before-its-effect", "after-its-effect"])
    def test_an_interrupted_change_is_finished_without_a_second_acknowledgement(self, current: Offsets) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), one, there="STOPPED", about=self.begun(one, A20, A10, current))
        assert actions(made) == ["alter", "resume"]
        assert statuses(made) == {"c": OperationStatus.UNFINISHED}

    def test_a_change_that_was_removed_from_git_is_finished(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a"), there="STOPPED", about=self.begun(one, A20, A10, A20))
        assert actions(made) == ["alter", "resume"]
        assert "removed from Git" in made.operations[0].message

    def test_a_change_that_was_rewritten_is_finished_as_it_was_begun(self) -> None:
        one = change("c", "a")
        about = self.begun(one, A20, A10, A20)
        made = planned(wanted("a"), change("c", "a", digest="d2"), there="STOPPED", about=about)
        assert made.steps[0].operation.offsets == A10
        assert rules(made) == [("offsets/rewritten", "error")]

    @pytest.mark.parametrize("there", ["STOPPED", "RUNNING"])
    def test_a_change_is_not_sent_again_if_the_connector_ran_meanwhile(self, there: str) -> None:
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

    def test_a_change_is_finished_after_its_connector_is_created_again(self) -> None:
        one = change("c", "a")
        about = replace(self.begun(one, A20, A10, A20), current={})
        made = planned(wanted("a"), one, there=None, about=about)
        assert actions(made) == ["create", "alter", "resume"]
        assert made.steps[0].initial_state.value == "stopped"

    def test_a_change_is_not_finished_if_its_connector_is_declared_absent(self) -> None:
        one = change("c", "a")
        made = planned(wanted("a", "absent"), one, there="STOPPED", about=self.begun(one, A20, A10, A20))
        assert actions(made) == ["delete"]

    def test_a_change_is_finished_although_its_connector_is_no_longer_declared(self) -> None:
        one = change("c", "a")
        made = plan(situation([], [seen("a", "STOPPED")], offsets=self.begun(one, A20, A10, A20)))
        assert actions(made) == ["alter"]
        assert "the connector stays stopped" in made.connectors[0].notes[0]


class TestHistory:
    def test_a_new_ledger_reapplies_nothing_to_a_connector_that_has_offsets(self) -> None:
        changes = [change("1", "a"), change("2", "a")]
        made = planned(wanted("a"), *changes, about=offsets({"a": A20}, {"1": A30, "2": A30}, is_new=True))
        assert made.is_empty
        assert statuses(made) == {"1": OperationStatus.UNKNOWN, "2": OperationStatus.UNKNOWN}
        assert rules(made) == [("offsets/unknown", "warning")] * 2
        assert made.complete

    def test_without_current_offsets_a_change_is_applied_with_a_new_ledger(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({"a": {}}, {"c": A30}, is_new=True))
        assert actions(made) == ["stop", "alter", "resume"]

    def test_offsets_that_could_not_be_read_count_as_offsets(self) -> None:
        made = planned(wanted("a"), change("c", "a"), about=offsets({}, {"c": A30}, is_new=True))
        assert statuses(made) == {"c": OperationStatus.UNKNOWN}

    def test_a_new_ledger_reapplies_nothing_to_a_connector_that_cannot_be_planned(self) -> None:
        about = offsets({}, {}, is_new=True)
        invalid = planned(wanted("a"), change("c", "a"), about=about, invalid=frozenset({"a"}))
        assert statuses(invalid) == {"c": OperationStatus.UNKNOWN}
        undeclared = plan(situation([], [seen("a")], changes=[change("c", "a")], offsets=about))
        assert statuses(undeclared) == {"c": OperationStatus.UNKNOWN}

    def test_a_change_of_unknown_outcome_waits_for_a_decision(self) -> None:
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

    def test_a_connector_is_created_stopped_seeded_and_then_started(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about())
        assert actions(made) == ["create", "alter", "resume"]
        create = made.steps[0]
        assert create.initial_state.value == "stopped"
        assert create.operation.name == seed_name("a")

    def test_with_an_older_worker_the_connector_is_stopped_after_its_creation(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about(), version="3.6.2")
        assert actions(made) == ["create", "stop", "alter", "resume"]
        assert "it runs briefly before that" in made.connectors[0].notes[0]

    def test_a_connector_is_seeded_only_once(self) -> None:
        made = planned(self.seeded(), about=self.about(self.record("applied")))
        assert made.is_empty
        gone = planned(self.seeded(), there=None, about=self.about(self.record("applied")))
        assert actions(gone) == ["create"]

    def test_an_edit_of_applied_initial_offsets_has_no_effect(self) -> None:
        made = planned(self.seeded(digest="d2"), about=self.about(self.record("applied")))
        assert made.is_empty
        assert rules(made) == [("offsets/rewritten", "warning")]
        assert made.complete

    def test_a_connector_that_existed_before_is_not_seeded(self) -> None:
        made = planned(self.seeded(), about=self.about(current={"a": A20}))
        assert made.is_empty
        assert made.complete
        assert made.operations == ()
        assert "so they are not applied" in made.connectors[0].notes[0]

    @pytest.mark.parametrize("state", ["intended", "failed"])
    def test_a_creation_that_was_interrupted_before_the_seed_is_continued_with_the_seed(self, state: str) -> None:
        known = self.record(state, since=NOW - timedelta(days=1), failures=1)
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": {}}))
        assert actions(made) == ["alter", "resume"]

    def test_a_connector_that_could_not_be_seeded_is_not_started(self) -> None:
        known = self.record("failed", failures=1, message="no")
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": {}}))
        assert made.is_empty

    def test_leftover_offsets_are_not_rewound_without_an_acknowledgement(self) -> None:
        known = self.record("intended")
        made = planned(self.seeded(), there="STOPPED", about=self.about(known, current={"a": A30}))
        assert made.is_empty
        assert rules(made) == [("offsets/unacknowledged", "error")]

    def test_a_connector_that_was_deleted_with_its_offsets_is_seeded_again(self) -> None:
        made = planned(self.seeded(), there=None, about=self.about(self.record("released")))
        assert actions(made) == ["create", "alter", "resume"]


class TestDeletion:
    def test_the_offsets_are_removed_before_the_connector(self) -> None:
        gone = replace(wanted("a", "absent"), on_delete=OnDelete.RESET)
        assert actions(planned(gone, about=offsets({}, {}))) == ["stop", "reset", "delete"]
        assert actions(planned(gone, there="STOPPED", about=offsets({}, {}))) == ["reset", "delete"]
        assert actions(planned(wanted("a", "absent"), about=offsets({}, {}))) == ["delete"]

    def test_an_undeclared_connector_is_deleted_as_its_last_document_says(self) -> None:
        given = situation([wanted("b")], [seen("a"), seen("b")], owned=["a", "b"], policy=Policy(prune=True))
        owned = {**given.ownership, "a": replace(given.ownership["a"], on_delete=OnDelete.RESET)}
        assert actions(plan(replace(given, ownership=owned))) == ["stop", "reset", "delete"]

    def test_an_interrupted_deletion_is_finished_even_if_the_connector_is_declared_again(self) -> None:
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

    def test_an_older_connect_deletes_no_connector_whose_offsets_must_be_removed(self) -> None:
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

    def test_a_change_that_was_applied_to_a_deleted_connector_is_listed_as_applied(self) -> None:
        one = change("c", "a")
        made = plan(situation([], [], changes=[one], offsets=offsets({}, {}, record(one, "applied"))))
        assert rules(made) == []
        assert [op.name for op in made.applied] == ["c"]

    def test_a_change_waits_for_the_broken_document_of_its_connector(self) -> None:
        made = plan(situation([], [seen("a")], held=["a"], changes=[change("c", "a")], offsets=offsets({}, {})))
        assert rules(made) == []
        assert made.operations[0].message == "the document of its connector has errors"
