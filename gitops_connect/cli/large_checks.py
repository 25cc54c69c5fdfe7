"""Spark for one command: starts while the command reads other data, answers its requests, and is closed at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli.progress import Update, progress
from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from gitops_connect.cli.given_files import GivenFiles
    from gitops_connect.model.large_manifests import LargeFile, LargeVerdict
    from gitops_connect.offset_changes.large.check_request import CheckRequest
    from gitops_connect.settings.sections import Settings
    from gitops_connect.spark.session import SharedSession

_BLOCK = 1024 * 1024
VIOLATIONS = "violations.parquet"


class SparkDesk:
    """Checks of large manifests on Spark for one command. The directory for its files need not exist."""

    def __init__(self, sessions: SharedSession, folder: Path, say: Update) -> None:
        self._sessions = sessions
        self._say = say
        self._starter = ThreadPoolExecutor(1, "spark")
        self.folder = folder

    @property
    def where(self) -> str:
        """The URL of the Spark master, without secrets."""
        from gitops_connect.spark.master_url import master_of

        return master_of(self._sessions.settings.master).shown

    def start(self) -> None:
        """Begin to start a session, and do not wait for it. `ask` raises the errors of the start."""
        self._starter.submit(self._start)

    def ask(self, questions: Sequence[CheckRequest], *, violations: Path | None = None) -> list[LargeVerdict]:
        """The verdicts of the requests, in their order. Raises UsageError if a file cannot be read or written.

        If `violations` is given, all violations of the manifest are written to this file.
        """
        from gitops_connect.offset_changes.large.spark_checks import SparkChecks

        beside = self.folder / "offenders" if violations is not None else None
        if beside is not None:
            beside.mkdir(parents=True)
        try:
            found = SparkChecks(self._sessions, self._say).ask(questions, self.folder / "asked", violations=beside)
        except OSError as error:
            raise UsageError(f"cannot check large manifests: {error}") from error
        if beside is not None and violations is not None:
            _move(beside / VIOLATIONS, violations)
        return found

    def take(self, given: GivenFiles) -> tuple[LargeFile, ...]:
        """The files in a form that Spark can read: the original files if possible, else copies.

        Raises UsageError if a file cannot be read.
        """
        return tuple(self._take(number, path) for number, path in enumerate(given.paths))

    def close(self) -> None:
        """Wait for the end of the thread, and release it."""
        self._starter.shutdown()

    def _start(self) -> None:
        with self._sessions.using(self._say):
            """The session is started here, and stays open until the sessions are closed."""

    def _take(self, number: int, path: Path) -> LargeFile:
        from gitops_connect.model.large_manifests import LargeFile
        from gitops_connect.offset_changes.staging.files import stage
        from gitops_connect.spark.master_url import master_of

        name = path.as_posix()
        if _is_read_as_it_is(name) and master_of(self._sessions.settings.master).is_here:
            return LargeFile(name, str(path.absolute()))
        folder = self.folder / f"taken-{number}"
        folder.mkdir(parents=True)
        self._say(f"reading {path.name}")
        return stage(name, blocks_of(path), folder)


@contextmanager
def opened(settings: Settings) -> Iterator[SparkDesk]:
    """A `SparkDesk` that shows its progress. Nothing is started yet.

    It imports only what is needed for that: the modules of the runtime are imported while Java starts.
    """
    from gitops_connect.offset_changes.large.workspace import workspace
    from gitops_connect.settings.cache import cache_folder
    from gitops_connect.spark.session import SharedSession

    with (
        progress("Checking") as say,
        closing(SharedSession(settings.spark, os.environ, cache_folder())) as sessions,
        workspace(sessions.folder) as folder,
        closing(SparkDesk(sessions, folder, say)) as desk,
    ):
        yield desk


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


def _move(found: Path, to: Path) -> None:
    try:
        shutil.move(found, to)
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror}") from error
