"""The daemon's log events, on whose names, levels and fields collectors and alerts rely.

docs/reference/log-events.md explains each. An event that needs no more than its fields is logged with `say` where it
happens. A condition that lasts is logged once, when it begins.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from logging import ERROR, INFO, WARNING
from typing import TypeVar

from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.model.active_topics import TopicChange
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan, Step
from gitops_connect.model.pull_requests import Comment, PullRequest, PullRequestPlan
from gitops_connect.report import offset_lines
from gitops_connect.report.words import is_warned_of, problem_words, remedy
from gitops_connect.report.words import left_stopped as words_of_left_stopped

log = logging.getLogger("gitops_connect")
T = TypeVar("T", bound=Hashable)
_NAMED = 3
_LEVELS = {Result.APPLIED: INFO, Result.UNCONFIRMED: WARNING, Result.FAILED: ERROR, Result.SKIPPED: WARNING}


class NewItems:
    """Finds conditions that did not exist at the last poll."""

    def __init__(self) -> None:
        self._before: frozenset[Hashable] = frozenset()

    def of(self, now: Iterable[T]) -> list[T]:
        """The new conditions. A condition that has ended is forgotten, and is new if it begins again."""
        items = list(now)
        new = [thing for thing in items if thing not in self._before]
        self._before = frozenset(items)
        return new


def diagnosed(diagnostic: Diagnostic, cluster: ClusterName | None) -> None:
    """One problem of a document; `cluster` is set if only that cluster has the problem."""
    level = ERROR if diagnostic.severity is Severity.ERROR else WARNING
    where = {"cluster": cluster, "connector": diagnostic.connector, "location": str(diagnostic.location)}
    say(level, "diagnostic", **where, rule=diagnostic.rule, message=diagnostic.summary, hint=diagnostic.hint)
    if diagnostic.bug is not None:
        bug(diagnostic.bug, **where)


def notes(plan: Plan) -> list[tuple[str, str]]:
    """What the plan says in addition to its steps, with the connector concerned (empty: the cluster).

    A blocked offset change is left out if the diagnostic with its reason is logged already.
    """
    summaries = [diagnostic.summary for diagnostic in plan.diagnostics]
    logged = {part for summary in summaries for part in (summary, summary.partition(": ")[2])} - {""}
    waiting = [one for one in offset_lines.waiting(plan) if one.message not in logged]
    return [
        *(("", warning) for warning in plan.warnings),
        *(
            (connector.name, note)
            for connector in plan.connectors
            for note in connector.notes
            if note != plan.unexpected_topics.get(connector.name)
        ),
        *(
            (connector.name, one.words)
            for connector in plan.connectors
            for one in connector.holds
            if one.kind is not HoldKind.SUSPENDED
        ),
        *((step.connector, f"offsets: {one.message}") for step in plan.steps for one in step.offset_effects),
        *((one.connector, offset_lines.waits(one)) for one in waiting),
    ]


def noted(cluster: ClusterName, new: Iterable[tuple[str, str]]) -> None:
    """One event for each message of `notes`, however many connectors it concerns: many may wait for the same thing."""
    by_message: dict[str, list[str]] = {}
    for connector, message in new:
        by_message.setdefault(message, []).append(connector)
    for message, names in by_message.items():
        if len(names) == 1:
            say(WARNING, "note", cluster=cluster, connector=names[0], message=message)
        else:
            first = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
            say(WARNING, "note", cluster=cluster, connectors=len(names), message=f"{first}: {message}")


def health_seen(plan: Plan, before: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
    """Log the connectors that became unhealthy since `before`, and those that recovered. Returns the unhealthy ones.

    A connector that the cluster did not report keeps its state.
    """
    now = frozenset(one.name for one in plan.unhealthy) | before.intersection(plan.unread)
    for one in plan.unhealthy:
        if one.name not in before:
            fields = {"message": problem_words(one), "hint": remedy(one) if one.failures else None}
            say(WARNING, "connector_unhealthy", cluster=plan.cluster, connector=one.name, **fields)
    for name in sorted(before - now):
        say(INFO, "connector_recovered", cluster=plan.cluster, connector=name)
    return now


def step_ended(cluster: ClusterName, revision: Revision, outcome: StepOutcome) -> None:
    """One event for each step. If a successful step has a message, it is a warning: the effect may be another one."""
    offset_change, restart = outcome.step.offset_change, outcome.step.restart
    say(
        WARNING if is_warned_of(outcome) else _LEVELS[outcome.result],
        f"step_{outcome.result.value}",
        step=outcome.id,
        cluster=cluster,
        revision=revision,
        connector=outcome.step.connector,
        action=outcome.step.action.value,
        offset_change=offset_change.name if offset_change is not None else None,
        restart=None if restart is None else "automatic" if restart.request is None else "requested",
        topics=_forgotten(outcome.step),
        reason=outcome.step.reason,
        message=outcome.message,
        seconds=round(outcome.seconds, 3),
    )
    if outcome.bug is not None:
        bug(outcome.bug, cluster=cluster, connector=outcome.step.connector, action=outcome.step.action.value)


def _forgotten(step: Step) -> list[str] | None:
    """The active topics that a step forgets; None if it resets none, or they are not known."""
    return None if step.topics is None or step.topics.topics is None else sorted(step.topics.topics)


def topics_changed(cluster: ClusterName, changes: Iterable[TopicChange]) -> None:
    """One event for each topic that a connector has used for the first time, or that was reset."""
    for one in changes:
        fields = {"cluster": cluster, "connector": one.connector, "topic": one.topic}
        since = one.since.isoformat(timespec="seconds")
        say(INFO, "topic_added" if one.added else "topic_removed", **fields, since=since)


def sending(cluster: ClusterName, revision: Revision, progress: SendingProgress) -> None:
    say(
        INFO,
        "offsets_sent",
        cluster=cluster,
        revision=revision,
        connector=progress.connector,
        offset_change=progress.offset_change,
        done=progress.done,
        entries=progress.entries,
        rate=None if progress.rate is None else round(progress.rate),
        remaining=None if progress.remaining is None else round(progress.remaining),
    )


def drift_corrected(outcome: ReconciliationOutcome) -> None:
    """One event for each connector that was changed on the cluster, and is as declared again."""
    for name in outcome.plan.drifted:
        steps = [one for one in outcome.steps if one.step.connector == name]
        if steps and all(one.result.is_in_place for one in steps):
            message = step_words(one.step for one in steps)
            say(WARNING, "drift_corrected", cluster=outcome.cluster, connector=name, message=message)


def step_words(steps: Iterable[Step]) -> str:
    return ", ".join(f"{one.action.value} ({one.reason})" for one in steps)


def cycle_ended(outcome: ReconciliationOutcome, seconds: float) -> None:
    say(
        INFO,
        "reconciliation_finished",
        cluster=outcome.cluster,
        revision=outcome.revision,
        planned=len(outcome.plan.steps),
        **{result.value: sum(step.result is result for step in outcome.steps) for result in Result},
        drifted=len(outcome.plan.drifted),
        blocked=len(offset_lines.waiting(outcome.plan)),
        unhealthy=len(outcome.plan.unhealthy),
        errors=len(outcome.diagnostics.errors),
        interrupted=outcome.interrupted,
        seconds=round(seconds, 3),
    )


def cycle_broken_off(cluster: ClusterName, revision: Revision, error: Exception, retry_in: float | None) -> None:
    """A reconciliation ended with an error before or instead of its steps. `retry_in` is in seconds.

    It is not a failure if another process reconciles the cluster.
    """
    match error:
        case LedgerBusy():
            say_error("reconciliation_postponed", error, WARNING, cluster=cluster)
        case GitopsConnectError():
            wait = None if retry_in is None else round(retry_in, 1)
            say_error("reconciliation_failed", error, cluster=cluster, revision=revision, retry_in=wait)
        case _:
            bug(error, cluster=cluster, revision=revision, retry_in=retry_in)


def left_stopped(cluster: ClusterName, connector: ConnectorName, worker_url: str) -> logging.LogRecord:
    """A connector that remains stopped. The record has not been handled: a signal handler must not wait for a lock."""
    fields = {"cluster": cluster, "connector": connector, "message": words_of_left_stopped(connector, worker_url)}
    return log.makeRecord(log.name, WARNING, __file__, 0, "connector_left_stopped", (), None, extra={"fields": fields})


def abandoned(cluster: ClusterName, step: Step, timeout: float) -> None:
    """A step is still in progress when the time for the shutdown is over. The next start finds out how it ended."""
    say(
        WARNING,
        "step_abandoned",
        cluster=cluster,
        connector=step.connector,
        action=step.action.value,
        offset_change=step.offset_change.name if step.offset_change is not None else None,
        reason=step.reason,
        message=f"still in progress after shutdown_timeout ({timeout:g}s); the next start finishes it",
    )


def bug(error: Exception, **fields: object) -> None:
    """An error that is a bug of gitops-connect, with its traceback for an issue."""
    log.error("bug", exc_info=error, extra={"fields": {**fields, "reason": type(error).__name__}})


def cause(error: Exception) -> str:
    """What is the same as long as an error has the same cause: the free space of a full disk changes."""
    full = error.full_disk if isinstance(error, GitopsConnectError) else None
    return f"{type(error).__name__} {full.directory if full else error}"


def say_error(event: str, error: Exception, level: int = ERROR, **fields: object) -> None:
    """Log an event about an error, with its class and its message."""
    say(level, event, **fields, reason=type(error).__name__, message=str(error))


def say(level: int, event: str, **fields: object) -> None:
    log.log(level, event, extra={"fields": fields})


# The log events about pull requests.


def commented(pull_request: PullRequest, plan: PullRequestPlan) -> None:
    """The comment on a pull request shows another plan."""
    planned, errors = sum(len(one.steps) for one in plan.plans), len(plan.diagnostics.errors)
    of = {"pull_request": pull_request.number, "commit": pull_request.head}
    say(INFO, "pull_request_reviewed", **of, planned=planned, errors=errors, digest=plan.digest)


def approved(pull_request: PullRequest, comment: Comment, digest: str, *, is_known: bool) -> None:
    """Someone has approved a plan, or a digest that the pull request does not show."""
    fields = {"pull_request": pull_request.number, "author": comment.author, "digest": digest}
    if is_known:
        say(INFO, "plan_approved", **fields)
    else:
        say(WARNING, "approval_rejected", **fields, message="the pull request does not show this digest")


def command_rejected(pull_request: PullRequest, comment: Comment, message: str) -> None:
    """A comment has a command, and its author may not use it, or others may have edited it."""
    say(WARNING, "command_rejected", pull_request=pull_request.number, author=comment.author, message=message)
