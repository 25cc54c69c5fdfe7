"""`gitops-connect history`: who changed what on the clusters, from the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import islice
from typing import Annotated, Any

import typer

from gitops_connect.cli.clusters import chosen_in
from gitops_connect.cli.console import echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import OUTPUT, Clusters, option
from gitops_connect.cli.progress import progress
from gitops_connect.cli.suspend import opened_ledger
from gitops_connect.errors import UsageError
from gitops_connect.model.history_filter import HistoryFilter
from gitops_connect.model.outcomes import JournalEntry
from gitops_connect.report.step_history import HEADERS, csv_lines, history_row, history_value, json_lines
from gitops_connect.report.table import as_yaml, table
from gitops_connect.runtime import SystemClock


class HistoryOutput(Enum):
    """How the history is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


_MOST = 100


def _values(name: str, metavar: str, text: str) -> Any:
    return typer.Option(f"--{name}", metavar=metavar, help=f"{text}; may be repeated.")


def history(
    context: typer.Context,
    connector: Annotated[list[str] | None, _values("connector", "NAME", "Only this connector")] = None,
    cluster: Clusters = None,
    actor: Annotated[list[str] | None, _values("actor", "KIND", "Only this kind of actor, such as rollback")] = None,
    person: Annotated[list[str] | None, _values("person", "NAME", "Only what this person caused")] = None,
    action: Annotated[list[str] | None, _values("action", "ACTION", "Only this action, such as reset")] = None,
    result: Annotated[list[str] | None, _values("result", "RESULT", "Only this result, such as failed")] = None,
    commit: Annotated[list[str] | None, _values("commit", "SHA", "Only what this commit caused")] = None,
    change: Annotated[list[str] | None, _values("offset-change", "NAME", "Only this offset change")] = None,
    since: Annotated[str | None, option("--since", "TIME", "Only from then on: 7d, 90m, a date or a time.")] = None,
    until: Annotated[str | None, option("--until", "TIME", "Only before then.")] = None,
    search: Annotated[
        str | None, option("--search", "WORDS", "Only steps with all of these words; -WORD excludes a word.")
    ] = None,
    limit: Annotated[
        int | None, option("--limit", "N", "At most so many steps. [default: 100 in a table]", min=1)
    ] = None,
    output: Annotated[HistoryOutput, OUTPUT] = HistoryOutput.TABLE,
) -> int:
    """Show who or what changed connectors, newest first.

    A table has the last 100 steps, the other formats have all of them, if --limit does not say otherwise. Times are in
    UTC.
    """
    given = {"connector": connector, "actor": actor, "person": person, "action": action, "result": result}
    given |= {"commit": commit, "offset-change": change, "from": _one(since), "to": _one(until), "q": _one(search)}
    with opened_ledger(context, wait=False) as (settings, ledger):
        clusters = chosen_in(settings, cluster)
        values = {name: found for name, found in {**given, "cluster": cluster}.items() if found}
        try:
            chosen = HistoryFilter.of(values, clusters, SystemClock().now())
        except ValueError as error:
            raise UsageError(_as_option(str(error))) from error
        _print(ledger.status.whole_history(chosen), limit, output)
    return ExitCode.DONE


def _print(found: Iterable[JournalEntry], limit: int | None, output: HistoryOutput) -> None:
    entries = islice(found, limit or (_MOST if output is HistoryOutput.TABLE else None))
    match output:
        case HistoryOutput.TABLE:
            with progress("History", "reading the ledger"):
                rows = [history_row(one) for one in entries]
            emit(table(HEADERS, rows))
            if limit is None and len(rows) == _MOST:
                echo_note(f"these are the last {_MOST} steps; use --limit, --since or another format for more")
        case HistoryOutput.JSON:
            emit(json_lines(entries))
        case HistoryOutput.YAML:
            with progress("History", "reading the ledger"):
                text = as_yaml([history_value(one) for one in entries])
            emit(text)
        case HistoryOutput.CSV:
            emit(csv_lines(entries))


def _one(value: str | None) -> list[str]:
    return [] if value is None else [value]


def _as_option(message: str) -> str:
    """The message about a parameter, with the name of its option."""
    name, colon, rest = message.partition(":")
    return f"--{ {'from': 'since', 'to': 'until', 'q': 'search'}.get(name, name) }{colon}{rest}"
