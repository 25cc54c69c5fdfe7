"""`gitops-connect offsets get|diff|check|history|undo`: shows offsets and their changes, and undoes changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, assert_never

import typer

from gitops_connect import __version__
from gitops_connect.cli.cluster_commands import declared_in, opened, repository_of
from gitops_connect.cli.clusters import chosen_clusters, chosen_in, settings_of
from gitops_connect.cli.console import coloured, echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.interrupts import interrupt, interruptible
from gitops_connect.cli.options import (
    OUTPUT,
    AllOffsets,
    Cluster,
    Connector,
    DetailedExitcode,
    Force,
    ListOutput,
    Offline,
    ProblemOutput,
    TableOutput,
    TextOutput,
    flag,
    group,
    in_format,
    listing,
    option,
    problem_report,
)
from gitops_connect.cli.plan import shown_moves
from gitops_connect.cli.progress import progress
from gitops_connect.cli.watching import seconds_of
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectRefused, GitopsConnectError, NotFound, UsageError
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.lag import PartitionLag
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import (
    Offsets,
    OffsetText,
    PartitionText,
    offset_text,
    partition_text,
    patch_between,
    to_json,
)
from gitops_connect.offset_changes import manifest_checks, recorded_changes
from gitops_connect.offset_changes.connector_lag import partition_lags
from gitops_connect.offset_changes.kafka_positions import KafkaReads, NoLog
from gitops_connect.offset_changes.manifest_checks import CheckOptions
from gitops_connect.offset_changes.manifest_source import read_own_schemas
from gitops_connect.offset_changes.offset_files import OffsetFile, number_of, saved_body, temporary_directory
from gitops_connect.offset_changes.offset_watch import read_watched, watch
from gitops_connect.offset_changes.subject import (
    DeclaredConnectors,
    ManifestSubject,
    SubjectSource,
    clients_of,
    locate,
    read_current,
)
from gitops_connect.offset_changes.undo import Undo, UndoTarget
from gitops_connect.plan.offset_review import find_difference
from gitops_connect.report import change_document, manifest_check
from gitops_connect.report.change_document import ChangeDocument
from gitops_connect.report.manifest_check import CheckedManifest
from gitops_connect.report.offset_lines import difference_lines, offset_words, partition_lag_words, partition_words
from gitops_connect.report.problems import problem_lines
from gitops_connect.report.table import table
from gitops_connect.report.text import TextReport
from gitops_connect.report.watched_offsets import MOST_PARTITIONS, first_values, watched_lines, watched_values
from gitops_connect.report.words import plural
from gitops_connect.runtime import SystemClock, open_families, require_extras
from gitops_connect.safe_files import new_directory
from gitops_connect.settings.sections import Settings

app = group()

_MANIFEST = typer.Argument(
    metavar="FILE",
    help="An offset manifest: JSON, YAML, JSON Lines, CSV (each also .gz, .zst) or Parquet; a directory; or a"
    " quoted glob.",
)
Save = Annotated[
    Path | None,
    option("--save", "FILE", "Save the offsets to a file, as an offset manifest: *.json, *.yaml or *.jsonl."),
]
Watches = Annotated[
    bool,
    typer.Option(
        "-w", "--watch", help="Then print each partition whose offset changes, until Ctrl-C; -o json prints JSON Lines."
    ),
]
Manifest = Annotated[Path, _MANIFEST]
Manifests = Annotated[list[Path] | None, _MANIFEST]
Replace = Annotated[
    bool, flag("--replace", "Use `operation: replace`: offsets that the manifest does not list are removed.")
]
Acknowledge = Annotated[
    list[Acknowledgement] | None,
    typer.Option(
        metavar="|".join(one.value for one in Acknowledgement),
        help="Acknowledge an effect, as `acknowledge` does in a document; may be repeated. Only `unread` and `shape`"
        " change which entries are valid.",
    ),
]

NO_LAGS: Mapping[PartitionText, PartitionLag] = {}
_FIRST = 10
"""So many offsets are shown if there are too many for memory."""


@app.command()
def get(
    context: typer.Context,
    connector: Connector,
    cluster: Cluster = None,
    save: Save = None,
    force: Force = False,
    watches: Watches = False,
    interval: Annotated[
        str | None, option("--interval", "DURATION", "How often --watch reads the offsets. [default: 5s]")
    ] = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the current offsets of a connector.

    If the settings name its Kafka cluster, the table has its lag, too.
    """
    settings, name = settings_of(context), ConnectorName(connector)
    if watches:
        if save is not None or output is TableOutput.YAML:
            raise UsageError("--watch prints a table or JSON Lines; it excludes --save and -o yaml")
        return _watch(settings, name, cluster, seconds_of(interval or "5s"), output)
    if interval is not None:
        raise UsageError("--interval needs --watch")
    file = OffsetFile(save, force) if save is not None else None
    clusters, parent = chosen_clusters(settings, cluster), save.absolute().parent if save is not None else None
    with temporary_directory(parent) as directory:
        with progress("Offsets", f"reading the offsets of {connector}"), clients_of(settings, clusters) as clients:
            client = clients[locate(clients, name, echo_note)]
            found = read_current(client, name, directory)
            lags = _lags(settings, client, name, found) if file is None and output is TableOutput.TABLE else NO_LAGS
        if file is None:
            _show(found, output, lags)
            return ExitCode.DONE
        file.write(found)
    echo(f"Saved {plural(number_of(found), 'offset')} to {file.file}.")
    if not number_of(found):
        echo("note: an offset manifest needs at least one entry; to remove all offsets, use operation: reset")
    return ExitCode.DONE


def _lags(
    settings: Settings, client: ConnectClient, name: ConnectorName, found: Offsets | SavedOffsets
) -> Mapping[PartitionText, PartitionLag]:
    """The lag of each partition; empty if the settings do not name its Kafka cluster, or if it cannot be read."""
    cluster = settings.clusters[client.cluster]
    if isinstance(found, SavedOffsets) or (cluster.kafka is None and not cluster.kafka_clusters):
        return NO_LAGS
    try:
        require_extras(settings)
        observed = client.connectors()[0].get(name)
        shape = open_families().shape(observed.config) if observed is not None else None
        if observed is None or shape is None or shape.log is None:
            return NO_LAGS
        return partition_lags(KafkaReads(cluster), shape, shape.log, observed.config, found)
    except (GitopsConnectError, NoLog) as error:
        echo_note(f"ends and lag are unknown: {error}")
        return NO_LAGS


def _watch(
    settings: Settings, name: ConnectorName, cluster: str | None, interval: float, output: TableOutput
) -> ExitCode:
    """Print the offsets, and then what changes, until a signal ends it."""
    clusters, before, is_json = chosen_clusters(settings, cluster), None, output is TableOutput.JSON
    with temporary_directory(None) as directory, clients_of(settings, clusters) as clients:
        with progress("Offsets", f"reading the offsets of {name}"):
            client = clients[locate(clients, name, echo_note)]
            observed = client.connectors()[0].get(name)
        shape = open_families().shape(observed.config) if observed is not None else None
        with suppress(KeyboardInterrupt), interruptible(interrupt):
            read = partial(read_watched, client, name, directory)
            for at, seconds, offsets in watch(read, interval, SystemClock(), echo_note):
                if before is None:
                    emit(first_values(offsets, at) if is_json else _few(offsets))
                else:
                    moved = find_difference(before, patch_between(before, offsets), shape)
                    emit((watched_values if is_json else watched_lines)(moved, at, seconds))
                before = offsets
    return ExitCode.DONE


def _few(offsets: Offsets) -> str:
    shown = sorted(offsets.items())[:MOST_PARTITIONS]
    more = f"… and {len(offsets) - len(shown):,} more partitions\n" if len(offsets) > len(shown) else ""
    return f"{_table(shown)}{more}"


def _show(found: Offsets | SavedOffsets, output: TableOutput, lags: Mapping[PartitionText, PartitionLag]) -> None:
    """Print the offsets, in a table together with what is known of their partitions.

    If they are too many for memory, a table has only the first, and YAML raises UsageError.
    """
    if not isinstance(found, SavedOffsets):
        emit(listed(found, output, lags))
        return
    match output:
        case TableOutput.TABLE:
            emit(_first(found))
        case TableOutput.JSON:
            for block in saved_body(found):
                emit(block.decode())
        case TableOutput.YAML:
            raise UsageError(f"{found.entries:,} offsets are too many for YAML; use -o json or --save FILE.jsonl")
        case _:
            assert_never(output)


def listed(found: Offsets, output: TableOutput, lags: Mapping[PartitionText, PartitionLag] = NO_LAGS) -> str:
    """All of the offsets, in the format that `offsets get` prints."""
    return in_format(output, {"offsets": list(to_json(found))}, lambda: _table(sorted(found.items()), lags))


def _table(
    offsets: Sequence[tuple[PartitionText, OffsetText]], lags: Mapping[PartitionText, PartitionLag] = NO_LAGS
) -> str:
    now = SystemClock().now()
    rows = [
        (partition_words(one), offset_words(offset), *(partition_lag_words(lags.get(one), now) if lags else ()))
        for one, offset in offsets
    ]
    return table(("PARTITION", "OFFSET", *(("END", "LAG", "AGE") if lags else ())), rows)


def _first(found: SavedOffsets) -> str:
    with Path(found.path).open(encoding="utf-8") as stream:
        entries = [json.loads(line) for line in islice(stream, _FIRST)]
    shown = [(partition_text(one["partition"]), offset_text(one["offset"])) for one in entries]
    megabytes = found.size / 1_000_000
    advice = f"{found.entries:,} offsets, {megabytes:,.0f} MB; these are the first {_FIRST}, in the order of Connect.\n"
    return f"{_table(shown)}{advice}To get all of them: --save FILE.jsonl (an offset manifest), or -o json\n"


@app.command()
def diff(
    context: typer.Context,
    connector: Connector,
    file: Manifest,
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    detailed_exitcode: DetailedExitcode = False,
    all_offsets: AllOffsets = False,
    output: Annotated[TextOutput, OUTPUT] = TextOutput.TEXT,
) -> int:
    """Show what an offset manifest would change."""
    settings, name = settings_of(context), ConnectorName(connector)
    subject = partial(read_subject, settings, name, cluster=cluster)
    checked = _checked(settings, CheckOptions(file, name, _kind(replace)), acknowledge, subject)
    difference = checked.difference
    if checked.diagnostics.errors:
        text, code = _problems(checked), ExitCode.INVALID
    elif difference is None:
        raise ConnectRefused(f"cannot compare, as the current offsets are unknown: {checked.why_not}")
    else:
        lines = difference_lines(difference, shown_moves(all_offsets), "--all-offsets, or -o json")
        text = TextReport(coloured=coloured(sys.stdout)).offsets(lines)
        code = ExitCode.CHANGES if detailed_exitcode and difference.moves else ExitCode.DONE
    emit(manifest_check.as_json(checked) if output is TextOutput.JSON else text)
    return code


def _kind(replace: bool) -> OffsetChangeKind:
    return OffsetChangeKind.REPLACE if replace else OffsetChangeKind.ALTER


def read_subject(
    settings: Settings,
    name: ConnectorName,
    room: Path,
    *,
    cluster: str | None,
    directory: Path | None = None,
    offline: bool = False,
) -> ManifestSubject:
    """The connector. Offsets that are too many for memory are saved in `room`. Raises NotFound and UsageError."""
    declared = _declared_connectors(settings, directory)
    if offline and not settings.clusters:
        # Without configured clusters, only the repository can name clusters.
        clusters = tuple(one for one in declared.states if cluster in (None, one))
    else:
        clusters = chosen_clusters(settings, cluster)
    with clients_of(settings, () if offline else clusters) as clients:
        found = SubjectSource(clients, clusters, declared, room, echo_note).read(name)
    if found.cluster is None and directory is not None:
        where = f" for the cluster {cluster!r}" if cluster is not None else ""
        raise NotFound(
            f"the directory {directory} declares no valid connector {name!r}{where}; to see the errors of its"
            f" documents, run `{command_line('validate', str(directory))}`"
        )
    return found


def _declared_connectors(settings: Settings, directory: Path | None = None) -> DeclaredConnectors:
    """What the directory or else the repository declares; nothing if the repository cannot be read."""
    declared = declared_in(settings, directory) if directory is not None else repository_of(settings)
    if declared is None:
        return DeclaredConnectors()
    return DeclaredConnectors(declared.states, read_own_schemas(declared.checkout).schemas)


def _checked(
    settings: Settings,
    options: CheckOptions,
    acknowledge: list[Acknowledgement] | None,
    read_subject: Callable[[Path], ManifestSubject],
) -> CheckedManifest:
    def subject(room: Path) -> ManifestSubject:
        return read_subject(room).acknowledging(frozenset(acknowledge or ()))

    with progress("Checking", f"reading the offsets of {options.connector}") as say:
        return manifest_checks.check(options, settings, say, subject)


@app.command()
def check(
    context: typer.Context,
    connector: Connector,
    files: Manifests = None,
    named: Annotated[str | None, typer.Option("--connector", hidden=True, help="The former way to say it.")] = None,
    directory: Annotated[
        Path | None, option("--directory", "DIR", "Read this directory instead of the configured repository.")
    ] = None,
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    offline: Offline = False,
    report: Annotated[
        Path | None,
        option("--report", "DIR", "Write a report to a new directory: an HTML page, and all violations as Parquet."),
    ] = None,
    force: Force = False,
    output: Annotated[ProblemOutput, OUTPUT] = ProblemOutput.TEXT,
) -> int:
    """Check offset manifests against their connector.

    The connector's config is read from the repository, or from the cluster if the repository does not declare it.
    Each FILE is a manifest of its own. The exit code is that of `plan` for a document with such a manifest: 4 if it has
    errors or an effect without --acknowledge, and 1 if a cluster does not return the current offsets.
    """
    name, files = _connector_and_files(connector, files or [], named)
    if len(files) > 1 and (report is not None or output is ProblemOutput.JSON):
        raise UsageError("--report and -o json are for one FILE; found several")
    if report is not None:
        new_directory(report, force=force)
    settings = settings_of(context)
    subject = partial(read_subject, settings, name, cluster=cluster, directory=directory, offline=offline)
    options = [CheckOptions(file, name, _kind(replace), report) for file in files]
    checked = [_checked(settings, one, acknowledge, subject) for one in options]
    diagnostics = sum((one.diagnostics for one in checked), Diagnostics())
    is_json = output is ProblemOutput.JSON
    own = partial(manifest_check.as_json, checked[0]) if is_json else lambda: "".join(map(_problems, checked))
    emit(problem_report(diagnostics, output, own))
    if report is not None:
        manifest_checks.write_page(checked[0], report, f"gitops-connect {__version__}")
        echo(f"Report: {report / 'index.html'}")
    return _check_code(checked, diagnostics, acknowledge or ())


def _check_code(
    checked: Sequence[CheckedManifest], diagnostics: Diagnostics, acknowledged: Collection[Acknowledgement]
) -> ExitCode:
    """The code that `plan` has for a document with such a manifest and these acknowledgements."""
    if diagnostics.bugs:
        return ExitCode.BUG
    if any(one.is_unreadable for one in checked):
        return ExitCode.FAILED
    is_missing = any(not set(one.acknowledge) <= set(acknowledged) for one in checked)
    return ExitCode.INVALID if diagnostics.errors or is_missing else ExitCode.DONE


def _connector_and_files(first: str, files: list[Path], named: str | None) -> tuple[ConnectorName, list[Path]]:
    """The arguments in their order, or in that of earlier versions: FILE... --connector NAME."""
    if named is not None:
        echo_note("--connector is outdated; the order is now: gitops-connect offsets check CONNECTOR FILE...")
        return ConnectorName(named), [Path(first), *files]
    if not files:
        raise UsageError("FILE is missing; the order is: gitops-connect offsets check CONNECTOR FILE...")
    return ConnectorName(first), files


def _problems(checked: CheckedManifest) -> str:
    is_coloured = coloured(sys.stdout)
    problems = problem_lines(checked.diagnostics, coloured=is_coloured)
    return (f"{problems}\n" if problems else "") + manifest_check.summary(checked, coloured=is_coloured)


@app.command()
def history(
    context: typer.Context, connector: Connector, cluster: Cluster = None, output: ListOutput = TableOutput.TABLE
) -> int:
    """Show the offset changes of a connector, newest first.

    A table has the last 100, JSON and YAML have all of them.
    """
    with opened(context) as runtime:
        clusters, name = chosen_in(runtime.settings, cluster), ConnectorName(connector)
        most = recorded_changes.MOST_CHANGES if output is TableOutput.TABLE else None
        with progress("Reading", "the recorded offset changes"):
            entries = recorded_changes.entries(runtime, clusters, name, most)
            rows, values = [one.row() for one in entries], [one.value() for one in entries]
            text = listing(recorded_changes.HEADERS, rows, values, output)
        emit(text)
        recorded_changes.tell_of_older(runtime.ledger.offset_changes, clusters, name, len(entries), echo_note)
    return ExitCode.DONE


@app.command()
def undo(
    context: typer.Context,
    change: Annotated[str, typer.Argument(help="The name of the offset change; `ledger show` lists the names.")],
    cluster: Cluster = None,
    out: Annotated[Path | None, option("--out", "FILE", "The file to write. [default: stdout]")] = None,
    force: Force = False,
) -> int:
    """Write a document that undoes an offset change.

    The document restores the offsets from before the change. Nothing is changed on the cluster.
    """
    target = UndoTarget(out, force)
    with opened(context) as runtime, progress("Checking", f"offset change {change}") as say:
        clusters = chosen_in(runtime.settings, cluster)
        declared = partial(_declared_connectors, runtime.settings)
        made, count = Undo(runtime, clusters, declared, echo_note, say).write(change, target)
    if out is None:
        emit(change_document.render(made))
    echo(_what_next(made, out, count))
    return ExitCode.DONE


def _what_next(made: ChangeDocument, out: Path | None, count: int) -> str:
    where = f"Wrote {out}" if out is not None else "Printed the document"
    beside = f" and {made.manifest}" if made.manifest else ""
    needed = ", ".join(one.value for one in made.acknowledge)
    acknowledged = f", acknowledges {needed}" if needed else ""
    what = f"{made.kind.value}, {plural(count, 'offset')}{acknowledged}"
    return (
        f"{where}{beside} ({what}). Nothing was changed on the cluster.\n"
        "Next: commit the document to the repository, review it with `gitops-connect plan`, and apply it."
    )
