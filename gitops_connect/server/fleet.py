"""All connectors of a snapshot in lists: filtered, sorted, grouped and in pages, for the pages and for the API.

A cluster is indexed once for each of its states, and not for each request.
"""

from __future__ import annotations

import base64
import json
import threading
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NoReturn
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from gitops_connect.daemon.state import ClusterView, Snapshot
from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.outcomes import ActorKind, Actors
from gitops_connect.model.status import ConnectorStatus, Health, Sync
from gitops_connect.model.verdicts import VerdictKind
from gitops_connect.report.verdict_rules import DOCUMENT_ERRORS

SIZES = (50, 500)
"""The least and the most connectors of a page."""
USUAL_SIZE = 100
LONGEST_SEARCH = 200
MOST_VALUES, LONGEST_VALUE = 20, 500
"""Values of a parameter, and their characters: each link of a list repeats all of them. No cause is longer."""
MOST_WORDS = 10
"""Each word of a search is looked for in every connector. Further words are ignored."""
_NAMED = 3
"""The number of connectors that a group names."""

_NEVER = 2**53
"""After all times: since when a connector has its health is not known."""

SortKey = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A connector in the index, with the severity of its verdict. `text` is what a search looks through.

    `id` is its cluster and its name. `rank` is 0 for the most urgent one; a suspension that lasts too long ranks last
    of what needs attention.
    """

    status: ConnectorStatus
    severity: int
    rank: int
    text: str
    id: tuple[ClusterName, ConnectorName]

    @property
    def key(self) -> SortKey:
        return self.rank, self.status.cluster, self.status.name


_SORTS: Mapping[str, Callable[[Row], SortKey]] = {
    "severity": lambda row: row.key,
    "name": lambda row: (row.status.name, row.status.cluster),
    "since": lambda row: (_NEVER if row.status.since is None else int(row.status.since.timestamp()), *row.key),
    "cluster": lambda row: (row.status.cluster, row.rank, row.status.name),
    "class": lambda row: (row.status.class_name, *row.key),
}
_GROUPS: Mapping[str, Callable[[ConnectorStatus], str]] = {
    "cause": lambda one: one.verdict.cause,
    "cluster": lambda one: one.cluster,
    "class": lambda one: one.class_name,
    "verdict": lambda one: one.verdict.kind.value,
}
SORTS, GROUPS = tuple(_SORTS), tuple(_GROUPS)
VERDICTS = tuple(kind.value for kind in VerdictKind)
BLOCKS = (DOCUMENT_ERRORS, *(kind.value for kind in HoldKind))
USUAL_COLUMNS = ("cluster", "cause", "since", "class")
COLUMNS = (*USUAL_COLUMNS, "state", "tasks", "labels")
"""The columns after the verdict and the name, which are always there."""
_VALUES: Mapping[str, Sequence[str]] = {
    "verdict": VERDICTS,
    "blocked-by": BLOCKS,
    "actor": tuple(one.value for one in ActorKind),
    "sync": tuple(one.value for one in Sync),
    "health": tuple(one.value for one in Health),
    "sort": SORTS,
    "group": ("", *GROUPS),
    "dir": ("asc", "desc"),
    "attention": ("0", "1", "true", "false", "on"),
    "columns": COLUMNS,
}
"""What a parameter may be; other parameters may be any text."""
_REPEATED = ("cluster", "verdict", "blocked-by", "class", "label", "actor", "sync", "health")


@dataclass(frozen=True, slots=True)
class ConnectorQuery:
    """Which connectors are listed, and how. `chosen` has the values of each repeated parameter: one of them must match.

    All `words` must be in the name, the class, the file or the cause, and none that begins with `-` may be. `after` is
    the sort key of the last connector of the page before; None for the first page. Without `columns`, the list has the
    usual ones.
    """

    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attention: bool = False
    q: str = ""
    cause: str | None = None
    sort: str = "severity"
    descending: bool = False
    group: str = ""
    after: SortKey | None = None
    size: int = USUAL_SIZE
    columns: tuple[str, ...] = ()

    @staticmethod
    def of(params: QueryParams, size: int = USUAL_SIZE) -> ConnectorQuery:
        """The query of a URL. Raises HTTPException (400) for a value that a parameter cannot have."""
        for name, allowed in _VALUES.items():
            for value in params.getlist(name):
                if value and value not in allowed:
                    _reject(name, f"expected {', '.join(filter(None, allowed))}, not {value!r}")
        given = {name: tuple(dict.fromkeys(filter(None, params.getlist(name)))) for name in _REPEATED}
        for name, values in (*given.items(), ("cause", tuple(params.getlist("cause")))):
            if len(values) > MOST_VALUES or any(len(one) > LONGEST_VALUE for one in values):
                _reject(name, f"expected at most {MOST_VALUES} values of at most {LONGEST_VALUE} characters")
        return ConnectorQuery(
            {name: values for name, values in given.items() if values},
            params.get("attention", "") in ("1", "true", "on"),
            (params.get("q") or params.get("search", ""))[:LONGEST_SEARCH].strip(),
            params.get("cause"),
            params.get("sort") or "severity",
            params.get("dir") == "desc",
            params.get("group", ""),
            decoded_key(params["after"]) if params.get("after") else None,
            size,
            tuple(one for one in COLUMNS if one in params.getlist("columns")),
        )

    @property
    def restricts(self) -> bool:
        """Whether some connectors may be left out."""
        return bool(self.chosen or self.attention or self.q or self.cause is not None)

    def parameters(self, **changed: object) -> list[tuple[str, str]]:
        """The parameters of a URL with this query. `changed` replaces some: None or an empty value removes one."""
        given: dict[str, object] = {
            **self.chosen,
            "attention": "1" if self.attention else "",
            "q": self.q,
            "cause": self.cause,
            "sort": "" if self.sort == "severity" else self.sort,
            "dir": "desc" if self.descending else "",
            "group": self.group,
            "size": "" if self.size == USUAL_SIZE else self.size,
            "columns": self.columns,
            **changed,
        }
        lists = {name: value if isinstance(value, tuple) else (value,) for name, value in given.items()}
        return [
            (name, str(one))
            for name, values in lists.items()
            for one in values
            if one or (name == "cause" and one is not None)  # connectors without a cause are a group, too
        ]

    def url(self, path: str, **changed: object) -> str:
        """The URL of a list with this query."""
        text = urlencode(self.parameters(**changed), errors="replace")
        return f"{path}?{text}" if text else path


def _reject(name: str, why: str) -> NoReturn:
    raise HTTPException(400, f"{name}: {why}")


def encoded_key(key: SortKey) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decoded_key(text: str) -> SortKey:
    """The last row of the page before. Raises HTTPException (400) for a text that is not from this server."""
    try:
        key = parse_json(base64.urlsafe_b64decode(f"{text}==="))
    except ValueError:
        key = None
    if not isinstance(key, list) or not all(isinstance(one, str | int) for one in key):
        _reject("after", "expected the value `next` of the page before")
    return tuple(key)


@dataclass(frozen=True, slots=True)
class Group:
    """Connectors with the same `value`: the most urgent verdict, how many there are, and the first of them."""

    value: str
    rank: int
    count: int
    first: tuple[ConnectorStatus, ...]

    @property
    def more(self) -> int:
        """How many are not among the `first`."""
        return self.count - len(self.first)


@dataclass(frozen=True, slots=True)
class Selection:
    """One page of a list: connectors, or groups of them.

    `total` are all connectors that the query selects, and `counts` those of each verdict that it would select if it
    chose no verdict. `next` is the parameter `after` of the next page; None if there is none.
    """

    total: int
    counts: Mapping[VerdictKind, int]
    connectors: Sequence[ConnectorStatus] = ()
    groups: Sequence[Group] = ()
    next: str | None = None


def _row(status: ConnectorStatus) -> Row:
    verdict = status.verdict
    severity = verdict.kind.severity
    rank = VerdictKind.DRIFT.severity if verdict.is_overdue else severity
    file = "" if status.location is None else status.location.file
    texts = (status.name, status.class_name, file, verdict.kind.value, verdict.cause, status.message, status.state)
    return Row(status, severity, rank, "\n".join(texts).lower(), (status.cluster, status.name))


class RowIndex:
    """Connectors, sorted once for each order that a request needs. `unsorted` is called when they are needed."""

    def __init__(self, unsorted: Callable[[], Iterable[Row]]) -> None:
        self._unsorted = unsorted
        self._orders: dict[str, Sequence[Row]] = {}

    @cached_property
    def rows(self) -> Sequence[Row]:
        """All connectors, the most urgent first. This is fast if they are sorted, or consist of sorted parts."""
        return sorted(self._unsorted(), key=lambda row: row.key)

    @cached_property
    def counts(self) -> Mapping[VerdictKind, int]:
        """The number of connectors with each verdict."""
        return _counted(self.rows)

    @cached_property
    def attention(self) -> int:
        """The number of connectors that need attention: the first ones of `rows`."""
        return bisect_right(self.rows, VerdictKind.DRIFT.severity, key=lambda row: row.rank)

    def ordered(self, query: ConnectorQuery) -> Sequence[Row]:
        """The connectors in the order of the query; only those that need attention, if it asks for them."""
        if query.attention:
            urgent = self.rows[: self.attention]
            return urgent if query.sort == "severity" else sorted(urgent, key=_SORTS[query.sort])
        if query.sort == "severity":
            return self.rows
        if query.sort not in self._orders:
            self._orders[query.sort] = sorted(self.rows, key=_SORTS[query.sort])
        return self._orders[query.sort]


class ClusterIndex(RowIndex):
    """The connectors of one cluster."""

    def __init__(self, connectors: Sequence[ConnectorStatus]) -> None:
        super().__init__(lambda: map(_row, connectors))
        self.connectors = connectors

    @cached_property
    def by_name(self) -> Mapping[str, ConnectorStatus]:
        return {one.name: one for one in self.connectors}


class Index(RowIndex):
    """The connectors of several clusters. `last_actors` is called only if a query chooses actors."""

    def __init__(self, clusters: Mapping[ClusterName, ClusterIndex], last_actors: Callable[[], Actors] = dict) -> None:
        super().__init__(lambda: chain.from_iterable(one.rows for one in clusters.values()))
        self.clusters, self._last_actors = clusters, last_actors
        self._by_actor: tuple[Actors, Mapping[str, Sequence[Row]]] = {}, {}

    @cached_property
    def counts(self) -> Mapping[VerdictKind, int]:
        return sum((Counter(one.counts) for one in self.clusters.values()), Counter[VerdictKind]())

    @property
    def total(self) -> int:
        return sum(len(one.connectors) for one in self.clusters.values())

    def select(self, query: ConnectorQuery) -> Selection:
        """A page of the connectors that the query selects."""
        clusters, tests = query.chosen.get("cluster"), [*_tests(query)]
        if actors := query.chosen.get("actor"):
            base = self._changed_by(actors)
            tests += [] if clusters is None else [_is_one_of(lambda one: one.cluster, clusters)]
        else:
            base = self._of(clusters)
        rows = base.ordered(query)
        for test in tests:
            rows = [row for row in rows if test(row)]
        counts = _counted(rows) if tests or query.attention else base.counts
        if verdicts := frozenset(query.chosen.get("verdict", ())):
            ranks = frozenset(VerdictKind(one).severity for one in verdicts)
            rows = [row for row in rows if row.severity in ranks]
        total = len(rows)
        if query.group:
            groups = sorted(_groups(rows, _GROUPS[query.group]), key=_group_key)
            page, following = _page(groups, _group_key, query)
            return Selection(total, counts, groups=page, next=following)
        shown, following = _page(rows[::-1] if query.descending else rows, _SORTS[query.sort], query)
        return Selection(total, counts, [row.status for row in shown], next=following)

    def _changed_by(self, actors: Sequence[str]) -> RowIndex:
        """The connectors that one of these actors changed last. They are looked up again only after a new step."""
        known = self._last_actors()
        if self._by_actor[0] is not known:
            found = defaultdict[str, list[Row]](list)
            for row in self.rows:
                if row.id in known:
                    found[known[row.id].value].append(row)
            self._by_actor = known, found
        by_actor = self._by_actor[1]
        return RowIndex(lambda: chain.from_iterable(by_actor.get(one, ()) for one in actors))

    def _of(self, clusters: Sequence[str] | None) -> RowIndex:
        if clusters is None:
            return self
        known = {name: self.clusters[name] for name in map(ClusterName, clusters) if name in self.clusters}
        return next(iter(known.values())) if len(known) == 1 else Index(known)


def _counted(rows: Iterable[Row]) -> Mapping[VerdictKind, int]:
    return {_KINDS[severity]: count for severity, count in Counter([row.severity for row in rows]).items()}


_KINDS = tuple(VerdictKind)
"""By their severity."""


def _tests(query: ConnectorQuery) -> Iterator[Callable[[Row], bool]]:
    chosen, words = query.chosen, query.q.lower().split()[:MOST_WORDS]
    yield from (_is_one_of(value_of, chosen[name]) for name, value_of in _FIELDS.items() if name in chosen)
    if "class" in chosen:
        suffixes = tuple(f".{one}" for one in chosen["class"])
        yield lambda row: f".{row.status.class_name}".endswith(suffixes)
    if "label" in chosen:
        labels = frozenset(one.partition(":")[::2] for one in chosen["label"])
        yield lambda row: not labels.isdisjoint(row.status.labels)
    if query.cause is not None:
        yield lambda row: row.status.verdict.cause == query.cause
    yield from (_has(word) if word[0] != "-" else _lacks(word[1:]) for word in words if word != "-")


def _has(word: str) -> Callable[[Row], bool]:
    return lambda row: word in row.text


def _lacks(word: str) -> Callable[[Row], bool]:
    return lambda row: word not in row.text


def _is_one_of(value_of: Callable[[ConnectorStatus], str], wanted: Sequence[str]) -> Callable[[Row], bool]:
    return lambda row: value_of(row.status) in wanted


_FIELDS: Mapping[str, Callable[[ConnectorStatus], str]] = {
    "blocked-by": lambda one: one.verdict.blocked_by,
    "sync": lambda one: one.sync.value,
    "health": lambda one: one.health.value,
}


def _groups(rows: Iterable[Row], value_of: Callable[[ConnectorStatus], str]) -> Iterator[Group]:
    """The rows are sorted, so that the first one of a group is the most urgent one."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(value_of(row.status), []).append(row)
    for value, each in found.items():
        yield Group(value, each[0].rank, len(each), tuple(row.status for row in each[:_NAMED]))


def _group_key(group: Group) -> SortKey:
    return group.rank, -group.count, group.value


def _page(
    rows: Sequence[Any], key: Callable[[Any], SortKey], query: ConnectorQuery
) -> tuple[Sequence[Any], str | None]:
    """The rows after `query.after`, and the parameter of the page after them."""
    start = 0
    if query.after is not None:
        try:
            if query.descending and not query.group:
                start = len(rows) - bisect_left(rows[::-1], query.after, key=key)
            else:
                start = bisect_right(rows, query.after, key=key)
        except TypeError:
            _reject("after", "it is of a list with another order")
    page = rows[start : start + query.size]
    has_more = start + query.size < len(rows)
    return page, encoded_key(key(page[-1])) if has_more else None


class Fleet:
    """The index of the latest snapshot. Safe for several threads, as `last_actors` has to be."""

    def __init__(self, last_actors: Callable[[], Actors] = dict) -> None:
        self._last_actors = last_actors
        self._lock = threading.Lock()
        self._known: dict[ClusterName, ClusterIndex] = {}
        self._index = Index({})

    def at(self, snapshot: Snapshot) -> Index:
        """The index of a snapshot. A cluster whose connectors are the same as before is not indexed again."""
        with self._lock:
            found = {name: self._of(name, view) for name, view in snapshot.clusters.items()}
            if (
                any(self._known.get(name) is not one for name, one in found.items())
                or found.keys() != self._known.keys()
            ):
                self._known, self._index = found, Index(found, self._last_actors)
            return self._index

    def _of(self, name: ClusterName, view: ClusterView) -> ClusterIndex:
        known = self._known.get(name)
        return known if known is not None and known.connectors is view.connectors else ClusterIndex(view.connectors)
