"""The daemon's log events: their names, levels and fields, which collectors and alerts rely on.

docs/reference/log-events.md explains each. A condition that lasts is logged once, when it begins.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import TypeVar, assert_never

from gitops_connect.declare import Declared
from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.model.config_histories import RolledBack
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Plan, Step
from gitops_connect.model.pull_requests import Comment, PullRequest, PullRequestPlan
from gitops_connect.report import offset_lines
from gitops_connect.report.words import is_warned_of, problem_words, remedy
from gitops_connect.report.words import left_stopped as words_of_left_stopped

log = logging.getLogger("gitops_connect")
T = TypeVar("T", bound=Hashable)


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


def revision_seen(declared: Declared, before: Revision | None) -> None:
    """The repository has another revision. A second event warns if the earlier revision is not in its history."""
    counts = {"documents": declared.documents, "errors": len(declared.diagnostics.errors)}
    say(logging.INFO, "revision_changed", revision=declared.revision, before=before, **counts)
    if declared.rewritten:
        say(logging.WARNING, "history_rewritten", revision=declared.revision, before=declared.rewritten)


def repository_not_read(error: Exception, enforced: Revision | None) -> None:
    """The repository could not be read. If there is an earlier revision, it remains in effect."""
    say_error("repository_unreachable", error, enforced=enforced)


def repository_read_again(revision: Revision) -> None:
    """The end of `repository_unreachable`: the repository was read again."""
    say(logging.INFO, "repository_recovered", revision=revision)


def diagnosed(diagnostic: Diagnostic, cluster: ClusterName | None) -> None:
    """One problem of a document; `cluster` is set if only that cluster has the problem."""
    level = logging.ERROR if diagnostic.severity is Severity.ERROR else logging.WARNING
    say(
        level,
        "diagnostic",
        cluster=cluster,
        connector=diagnostic.connector,
        location=str(diagnostic.location),
        rule=diagnostic.rule,
        message=diagnostic.summary,
        hint=diagnostic.hint,
    )
    if diagnostic.bug is not None:
        bug(diagnostic.bug, cluster=cluster, connector=diagnostic.connector, location=str(diagnostic.location))


def notes(plan: Plan) -> list[tuple[str, str]]:
    """What the plan says in addition to its steps, with the connector concerned (empty: the cluster).

    A blocked offset change is left out if the diagnostic with its reason is logged already.
    """
    summaries = [diagnostic.summary for diagnostic in plan.diagnostics]
    logged = {part for summary in summaries for part in (summary, summary.partition(": ")[2])} - {""}
    waiting = [one for one in offset_lines.waiting(plan) if one.message not in logged]
    return [
        *(("", warning) for warning in plan.warnings),
        *((connector.name, note) for connector in plan.connectors for note in connector.notes),
        *((step.connector, f"offsets: {one.message}") for step in plan.steps for one in step.offset_effects),
        *((one.connector, offset_lines.waits(one)) for one in waiting),
    ]


def noted(cluster: ClusterName, connector: str, message: str) -> None:
    """Something that no step fixes, such as a connector that is kept although it is no longer declared."""
    say(logging.WARNING, "note", cluster=cluster, connector=connector, message=message)


def health_seen(plan: Plan, before: frozenset[ConnectorName]) -> frozenset[ConnectorName]:
    """Log the connectors that became unhealthy since `before`, and those that recovered. Returns the unhealthy ones.

    A connector that the cluster did not report keeps its state.
    """
    unread = before.intersection(plan.unread)
    now = frozenset(one.name for one in plan.unhealthy) | unread
    for one in plan.unhealthy:
        if one.name not in before:
            unhealthy(plan.cluster, one)
    for name in sorted(before - now):
        recovered(plan.cluster, name)
    return now


def unhealthy(cluster: ClusterName, one: UnhealthyConnector) -> None:
    """A declared or managed connector has stopped working. This is one event, even if the problem lasts."""
    hint = remedy(one.name) if one.failures else None
    say(
        logging.WARNING,
        "connector_unhealthy",
        cluster=cluster,
        connector=one.name,
        message=problem_words(one),
        hint=hint,
    )


def given_up(cluster: ClusterName, one: UnhealthyConnector) -> None:
    """A connector is FAILED after its last automatic restart, and is not restarted again."""
    say(
        logging.ERROR,
        "connector_given_up",
        cluster=cluster,
        connector=one.name,
        message=problem_words(one),
        hint=remedy(one.name),
    )


def rolled_back(cluster: ClusterName, connector: ConnectorName, found: RolledBack) -> None:
    """The previous config of a connector is restored, because the connector did not work with the new one."""
    say(
        logging.ERROR,
        "config_rolled_back",
        cluster=cluster,
        connector=connector,
        revision=found.revision,
        keys=list(found.keys),
        message=found.reason,
    )


def recovered(cluster: ClusterName, connector: ConnectorName) -> None:
    """The end of `connector_unhealthy`: the connector works again."""
    say(logging.INFO, "connector_recovered", cluster=cluster, connector=connector)


def step_ended(cluster: ClusterName, revision: Revision, outcome: StepOutcome) -> None:
    """One event for each step. If a successful step has a message, it is a warning: the effect may be another one."""
    operation, restart = outcome.step.operation, outcome.step.restart
    level = logging.WARNING if is_warned_of(outcome) else _level(outcome.result)
    say(
        level,
        f"step_{outcome.result.value}",
        step=outcome.id,
        cluster=cluster,
        revision=revision,
        connector=outcome.step.connector,
        action=outcome.step.action.value,
        offset_change=operation.name if operation is not None else None,
        restart=None if restart is None else "automatic" if restart.request is None else "requested",
        reason=outcome.step.reason,
        message=outcome.message,
        seconds=round(outcome.seconds, 3),
    )
    if outcome.bug is not None:
        bug(outcome.bug, cluster=cluster, connector=outcome.step.connector, action=outcome.step.action.value)


def sending(cluster: ClusterName, revision: Revision, progress: SendingProgress) -> None:
    """The progress of a step that sends very many offsets."""
    say(
        logging.INFO,
        "offsets_sent",
        cluster=cluster,
        revision=revision,
        connector=progress.connector,
        offset_change=progress.operation,
        done=progress.done,
        entries=progress.entries,
        rate=None if progress.rate is None else round(progress.rate),
        remaining=None if progress.remaining is None else round(progress.remaining),
    )


def drift_corrected(outcome: ReconciliationOutcome) -> None:
    """One event for each connector that was changed on the cluster, and is as declared again."""
    for name in outcome.plan.drifted:
        steps = [one for one in outcome.steps if one.step.connector == name]
        if steps and all(one.result is Result.APPLIED for one in steps):
            done = ", ".join(f"{one.step.action.value} ({one.step.reason})" for one in steps)
            say(logging.WARNING, "drift_corrected", cluster=outcome.cluster, connector=name, message=done)


def cycle_ended(outcome: ReconciliationOutcome, seconds: float) -> None:
    """The result of a whole reconciliation."""
    say(
        logging.INFO,
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


def cycle_failed(cluster: ClusterName, revision: Revision, error: Exception, retry_in: float | None) -> None:
    """A reconciliation ended with an error before or instead of its steps. `retry_in` is in seconds."""
    wait = None if retry_in is None else round(retry_in, 1)
    say_error("reconciliation_failed", error, cluster=cluster, revision=revision, retry_in=wait)


def cycle_put_off(cluster: ClusterName, error: Exception) -> None:
    """Another process reconciles the cluster, which is no failure."""
    say(logging.WARNING, "reconciliation_postponed", cluster=cluster, reason=type(error).__name__, message=str(error))


def cycle_broken_off(cluster: ClusterName, revision: Revision, error: Exception, retry_in: float | None) -> None:
    """A reconciliation ended with an error; see `cycle_put_off`, `cycle_failed` and `bug`."""
    match error:
        case LedgerBusy():
            cycle_put_off(cluster, error)
        case GitopsConnectError():
            cycle_failed(cluster, revision, error, retry_in)
        case _:
            bug(error, cluster=cluster, revision=revision, retry_in=retry_in)


def left_stopped(cluster: ClusterName, connector: ConnectorName, worker_url: str) -> logging.LogRecord:
    """A connector that remains stopped. The record has not been handled: a signal handler must not wait for a lock."""
    fields = {"cluster": cluster, "connector": connector, "message": words_of_left_stopped(connector, worker_url)}
    return log.makeRecord(
        log.name, logging.WARNING, __file__, 0, "connector_left_stopped", (), None, extra={"fields": fields}
    )


def bug(error: Exception, **fields: object) -> None:
    """An error that is a bug of gitops-connect, with its traceback for an issue."""
    log.error("bug", exc_info=error, extra={"fields": {**fields, "reason": type(error).__name__}})


def say_error(event: str, error: Exception, **fields: object) -> None:
    """Log an event about an error, with its class and its message."""
    say(logging.ERROR, event, **fields, reason=type(error).__name__, message=str(error))


def say(level: int, event: str, **fields: object) -> None:
    """Log an event with these fields."""
    log.log(level, event, extra={"fields": fields})


def _level(result: Result) -> int:
    match result:
        case Result.APPLIED:
            return logging.INFO
        case Result.FAILED:
            return logging.ERROR
        case Result.SKIPPED:
            return logging.WARNING
        case _:
            assert_never(result)


# The log events about the daemon itself: start and end, the leader of several daemons, and its settings.


def started(clusters: Iterable[ClusterName], version: str) -> None:
    """The daemon has started."""
    say(logging.INFO, "daemon_started", version=version, clusters=list(clusters))


def server_started(url: str) -> None:
    """The HTTP server answers."""
    say(logging.INFO, "server_started", url=url)


def traces_not_exported(package: str) -> None:
    """The environment configures a collector for traces, but the extra is not installed. The daemon goes on."""
    message = f"the package {package} is not installed; pip install 'gitops-connect[tracing]'"
    say(logging.WARNING, "traces_not_exported", message=message)


def leader_elected(number: int) -> None:
    """This daemon is the leader now. `number` is the fencing number of its lease."""
    say(logging.INFO, "leader_elected", number=number)


def leader_followed(message: str) -> None:
    """Another daemon is the leader: this one changes nothing, and takes over if that one ends."""
    say(logging.INFO, "leader_followed", message=message)


def leader_lost(error: Exception) -> None:
    """This daemon could not renew its lease, and is no longer the leader."""
    say(logging.WARNING, "leader_lost", reason=type(error).__name__, message=str(error))


def leader_unknown(error: Exception) -> None:
    """The ledger cannot be reached: it is unknown which daemon is the leader, and this one changes nothing."""
    say_error("leader_unknown", error)


def stopping(in_progress: Iterable[ClusterName]) -> None:
    """The daemon was requested to stop; `in_progress` are the clusters on which steps are in progress."""
    say(logging.INFO, "daemon_stopping", in_progress=sorted(in_progress))


def abandoned(cluster: ClusterName, step: Step, timeout: float) -> None:
    """A step is still in progress when the time for the shutdown is over. The next start finds out how it ended."""
    say(
        logging.WARNING,
        "step_abandoned",
        cluster=cluster,
        connector=step.connector,
        action=step.action.value,
        offset_change=step.operation.name if step.operation is not None else None,
        reason=step.reason,
        message=f"still in progress after shutdown_timeout ({timeout:g}s); the next start finishes it",
    )


def settings_reloaded(changed: list[str]) -> None:
    """The settings were read again; `changed` are the names of those that are different from now on."""
    say(logging.INFO, "settings_reloaded", changed=changed)


def restart_needed(settings: list[str]) -> None:
    """Settings were changed that only a restart can apply. Until then, the earlier ones remain in effect."""
    say(logging.WARNING, "settings_need_restart", settings=settings)


def settings_rejected(error: Exception) -> None:
    """The settings were read again and have an error. The earlier ones remain in effect."""
    say_error("settings_rejected", error)


def stopped() -> None:
    """The daemon has ended its work."""
    say(logging.INFO, "daemon_stopped")


# The log events about pull requests.


def commented(pull_request: PullRequest, plan: PullRequestPlan) -> None:
    """The comment on a pull request shows another plan."""
    say(
        logging.INFO,
        "pull_request_reviewed",
        pull_request=pull_request.number,
        commit=pull_request.head,
        planned=sum(len(one.steps) for one in plan.plans),
        errors=len(plan.diagnostics.errors),
        digest=plan.digest,
    )


def failed(message: str) -> None:
    """A pull request could not be reviewed. One event for each reason, even if it lasts."""
    say(logging.ERROR, "review_failed", message=message)


def approved(pull_request: PullRequest, comment: Comment, digest: str, *, is_known: bool) -> None:
    """Someone has approved a plan, or a digest that the pull request does not show."""
    fields = {"pull_request": pull_request.number, "author": comment.author, "digest": digest}
    if is_known:
        say(logging.INFO, "plan_approved", **fields)
    else:
        say(logging.WARNING, "approval_rejected", **fields, message="the pull request does not show this digest")


def command_rejected(pull_request: PullRequest, comment: Comment, message: str) -> None:
    """A comment has a command, and its author may not use it, or others may have edited it."""
    say(logging.WARNING, "command_rejected", pull_request=pull_request.number, author=comment.author, message=message)


def blocked(pull_request: PullRequest, changes: int) -> None:
    """The merged pull request makes destructive changes that nobody has reviewed."""
    say(logging.WARNING, "changes_not_reviewed", pull_request=pull_request.number, blocked=changes)
