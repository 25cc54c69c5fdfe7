"""`gitops-connect validate`: every problem of a repository at once."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from gitops_connect.cli import session
from gitops_connect.cli.console import coloured, emit, tell
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Folder, ProblemOutput
from gitops_connect.cli.progress import progress
from gitops_connect.errors import GitopsConnectError

if TYPE_CHECKING:
    from gitops_connect.cli.progress import Update
    from gitops_connect.model.diagnostics import Diagnostics
    from gitops_connect.reconcile import Declared
    from gitops_connect.settings.sections import Settings


def validate(
    context: typer.Context,
    path: Folder = None,
    output: Annotated[ProblemOutput, typer.Option("-o", "--output", help="Format of the output.")] = ProblemOutput.TEXT,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the Connect clusters.")] = False,
) -> int:
    """Check the documents of a repository, and their configs against the clusters that can be reached."""
    settings = session.settings_of(context)
    with progress("Validating") as update:
        update("reading the repository")
        declared = session.declared_in(settings, path)
        update("checking offset manifests")
        diagnostics = declared.diagnostics + _check_manifests(settings, declared, update)
        update("asking the clusters")
        if not offline:
            diagnostics += _ask_clusters(settings, declared)
    folder = session.shown_folder(settings, path)
    emit(_render(diagnostics.under(folder), declared.documents, output))
    return ExitCode.INVALID if diagnostics.errors else ExitCode.DONE


def _check_manifests(settings: Settings, declared: Declared, update: Update) -> Diagnostics:
    from gitops_connect.large_changes.asking import Spark
    from gitops_connect.model.diagnostics import Diagnostics
    from gitops_connect.offset_changes import check_manifests
    from gitops_connect.world import open_spark

    found = Diagnostics()
    with closing(open_spark(settings)) as sessions:
        for desired in declared.states.values():
            found += check_manifests(Spark(sessions, update), declared.checkout, desired)
    return found


def _ask_clusters(settings: Settings, declared: Declared) -> Diagnostics:
    """Connect's own validation of each config. A cluster that does not answer is told of, and no file is blamed."""
    import os

    from gitops_connect.checks import connect
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.diagnostics import Diagnostics
    from gitops_connect.secrets import resolve
    from gitops_connect.world import SystemClock

    diagnostics = Diagnostics()
    for name, cluster in settings.clusters.items():
        client = ConnectClient(cluster, SystemClock())
        try:
            resolved = resolve(declared.states[name], settings.secrets, os.environ)
            client.info()
            whole = [one for one in resolved.desired.connectors if one.name not in resolved.unresolved]
            diagnostics += resolved.diagnostics + connect.validate(client, whole).diagnostics
        except GitopsConnectError as error:
            tell(f"note: not checked against cluster {name}: {error}")
        finally:
            client.close()
    return diagnostics


def _render(diagnostics: Diagnostics, documents: int, output: ProblemOutput) -> str:
    from gitops_connect.report import problems, sarif

    match output:
        case ProblemOutput.TEXT:
            return problems.problems_text(diagnostics, coloured=coloured(sys.stdout), documents=documents)
        case ProblemOutput.JSON:
            return problems.problems_json(diagnostics, documents=documents)
        case ProblemOutput.SARIF:
            return sarif.render(diagnostics)
        case _:
            assert_never(output)
