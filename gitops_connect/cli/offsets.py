"""`gitops-connect offsets get|diff|check|history|undo`: looking at offsets, and what takes a change of them back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from gitops_connect.cli import session
from gitops_connect.cli.console import coloured, emit, tell
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.listing import listing
from gitops_connect.cli.options import (
    AllOffsets,
    Cluster,
    Force,
    ListOutput,
    ProblemOutput,
    TableOutput,
    TextOutput,
)
from gitops_connect.errors import ConnectRefused, UsageError
from gitops_connect.model.operations import Acknowledgement

if TYPE_CHECKING:
    from gitops_connect.cli.subject import Subject
    from gitops_connect.model.names import ClusterName
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.model.operations import OperationKind
    from gitops_connect.report.manifests import CheckedManifest
    from gitops_connect.settings.sections import Settings

app = typer.Typer(
    help="Look at offsets, check manifests, and take changes back.", no_args_is_help=True, rich_markup_mode=None
)

Connector = Annotated[str, typer.Argument(help="The connector's name.")]
Manifest = Annotated[
    Path, typer.Argument(metavar="FILE", help="A manifest: JSON, YAML, JSON Lines or CSV; also .gz and .zst.")
]
Replace = Annotated[
    bool, typer.Option("--replace", help="As operation: replace: what the manifest does not list is taken away.")
]
Acknowledge = Annotated[
    list[Acknowledgement] | None,
    typer.Option(
        help="As in the document; may be given several times. Of these words, unread lets more manifests pass."
    ),
]


@app.command()
def get(
    context: typer.Context,
    connector: Connector,
    cluster: Cluster = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write them to a file, which is a valid manifest.")
    ] = None,
    force: Force = False,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the offsets that stand."""
    from gitops_connect.cli.subject import clients_of, live_offsets, locate
    from gitops_connect.model.names import ConnectorName

    settings = session.settings_of(context)
    name = ConnectorName(connector)
    with clients_of(settings, _clusters(settings, cluster)) as clients:
        found = live_offsets(clients[locate(clients, name)], name)
    if save is None:
        emit(_listed(found, output))
    else:
        _save(found, save, force=force)
    return ExitCode.DONE


def _listed(found: Offsets, output: TableOutput) -> str:
    from gitops_connect.model.offsets import to_json
    from gitops_connect.report.offsets import offset_words, partition_words
    from gitops_connect.report.table import as_json, as_yaml, table

    match output:
        case TableOutput.TABLE:
            rows = [(partition_words(partition), offset_words(offset)) for partition, offset in sorted(found.items())]
            return table(("PARTITION", "OFFSET"), rows)
        case TableOutput.JSON:
            return as_json({"offsets": list(to_json(found))})
        case TableOutput.YAML:
            return as_yaml({"offsets": list(to_json(found))})
        case _:
            assert_never(output)


def _save(found: Offsets, file: Path, *, force: bool) -> None:
    from gitops_connect.cli.files import write_new

    if file.suffix not in (".json", ".yaml", ".yml"):
        raise UsageError(f"{file} is to hold JSON: name it *.json")
    write_new(file, _listed(found, TableOutput.JSON), force=force)
    tell(f"Saved {_count(found)} to {file}.")
    if not found:
        tell("note: a manifest has at least one entry; to take all offsets away, write operation: reset")


def _count(offsets: Offsets) -> str:
    return "1 offset" if len(offsets) == 1 else f"{len(offsets):,} offsets"


@app.command()
def diff(
    context: typer.Context,
    connector: Connector,
    file: Manifest,
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    all_offsets: AllOffsets = False,
    output: Annotated[TextOutput, typer.Option("-o", "--output", help="Format of the output.")] = TextOutput.TEXT,
) -> int:
    """Show what a manifest would change. Exits with 2 where that is anything, with 0 where it is nothing."""
    from gitops_connect.cli.manifest_checks import check_file
    from gitops_connect.report import manifests

    settings = session.settings_of(context)
    subject = _subject(settings, connector, cluster, acknowledge)
    checked = check_file(file, subject, _kind(replace), settings)
    if checked.diagnostics.errors:
        emit(manifests.as_json(checked) if output is TextOutput.JSON else _problems(checked))
        return ExitCode.INVALID
    if checked.difference is None:
        raise ConnectRefused(f"there is nothing to compare with: {checked.why_not}")
    emit(manifests.as_json(checked) if output is TextOutput.JSON else _moves(checked, all_offsets=all_offsets))
    return ExitCode.CHANGES if checked.difference.moves else ExitCode.DONE


def _kind(replace: bool) -> OperationKind:
    from gitops_connect.model.operations import OperationKind

    return OperationKind.REPLACE if replace else OperationKind.ALTER


def _moves(checked: CheckedManifest, *, all_offsets: bool) -> str:
    from gitops_connect.cli.plan import shown_moves
    from gitops_connect.report.offsets import difference_lines
    from gitops_connect.report.text import TextReport

    if checked.difference is None:
        return ""
    lines = difference_lines(checked.difference, shown_moves(all_offsets), "--all-offsets, or -o json")
    return TextReport(coloured=coloured(sys.stdout)).offsets(lines)


@app.command()
def check(
    context: typer.Context,
    file: Manifest,
    connector: Annotated[str, typer.Option("--connector", metavar="NAME", help="The connector that it is for.")],
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the Connect clusters.")] = False,
    output: Annotated[ProblemOutput, typer.Option("-o", "--output", help="Format of the output.")] = ProblemOutput.TEXT,
) -> int:
    """Check a manifest against its connector: as the repository declares it, else as it is on the cluster."""
    from gitops_connect.cli.manifest_checks import check_file
    from gitops_connect.report import manifests, sarif

    settings = session.settings_of(context)
    subject = _subject(settings, connector, cluster, acknowledge, offline=offline)
    checked = check_file(file, subject, _kind(replace), settings)
    match output:
        case ProblemOutput.TEXT:
            emit(_problems(checked))
        case ProblemOutput.JSON:
            emit(manifests.as_json(checked))
        case ProblemOutput.SARIF:
            emit(sarif.render(checked.diagnostics))
        case _:
            assert_never(output)
    return ExitCode.INVALID if checked.diagnostics.errors else ExitCode.DONE


def _subject(
    settings: Settings,
    connector: str,
    cluster: str | None,
    acknowledged: list[Acknowledgement] | None,
    *,
    offline: bool = False,
) -> Subject:
    from gitops_connect.cli.subject import clients_of, look, repository_of
    from gitops_connect.model.names import ConnectorName

    declared = repository_of(settings)
    if offline and not settings.clusters:
        # The repository tells which there are, if anybody does.
        clusters = tuple(declared.states) if declared is not None else ()
    else:
        clusters = _clusters(settings, cluster)
    with clients_of(settings, () if offline else clusters) as clients:
        found = look(clients, clusters, ConnectorName(connector), declared)
    return found.acknowledging(frozenset(acknowledged or ()))


def _problems(checked: CheckedManifest) -> str:
    from gitops_connect.report import manifests
    from gitops_connect.report.problems import problem_lines

    return problem_lines(checked.diagnostics, coloured=coloured(sys.stdout)) + manifests.summary(checked)


@app.command()
def history(
    context: typer.Context,
    connector: Connector,
    cluster: Cluster = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the offset changes of a connector that the ledger knows, the newest first."""
    from gitops_connect.cli import offset_history

    with session.opened(context) as world:
        clusters = session.chosen(world, [cluster] if cluster else None)
        entries = offset_history.entries(world, clusters, connector)
    rows = [entry.row() for entry in entries]
    emit(listing(offset_history.HEADERS, rows, [entry.value() for entry in entries], output))
    return ExitCode.DONE


@app.command()
def undo(
    context: typer.Context,
    change: Annotated[str, typer.Argument(help="The name of the offset change; `ledger show` lists them.")],
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write the document. [default: stdout]")
    ] = None,
    force: Force = False,
) -> int:
    """Write the document that puts back the offsets that stood before a change. Changes nothing on the cluster."""
    from gitops_connect.cli import undo_document
    from gitops_connect.report import change_document

    with session.opened(context) as world:
        made = undo_document.prepare(world, session.chosen(world, [cluster] if cluster else None), change)
    if out is not None:
        undo_document.write(made, out, force=force)
    elif change_document.fits(made.offsets):
        emit(change_document.render(made))
    else:
        raise UsageError(f"{len(made.offsets):,} offsets do not fit into one document: name a file with --out")
    undo_document.say_what_next(made, out)
    return ExitCode.DONE


def _clusters(settings: Settings, cluster: str | None) -> tuple[ClusterName, ...]:
    if not settings.clusters:
        raise UsageError('no Connect cluster is set: write [clusters.NAME] url = ["http://…:8083"] into the settings')
    return session.chosen_in(settings, [cluster] if cluster else None)
