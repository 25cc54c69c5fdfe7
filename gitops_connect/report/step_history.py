"""Steps of the history as values for JSON, as rows of a table, and as CSV that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gitops_connect.model.outcomes import ActorKind, JournalEntry
from gitops_connect.model.revisions import short
from gitops_connect.report.printable import escaped
from gitops_connect.report.words import time_value

HEADERS = ("TIME", "CLUSTER", "CONNECTOR", "STEP", "RESULT", "ACTOR", "REASON")
_COLUMNS = (
    "time",
    "cluster",
    "connector",
    "action",
    "offset_change",
    "result",
    "actor",
    "who",
    "commit",
    "pull_request",
    "approved_digest",
    "approved_by",
    "reason",
    "message",
    "request",
    "answer",
    "seconds",
    "revision",
    "id",
)
_FORMULA = re.compile("(^|;)(?=[-=+@\uff0d\uff1d\uff0b\uff20])")
"""A spreadsheet that separates by semicolons splits a cell there, too."""


def actor_words(one: JournalEntry) -> str:
    """As in `Ben Okafor (ddfccc8)`, `automatic restart`, `rollback of ddfccc8` or `ana@ops-1 (command)`."""
    name, commit = actor_name(one), short(one.commit) if one.commit else ""
    if not commit or one.actor not in (ActorKind.PERSON, ActorKind.ROLLBACK, ActorKind.DRIFT_CORRECTION):
        return name
    return f"{name} ({commit})" if one.actor is ActorKind.PERSON and one.who else f"{name} {commit}"


def actor_name(one: JournalEntry) -> str:
    """Who or what caused a step, to be followed by the commit, if there is one."""
    match one.actor:
        case ActorKind.PERSON:
            return one.who or "commit"
        case ActorKind.ROLLBACK | ActorKind.DRIFT_CORRECTION:
            to = "of" if one.actor is ActorKind.ROLLBACK else "to"
            return f"{_words(one.actor)} {to}" if one.commit else _words(one.actor)
        case ActorKind.AUTOMATIC_RESTART | ActorKind.TOPIC_CLEANUP | ActorKind.RECOVERY:
            return _words(one.actor)
        case ActorKind.COMMAND:
            return f"{one.who} (command)"
        case ActorKind.FORGE:
            return f"{one.who} (pull request #{one.pull_request})"
        case ActorKind.UNKNOWN:
            return "not recorded"


def _words(actor: ActorKind) -> str:
    return str(actor.value).replace("-", " ")


def approval_words(one: JournalEntry) -> str:
    """Who has approved the step; empty if it needed no review."""
    if one.pull_request is None or one.actor is ActorKind.FORGE:
        return ""
    by = f"approved by {one.approved_by}" if one.approved_by else "approved by the merge"
    return f"{by} on #{one.pull_request}, plan {one.approved_digest[:12]}"


def history_row(one: JournalEntry) -> list[str]:
    """The cells of a table."""
    step = f"{one.action.value} {one.offset_change}".rstrip()
    reason = "; ".join(filter(None, [one.reason, one.message])).partition("\n")[0]
    when = f"{one.at:%Y-%m-%dT%H:%M:%SZ}"
    return [when, one.cluster, one.connector or "-", step, one.result.value, actor_words(one), reason or "-"]


def history_value(one: JournalEntry) -> dict[str, Any]:
    approval = {
        "pull_request": one.pull_request,
        "digest": one.approved_digest,
        "by": one.approved_by.split(", ") if one.approved_by else [],
    }
    return {
        "id": one.id,
        "cluster": one.cluster,
        "at": time_value(one.at),
        "connector": one.connector or None,
        "action": one.action.value,
        "offset_change": one.offset_change or None,
        "result": one.result.value,
        "actor": {"kind": one.actor.value, "who": one.who or None, "commit": one.commit or None},
        "approval": approval if one.pull_request is not None else None,
        "reason": one.reason,
        "message": one.message,
        "request": one.request or None,
        "answer": one.answer or None,
        "seconds": round(one.seconds, 3),
        "revision": one.revision or None,
    }


def csv_lines(entries: Iterable[JournalEntry]) -> Iterator[str]:
    """A line for each step, after the names of the columns."""
    lines = _LastLine()
    writer = csv.writer(lines, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(_COLUMNS)
    yield lines.last
    for one in entries:
        more = {"time": time_value(one.at), "seconds": round(one.seconds, 3)}
        values = (more.get(name, getattr(one, name, None)) for name in _COLUMNS)
        writer.writerow([_cell(value) for value in values])
        yield lines.last


class _LastLine:
    """What `csv` writes to: only the last line is kept."""

    last = ""

    def write(self, line: str) -> None:
        self.last = line


def _cell(value: object) -> str:
    """Text for a spreadsheet, which shows an apostrophe at its start as nothing, and takes no formula after it."""
    text = "" if value is None else str(getattr(value, "value", value))
    return _FORMULA.sub(r"\1'", escaped(text))


def json_lines(entries: Iterable[JournalEntry]) -> Iterator[str]:
    """A JSON array, with a step in each line."""
    separator = "[\n"
    for one in entries:
        yield separator + escaped(json.dumps(history_value(one), ensure_ascii=False))
        separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"
