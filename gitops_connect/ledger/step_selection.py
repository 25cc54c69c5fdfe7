"""The steps of the history that a filter selects, as conditions of a query."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from sqlalchemy import ColumnElement, and_, not_, or_

from gitops_connect.ledger.tables import STEPS
from gitops_connect.model.history_filter import HistoryFilter
from gitops_connect.model.outcomes import ActorKind

_C = STEPS.c
_NAMES = (_C.cluster, _C.connector, _C.offset_change, _C.who, _C.author, _C.commit, _C.approved_by)
_TEXT: ColumnElement[str] = reduce(
    lambda one, other: one.concat("\n").concat(other), (*_NAMES, _C.reason, _C.message, _C.request, _C.answer)
)
"""Where words are searched: as one text, because each comparison takes time."""


def conditions_of(chosen: HistoryFilter) -> Iterator[ColumnElement[bool]]:
    lists = (
        (_C.cluster, chosen.clusters),
        (_C.connector, chosen.connectors),
        (_C.actor, chosen.actors),
        (_C.who, chosen.people),
        (_C.action, chosen.actions),
        (_C.result, chosen.results),
        (_C.offset_change, chosen.offset_changes),
    )
    yield from (column.in_(values) for column, values in lists if values)
    if chosen.commits:  # of a step that an earlier version recorded, the cause is not known
        of_earlier_version = _C.actor == ActorKind.UNKNOWN
        yield or_(
            *(_C.commit.startswith(one) for one in chosen.commits),
            *(and_(of_earlier_version, _C.revision.startswith(one)) for one in chosen.commits),
        )
    if chosen.since is not None:
        yield _C.at >= chosen.since
    if chosen.until is not None:
        yield _C.at < chosen.until
    for word in chosen.words:
        text = word.removeprefix("-") or word
        found = _TEXT.icontains(text, autoescape=True)
        yield not_(found) if text != word else found
