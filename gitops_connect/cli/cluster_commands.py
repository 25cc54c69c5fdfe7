"""Shared by the commands that read clusters: a runtime, the declared state, and plans of several clusters.

The planner is imported when it is used: not every command that opens a runtime needs it, and it is half of the package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gitops_connect.cli.clusters import Failures, each_cluster, report_bugs, settings_of
from gitops_connect.cli.console import echo, echo_note
from gitops_connect.cli.options import unmerged_variable
from gitops_connect.cli.progress import progress
from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import Plan
from gitops_connect.runtime import NO_REPOSITORY, Runtime, ledger_note, open_runtime, open_source
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import require_some

if TYPE_CHECKING:
    from gitops_connect.declare import Caches, Declared
    from gitops_connect.propose import Proposal


@contextmanager
def opened(context: typer.Context, say: Callable[[str], None] = echo) -> Iterator[Runtime]:
    """A runtime, closed at the end of the block. `say` gets what the user should know about the ledger."""
    settings = settings_of(context)
    if note := ledger_note(settings):
        say(note)
    with progress("Opening", "the ledger"):
        runtime = open_runtime(settings)
    with closing(runtime):
        yield runtime


def declared_in(settings: Settings, path: Path | None, caches: Caches | None = None) -> Declared:
    """The state that the directory `path` declares, or else the repository. `caches` stores what was read."""
    from gitops_connect.declare import Caches, DeclareOptions, declare  # noqa: PLC0415 - see above

    place, options = path if path is not None else default_directory(settings), DeclareOptions.of(settings)
    with progress("Repository", "reading the documents"), closing(open_source(settings, place)) as source:
        declared = declare(source, settings.clusters or None, caches or Caches(), options=options)
    report_bugs(declared.diagnostics)
    return declared


def repository_of(settings: Settings) -> Declared | None:
    """The declared state; None if no repository is configured, or if it cannot be read, which a note reports.

    In a job of a pull request, the default directory has documents that are not merged. They name no secret to read.
    """
    if not settings.repository.url and (default_directory(settings) is None or unmerged_variable(os.environ)):
        return None
    try:
        return declared_in(settings, None)
    except GitopsConnectError as error:
        echo_note(f"cannot read the repository: {error}")
        return None


def directory_of(settings: Settings, path: Path | None) -> Path | None:
    """The directory that a command reads: the given one, else the default; None: the repository of the settings.

    Raises UsageError if there is none of them.
    """
    found = path if path is not None else default_directory(settings)
    if found is None and not settings.repository.url:
        require_some(settings)
        raise UsageError(f"{NO_REPOSITORY}, or give the command a directory with documents")
    return found


def default_directory(settings: Settings) -> Path | None:
    """Without a repository, the directory of the settings file, if `clusters` is in it, as `init` makes it."""
    if settings.repository.url or settings.file is None or not (settings.directory / "clusters").is_dir():
        return None
    here = Path.cwd()
    return settings.directory.relative_to(here) if settings.directory.is_relative_to(here) else settings.directory


def told_directory(settings: Settings, path: Path | None) -> Path | None:
    """What `directory_of` returns. Prints that a directory is read instead of the repository."""
    if (found := directory_of(settings, path)) is not None:
        echo(f"Reading documents from the directory {found}, not from a Git repository.")
    return found


def shown_directory(settings: Settings, path: Path | None) -> str:
    """The prefix of every path in an output, so that editors and code scanning find the file.

    It is the path of the given directory from the current one, or the directory inside the repository.
    """
    if path is None:
        return Path(settings.repository.path).as_posix().removeprefix(".")
    here = Path.cwd()
    inside = path.resolve().is_relative_to(here)
    return (path.resolve().relative_to(here) if inside else path).as_posix().removeprefix(".")


@dataclass(frozen=True, slots=True)
class Planned:
    """The declared state, the plans of the clusters, and the errors of clusters that could not be planned."""

    declared: Declared
    made: list[Proposal]
    failures: Failures
    directory: str

    @property
    def plans(self) -> list[Plan]:
        return [one.plan for one in self.made]

    @property
    def diagnostics(self) -> Diagnostics:
        """The problems of all documents, with their paths as they are shown."""
        return sum((one.diagnostics for one in self.made), self.declared.diagnostics).under(self.directory)


def plan_clusters(
    runtime: Runtime, path: Path | None, clusters: Sequence[ClusterName], *, untrusted: bool = False
) -> Planned:
    """The plans of the clusters. `path` is a directory to read instead of the repository."""
    from gitops_connect.propose import ProposeOptions, propose  # noqa: PLC0415 - see above

    with progress("Planning") as update:
        declared = declared_in(runtime.settings, path)

        def one(cluster: ClusterName) -> Proposal:
            update(f"planning {cluster}")
            proposal = propose(replace(runtime, say=update), declared, cluster, ProposeOptions(untrusted=untrusted))
            report_bugs(proposal.diagnostics)
            return proposal

        made, failures = each_cluster(clusters, one)
    if made and failures:
        echo(f"note: the result covers {len(made)} of {len(clusters)} clusters")
    return Planned(declared, made, failures, shown_directory(runtime.settings, path))
