"""The receipt of an offset change: what it did, when, for how long its connector was stopped, and who approved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gitops_connect.model.applied_effects import AppliedEffect, EffectApproval
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import ClusterName
from gitops_connect.model.offset_changes import NOTHING_SENT, OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import JournalEntry, ManualAction, Result
from gitops_connect.model.plans import Action
from gitops_connect.model.units import duration
from gitops_connect.report.offset_lines import counts, move_lines
from gitops_connect.report.plan_json import difference_value, without_secrets
from gitops_connect.report.printable import one_line
from gitops_connect.report.words import time_value

_STAGES: Mapping[Action | ManualAction, str] = {
    Action.STOP: "stopped",
    Action.CREATE: "created",
    Action.RESUME: "resumed",
    Action.PAUSE: "paused",
    Action.DELETE: "deleted",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Something that happened, when, and how, if it did not go well."""

    name: str
    at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is known of a change that was sent. `stopped_for` is from the observed stop to the observed start.

    `difference` has all partitions, as far as the offsets before the change are saved. `undo` is the command that
    undoes the change; it is empty if nothing can be undone.
    """

    stages: tuple[Stage, ...] = ()
    stopped_for: timedelta | None = None
    approvals: tuple[EffectApproval, ...] = ()
    difference: Difference | None = None
    undo: str = ""

    @property
    def downtime(self) -> str:
        """As in `5 s`; with milliseconds only if it is shorter than a second."""
        if self.stopped_for is None:
            return ""
        seconds = self.stopped_for.total_seconds()
        return duration(round(seconds) * 1000 if seconds >= 1 else round(seconds * 1000))

    def value(self, most: int | None = None) -> dict[str, Any]:
        """For JSON; with `most`, the effect has at most so many moves."""
        difference = self.difference
        if difference is not None:
            difference = replace(difference, moves=difference.moves[:most])
        return {
            "stages": [{"stage": one.name, "at": time_value(one.at), "note": one.note} for one in self.stages],
            "stopped_seconds": None if self.stopped_for is None else round(self.stopped_for.total_seconds(), 3),
            "approvals": [
                {
                    "pull_request": one.pull_request,
                    "digest": one.digest,
                    "who": one.who or None,
                    "at": time_value(one.at),
                    "effects": list(one.effects),
                }
                for one in self.approvals
            ],
            "effect": None if difference is None else difference_value(difference, without_secrets),
            "undo": self.undo or None,
        }

    def outline(self, most: int) -> dict[str, Any]:
        """For people, with so many partitions."""
        found: dict[str, Any] = {"Effect": "-" if self.difference is None else counts(self.difference)}
        found["Partitions"] = [] if self.difference is None else list(_partitions(self.difference, most))
        found["Stages"] = {one.name: stage_words(one) for one in self.stages}
        found["Stopped for"] = self.downtime or None
        found["Approved"] = [effect_approval_words(one) for one in self.approvals]
        return {**found, "Undo": self.undo or None}


def _partitions(difference: Difference, most: int) -> Iterator[str]:
    shown = difference.moves[:most]
    yield from (f"{line.mark} {line.text}" for line in move_lines(shown, difference.scale))
    if left := len(difference.moves) - len(shown):
        yield f"and {left:,} more: use -o json to show all"


def stage_words(stage: Stage) -> str:
    return f"{stage.at:%Y-%m-%d %H:%M:%S} UTC{f' ({one_line(stage.note)})' if stage.note else ''}"


def effect_approval_words(one: EffectApproval) -> str:
    """As in `rewind of 2 partitions: approved by ana, pull request #7, digest 3f2a…`."""
    how = f"approved by {one_line(one.who)}" if one.who else "seen by who merged it"
    when = f", {one.at:%Y-%m-%d %H:%M:%S} UTC" if one.at is not None else ""
    return f"{one_line('; '.join(one.effects))}: {how}, pull request #{one.pull_request}, digest {one.digest}{when}"


def receipt_of(
    cluster: ClusterName,
    record: OffsetChangeRecord,
    effect: AppliedEffect | None,
    all_partitions: Difference | None,
    steps: tuple[JournalEntry | None, JournalEntry | None],
) -> Receipt:
    """The receipt of a recorded change; an earlier version has not recorded its effect.

    `steps` are the one that stopped the connector, and the one that started it again, as far as the journal has them.
    """
    is_applied = record.state is OffsetChangeState.SETTLED
    stopped, resumed = steps if effect is not None or record.before is not None else (None, None)
    stages = [
        *([] if stopped is None else [_stage(stopped)]),
        *([] if effect is None else [Stage("sent", effect.begun)]),
        *([Stage("verified" if record.after is not None else "marked as applied", record.since)] * is_applied),
        *([] if resumed is None or not is_applied else [_stage(resumed)]),
    ]
    downtime = resumed.at - stopped.at if is_applied and stopped and resumed and _runs(resumed) else None
    may_undo = is_applied and record.before is not None and record.message != NOTHING_SENT
    undo = command_line("offsets undo", record.name, "--cluster", cluster)
    difference = with_all_partitions(effect.difference, all_partitions) if effect is not None else all_partitions
    approvals = effect.approvals if effect is not None else ()
    return Receipt(tuple(stages), downtime, approvals, difference, undo if may_undo else "")


def _runs(step: JournalEntry) -> bool:
    return step.action is Action.RESUME and step.result is not Result.FAILED


def _stage(step: JournalEntry) -> Stage:
    note = f"failed: {step.message}" if step.result is Result.FAILED else ""
    return Stage(_STAGES[step.action], step.at, note)


def with_all_partitions(recorded: Difference, everything: Difference | None) -> Difference:
    """The recorded difference with the other partitions after its largest moves.

    Their distance is not known, and their direction only if all have the same one.
    """
    known = {one.partition for one in recorded.moves}
    others: Sequence[Move] = [] if everything is None else everything.moves
    ways = [one for one in (Direction.REWIND, Direction.FORWARD, Direction.CHANGED) if recorded.counts.get(one)]
    of_others = ways[0] if len(ways) == 1 else Direction.CHANGED
    added = (
        replace(one, direction=of_others) if one.direction is Direction.CHANGED else one
        for one in others
        if one.partition not in known
    )
    return replace(recorded, moves=(*recorded.moves, *added))
