"""`gitops-connect import`: writes the connectors of a cluster as documents for the repository."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.cli.clusters import only_cluster, settings_of
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.convert import convert_options, secrets_note
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Force, OnlyCluster, flag, option
from gitops_connect.cli.progress import progress
from gitops_connect.cli.selection import Selectors
from gitops_connect.connect.capabilities import GET_OFFSETS
from gitops_connect.exchange.connector_documents import Converted, ConvertOptions, convert_all, left_out
from gitops_connect.exchange.declarations import TargetFormat
from gitops_connect.exchange.document_text import needed_secrets
from gitops_connect.exchange.from_cluster import ClusterConnectors, read_cluster, save_offsets
from gitops_connect.exchange.repository_files import RepositoryFiles, read_repository
from gitops_connect.exchange.written_files import OutputFiles, lossy
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, ConnectorName, found_unaddressable
from gitops_connect.offset_changes.subject import clients_of
from gitops_connect.report.words import plural
from gitops_connect.runtime import SystemClock, ignore_ledger, ledger_note
from gitops_connect.settings.sections import Settings

_SHOWN = 5


def import_connectors(
    context: typer.Context,
    out: Annotated[Path, option("--out", "DIR", "The repository's directory. Files are in DIR/clusters/NAME/.")],
    cluster: OnlyCluster = None,
    selector: Selectors = None,
    with_offsets: Annotated[
        bool, flag("--with-offsets", "Also write the current offsets, as offset manifests.")
    ] = False,
    file_format: Annotated[
        TargetFormat,
        typer.Option("--format", help="Documents, Strimzi's KafkaConnector, or bodies of POST /connectors."),
    ] = TargetFormat.GITOPS_CONNECT,
    force: Force = False,
) -> int:
    """Write the connectors of a cluster as documents.

    Nothing is changed on the cluster. Secrets are not written: the documents name environment variables for them, which
    the command lists. A connector that a file in DIR declares is skipped; --force overwrites the file if `import` has
    written it. Exits with 1 if a connector or its offsets could not be read.
    """
    settings = settings_of(context)
    name, output = only_cluster(settings, cluster), OutputFiles(out, file_format, force)
    _, problems = import_cluster(settings, name, output, selector or (), with_offsets=with_offsets)
    _ignore_ledger(settings)
    return ended(problems)


def import_cluster(
    settings: Settings,
    name: ClusterName,
    output: OutputFiles,
    selector: Collection[str] = (),
    *,
    with_offsets: bool = False,
) -> tuple[list[Converted], Mapping[ConnectorName, str]]:
    """Write the connectors of the cluster. Returns those that were written, and why others could not be imported."""
    file_format = output.target
    with progress("Importing", f"reading {output.root}") as say, clients_of(settings, (name,)) as clients:
        known = _known(settings, name, output)
        own = known.own(output.directory(name), file_format.suffix) if output.force else {}
        say(f"reading the connectors of {name}")
        if with_offsets:
            clients[name].require(GET_OFFSETS)
        found = read_cluster(clients[name], selector, SystemClock(), known.files.keys() - own.keys())
        _report_reading(found, known, output.root)
        converted = convert_all(found.declarations, _options(settings, file_format, known.variables(but=own.values())))
        failed = {**found.failed, **lossy(converted, file_format, settings.strimzi_options, strictly=True)}
        written = [one for one in converted if one.source.name not in failed]
        paths = output.paths(written, known.occupied(output.directory(name)), own)
        output.write(written, paths, with_offsets=with_offsets)
        files = dict(zip(paths, written, strict=True)) if with_offsets else {}
        unread = save_offsets(clients[name], output, files, say) if with_offsets else {}
    _report(written, output, name)
    return written, {**failed, **unread}


def _ignore_ledger(settings: Settings) -> None:
    """The documents are committed next: the ledger must not be."""
    try:
        if changed := ignore_ledger(settings):
            echo(f"note: {changed} lets Git ignore the ledger now, which is in the same work tree")
    except OSError as error:
        echo(f"{ledger_note(settings)}; .gitignore cannot be written: {error.strerror}")


def _known(settings: Settings, cluster: ClusterName, output: OutputFiles) -> RepositoryFiles:
    """What files declare already; nothing for JSON, because the body of a request declares nothing."""
    if output.target is TargetFormat.JSON:
        return RepositoryFiles()
    return read_repository(output.root, cluster, settings.clusters, settings.strimzi_options)


def _options(settings: Settings, target: TargetFormat, variables: Collection[str]) -> ConvertOptions:
    """The options of a conversion in which no secret gets a variable that a document in the repository names."""
    options = convert_options(settings, target)
    reserved = {*options.reserved, *variables}
    return replace(options, reserved=reserved, with_cluster=len(settings.clusters) > 1)


def ended(problems: Mapping[ConnectorName, str]) -> ExitCode:
    """Print why connectors could not be imported. Returns the exit code."""
    for connector, why in problems.items():
        echo(f"error: connector {connector}: {found_unaddressable(connector) or why}")
    return ExitCode.FAILED if problems else ExitCode.DONE


def _report_reading(found: ClusterConnectors, known: RepositoryFiles, root: Path) -> None:
    """Say which connectors are not written because files declare them, and whether other files may declare some."""
    skipped = found.skipped
    if not known.complete:
        command = command_line("validate", str(root))
        echo(f"note: `{command}` lists files that cannot be read; what they declare is unknown")
    if skipped:
        shown = ", ".join(f"{name} ({known.files[name][0]})" for name in skipped[:_SHOWN])
        more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
        echo(f"Skipped {plural(len(skipped), 'connector')} that the repository declares already: {shown}{more}.")
    for note in found.notes:
        echo(f"note: {note}")


def _report(written: Sequence[Converted], output: OutputFiles, cluster: ClusterName) -> None:
    where = f"cluster {cluster} to {output.directory(cluster)}"
    echo(f"Wrote {plural(len(written), 'connector')} of {where}. Nothing was changed on the cluster.")
    for one in written:
        for problem in left_out(one.source) if output.target is TargetFormat.GITOPS_CONNECT else ():
            echo(f"warning: {problem.summary}")
        if one.source.note:
            echo(f"note: connector {one.source.name}: {one.source.note}")
    needed = needed_secrets([one.document for one in written], output.target)
    if not needed:
        return
    if output.target is TargetFormat.STRIMZI:
        echo("The resources contain no secrets, but these references to environment variables of the workers.")
        echo("If Strimzi does not deploy the workers, map `strimzienv:` in [strimzi.placeholders] of the settings:")
    else:
        echo(secrets_note(output.target))
    emit(needed)
