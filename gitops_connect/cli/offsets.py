"""`gitops-connect offsets get|diff|check|history|undo`: shows offsets and their changes, and undoes changes."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.console import coloured, echo, emit
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
    from collections.abc import Sequence

    from gitops_connect.model.operations import OperationKind
    from gitops_connect.report.manifest_check import CheckedManifest

app = typer.Typer(help="Show, compare, check and restore offsets.", no_args_is_help=True, rich_markup_mode=None)

Connector = Annotated[str, typer.Argument(metavar="CONNECTOR", help="The connector's name.")]
_MANIFEST = typer.Argument(
    metavar="FILE",
    help="An offset manifest: JSON, YAML, JSON Lines, CSV (each also .gz, .zst) or Parquet; a directory; or a"
    " quoted glob.",
)
Manifest = Annotated[Path, _MANIFEST]
Manifests = Annotated[list[Path], _MANIFEST]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Use `operation: replace`: offsets that the manifest does not list are removed."),
]
Acknowledge = Annotated[
    list[Acknowledgement] | None,
    typer.Option(
        metavar="|".join(one.value for one in Acknowledgement),
        help="Acknowledge an effect, as `acknowledge` does in a document; may be repeated. Only `unread` changes which"
        " entries are valid.",
    ),
]


@app.command()
def get(
    context: typer.Context,
    connector: Connector,
    cluster: Cluster = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Save the offsets to a file, as an offset manifest: *.json, *.yaml or *.jsonl.",
        ),
    ] = None,
    force: Force = False,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the current offsets of a connector."""
    from gitops_connect.cli import current_offsets
    from gitops_connect.cli.manifest_checks import chosen_clusters
    from gitops_connect.model.names import ConnectorName

    settings = cluster_commands.settings_of(context)
    saving = current_offsets.Saving(save, force) if save is not None else None
    clusters, parent = chosen_clusters(settings, cluster), save.absolute().parent if save is not None else None
    with current_offsets.fetched(settings, clusters, ConnectorName(connector), parent) as found:
        if saving is None:
            current_offsets.show(found, output)
        else:
            current_offsets.save(found, saving)
    return ExitCode.DONE


@app.command()
def diff(
    context: typer.Context,
    connector: Connector,
    file: Manifest,
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    all_offsets: AllOffsets = False,
    output: Annotated[TextOutput, typer.Option("-o", "--output", help="Output format.")] = TextOutput.TEXT,
) -> int:
    """Show what an offset manifest would change.

    Exits with 2 if it would change offsets, with 0 if it would change nothing.
    """
    from gitops_connect.cli import manifest_checks
    from gitops_connect.model.names import ConnectorName
    from gitops_connect.report import manifest_check

    options = manifest_checks.CheckOptions(
        file, ConnectorName(connector), _kind(replace), frozenset(acknowledge or ()), cluster=cluster
    )
    checked = manifest_checks.check(options, cluster_commands.settings_of(context))
    if checked.diagnostics.errors:
        emit(manifest_check.as_json(checked) if output is TextOutput.JSON else _problems(checked))
        return ExitCode.INVALID
    if checked.difference is None:
        raise ConnectRefused(f"cannot compare, as the current offsets are unknown: {checked.why_not}")
    emit(manifest_check.as_json(checked) if output is TextOutput.JSON else _moves(checked, all_offsets=all_offsets))
    return ExitCode.CHANGES if checked.difference.moves else ExitCode.DONE


def _kind(replace: bool) -> OperationKind:
    from gitops_connect.model.operations import OperationKind

    return OperationKind.REPLACE if replace else OperationKind.ALTER


def _moves(checked: CheckedManifest, *, all_offsets: bool) -> str:
    from gitops_connect.cli.plan import shown_moves
    from gitops_connect.report.offset_lines import difference_lines
    from gitops_connect.report.text import TextReport

    if checked.difference is None:
        return ""
    lines = difference_lines(checked.difference, shown_moves(all_offsets), "--all-offsets, or -o json")
    return TextReport(coloured=coloured(sys.stdout)).offsets(lines)


@app.command()
def check(
    context: typer.Context,
    files: Manifests,
    connector: Annotated[
        str, typer.Option("--connector", metavar="NAME", help="The connector that the manifest is for.")
    ],
    directory: Annotated[
        Path | None,
        typer.Option("--directory", metavar="DIR", help="Read this directory instead of the configured repository."),
    ] = None,
    cluster: Cluster = None,
    replace: Replace = False,
    acknowledge: Acknowledge = None,
    offline: Annotated[bool, typer.Option("--offline", help="Do not contact the Connect clusters.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="DIR",
            help="Write a report to a new directory: an HTML page, and all violations as Parquet.",
        ),
    ] = None,
    force: Force = False,
    output: Annotated[ProblemOutput, typer.Option("-o", "--output", help="Output format.")] = ProblemOutput.TEXT,
) -> int:
    """Check offset manifests against their connector.

    The connector's config is read from the repository, or from the cluster if the repository does not declare it.
    Each FILE is a manifest of its own.
    """
    from gitops_connect import __version__
    from gitops_connect.cli import manifest_checks
    from gitops_connect.cli.output_files import new_directory
    from gitops_connect.model.names import ConnectorName

    if len(files) > 1 and (report is not None or output is ProblemOutput.JSON):
        raise UsageError("--report and -o json are for one FILE; found several")
    if report is not None:
        new_directory(report, force=force)
    name, acknowledged = ConnectorName(connector), frozenset(acknowledge or ())
    options = manifest_checks.CheckOptions(
        files[0], name, _kind(replace), acknowledged, cluster, offline, report, directory
    )
    settings = cluster_commands.settings_of(context)
    checked = [manifest_checks.check(dataclasses.replace(options, path=file), settings) for file in files]
    _emit(checked, output)
    if report is not None:
        manifest_checks.write_page(checked[0], report, f"gitops-connect {__version__}")
        echo(f"Report: {report / 'index.html'}")
    return ExitCode.INVALID if any(one.diagnostics.errors for one in checked) else ExitCode.DONE


def _emit(checked: Sequence[CheckedManifest], output: ProblemOutput) -> None:
    from gitops_connect.model.diagnostics import Diagnostics
    from gitops_connect.report import code_quality, manifest_check, sarif, workflow_commands

    diagnostics = sum((one.diagnostics for one in checked), Diagnostics())
    match output:
        case ProblemOutput.TEXT:
            emit("".join(_problems(one) for one in checked))
        case ProblemOutput.JSON:
            emit(manifest_check.as_json(checked[0]))
        case ProblemOutput.SARIF:
            emit(sarif.render(diagnostics))
        case ProblemOutput.GITHUB:
            emit(workflow_commands.render(diagnostics))
        case ProblemOutput.GITLAB:
            emit(code_quality.render(diagnostics))
        case _:
            assert_never(output)


def _problems(checked: CheckedManifest) -> str:
    from gitops_connect.report import manifest_check
    from gitops_connect.report.problems import problem_lines

    is_coloured = coloured(sys.stdout)
    problems = problem_lines(checked.diagnostics, coloured=is_coloured)
    return (f"{problems}\n" if problems else "") + manifest_check.summary(checked, coloured=is_coloured)


@app.command()
def history(
    context: typer.Context,
    connector: Connector,
    cluster: Cluster = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """Show the offset changes of a connector, newest first."""
    from gitops_connect.cli import offset_history

    with cluster_commands.opened(context) as runtime:
        clusters = cluster_commands.chosen(runtime, [cluster] if cluster else None)
        entries = offset_history.entries(runtime, clusters, connector)
    rows = [entry.row() for entry in entries]
    emit(listing(offset_history.HEADERS, rows, [entry.value() for entry in entries], output))
    return ExitCode.DONE


@app.command()
def undo(
    context: typer.Context,
    change: Annotated[str, typer.Argument(help="The name of the offset change; `ledger show` lists the names.")],
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file to write. [default: stdout]")
    ] = None,
    force: Force = False,
) -> int:
    """Write a document that undoes an offset change.

    The document restores the offsets from before the change. Nothing is changed on the cluster.
    """
    from gitops_connect.cli import undo_document

    target = undo_document.UndoTarget(out, force)
    with cluster_commands.opened(context) as runtime:
        undo_document.undo(runtime, cluster_commands.chosen(runtime, [cluster] if cluster else None), change, target)
    return ExitCode.DONE
