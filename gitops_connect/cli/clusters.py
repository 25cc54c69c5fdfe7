"""The settings of a command, and its clusters. It imports neither the ledger nor Git: not every command needs them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import typer

from gitops_connect.cli import global_options
from gitops_connect.cli.console import bug_report, echo
from gitops_connect.cli.exit_codes import ExitCode, exit_code
from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings, require_clusters

T = TypeVar("T")
Failures = list[Exception]


def settings_of(context: typer.Context) -> Settings:
    """The settings that `--config` and the environment name."""
    return load_settings(global_options.of(context).config, os.environ)


def chosen_in(settings: Settings, names: Sequence[str] | str | None) -> tuple[ClusterName, ...]:
    """The clusters that `--cluster` names, or all of them. Raises UsageError for an unknown cluster."""
    known = tuple(settings.clusters)
    names = ([names] if names else []) if isinstance(names, str) else names or ()
    for name in names:
        if name not in known:
            raise UsageError(f"there is no cluster {name!r} in the settings; configured clusters: {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)


def chosen_clusters(settings: Settings, cluster: str | None) -> tuple[ClusterName, ...]:
    """The clusters that may have the connector. Raises UsageError if none is configured, or not the given one."""
    require_clusters(settings)
    return chosen_in(settings, cluster)


def only_cluster(settings: Settings, cluster: str | None) -> ClusterName:
    """The given cluster, or the only one. Raises UsageError."""
    first, *others = chosen_clusters(settings, cluster)
    if others:
        known = ", ".join(settings.clusters)
        raise UsageError(f"several clusters are configured: choose one of {known} with --cluster")
    return first


def each_cluster(clusters: Sequence[ClusterName], work: Callable[[ClusterName], T]) -> tuple[list[T], Failures]:
    """Call `work` for each cluster. If a cluster fails, the error is printed, and the other clusters continue."""
    done: list[T] = []
    failures: Failures = []
    for cluster in clusters:
        try:
            done.append(work(cluster))
        except GitopsConnectError as error:
            message = str(error).removeprefix("connect ").removeprefix(f"cluster {cluster}: ")
            names_cluster = message.startswith(f"cluster {cluster} ")
            echo(f"error: {message}" if names_cluster else f"error: cluster {cluster}: {message}")
            failures.append(error)
        except Exception as error:  # a bug
            echo(bug_report(error, f"cluster: {cluster}"))
            failures.append(error)
    return done, failures


def report_bugs(diagnostics: Iterable[Diagnostic]) -> None:
    """Print the traces of the internal errors, with what each concerns."""
    for one in diagnostics:
        if one.bug is not None:
            echo(bug_report(one.bug, f"document: {one.location}"))


def worst(failures: Failures) -> ExitCode:
    """The exit code for clusters that failed: that of the first, unless one of them failed outright or has a bug."""
    codes = [exit_code(error) for error in failures] or [ExitCode.DONE]
    return next((code for code in (ExitCode.BUG, ExitCode.FAILED) if code in codes), codes[0])
