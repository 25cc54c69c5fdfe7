"""The effect of each action: the one request that a step sends, or the offset change that it carries out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import assert_never

from gitops_connect.apply.effects import wanted
from gitops_connect.apply.leftovers import leftovers, leftovers_timeout
from gitops_connect.apply.offset_change import StepFailed, change_offsets, record_failure
from gitops_connect.apply.ports import Journal
from gitops_connect.apply.step_context import StepContext
from gitops_connect.apply.step_execution import SHORTEST_PAUSE, SendAgain, StepExecution, StepResult, take_snapshot
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exchanges import Exchange, noted_in
from gitops_connect.errors import GitopsConnectError, Rejected
from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.clock import Clock
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.observed_state import WorkerState
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.restart_records import Restart
from gitops_connect.model.strimzi import RequestedListing


def adopt(connectors: Collection[ConnectorName], journal: Journal) -> StepResult:
    """Carry out the step `adopt` of these connectors, for all of them or for none."""
    return _recorded(partial(journal.adopt, connectors))


def carry_out(step: Step, context: StepContext, exchanges: list[Exchange]) -> StepResult | Callable[[], str] | None:
    """Begin the step. Returns its result if that is known, or else what is to be read for a remark, if anything.

    The requests that have an effect are added to `exchanges`. Raises what `ConnectClient`, `Journal` and
    `OffsetChanges` raise.
    """
    with noted_in(exchanges):
        return _carry_out(step, context)


def _carry_out(step: Step, context: StepContext) -> StepResult | Callable[[], str] | None:
    if step.action is Action.CREATE:
        return _create(step, context)
    if step.offset_change is not None:
        return _carry_out_offset_change(step, step.offset_change, context)
    if step.restart is not None:
        if step.restart.request is None:  # counted before it is sent: a killed process cannot restart without end
            context.options.journal.count_restart(step.connector)
        send_restart(step.connector, step.restart, context.cluster)
        return None
    if step.topics is not None:
        return _reset_topics(step, step.topics, context)
    if step.action is Action.STOP:
        context.options.journal.stopping(step.connector)
    if step.action.changes_config:
        _configure(step, context)
    else:
        _send(step, context.cluster)
    return None


def _configure(step: Step, context: StepContext) -> None:
    """The trial of a config begins before it is sent: the process may be killed. A rejected config ends no trial."""
    journal = context.options.journal
    journal.configuring(step.connector)
    try:
        _send(step, context.cluster)
    except Rejected:
        journal.rejected(step.connector)
        raise


def _carry_out_offset_change(step: Step, offset_change: OffsetChange, context: StepContext) -> StepResult:
    if step.action is Action.RECORD:
        return _recorded(partial(context.options.journal.record, offset_change))
    if step.listing is not None:
        return _list(offset_change, step.listing, context)
    # A deletion is planned before the connector's offsets are read: only now it is known whether they fit into memory.
    if offset_change.kind is OffsetChangeKind.CLEAR and context.options.changes.has_too_many_offsets(offset_change):
        offset_change = replace(offset_change, is_large=True)
    return change_offsets(offset_change, context, step.fenced)


def _create(step: Step, context: StepContext) -> Callable[[], str] | None:
    """A connector that must not run yet is recorded in the ledger before it exists, so that nothing starts it early."""
    context.options.journal.creating([step])
    context.cluster.create(step.connector, step.config, step.initial_state, sensitive=sensitive_keys(step))
    if step.offset_change is not None or not context.tells_offsets:
        return None
    until = context.options.clock.monotonic() + leftovers_timeout(context.options)
    return partial(leftovers, step.connector, context, until)


def _recorded(record: Callable[[], None]) -> StepResult:
    try:
        record()
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, str(error))
    return StepResult(Result.APPLIED)


def _list(offset_change: OffsetChange, listing: RequestedListing, context: StepContext) -> StepResult:
    """Write the current offsets, and record that. A failed write is retried in the next reconciliation."""
    try:
        place = context.options.changes.write_listing(listing, context.cluster.offsets(listing.connector))
        context.options.journal.record(offset_change)
    except GitopsConnectError as error:
        return record_failure(offset_change, context, StepFailed(str(error), certain=True))
    return StepResult(Result.APPLIED, f"written to {place}")


_OWN_RESET_SECONDS = 5.0
"""A worker that runs a deleted connector resets its topics a moment after the deletion (`DistributedHerder`)."""


def _reset_topics(step: Step, reset: TopicsReset, context: StepContext) -> StepResult:
    """Let Connect forget the active topics. Raises what `ConnectClient` raises.

    After a deletion, Connect resets them itself, and only what it leaves is reset here. A connector that works has its
    topics back at once, so the answer of the worker is the effect, except for topics that it does not use any more.
    Otherwise all must be gone: the worker that answers has its own copy of the status topic.
    """
    name, cluster, timeout = step.connector, context.cluster, context.options.settle_timeout
    if reset.is_of_deletion and not _left(step, context, min(_OWN_RESET_SECONDS, timeout)):
        return StepResult(Result.APPLIED)
    cluster.reset_active_topics(name)
    connectors, unknown = cluster.connectors()
    works = name in unknown or (name in connectors and connectors[name].state is not WorkerState.STOPPED)
    left = () if works and not reset.outdated else _left(step, context, timeout, reset.outdated if works else None)
    if not left:
        return StepResult(Result.APPLIED)
    found = f"expected {wanted(step)}, but found {', '.join(sorted(left))} after {timeout:g} s"
    return StepResult(Result.FAILED, found)


def _left(
    step: Step, context: StepContext, seconds: float, among: Collection[TopicName] | None = None
) -> Collection[TopicName]:
    """The active topics that are left after so many seconds, of all or `among` some; none as soon as there are none."""
    until = context.options.clock.monotonic() + seconds
    while left := [one for one in context.cluster.active_topics(step.connector) if among is None or one in among]:
        if context.options.clock.monotonic() >= until:
            break
        context.options.clock.sleep(SHORTEST_PAUSE)
    return left


def send_restart(connector: ConnectorName, restart: Restart, cluster: ConnectClient) -> None:
    """Send the one request of a restart, or the request for each of its parts. Raises what `ConnectClient` raises."""
    if not restart.parts:
        cluster.restart(connector, include_tasks=restart.include_tasks, only_failed=restart.only_failed)
    for part in restart.parts:
        cluster.restart_part(connector, part)


def _send(step: Step, cluster: ConnectClient) -> None:
    match step.action:
        case Action.CONFIGURE | Action.ROLL_BACK:
            cluster.configure(step.connector, step.config, sensitive=sensitive_keys(step))
        case Action.STOP:
            cluster.stop(step.connector)
        case Action.PAUSE:
            cluster.pause(step.connector)
        case Action.RESUME:
            cluster.resume(step.connector)
        case Action.DELETE:
            cluster.delete(step.connector)
        case Action.CREATE | Action.ALTER | Action.RESET | Action.LIST | Action.RESTART:
            raise AssertionError(f"{step.action.value} is not a single request")
        case Action.ADOPT | Action.RECORD | Action.RESET_TOPICS:
            raise AssertionError(f"{step.action.value} is not a single request")
        case _:
            assert_never(step.action)


def sensitive_keys(step: Step) -> frozenset[str]:
    """The config keys that the plan masks, including the keys that the step removes."""
    return step.sensitive | frozenset(change.key for change in step.changes if change.sensitive)


# One step outside of a plan, for a command: sent by the caller's thread, and observed until it has had its effect.


def restart_alone(execution: StepExecution, restart: Restart, cluster: ConnectClient, clock: Clock) -> StepResult:
    """Send a restart, and wait for its effect. Raises nothing: errors of the cluster are in the result."""
    number, move = 0, execution.answered(_error_of(execution, restart, cluster), 0, clock.monotonic())
    while not isinstance(move, StepResult):
        if isinstance(move, SendAgain):
            clock.sleep(max(SHORTEST_PAUSE, move.at - clock.monotonic()))
            move = execution.answered(_error_of(execution, restart, cluster), number, clock.monotonic())
        else:
            clock.sleep(SHORTEST_PAUSE)
            number += 1
            move = execution.observe(take_snapshot(cluster, clock, number, frozenset()), clock.monotonic())
    return move


def _error_of(execution: StepExecution, restart: Restart, cluster: ConnectClient) -> GitopsConnectError | None:
    try:
        send_restart(execution.step.connector, restart, cluster)
    except GitopsConnectError as error:
        return error
    return None
