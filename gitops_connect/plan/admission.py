"""Admits what declared connectors are to do: the holds in force let it pass, or it is shown and not applied."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, PlannedOffsetChange
from gitops_connect.plan.connector_changes import OffsetChangesPlan
from gitops_connect.plan.connector_steps import Steps, compose, plan_connector, rolled_back_words
from gitops_connect.plan.delivery import unacknowledged
from gitops_connect.plan.holds import holds_of
from gitops_connect.plan.precedence import PASSES, Intent, denied_by
from gitops_connect.plan.reviewed import missing_review, unreviewed
from gitops_connect.plan.situation import Situation

_OF_THE_DOCUMENT = frozenset(
    {Intent.CREATE, Intent.CONFIGURE, Intent.ROLL_BACK, Intent.STOP, Intent.START, Intent.DELETE}
)
"""Without one of these, the config and the state of the document are not in effect."""


@dataclass(frozen=True, slots=True)
class HeldConnector:
    """A declared connector with the holds in force for it. `wanted` are the steps of `planned`, with their intents."""

    situation: Situation
    declared: DesiredConnector
    offset_changes: OffsetChangesPlan
    planned: ConnectorPlan
    wanted: Steps
    holds: tuple[Hold, ...] = ()

    @property
    def denied(self) -> frozenset[Intent]:
        return denied_by(one.kind for one in self.holds)

    def admits(self, intent: Intent) -> bool:
        """Whether something is planned with this intent, and every hold lets it pass."""
        return intent not in self.denied and any(one.intent is intent for one in self.wanted)

    def under(self, *holds: Hold) -> HeldConnector:
        return replace(self, holds=(*self.holds, *holds))

    def admitted(self) -> ConnectorPlan:
        """The plan with the steps that are applied, or, if none is, with all steps, which are only shown."""
        planned, declared = self.planned, self.declared
        if not (self.holds or self.situation.restored):
            return planned
        denied = self.denied & {one.intent for one in self.wanted}
        in_force = tuple(one for one in self.holds if denied & denied_by([one.kind]))
        planned = replace(planned, holds=(*in_force, *planned.holds))
        is_waiting = Intent.CONFIGURE in denied or declared.name in self.situation.invalid
        restored = self.situation.restored.get(declared.name) if is_waiting else None
        if restored is not None and restored.rolled_back is not None:
            declared = restored
            note = f"{rolled_back_words(restored.rolled_back)}; the declared config waits: the earlier one is in effect"
            planned = replace(planned, notes=(*planned.notes, note))
        elif not denied:
            return replace(planned, applicable=bool(self.wanted) or not self.holds)
        steps, _ = compose(self.situation, declared, self.offset_changes, self.denied)
        if not steps:
            return replace(planned, applicable=False)
        return only(planned, steps, is_partial=bool(denied & _OF_THE_DOCUMENT))


def hold(situation: Situation, declared: DesiredConnector, offset_changes: OffsetChangesPlan) -> HeldConnector:
    """Everything that a declared connector is to do, and the holds that concern only this connector."""
    planned, wanted = plan_connector(situation, declared, offset_changes)
    found = HeldConnector(situation, declared, offset_changes, planned, wanted)
    if holds := tuple(holds_of(situation, declared.name, declared)):
        return found.under(*holds)
    by_a_commit = [one.step for one in wanted if one.intent not in PASSES[HoldKind.UNREVIEWED]]
    change = missing_review(situation.reviews, situation.desired.cluster, planned, by_a_commit)
    if change is not None:
        found = replace(found, planned=replace(planned, unreviewed=change)).under(unreviewed(change, situation.reviews))
    weaker = unacknowledged(declared, planned)
    return found if weaker is None else found.under(weaker)


def only(planned: ConnectorPlan, steps: Steps, *, is_partial: bool) -> ConnectorPlan:
    """The plan with only these steps. Its other steps and offset changes wait."""
    applied = tuple(one.step for one in steps)
    carried_out = {step.offset_change.name for step in applied if step.offset_change is not None}

    def shown(one: PlannedOffsetChange) -> PlannedOffsetChange:
        is_held = one.status is OffsetChangeStatus.PLANNED and one.name not in carried_out
        why, hint = next(((hold.words, hold.release) for hold in planned.holds), ("", ""))
        return replace(one, status=OffsetChangeStatus.WAITING, message=why, hint=hint) if is_held else one

    return replace(
        planned,
        steps=applied,
        applicable=True,
        offset_changes=tuple(map(shown, planned.offset_changes)),
        held=tuple(step for step in planned.steps if step not in applied),
        is_partial=is_partial,
    )
