"""The report of `offsets check` and `offsets diff` on a manifest: its content, its errors, and its effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.report import offset_lines
from gitops_connect.report.plan_json import difference_value
from gitops_connect.report.printable import one_line
from gitops_connect.report.problems import in_pieces, problem_value, totals
from gitops_connect.report.text import TextReport

_MOST_MOVES = 3
"""Moves that are shown of each direction."""
_IN_ONE_LINE = 2
"""Rules that are shown on one line; if there are more, each has its own line."""
NO_BASIS = "its config is not known, so only the rules for every connector are checked"


@dataclass(frozen=True, slots=True)
class CheckedManifest:
    """A manifest that was compared with its connector.

    `basis` says where the connector's config comes from, and is empty if the config is unknown. `difference` is None if
    the manifest has errors, or if the current offsets are unknown (`why_not` is the reason, and `is_unreadable` says
    whether a cluster did not return them). `acknowledge` are the
    acknowledgements that a document with this effect needs. `counts` are the violations of each rule, and `errors`
    those that are errors: all of them, even if `diagnostics` has some of them and the number of the others.
    `distribution` has, for each direction with distances, how many are in [1, 10), [10, 100), and so on.

    `files` are the files that `file` names. `spark` is the URL of the Spark master that checked them; empty: Spark
    was not needed. `seconds` is the duration of the whole check.
    """

    file: str
    connector: ConnectorName
    cluster: ClusterName | None
    basis: str
    kind: OffsetChangeKind
    entries: int
    partitions: int
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    difference: Difference | None = None
    acknowledge: tuple[Acknowledgement, ...] = ()
    why_not: str = ""
    is_unreadable: bool = False
    distribution: Mapping[Direction, tuple[int, ...]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    spark: str = ""
    seconds: float = 0

    @property
    def warnings(self) -> int:
        """The number of violations that are not errors."""
        return sum(self.counts.values()) - self.errors


def summary(checked: CheckedManifest, *, coloured: bool = False) -> str:
    """The summary, which is printed after the problems themselves. The caller decides on `coloured`."""
    lines = [subject_words(checked), *_problems(checked)]
    if checked.difference is not None:
        counts = offset_lines.counts(checked.difference)
        lines.append(f"operation {checked.kind.value}, compared with the current offsets: {counts}")
        largest = offset_lines.move_lines(_largest(checked.difference), checked.difference.scale)
        moves_shown = (*largest, *offset_lines.resume_lines(checked.difference))
        lines += TextReport(coloured=coloured).offsets(moves_shown).splitlines()
    elif checked.why_not:
        lines.append(f"not compared with the current offsets: {one_line(checked.why_not)}")
    needed = ", ".join(one.value for one in checked.acknowledge)
    lines += [f"a document that makes this change must contain `acknowledge: [{needed}]`"] if needed else []
    return "".join(f"{line}\n" for line in (*lines, f"checked {effort(checked)}"))


def _largest(difference: Difference) -> list[Move]:
    """The first moves of each direction in which records are reprocessed, skipped or lost."""
    by_direction = groupby(difference.moves, key=lambda move: move.direction)
    return [move for way, moves in by_direction if way is not Direction.NEW for move in islice(moves, _MOST_MOVES)]


def subject_words(checked: CheckedManifest) -> str:
    """The manifest's name, its connector, and the number of its entries and partitions."""
    where = f" on {checked.cluster}" if checked.cluster is not None else ""
    basis = checked.basis or NO_BASIS
    files = f" ({len(checked.files):,} files)" if len(checked.files) > 1 else ""
    entries = "1 entry" if checked.entries == 1 else f"{checked.entries:,} entries"
    partitions = "1 partition" if checked.partitions == 1 else f"{checked.partitions:,} partitions"
    return f"{one_line(checked.file)}{files} for {checked.connector}{where} ({basis}): {entries}, {partitions}"


def effort(checked: CheckedManifest) -> str:
    """The duration of the check, and where it ran: `in 4.8 s, on Spark (local[*])`."""
    where = f"on Spark ({one_line(checked.spark)})" if checked.spark else "without Spark"
    return f"in {checked.seconds:.1f} s, {where}"


def _problems(checked: CheckedManifest) -> Iterator[str]:
    found = totals(checked.errors, checked.warnings)
    counts = ranked_rules(checked)
    if len(counts) > _IN_ONE_LINE:
        width = max(len(f"{count:,}") for _, count in counts)
        yield f"{found}:"
        yield from (f"  {count:>{width},} {rule}" for rule, count in counts)
    else:
        moves_shown = ", ".join(f"{count:,} {rule}" for rule, count in counts)
        yield f"{found} ({moves_shown})" if moves_shown else found


def ranked_rules(checked: CheckedManifest) -> list[tuple[str, int]]:
    """The rules with the number of their violations, the largest number first."""
    return sorted(checked.counts.items(), key=lambda one: (-one[1], one[0]))


def as_json(checked: CheckedManifest) -> Iterator[str]:
    """The result with each problem and each partition that moves, as JSON text in pieces."""
    value = {
        "file": checked.file,
        "files": list(checked.files),
        "connector": checked.connector,
        "cluster": checked.cluster,
        "operation": checked.kind.value,
        "entries": checked.entries,
        "partitions": checked.partitions,
        "errors": checked.errors,
        "warnings": checked.warnings,
        "rules": dict(sorted(checked.counts.items())),
        "difference": None if checked.difference is None else difference_value(checked.difference),
        "distribution": {way.value: list(numbers) for way, numbers in checked.distribution.items()},
        "acknowledge": [one.value for one in checked.acknowledge],
        "diagnostics": checked.diagnostics.items,
        "spark": checked.spark or None,
        "seconds": round(checked.seconds, 3),
    }
    return in_pieces(value, problem_value)
