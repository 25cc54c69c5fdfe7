"""The values that the pages show, from the snapshot and the ledger. The templates have only loops and conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gitops_connect.daemon.state import ClusterView
from gitops_connect.model.config_histories import ConfigHistory
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.diagnostics import Location, Severity
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.masking import mask, masked_value
from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import (
    Action,
    ConnectorPlan,
    OffsetChangeStatus,
    Plan,
    destructive_effects,
)
from gitops_connect.model.pull_requests import CommitState, PullRequestPlan
from gitops_connect.model.status import Condition, ConditionStatus, ConditionType, ConnectorStatus, Health, Sync
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report.offset_change_view import ChangeViews, OffsetChangeView, PlannedView, view_of
from gitops_connect.report.words import plural
from gitops_connect.server.fleet import COLUMNS, SORTS, USUAL_COLUMNS, ClusterIndex, ConnectorQuery, Index

State = VerdictKind | Sync | Health | Result | OffsetChangeStatus | ConditionStatus | Severity | CommitState
Look = tuple[str, str, str]
"""A state as people read it, with the class of its colour and its icon."""
Values = dict[str, object]
"""What a template knows by a name."""

_STATES: dict[tuple[str, str], tuple[State, ...]] = {
    ("good", "ok"): (
        VerdictKind.OK,
        Sync.SYNCED,
        Health.HEALTHY,
        Result.APPLIED,
        OffsetChangeStatus.APPLIED,
        ConditionStatus.TRUE,
        CommitState.SUCCESS,
    ),
    ("warning", "sync"): (Sync.OUT_OF_SYNC,),
    ("soft", "what"): (VerdictKind.UNKNOWN,),
    ("warning", "block"): (VerdictKind.BLOCKED,),
    ("warning", "back"): (VerdictKind.ROLLED_BACK,),
    ("warning", "differ"): (VerdictKind.DRIFT,),
    ("warning", "what"): (
        Sync.UNKNOWN,
        Health.UNKNOWN,
        Result.UNCONFIRMED,
        OffsetChangeStatus.UNKNOWN,
        ConditionStatus.UNKNOWN,
    ),
    ("warning", "none"): (Health.MISSING, VerdictKind.MISSING),
    ("warning", "pause"): (Result.SKIPPED,),
    ("warning", "warn"): (OffsetChangeStatus.WAITING, Severity.WARNING),
    ("soft", "none"): (VerdictKind.UNMANAGED, Sync.UNMANAGED, OffsetChangeStatus.IDLE, OffsetChangeStatus.WITHDRAWN),
    ("soft", "pause"): (Health.SUSPENDED, VerdictKind.SUSPENDED, VerdictKind.PAUSED, VerdictKind.STOPPED),
    ("note", "wait"): (
        VerdictKind.PROGRESSING,
        Health.PROGRESSING,
        OffsetChangeStatus.PLANNED,
        OffsetChangeStatus.UNFINISHED,
        CommitState.PENDING,
    ),
    ("note", "what"): (Severity.NOTE,),
    ("error", "bad"): (
        VerdictKind.GIVEN_UP,
        VerdictKind.FAILED,
        VerdictKind.DEGRADED,
        VerdictKind.CHANGE_FAILED,
        Health.DEGRADED,
        Result.FAILED,
        OffsetChangeStatus.FAILED,
        ConditionStatus.FALSE,
        Severity.ERROR,
        CommitState.FAILURE,
    ),
}
_LOOKS = {state: look for look, states in _STATES.items() for state in states}
"""The class and the icon of each state."""
_GOOD_IF_TRUE = (ConditionType.READY, ConditionType.SYNCED, ConditionType.HEALTHY)


def look_of(state: State | Condition | Look) -> Look:
    """How a state or a condition is shown."""
    if isinstance(state, tuple):
        return state
    if isinstance(state, Condition):
        if state.type not in _GOOD_IF_TRUE and state.status is ConditionStatus.TRUE:
            return "True", "warning" if state.type is ConditionType.WARNING else "error", "warn"
        state = state.status
    if isinstance(state, VerdictKind):
        return verdict_words(state), *_LOOKS[state]
    text = "Out of sync" if state is Sync.OUT_OF_SYNC else str(state.value).replace("_", " ")
    return text, *_LOOKS[state]


def verdict_words(kind: VerdictKind) -> str:
    """As in `Given up`."""
    return "OK" if kind is VerdictKind.OK else kind.value.capitalize()


# Connectors

_CHIPS = ("blocked-by", "class", "label", "actor", "sync", "health")
"""The parameters that have no control in the filter. Each of their values has a link that removes it."""


def connector_list(index: Index, query: ConnectorQuery, path: str, cluster: ClusterName | None = None) -> Values:
    """Connectors of one cluster, or of all, with their filter: one page, or their groups."""
    chosen = query if cluster is None else replace(query, chosen={**query.chosen, "cluster": (cluster,)})
    selection = index.select(chosen)
    kinds, has_clusters = query.chosen.get("verdict", ()), cluster is None and len(index.clusters) > 1
    possible = [one for one in COLUMNS if one != "cluster" or has_clusters]
    columns = query.columns or tuple(one for one in possible if one in USUAL_COLUMNS)
    return {
        "query": query,
        "path": path,
        "selection": selection,
        "total": index.total if cluster is None else len(index.clusters[cluster].connectors),
        "clusters": list(index.clusters) if has_clusters else [],
        "columns": columns,
        "choices": [_column_choice(query, path, columns, one) for one in possible if columns != (one,)],
        "tabs": [
            (kind, count, query.url(path, verdict="" if kind.value in kinds else kind.value), kind.value in kinds)
            for kind in VerdictKind
            if (count := selection.counts.get(kind, 0)) or kind.value in kinds
        ],
        "chips": [*_chips(query, path)],
        "headers": [
            _header(query, path, "Verdict", "severity"),
            _header(query, path, "Connector", "name"),
            *(_header(query, path, one.capitalize(), one if one in SORTS else "") for one in columns),
        ],
        "links": [(one, _group_link(query, path, one.value)) for one in selection.groups],
        "next": query.url(path, after=selection.next) if selection.next else "",
        "first": query.url(path) if query.after is not None else "",
    }


def _chips(query: ConnectorQuery, path: str) -> Iterator[tuple[str, str]]:
    """What is chosen, and the URL without it."""
    for name in _CHIPS:
        values_of = query.chosen.get(name, ())
        for value in values_of:
            yield f"{name}: {value}", query.url(path, **{name: tuple(one for one in values_of if one != value)})
    if query.cause is not None:
        yield f"cause: {query.cause or 'none'}", query.url(path, cause=None)


def _column_choice(query: ConnectorQuery, path: str, columns: Sequence[str], column: str) -> tuple[str, str, bool]:
    """A column, the URL of the list with it or without it, and whether the list has it."""
    wanted = {*columns} ^ {column}
    chosen = tuple(one for one in COLUMNS if one in wanted)
    return column, query.url(path, columns=chosen), column in columns


def _header(query: ConnectorQuery, path: str, title: str, sort: str) -> tuple[str, str, str]:
    """The title of a column, the URL that sorts by it, and in which direction it is sorted (ARIA)."""
    if not sort:
        return title, "", ""
    is_sorted = query.sort == sort
    flipped = "desc" if is_sorted and not query.descending else ""
    link = query.url(path, sort="" if sort == "severity" else sort, dir=flipped)
    direction = "descending" if query.descending else "ascending"
    return title, link, direction if is_sorted else "none"


def _group_link(query: ConnectorQuery, path: str, value: str) -> str:
    """The URL of the connectors of one group."""
    if query.group == "cause":
        return query.url(path, group="", cause=value)
    return query.url(path, group="" if value else query.group, **{query.group: (value,)})


_SHARES = ("good", "soft", "note", "warning", "error")


def verdict_bar(counts: Mapping[VerdictKind, int]) -> Values:
    """The share of each colour, with the counts as text. Each share has a class, and a place and a width of SVG."""
    label = ", ".join(f"{counts[kind]:,} {verdict_words(kind)}" for kind in VerdictKind if counts.get(kind))
    total = sum(counts.values())
    at, shares = 0.0, []
    for style in _SHARES:
        count = sum(number for kind, number in counts.items() if _LOOKS[kind][0] == style)
        if count:
            width = max(100 * count / total, 1)
            shares.append((style, f"{at:.2f}", f"{width:.2f}"))
            at += width
    return {"label": label or "no connectors", "width": f"{max(at, 100):.2f}", "shares": shares}


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """A cluster in the list of the first page. `look` is its most urgent verdict, with the number of such connectors.

    `rank` is 0 for the most urgent verdict, `desired` the revision of its plan, and `plan` its plan in words.
    """

    view: ClusterView
    look: Look
    rank: int
    bar: Values
    desired: Revision | None
    plan: str


def cluster_line(view: ClusterView, index: ClusterIndex) -> ClusterLine:
    """The line of a cluster whose connectors are in the index."""
    counts, busy = index.counts, index.counts.get(VerdictKind.PROGRESSING, 0)
    worst = next((kind for kind in VerdictKind if counts.get(kind)), VerdictKind.OK)
    if view.observed is None or (worst is VerdictKind.UNKNOWN and view.error):
        kind, text = VerdictKind.UNKNOWN, "unreachable" if view.error else "not read yet"
    elif worst.needs_attention:
        kind, text = worst, f"{counts[worst]:,} {worst.value}"
    elif view.error:
        kind, text = VerdictKind.FAILED, "failed"
    elif index.attention:
        kind, text = VerdictKind.SUSPENDED, f"{index.attention:,} suspended for long"
    elif busy:
        kind, text = VerdictKind.PROGRESSING, f"{busy:,} progressing"
    else:
        kind, text = VerdictKind.OK, "OK"
    desired = view.plan.revision if view.plan else None
    return ClusterLine(view, (text, *_LOOKS[kind]), kind.severity, verdict_bar(counts), desired, plan_words(view.plan))


def plan_words(plan: Plan | None) -> str:
    """What is applied now, and what waits, as in `0 now, 10 held by rollout, 2 blocked by missing review`."""
    if plan is None:
        return "no plan yet"
    held = Counter(one.holds[0].kind for one in plan.connectors if one.holds and (one.held or not one.applicable))
    parts = [f"{count:,} blocked by {kind.value}" for kind, count in held.items()]
    waits = (OffsetChangeStatus.WAITING, OffsetChangeStatus.FAILED, OffsetChangeStatus.UNKNOWN)
    if not held and (waiting := sum(one.status in waits for one in plan.offset_changes)):
        parts.append(f"{plural(waiting, 'offset change')} blocked")
    if not (plan.steps or parts):
        return "no changes"
    return ", ".join([f"{len(plan.steps):,} now", *parts])


@dataclass(frozen=True, slots=True)
class ConfigLine:
    """A key of a config: its declared value without secrets, its location, and the value on the cluster.

    `live` is None if it is the same, or not known.
    """

    key: str
    declared: str
    location: Location | None
    live: str | None = None


def config_lines(declared: DesiredConnector | None, planned: ConnectorPlan | None) -> list[ConfigLine]:
    """The declared config, and how the one on the cluster differs from it."""
    changes = {one.key: one for step in (planned.steps if planned else ()) for one in step.changes}
    keys = {} if declared is None else {**declared.config, **dict.fromkeys(declared.secrets, "")}
    lines = []
    for key in sorted(keys.keys() | changes.keys()):
        change = changes.get(key)
        if declared is not None and key in declared.secrets:
            value = f"secret: {declared.secrets[key]}"
        else:
            value = masked_value(key, keys[key]) if key in keys else "(none)"
        live = None if change is None else (change.shown_before if change.before is not None else "(none)")
        place = None if declared is None or key not in keys else declared.locate_config(key)
        lines.append(ConfigLine(key, value, place, live))
    return lines


@dataclass(frozen=True, slots=True)
class RolloutLine:
    """What is known of the rollout of a commit on a cluster. The connectors of each group are sorted by name.

    `stopped` is the hold of a rollout that has stopped; None if it has not.
    """

    revision: Revision
    trying: list[ConnectorStatus] = field(default_factory=list)
    failed: list[ConnectorStatus] = field(default_factory=list)
    rolled_back: list[ConnectorStatus] = field(default_factory=list)
    waiting: list[ConnectorStatus] = field(default_factory=list)
    stopped: Hold | None = None

    @property
    def groups(self) -> list[tuple[str, list[ConnectorStatus]]]:
        """The groups with connectors, each with its title."""
        titles = ("Failed", "Rolled back", "Waiting", "Working with it")
        groups = (self.failed, self.rolled_back, self.waiting, self.trying)
        return [(title, found) for title, found in zip(titles, groups, strict=True) if found]


def rollout_lines(
    histories: Mapping[ConnectorName, ConfigHistory], known: Mapping[str, ConnectorStatus]
) -> list[RolloutLine]:
    """The rollouts of a cluster that go on, wait or have failed: the commits of configs that are not proven yet."""
    lines = dict[Revision, RolloutLine]()
    for name, history in sorted(histories.items()):
        status = known.get(name)
        if status is None:
            continue
        if history.trial is not None:
            line = lines.setdefault(history.trial.revision, RolloutLine(history.trial.revision))
            (line.failed if status.health is Health.DEGRADED else line.trying).append(status)
        if history.rolled_back is not None:
            line = lines.setdefault(history.rolled_back.revision, RolloutLine(history.rolled_back.revision))
            line.rolled_back.append(status)
        if history.queued is not None:
            line = lines.setdefault(history.queued.revision, RolloutLine(history.queued.revision))
            line.waiting.append(status)
            stopped = next((one for one in status.holds if one.kind is HoldKind.STOPPED_ROLLOUT), None)
            lines[history.queued.revision] = replace(line, stopped=line.stopped or stopped)
    return list(lines.values())


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task, or the connector itself (`name` is `connector`). `trace` is its stack trace without secrets."""

    name: str
    state: str
    worker: str
    trace: str

    @property
    def id(self) -> str:
        """The id of its element in the page."""
        return self.name if self.name == "connector" else f"task-{self.name}"


def task_lines(one: ConnectorStatus, plan: Plan | None) -> list[TaskLine]:
    """The tasks, and the connector itself if it has FAILED."""
    ill = next((each for each in plan.unhealthy if each.name == one.name), None) if plan else None
    traces = {} if ill is None else {each.task: each.trace for each in ill.failures}
    own = [TaskLine("connector", one.state, "", traces[None])] if None in traces else []
    tasks = [TaskLine(str(task.id), task.state.value, task.worker, traces.get(task.id, "")) for task in one.parts]
    return [*own, *tasks]


# Offset changes


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """An offset change of the plan or of the ledger; `since` and `revision` are None if the ledger does not know it.

    `location` is the place of its document; None if the plan does not have it.
    """

    cluster: ClusterName
    name: str
    connector: str
    kind: str
    view: OffsetChangeView
    reason: str = ""
    since: datetime | None = None
    revision: Revision | None = None
    location: Location | None = None

    @property
    def state(self) -> OffsetChangeStatus:
        return self.view.state

    @property
    def message(self) -> str:
        return self.view.cause or self.reason

    @property
    def is_done(self) -> bool:
        return self.state in _DONE


_DONE = (OffsetChangeStatus.APPLIED, OffsetChangeStatus.IDLE, OffsetChangeStatus.WITHDRAWN)
PENDING = (OffsetChangeState.OPEN, OffsetChangeState.FAILED, OffsetChangeState.UNKNOWN)
"""The states in the ledger of offset changes that are not applied."""


def planned_line(views: ChangeViews, planned: PlannedView) -> ChangeLine:
    """The line of an offset change that the ledger does not know."""
    one, view = planned.one, view_of(views.cluster, planned, None)
    return ChangeLine(views.cluster, one.name, one.connector, one.kind.value, view, one.reason, location=one.location)


def recorded_line(views: ChangeViews, one: OffsetChangeRecord) -> ChangeLine:
    """The line of an offset change of the ledger."""
    planned = views.planned.get(one.name)
    line = ChangeLine(views.cluster, one.name, one.connector, one.kind.value, views.of_record(one))
    line = replace(line, since=one.since, revision=one.revision)
    return line if planned is None else replace(line, reason=planned.one.reason, location=planned.one.location)


def change_lines(views: ChangeViews, records: Iterable[OffsetChangeRecord]) -> list[ChangeLine]:
    """All offset changes of a cluster: first those that are not applied, then the others, the last first."""
    recorded = sorted(records, key=lambda one: one.since, reverse=True)
    known = {one.name for one in recorded}
    fresh = [planned_line(views, one) for name, one in views.planned.items() if name not in known]
    lines = [*(one for one in fresh if not one.is_done), *(recorded_line(views, one) for one in recorded)]
    return sorted(lines, key=lambda one: one.is_done)


# Pull requests

_NAMED = 3
"""How many connectors a line names."""
_MERGES: Sequence[tuple[str, frozenset[Action]]] = (
    ("created", frozenset({Action.CREATE})),
    ("changed", frozenset({Action.CONFIGURE, Action.STOP, Action.PAUSE, Action.RESUME})),
    ("deleted", frozenset({Action.DELETE})),
    ("with other offsets", frozenset({Action.ALTER, Action.RESET})),
)


def merge_lines(plan: PullRequestPlan) -> list[str]:
    """What merging does, as in `1 changed (clicks-03)`; nothing of what the target branch changes anyway."""
    connectors = [one for each in plan.own_plans for one in each.connectors]
    lines = []
    for word, actions in _MERGES:
        names = [one.name for one in connectors if any(step.action in actions for step in one.steps)]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        which = f" ({', '.join(names[:_NAMED])}{more})"
        lines.append(f"{len(names):,} {word}{which if names else ''}")
    return lines


def destructive_lines(plan: PullRequestPlan) -> list[tuple[ClusterName, ConnectorName, str]]:
    """The destructive effects of merging, with their connectors; the worst of each connector first."""
    return [
        (each.cluster, one.name, mask(effect.words, plan.secrets))
        for each in plan.own_plans
        for one in each.connectors
        for effect in destructive_effects(one)
    ]
