"""`--watch`: print a list, and then each row that has changed, until a signal ends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from gitops_connect.cli.console import echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.interrupts import interrupt, interruptible
from gitops_connect.cli.options import TableOutput, option
from gitops_connect.errors import UsageError, Waiting
from gitops_connect.model.clock import Clock, parse_duration
from gitops_connect.report.printable import escaped_lines
from gitops_connect.report.table import table
from gitops_connect.runtime import SystemClock

_USUAL = "10s"
Watches = Annotated[
    bool,
    typer.Option(
        "-w", "--watch", help="Then print each row that has changed, until Ctrl-C; -o json prints JSON Lines."
    ),
]
Interval = Annotated[
    str | None, option("--interval", "DURATION", f"How often --watch reads the clusters. [default: {_USUAL}]")
]


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """A table and the same as values. Its first two columns are the cluster and the connector of the row.

    `is_complete` is False if a cluster could not be read.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Any]]
    is_complete: bool = True


def seconds_of(interval: str) -> float:
    """The duration of `--interval`. Raises UsageError."""
    with suppress(ValueError):
        if seconds := parse_duration(interval):
            return seconds
    raise UsageError(f"--interval: expected a duration such as 5s or 1m, found {interval!r}")


def watch_interval(output: TableOutput, interval: str | None, *, watches: bool) -> float:
    """The seconds between two reads; 0 without `--watch`. Raises UsageError for options that exclude each other."""
    if not watches and interval is not None:
        raise UsageError("--interval needs --watch")
    if watches and output is TableOutput.YAML:
        raise UsageError("--watch prints a table or JSON Lines; it excludes -o yaml")
    return seconds_of(interval or _USUAL) if watches else 0


def watch_listing(read: Callable[[], WatchedTable], pause: float, output: TableOutput) -> ExitCode:
    """Print what `read` returns, and then its rows that have changed."""
    before: Mapping[tuple[str, ...], Sequence[str]] | None = None
    with suppress(KeyboardInterrupt), interruptible(interrupt):
        for found in _reads(read, pause, SystemClock()):
            known = before or {}
            rows = {tuple(row[:2]): row for row in found.rows}
            changed = [number for number, (key, row) in enumerate(rows.items()) if known.get(key) != row]
            emit(_shown(found, changed, output, headed=before is None))
            for cluster, name in sorted(known.keys() - rows.keys()) if found.is_complete else ():
                echo_note(f"{name} on {cluster} is gone")
            before = rows if found.is_complete else {**known, **rows}
    return ExitCode.DONE


def _reads(read: Callable[[], WatchedTable], pause: float, clock: Clock) -> Iterator[WatchedTable]:
    """What `read` returns, again and again. If a retry can help, its error is a note."""
    while True:
        try:
            yield read()
        except Waiting as error:
            echo_note(f"{error}; trying again")
        clock.sleep(pause)


def _shown(found: WatchedTable, changed: Sequence[int], output: TableOutput, *, headed: bool) -> str:
    """The changed rows as lines, aligned with all others, or their values as JSON Lines."""
    if output is TableOutput.JSON:
        lines = [escaped_lines(json.dumps(found.values[number], ensure_ascii=False)) for number in changed]
    else:
        head, *rows = table(found.headers, found.rows).splitlines()
        lines = [*([head] if headed else []), *(rows[number] for number in changed)]
    return "".join(f"{line}\n" for line in lines)
