"""`gitops-connect rollout`: decide how a rollout goes on that has stopped or waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from gitops_connect.cli.clusters import chosen_in
from gitops_connect.cli.console import emit
from gitops_connect.cli.options import Cluster, argument, group, option
from gitops_connect.cli.suspend import Wait, add_to_history, current_user, opened_ledger, reconciled
from gitops_connect.errors import UsageError
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ManualAction
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice, RolloutDecision
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.report.printable import one_line
from gitops_connect.runtime import SystemClock

app = group()

Commit = Annotated[str | None, option("--commit", "SHA", "The commit of the rollout, if several rollouts wait.")]
Reason = Annotated[str, option("--reason", "TEXT", "Why, for the people who see the decision.")]
Waiting = Mapping[Revision, Sequence[ConnectorName]]
"""The connectors that wait for the config of each commit."""


@app.command("continue")
def continue_rollout(
    context: typer.Context,
    names: Annotated[list[str] | None, argument("NAME", "Only these connectors.")] = None,
    cluster: Cluster = None,
    commit: Commit = None,
    reason: Reason = "",
    wait: Wait = False,
) -> int:
    """Continue a rollout that has stopped, or that was abandoned.

    Connectors that have failed until now no longer stop the rollout. It stops again after `rollout_max_failures` other
    connectors. With names, only these connectors get their config. The limit `rollout_size` is in effect as before.
    """
    return _decide(context, names, cluster, commit, RolloutChoice.CONTINUE, reason, wait=wait)


@app.command("skip")
def skip(
    context: typer.Context,
    names: Annotated[list[str], argument("NAME", "The connectors that keep their config.")],
    cluster: Cluster = None,
    commit: Commit = None,
    reason: Reason = "",
    wait: Wait = False,
) -> int:
    """Leave connectors out of a rollout: each keeps its config until its document has another config."""
    return _decide(context, names, cluster, commit, RolloutChoice.SKIP, reason, wait=wait)


@app.command("abandon")
def abandon(
    context: typer.Context, cluster: Cluster = None, commit: Commit = None, reason: Reason = "", wait: Wait = False
) -> int:
    """Leave all connectors that wait out of a rollout. Those that have the new config keep it."""
    return _decide(context, None, cluster, commit, RolloutChoice.SKIP, reason, wait=wait)


def _decide(
    context: typer.Context,
    names: Sequence[str] | None,
    cluster: str | None,
    commit: str | None,
    choice: RolloutChoice,
    reason: str,
    *,
    wait: bool,
) -> int:
    decision = RolloutDecision(choice, current_user(), SystemClock().now(), one_line(reason).strip())
    with opened_ledger(context, wait=wait) as (settings, ledger):
        found = {one: _waiting(ledger, one) for one in chosen_in(settings, cluster)}
        where, revision = _only_one(found, commit)
        waiting = found[where][revision]
        chosen = [ConnectorName(name) for name in names or ()]
        for name in chosen:
            if name not in waiting:
                raise UsageError(
                    f"connector {name!r} does not wait for commit {revision[:7]}{did_you_mean(name, waiting)};"
                    f" {len(waiting)} connectors wait: {', '.join(waiting[:10])}"
                )
        ended = [key for key in ledger.rollouts.of(where) if key[0] not in _known(ledger, where)]
        decided = chosen or [WHOLE_ROLLOUT]
        with ledger.together():
            ledger.rollouts.record(where, {(revision, name): decision for name in decided}, ended)
            for name in decided:
                add_to_history(ledger, where, name, _action(decision, chosen), decision.reason, commit=revision)
    what = f"commit {revision[:7]} on {where}"
    who = ", ".join(chosen) or f"{len(waiting)} connectors"
    if decision.choice is RolloutChoice.CONTINUE:
        emit(f"The rollout of {what} continues: from its next reconciliation on, {who} can get the new config.\n")
    else:
        emit(f"{who} will not get the config of {what}, until the document has another config.\n")
    return reconciled(settings, where, wait=wait)


def _action(decision: RolloutDecision, names: Sequence[ConnectorName]) -> ManualAction:
    if decision.choice is RolloutChoice.CONTINUE:
        return ManualAction.CONTINUE_ROLLOUT
    return ManualAction.SKIP_ROLLOUT if names else ManualAction.ABANDON_ROLLOUT


def _waiting(ledger: Ledger, cluster: ClusterName) -> Waiting:
    found = defaultdict[Revision, list[ConnectorName]](list)
    for name, history in sorted(ledger.configs.of(cluster).items()):
        if history.queued is not None:
            found[history.queued.revision].append(name)
    return found


def _known(ledger: Ledger, cluster: ClusterName) -> frozenset[Revision]:
    """The commits whose configs wait, are on trial, or were rolled back. Decisions about others have no effect."""
    histories = ledger.configs.of(cluster).values()
    configs = (one for each in histories for one in (each.queued, each.trial, each.rolled_back) if one is not None)
    return frozenset(one.revision for one in configs)


def _only_one(found: Mapping[ClusterName, Waiting], commit: str | None) -> tuple[ClusterName, Revision]:
    """The rollout that is meant. Raises UsageError if there is none, or more than one."""
    rollouts = [
        (cluster, revision)
        for cluster, waiting in found.items()
        for revision in waiting
        if commit is None or revision.startswith(commit)
    ]
    if len(rollouts) == 1:
        return rollouts[0]
    clusters = ", ".join(found)
    if not rollouts:
        which = "a rollout" if commit is None else f"the config of commit {commit}"
        raise UsageError(f"no connector on {clusters} waits for {which}; the daemon records this when it reconciles")
    shown = "; ".join(f"{cluster}: {revision[:7]} ({len(found[cluster][revision])})" for cluster, revision in rollouts)
    raise UsageError(f"several rollouts wait ({shown}); select one with --cluster and --commit")
