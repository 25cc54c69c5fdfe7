"""Shared by the commands that read clusters: settings, a runtime, and plans of several clusters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from gitops_connect.cli import global_options
from gitops_connect.cli.console import bug_report, echo
from gitops_connect.cli.exit_codes import ExitCode, exit_code
from gitops_connect.cli.progress import progress
from gitops_connect.errors import GitopsConnectError, UsageError

if TYPE_CHECKING:
    from gitops_connect.model.diagnostics import Diagnostic
    from gitops_connect.model.names import ClusterName
    from gitops_connect.reconcile import Caches, Declared, Proposal
    from gitops_connect.runtime import Runtime
    from gitops_connect.settings.sections import Settings

T = TypeVar("T")
Failures = list[Exception]


def settings_of(context: typer.Context) -> Settings:
    """The settings that `--config` and the environment name."""
    from gitops_connect.settings.settings_file import load_settings

    return load_settings(global_options.of(context).config, os.environ)


@contextmanager
def opened(context: typer.Context) -> Iterator[Runtime]:
    """A runtime, closed at the end of the block."""
    from gitops_connect.runtime import open_runtime

    with closing(open_runtime(settings_of(context))) as runtime:
        yield runtime


def declared_in(settings: Settings, path: Path | None, caches: Caches | None = None) -> Declared:
    """The state that the directory `path` declares, or else the repository. `caches` stores what was read."""
    from gitops_connect.reconcile import Caches, declare
    from gitops_connect.runtime import open_source

    with closing(open_source(settings, path)) as source:
        declared = declare(source, settings.clusters or None, caches or Caches(), strimzi=settings.strimzi_options)
    report_bugs(declared.diagnostics)
    return declared


def require_documents(settings: Settings, path: Path | None) -> None:
    """For commands that take a directory: raise UsageError if neither that nor a repository is given."""
    from gitops_connect.runtime import NO_REPOSITORY
    from gitops_connect.settings.settings_file import require_some

    if path is None and not settings.repository.url:
        require_some(settings)
        raise UsageError(f"{NO_REPOSITORY}, or give the command a directory with documents")


def shown_directory(settings: Settings, path: Path | None) -> str:
    """The prefix of every path in an output, so that editors and code scanning find the file.

    It is the path of the given directory from the current one, or the directory inside the repository.
    """
    if path is None:
        return Path(settings.repository.path).as_posix().removeprefix(".")
    here = Path.cwd()
    inside = path.resolve().is_relative_to(here)
    return (path.resolve().relative_to(here) if inside else path).as_posix().removeprefix(".")


def chosen(runtime: Runtime, names: Sequence[str] | None) -> tuple[ClusterName, ...]:
    """The clusters that `--cluster` names, or all of them. Raises UsageError for an unknown one."""
    return chosen_in(runtime.settings, names)


def chosen_in(settings: Settings, names: Sequence[str] | None) -> tuple[ClusterName, ...]:
    """The clusters that `--cluster` names, or all, if no ledger is open. Raises UsageError for an unknown cluster."""
    known = tuple(settings.clusters)
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no cluster {name!r} in the settings; configured clusters: {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)


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
    codes = [exit_code(error) for error in failures]
    return next((code for code in (ExitCode.BUG, ExitCode.FAILED) if code in codes), codes[0])


def proposals(
    runtime: Runtime, path: Path | None, clusters: Sequence[ClusterName], *, untrusted: bool = False
) -> tuple[Declared, list[Proposal], Failures]:
    """Plan every cluster. The last part of the result are the errors of clusters that could not be planned."""
    from gitops_connect.reconcile import ProposeOptions, propose

    require_documents(runtime.settings, path)
    if path is not None:
        echo(f"Reading documents from the directory {path}, not from a Git repository.")
    with progress("Planning") as update:
        update("reading the repository")
        declared = declared_in(runtime.settings, path)

        def one(cluster: ClusterName) -> Proposal:
            update(f"planning {cluster}")
            proposal = propose(replace(runtime, say=update), declared, cluster, ProposeOptions(untrusted=untrusted))
            report_bugs(proposal.diagnostics)
            return proposal

        made, failures = each_cluster(clusters, one)
    if made and failures:
        echo(f"note: the result covers {len(made)} of {len(clusters)} clusters")
    return declared, made, failures
