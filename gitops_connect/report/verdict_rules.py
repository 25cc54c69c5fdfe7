"""The verdict on each connector. The page, the API, `status`, the metrics and the comments show what it returns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_connect.model.command_lines import command_line
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.health import FailedPart, HealthReason, UnhealthyConnector
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.plans import ConnectorPlan, OffsetChangeStatus, Plan
from gitops_connect.model.revisions import origin
from gitops_connect.model.status import Health, Sync
from gitops_connect.model.suspensions import Suspension
from gitops_connect.model.verdicts import IS_OK, NextStep, Verdict, VerdictKind
from gitops_connect.report.offset_change_view import PlannedView, view_of
from gitops_connect.report.printable import one_line, shortened
from gitops_connect.report.words import restart_words, values

FORGOTTEN_AFTER = timedelta(hours=24)
"""A suspension that is older needs attention: people forget them."""
DOCUMENT_ERRORS = "document errors"
"""What blocks a connector whose documents have errors; all else that blocks one is a `HoldKind`."""
_COMMAND = re.compile(r"`(gitops-connect [^`]+)`|run: (gitops-connect .+)$")
_LINE_TO_ADD = re.compile(r"add `(acknowledge: [^`]+)`")
_BY_RULE = (
    ("offsets/unacknowledged", HoldKind.UNACKNOWLEDGED),
    ("connector/weaker-delivery", HoldKind.UNACKNOWLEDGED),
    ("offsets/", HoldKind.OFFSET_CHANGE),
    ("connect/", HoldKind.INVALID),
    ("secret/", HoldKind.INVALID),
)
"""What blocks the connector if a rule with such a name is violated; otherwise it is `DOCUMENT_ERRORS`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the verdict on a connector depends on.

    `problems` are those of its documents and of its config, `failure` says why a step of its last reconciliation failed
    (empty: none did). `difference` says how the connector differs from Git. `location` is the place of its document.
    """

    plan: Plan
    planned: ConnectorPlan
    sync: Sync
    health: Health
    reason: HealthReason
    difference: str
    suspension: Suspension | None
    now: datetime
    ill: UnhealthyConnector | None = None
    problems: Sequence[Diagnostic] = ()
    failure: str = ""
    location: Location | None = None

    @property
    def name(self) -> ConnectorName:
        return self.planned.name

    @property
    def is_applied_now(self) -> bool:
        """Whether steps of this plan change the connector."""
        return self.planned.applicable and self.planned.changes_cluster

    @property
    def hold(self) -> Hold | None:
        """The strongest hold."""
        return next(iter(self.planned.holds), None)


def verdict_on(facts: Facts) -> Verdict:
    """The first verdict that applies, in the order of `VerdictKind`; an unmanaged connector has no other."""
    return next((found for rule in _RULES if (found := rule(facts)) is not None), IS_OK)


def unread(since: datetime | None, error: str) -> Verdict:
    """The verdict on every connector of a cluster that the last reconciliation could not read."""
    when = "never read" if since is None else f"not read since {since:%Y-%m-%d %H:%M:%S} UTC"
    return Verdict(VerdictKind.UNKNOWN, shortened(one_line(error)), when, next=_ask_doctor())


def step_failed(why: str, location: Location | None) -> Verdict:
    """The verdict on a connector of which a step has failed."""
    step = _next("fix the cause; the next reconciliation tries again", location)
    return Verdict(VerdictKind.CHANGE_FAILED, _line(why), next=step)


def _ask_doctor() -> NextStep:
    return _next("make sure that a worker answers: `gitops-connect doctor` shows what it says")


def _next(text: str, location: Location | None = None) -> NextStep:
    """The step, with the command and the line to add that its text contains."""
    text = one_line(text)
    command, line = _COMMAND.search(text), _LINE_TO_ADD.search(text)
    found = (command[1] or command[2]) if command else ""
    return NextStep(text, found, line[1] if line else "", location)


def _unmanaged(facts: Facts) -> Verdict | None:
    if facts.sync is not Sync.UNMANAGED:
        return None
    selector, cluster = shlex.quote(facts.name), shlex.quote(facts.plan.cluster)
    command = f"gitops-connect import --selector {selector} --cluster {cluster} --out ."
    step = NextStep(f"to manage it, run: {command}", command)
    return Verdict(VerdictKind.UNMANAGED, facts.difference, next=step)


def _unknown(facts: Facts) -> Verdict | None:
    if facts.health is not Health.UNKNOWN:
        return None
    return Verdict(VerdictKind.UNKNOWN, "its state could not be read", next=_ask_doctor())


def _unhealthy(facts: Facts) -> Verdict | None:
    ill = facts.ill
    if ill is None or facts.health is not Health.DEGRADED:
        return None
    restarts, detail = ill.restarts, "; ".join(restart_words(ill.restarts))
    fix = "; ".join(ill.advice) or "fix the cause"
    if not ill.failures:
        return Verdict(VerdictKind.DEGRADED, _line(ill.problems[0]), detail, next=_next(fix, facts.location))
    gave_up = restarts is not None and restarts.gave_up
    kind = VerdictKind.GIVEN_UP if gave_up else VerdictKind.FAILED
    command = command_line("restart connector", facts.name, "--cluster", facts.plan.cluster, "--failed")
    step = NextStep(one_line(f"{fix}, then run: {command}"), command, location=facts.location)
    return Verdict(kind, _innermost_first(ill.failures[0]), detail, next=step)


def _innermost_first(failed: FailedPart) -> str:
    """The reason with the innermost exception first: a list cuts the end."""
    *outer, innermost = re.split(r"\s*\bCaused by: ", failed.reason)
    if failed.known is not None or not outer:
        return _line(failed.reason)
    return _line(f"{innermost.strip()} (in {'; '.join(one.strip() for one in outer)})")


def _change_failed(facts: Facts) -> Verdict | None:
    failed = next((one for one in facts.problems if one.rule == "offsets/failed"), None)
    if failed is not None:
        return Verdict(VerdictKind.CHANGE_FAILED, _line(failed.summary), next=_way_out(failed))
    if not (facts.failure and facts.is_applied_now):
        return None
    return step_failed(facts.failure, facts.location)


def _blocked(facts: Facts) -> Verdict | None:
    hold, errors = facts.hold, [one for one in facts.problems if one.severity is Severity.ERROR]
    if hold is not None and hold.kind in (HoldKind.OBSERVE, HoldKind.SUSPENDED):
        hold = None
    if errors and (hold is None or hold.kind in (HoldKind.INVALID, HoldKind.OFFSET_CHANGE, HoldKind.UNACKNOWLEDGED)):
        found = errors[0]
        by = next((kind.value for prefix, kind in _BY_RULE if found.rule.startswith(prefix)), DOCUMENT_ERRORS)
        return Verdict(VerdictKind.BLOCKED, _line(found.summary), blocked_by=by, next=_way_out(found))
    if hold is not None:
        step = _next(hold.release, facts.location)
        return Verdict(VerdictKind.BLOCKED, _line(hold.message), blocked_by=hold.kind.value, next=step)
    return _blocked_change(facts) or _blocked_document(facts)


def _blocked_change(facts: Facts) -> Verdict | None:
    """An offset change whose state is unknown, or that is blocked for a reason that is no error of a document."""
    waits = (OffsetChangeStatus.UNKNOWN, OffsetChangeStatus.WAITING)
    for one in facts.planned.offset_changes:
        if one.status in waits and facts.suspension is None and not facts.is_applied_now:
            view = view_of(facts.plan.cluster, PlannedView(one), None)
            by, step = HoldKind.OFFSET_CHANGE.value, _next(view.next_step or view.cause, one.location)
            return Verdict(VerdictKind.BLOCKED, _line(f"offset change {one.name}: {view.cause}"), "", by, step)
    return None


def _blocked_document(facts: Facts) -> Verdict | None:
    if facts.sync is not Sync.UNKNOWN or facts.is_applied_now:
        return None
    step = _next("fix the documents: `gitops-connect validate` shows their errors", facts.location)
    return Verdict(VerdictKind.BLOCKED, facts.difference, blocked_by=DOCUMENT_ERRORS, next=step)


def _way_out(found: Diagnostic) -> NextStep:
    return _next(found.hint or f"fix {found.rule} in the document", found.location)


def _rolled_back(facts: Facts) -> Verdict | None:
    found = facts.plan.rolled_back.get(facts.name)
    if found is None:
        return None
    cause = f"{origin(found.revision)} failed: {_line(found.reason)}"
    detail = f"changed keys: {', '.join(found.keys)}; the config before it is in effect"
    step = _next("commit another config", facts.location)
    return Verdict(VerdictKind.ROLLED_BACK, cause, detail, next=step)


def _missing(facts: Facts) -> Verdict | None:
    if facts.health is not Health.MISSING or facts.is_applied_now or facts.suspension is not None:
        return None
    step = NextStep("see the plan for what keeps it from being created", location=facts.location)
    return Verdict(VerdictKind.MISSING, facts.difference, next=step)


def _drift(facts: Facts) -> Verdict | None:
    """Someone changed the connector, or nothing is to be corrected: mode observe, or a connector that Git forgot."""
    if facts.sync is not Sync.OUT_OF_SYNC or facts.is_applied_now or facts.suspension is not None:
        return None
    changes = [f"{one.key} {values(one)}" for step in facts.planned.steps for one in step.changes]
    hold = facts.hold
    if hold is not None:
        release = hold.release
    elif changes:
        release = "commit what the cluster has, or undo it on the cluster"
    else:
        release = "change its document" if facts.location is not None else "declare it again, or delete it"
    cause = "; ".join([*changes[:2], *([f"{len(changes) - 2} more keys"] if len(changes) > 2 else [])])
    observes = hold is not None and hold.kind is HoldKind.OBSERVE
    detail = hold.message if hold is not None and observes else ""
    return Verdict(VerdictKind.DRIFT, shortened(cause) or facts.difference, detail, next=_next(release, facts.location))


def _progressing(facts: Facts) -> Verdict | None:
    if facts.is_applied_now:
        return Verdict(VerdictKind.PROGRESSING, detail=facts.difference)
    return Verdict(VerdictKind.PROGRESSING, "its tasks start") if facts.health is Health.PROGRESSING else None


def _suspended(facts: Facts) -> Verdict | None:
    found = facts.suspension
    if found is None:
        return None
    step = _next(found.release(facts.plan.cluster, facts.name), facts.location)
    forgotten = found.since is not None and facts.now - found.since > FORGOTTEN_AFTER
    return Verdict(VerdictKind.SUSPENDED, found.words, next=step, is_overdue=forgotten)


def _at_rest(facts: Facts) -> Verdict | None:
    kinds = {HealthReason.PAUSED: VerdictKind.PAUSED, HealthReason.STOPPED: VerdictKind.STOPPED}
    kind = kinds.get(facts.reason)
    return Verdict(kind, "as declared") if kind is not None else None


def _line(text: str) -> str:
    return shortened(one_line(text))


_RULES: Sequence[Callable[[Facts], Verdict | None]] = (
    _unmanaged,
    _unknown,
    _unhealthy,
    _change_failed,
    _blocked,
    _rolled_back,
    _missing,
    _drift,
    _progressing,
    _suspended,
    _at_rest,
)
