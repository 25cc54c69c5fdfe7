"""Which offset changes are planned, in which order, around which steps, and what blocks the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.planner.situations import change, current_offsets, full, seen, situation, skipping, wanted

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.desired import DesiredOffsetChange, OnDelete
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.plans import OffsetChangeStatus, Plan
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Policy

A20, A30, A10 = current_offsets(a=20), current_offsets(a=30), current_offsets(a=10)


def offsets(current: Mapping[str, Offsets], declared: Mapping[str, OffsetPatch | None]) -> OffsetSituation:
    return OffsetSituation(manifests=declared, current=current, shapes={"a": BUILT_IN.shape(full({}))})


def of_server(lsn: int) -> Offsets:
    return {partition_text({"server": "shop"}): offset_text({"lsn": lsn})}


def postgres(declared: Mapping[str, OffsetPatch | None], config: Mapping[str, str]) -> OffsetSituation:
    """A connector of Debezium for PostgreSQL at LSN 100."""
    shape = BUILT_IN.shape({"connector.class": "PostgresConnector", **config})
    return replace(offsets({"a": of_server(100)}, declared), shapes={"a": shape})  # type: ignore[dict-item]


def actions(made: Plan) -> list[str]:
    return [step.action.value for step in made.steps]


def rules(made: Plan) -> list[tuple[str, str]]:
    return [(one.rule, one.severity.value) for one in made.diagnostics]


def planned(*changes: DesiredOffsetChange, about: OffsetSituation, **more: Any) -> Plan:
    return plan(situation([wanted("a")], [seen("a")], owned=["a"], changes=changes, offsets=about, **more))


class TestOrder:
    def test_a_plan_is_the_same_while_offsets_move(self) -> None:
        one = change("c", "a")
        first, second = (planned(one, about=offsets({"a": current}, {"c": A30})) for current in (A10, A20))
        assert (first.digest, first.fingerprint) == (second.digest, second.fingerprint)

    def test_another_manifest_is_another_plan(self) -> None:
        first, second = (
            planned(change("c", "a", digest=digest), about=offsets({"a": A10}, {"c": A30})) for digest in ("d1", "d2")
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
        refused = planned(change("c", "a", kind), about=about)
        assert actions(refused) == []
        assert rules(refused) == [("offsets/unacknowledged", "error")]
        (problem,) = refused.diagnostics
        assert f"acknowledge: [{needed}]" in problem.hint
        assert [one.status for one in refused.offset_changes] == [OffsetChangeStatus.WAITING]
        assert not refused.complete

        allowed = planned(change("c", "a", kind, acknowledge=[needed]), about=about)
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
        refused = planned(change("c", "a"), about=about)
        assert sorted(problem.hint for problem in refused.diagnostics) == [
            f"if this is intended, add `acknowledge: [{one}]`" for one in needed
        ]
        assert {rule for rule, _ in rules(refused)} <= {"offsets/unacknowledged"}
        allowed = planned(change("c", "a", acknowledge=needed), about=about)
        assert ("record" if lsn == 100 else "alter") in actions(allowed)
        assert rules(allowed) == []
        (shown,) = allowed.offset_changes
        assert shown.difference is not None
        assert any(line.external for line in shown.difference.resume) == ("external" in needed)

    def test_a_reset_that_reads_nothing_again_says_so(self) -> None:
        about = postgres({}, {"snapshot.mode": "no_data"})
        refused = planned(change("c", "a", "reset", acknowledge=["reset"]), about=about)
        assert [problem.hint for problem in refused.diagnostics] == [
            "if this is intended, add `acknowledge: [external]`"
        ]
        about = postgres({}, {})
        assert "reset" in actions(planned(change("c", "a", "reset", acknowledge=["reset"]), about=about))

    def test_a_skip_has_the_limit_of_its_unit(self) -> None:
        about = postgres({"c": of_server(100 + 70_000)}, {})
        refused = planned(change("c", "a", acknowledge=["external"]), about=about)
        (problem,) = refused.diagnostics
        assert problem.summary == (
            "offset change c: 70,000 bytes of WAL are skipped, but the limit is 65,536 bytes of WAL"
            " (`wal_bytes` of the setting `max_skip`)"
        )
        limits = Policy(max_skip={**DEFAULT_SKIP_LIMITS, "wal_bytes": 70_000})
        allowed = planned(change("c", "a", acknowledge=["external"]), about=about, policy=limits)
        assert "alter" in actions(allowed)

    def test_the_limit_for_skips_comes_from_the_settings(self) -> None:
        about = offsets({"a": A20}, {"c": A30})
        assert actions(planned(change("c", "a"), about=about, policy=skipping(9))) == []
        assert actions(planned(change("c", "a"), about=about, policy=skipping(10))) != []

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


def test_an_undeclared_connector_is_deleted_as_its_last_document_says() -> None:
    given = situation([wanted("b")], [seen("a"), seen("b")], owned=["a", "b"], policy=Policy(prune=True))
    owned = {**given.ownership, "a": replace(given.ownership["a"], on_delete=OnDelete.RESET)}
    assert actions(plan(replace(given, ownership=owned))) == ["stop", "reset", "delete"]
