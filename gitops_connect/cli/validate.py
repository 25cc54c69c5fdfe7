"""`gitops-connect validate`: every problem of a repository at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Annotated

import typer

from gitops_connect.checks import plugin_validation, unmerged
from gitops_connect.checks.plugin_validation import ValidateOptions
from gitops_connect.cli import cluster_commands, global_options
from gitops_connect.cli.clusters import Failures, each_cluster, report_bugs, settings_of
from gitops_connect.cli.console import coloured, echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import (
    OUTPUT,
    Directory,
    Offline,
    ProblemOutput,
    Untrusted,
    is_untrusted,
    problem_report,
)
from gitops_connect.cli.progress import Update, progress
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.plugin_definitions import declared_definitions
from gitops_connect.declare import Caches, Declared
from gitops_connect.documents.recognition import API_VERSION
from gitops_connect.errors import GitopsConnectError
from gitops_connect.ledger.ledger import read_history
from gitops_connect.model.desired import DesiredState
from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.names import ClusterName
from gitops_connect.model.offset_changes import OffsetChangeHistory
from gitops_connect.offset_changes.manifest_source import ManifestSource, check_manifests
from gitops_connect.report import problems
from gitops_connect.runtime import SystemClock, open_families, open_spark
from gitops_connect.secret_values import check_references, resolve
from gitops_connect.settings.own import own_files
from gitops_connect.settings.sections import Settings


def validate(
    context: typer.Context,
    path: Directory = None,
    output: Annotated[ProblemOutput, OUTPUT] = ProblemOutput.TEXT,
    offline: Offline = False,
    untrusted: Untrusted = None,
) -> int:
    """Check documents, offset manifests and connector configs.

    Each cluster that can be reached validates the configs of its connectors. Offset changes that were applied are not
    checked again. If the ledger does not know whether an offset change was applied, the errors of the change are
    reported as notes. With --verbose, the YAML files in `clusters/` that are ignored are listed.
    """
    settings, caches = settings_of(context), Caches()
    path = cluster_commands.directory_of(settings, path)
    with progress("Validating") as update:
        declared = cluster_commands.declared_in(settings, path, caches)
        update("checking offset manifests")
        found, skipped = _check_manifests(settings, declared, update)
        failures: Failures = []
        update("validating configs on the clusters")
        if not offline:
            asked, failures = _ask_clusters(settings, declared, update, untrusted=is_untrusted(untrusted))
            found += asked
    report_bugs(found)
    diagnostics = declared.diagnostics + found
    directory = cluster_commands.shown_directory(settings, path)
    if global_options.of(context).verbose:
        _list_ignored(declared, caches, directory)
    shown, documents = diagnostics.under(directory), declared.documents

    def own() -> str | Iterator[str]:
        if output is ProblemOutput.JSON:
            return problems.problems_json(shown, documents=documents, skipped=skipped)
        return problems.problems_text(shown, coloured=coloured(sys.stdout), documents=documents, skipped=skipped)

    emit(problem_report(shown, output, own, documents))
    if diagnostics.bugs or failures:
        return ExitCode.BUG
    return ExitCode.INVALID if diagnostics.errors else ExitCode.DONE


def _list_ignored(declared: Declared, caches: Caches, directory: str) -> None:
    """Print the YAML files among the documents that declare nothing, and why. Hidden files are not read at all."""
    parsed = caches.files.files
    for entry in sorted(declared.checkout.entries, key=lambda one: one.path):
        key, shown = (entry.path, entry.blob_id), Location(entry.path).under(directory).file
        if not entry.path.startswith("clusters/") or not entry.path.endswith((".yaml", ".yml")):
            continue
        if key in parsed and parsed[key] is None:
            echo(f"ignored: {shown}: no document in it has `apiVersion: {API_VERSION}`")


def _check_manifests(settings: Settings, declared: Declared, update: Update) -> tuple[Diagnostics, int]:
    """The violations in the manifests, and the number of offset changes that were applied and are not checked again."""
    found, skipped = Diagnostics(), 0
    histories, why_not = _histories(settings, declared)
    with closing(open_spark(settings)) as sessions:
        for cluster, desired in declared.states.items():
            source = ManifestSource(declared.checkout, sessions, update, own_files(settings), open_families())
            diagnostics, applied = check_manifests(source, desired, histories[cluster])
            found, skipped = found + diagnostics, skipped + applied
    if found.notes:
        echo(f"note: it is unknown whether the offset changes with notes were applied before: {why_not}")
    return found, skipped


def _histories(settings: Settings, declared: Declared) -> tuple[Mapping[ClusterName, OffsetChangeHistory], str]:
    """The ledger's records of each cluster's offset changes, and why they may be incomplete. No ledger is created."""
    nothing = {cluster: OffsetChangeHistory() for cluster in declared.states}
    if not any(desired.declares_offset_changes for desired in declared.states.values()):
        return nothing, ""
    try:
        known = read_history(settings.state.url, settings.directory, declared.states)
    except GitopsConnectError as error:
        return nothing, str(error)
    return known, "the ledger has no record of them; if they were, run `gitops-connect ledger resolve NAME --applied`"


def _ask_clusters(
    settings: Settings, declared: Declared, update: Update, *, untrusted: bool
) -> tuple[Diagnostics, Failures]:
    """What each cluster says about its configs, and the bugs. A cluster that does not answer is only reported.

    `untrusted`: the configs are not sent, but checked against the definitions of their plugins.
    """
    clock = SystemClock()

    def ask(name: ClusterName) -> Diagnostics:
        cluster = settings.clusters[name]
        options = ValidateOptions(clock, cluster.validate_timeout, update, cluster.validate_unmerged, open_families())
        with closing(ConnectClient(cluster, clock)) as client:
            try:
                return _check_configs(client, declared.states[name], settings, options, untrusted=untrusted)
            except GitopsConnectError as error:
                echo(f"note: cannot validate configs on cluster {name}: {error}")
                return Diagnostics()

    found, failures = each_cluster(tuple(settings.clusters), ask)
    return sum(found, Diagnostics()), failures


def _check_configs(
    client: ConnectClient, desired: DesiredState, settings: Settings, options: ValidateOptions, *, untrusted: bool
) -> Diagnostics:
    resolved = check_references(desired, settings) if untrusted else resolve(desired, settings, os.environ)
    client.conceal(resolved.values)
    version = client.info().version
    unsupported = plugin_validation.unsupported(resolved.desired.connectors, version)
    invalid = resolved.unresolved | {problem.connector for problem in unsupported}
    complete = [one for one in resolved.desired.connectors if one.name not in invalid]
    if untrusted:
        plugins = client.plugins()
        definitions = declared_definitions(client, version, complete, plugins)
        checked = unmerged.check(client, complete, definitions, options, plugins)
    else:
        checked = plugin_validation.validate(client, complete, options)
    return resolved.diagnostics + unsupported + checked.diagnostics
