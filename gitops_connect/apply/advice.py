"""What to do about a connector that fails after its steps took effect."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from gitops_connect.model.outcomes import Result, StepOutcome
from gitops_connect.model.plans import Action, Step

_CHANGES_OFFSETS = (Action.ALTER, Action.RESET)


def advice(before: Iterable[StepOutcome], step: Step) -> str:
    """How to recover from `step`, which took effect and then failed, and from the steps `before` it.

    An undo of an offset change also reverts the later offset changes of the connector.
    """
    applied = [outcome.step for outcome in before if outcome.result is Result.APPLIED]
    changes = [one.operation for one in applied if one.action in _CHANGES_OFFSETS and one.operation is not None]
    actions = {one.action for one in (*applied, step)}
    parts = []
    if changes:
        parts.append(f"to restore the offsets, run: gitops-connect offsets undo {shlex.quote(changes[0].name)}")
    if Action.CONFIGURE in actions:
        parts.append("fix its config in the repository (Git has the previous version), and apply again")
    elif Action.CREATE in actions:
        parts.append("fix its config in the repository, and apply again")
    return "; ".join(parts)
