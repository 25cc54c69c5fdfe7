"""`gitops-connect import`: writes the connectors of a cluster as documents for the repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Force
from gitops_connect.cli.output_files import new_directory, refuse_old, write_new
from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.model.file_formats import TargetFormat

if TYPE_CHECKING:
    from gitops_connect.cli.imported_connectors import Imported
    from gitops_connect.cli.progress import Update
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.report.connector_document import ConnectorDocument
    from gitops_connect.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class Target:
    """The directory for the files of one cluster, and the file name of each connector, without suffix.

    `root` is the directory that the user named.
    """

    root: Path
    directory: Path
    stems: Mapping[ConnectorName, str]
    format: TargetFormat
    force: bool

    def document(self, name: ConnectorName) -> Path:
        """The file of the connector."""
        return self.directory / f"{self.stems[name]}{self.format.suffix}"

    def offsets(self, name: ConnectorName) -> Path:
        """The file with the offsets of the connector."""
        return self.directory / "offsets" / f"{self.stems[name]}.jsonl"


def import_connectors(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The repository's directory. Files are in DIR/clusters/NAME/.")
    ],
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="The cluster. [default: the only one]")
    ] = None,
    selector: Annotated[
        list[str] | None,
        typer.Option(
            "--selector", metavar="GLOB", help="Only connectors with such a name; may be repeated. [default: all]"
        ),
    ] = None,
    with_offsets: Annotated[
        bool, typer.Option("--with-offsets", help="Also write the current offsets, as offset manifests.")
    ] = False,
    file_format: Annotated[
        TargetFormat,
        typer.Option("--format", help="Documents, Strimzi's KafkaConnector, or bodies of POST /connectors."),
    ] = TargetFormat.GITOPS_CONNECT,
    force: Force = False,
) -> int:
    """Write the connectors of a cluster as documents.

    Nothing is changed on the cluster. Secrets are not written: the documents name environment variables for them, which
    the command lists. Exits with 1 if a connector or its offsets could not be read.
    """
    from gitops_connect.cli.import_names import file_stems
    from gitops_connect.cli.imported_connectors import documents_of, find
    from gitops_connect.cli.progress import progress
    from gitops_connect.cli.subject import clients_of, require_offsets

    settings = cluster_commands.settings_of(context)
    name = _chosen(settings, cluster)
    with progress("Importing") as say, clients_of(settings, (name,)) as clients:
        say(f"reading the connectors of {name}")
        if with_offsets:
            require_offsets(clients[name])
        found = find(clients[name], selector or ())
        target = Target(out, out / "clusters" / name, file_stems(found.names), file_format, force)
        imported = documents_of(clients[name], found, settings)
        texts = _texts(imported, target.format, name, settings)
        written = _write(imported, texts, target, with_offsets=with_offsets)
        unread = _save_offsets(clients[name], written, target, say) if with_offsets else {}
    _report(written, target, name)
    for connector, why in (*imported.failed.items(), *unread.items()):
        echo(f"error: connector {connector}: {why}")
    return ExitCode.FAILED if imported.failed or unread else ExitCode.DONE


def _chosen(settings: Settings, cluster: str | None) -> ClusterName:
    """The cluster to import. Raises UsageError if it is unknown, or if there are several and none is named."""
    from gitops_connect.cli.manifest_checks import chosen_clusters

    clusters = chosen_clusters(settings, cluster)
    if len(clusters) > 1:
        raise UsageError(f"expected one cluster; choose one of {', '.join(clusters)} with --cluster")
    return clusters[0]


def _texts(
    imported: Imported, file_format: TargetFormat, cluster: ClusterName, settings: Settings
) -> Mapping[ConnectorName, str]:
    """The content of each file. Connectors that the format cannot express are added to `imported.failed`."""
    from gitops_connect.cli import imported_connectors, imported_resources
    from gitops_connect.report import connector_document, strimzi_document

    match file_format:
        case TargetFormat.GITOPS_CONNECT:
            texts = {one.name: connector_document.render(one) for one in imported.documents}
            imported.failed.update(imported_connectors.problems_of(texts, cluster))
        case TargetFormat.STRIMZI:
            resources = [imported_resources.resource_of(one, settings) for one in imported.documents]
            texts = {one.name: strimzi_document.render(one) for one in resources}
            imported.failed.update(imported_resources.problems_of(resources, texts, settings))
        case TargetFormat.JSON:
            texts = {one.name: _body(one) for one in imported.documents}
        case _:
            assert_never(file_format)
    return texts


def _write(
    imported: Imported, texts: Mapping[ConnectorName, str], target: Target, *, with_offsets: bool
) -> list[ConnectorDocument]:
    """Write the documents that are valid, and return them. No file is written if one exists, unless `force`."""
    written = [one for one in imported.documents if one.name not in imported.failed]
    for one in written:
        refuse_old(target.document(one.name), force=target.force)
        if with_offsets:
            refuse_old(target.offsets(one.name), force=target.force)
    for one in written:
        write_new(target.document(one.name), texts[one.name], force=target.force, root=target.root)
    return written


def _body(document: ConnectorDocument) -> str:
    from gitops_connect.connect.wire import create_body
    from gitops_connect.model.desired import TargetState
    from gitops_connect.report import connector_document
    from gitops_connect.report.table import as_json

    secrets = {key: connector_document.placeholder(name) for key, name in document.secrets.items()}
    state = None if document.state is TargetState.RUNNING else document.state
    config = dict(sorted({**document.config, **secrets}.items()))
    return as_json(create_body(document.name, config, state))


def _save_offsets(
    client: ConnectClient, documents: Sequence[ConnectorDocument], target: Target, say: Update
) -> Mapping[ConnectorName, str]:
    """Write the current offsets of each connector that has offsets. Returns why offsets could not be read."""
    from gitops_connect.cli.current_offsets import Saving, number_of, temporary_directory, write
    from gitops_connect.observed import MAX_HELD

    unread: dict[ConnectorName, str] = {}
    new_directory(target.root, force=True)
    with temporary_directory(target.root) as room:
        for number, one in enumerate(documents):
            say(f"reading the offsets of {one.name}", number, len(documents))
            try:
                found = client.save_offsets(one.name, room / "current.jsonl", MAX_HELD)
            except UsageError:
                raise
            except GitopsConnectError as error:
                unread[one.name] = f"its offsets could not be read: {error}"
                continue
            if number_of(found):
                write(found, Saving(target.offsets(one.name), target.force, target.root))
    return unread


def _report(documents: Sequence[ConnectorDocument], target: Target, cluster: ClusterName) -> None:
    """Name what was written, and print the variables of the documents."""
    from gitops_connect.report import connector_document, strimzi_document

    count = "1 connector" if len(documents) == 1 else f"{len(documents):,} connectors"
    echo(f"Wrote {count} of cluster {cluster} to {target.directory}. Nothing was changed on the cluster.")
    for one in documents:
        if one.note:
            echo(f"note: connector {one.name}: {one.note}")
    if not any(one.secrets for one in documents):
        return
    match target.format:
        case TargetFormat.GITOPS_CONNECT:
            echo("The documents contain no secrets. Allow these variables in the settings, and set their values:")
            emit(connector_document.allowed_variables(documents))
        case TargetFormat.STRIMZI:
            echo("The resources contain no secrets, but these references to environment variables of the workers.")
            echo("If Strimzi does not deploy the workers, map `strimzienv:` in [strimzi.placeholders] of the settings:")
            emit(connector_document.placeholders(documents, strimzi_document.placeholder))
        case TargetFormat.JSON:
            echo("The files contain no secrets, but these references to environment variables of the workers:")
            emit(connector_document.placeholders(documents))
        case _:
            assert_never(target.format)
