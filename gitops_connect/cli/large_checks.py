"""Spark for one command: starts while the command reads other data, and is closed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli.progress import progress
from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from gitops_connect.cli.given_files import GivenFiles
    from gitops_connect.model.large_manifests import LargeFile
    from gitops_connect.offset_changes.large.spark_checks import SparkChecks
    from gitops_connect.settings.sections import Settings

_BLOCK = 1024 * 1024
VIOLATIONS = "violations.parquet"


@dataclass(frozen=True, slots=True)
class LargeChecks:
    """Checks of large manifests on Spark for one command. The directory for its files need not exist."""

    checks: SparkChecks
    directory: Path

    @property
    def where(self) -> str:
        """The URL of the Spark master, without secrets."""
        from gitops_connect.spark.master_url import master_of

        return master_of(self.checks.sessions.settings.master).shown

    def stage(self, given: GivenFiles) -> tuple[LargeFile, ...]:
        """The files in a form that Spark can read: the original files if possible, else copies.

        Raises UsageError if a file cannot be read.
        """
        return tuple(self._stage(number, path) for number, path in enumerate(given.paths))

    def _stage(self, number: int, path: Path) -> LargeFile:
        from gitops_connect.model.large_manifests import LargeFile
        from gitops_connect.offset_changes.staging.files import stage
        from gitops_connect.spark.master_url import master_of

        name = path.as_posix()
        if _is_read_as_it_is(name) and master_of(self.checks.sessions.settings.master).is_here:
            return LargeFile(name, str(path.absolute()))
        directory = self.directory / f"staged-{number}"
        directory.mkdir(parents=True)
        self.checks.say(f"reading {path.name}")
        return stage(name, blocks_of(path), directory)


@contextmanager
def opened(settings: Settings) -> Iterator[LargeChecks]:
    """A `LargeChecks` that shows its progress. Nothing is started yet.

    It imports only what is needed for that: the modules of the runtime are imported while Java starts.
    """
    from gitops_connect.offset_changes.large.spark_checks import SparkChecks
    from gitops_connect.offset_changes.workspace import workspace
    from gitops_connect.settings.cache import cache_directory
    from gitops_connect.spark.session import SharedSession

    with (
        progress("Checking") as say,
        closing(SharedSession(settings.spark, os.environ, cache_directory())) as sessions,
        workspace(sessions.directory) as directory,
    ):
        yield LargeChecks(SparkChecks(sessions, say), directory)


@contextmanager
def files_of_checks() -> Iterator[None]:
    """Raise UsageError if a file cannot be read or written during the block."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot check large manifests: {error}") from error


def _is_read_as_it_is(name: str) -> bool:
    """Whether Spark can read the original file. Spark recognizes formats by the suffix of the path, in lower case."""
    from gitops_connect.desired.manifests.formats import is_manifest, suffix_of
    from gitops_connect.desired.manifests.streams import is_staged_as_it_is

    return is_manifest(name) and is_staged_as_it_is(name) and name.endswith(suffix_of(name))


def blocks_of(path: Path) -> Iterator[bytes]:
    """The content of the file in blocks. Raises UsageError if the file cannot be read."""
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
