"""Runs checks of large manifests on Spark. Importing this imports nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.model.copies import CopiedFile
from gitops_connect.model.large_manifests import LargeVerdict
from gitops_connect.offset_changes.large.check_request import CheckRequest
from gitops_connect.spark.session import Say, SharedSession


@dataclass(frozen=True, slots=True)
class SparkChecks:
    """Checks on a shared Spark session; `say` receives messages about long operations."""

    sessions: SharedSession
    say: Say

    def ask(
        self, questions: Sequence[CheckRequest], folder: Path, *, ready: bool = False, violations: Path | None = None
    ) -> list[LargeVerdict]:
        """One verdict for each request, in their order, by one job.

        Files are written to the directory, which is created. With `ready`, the entries to send are left there, for
        changes that nothing blocks; `violations` is a directory for a list of all violations. Raises SparkFailed,
        SparkUnusable, OSError, and UsageError if a package is not installed.
        """
        _require_packages()
        from gitops_connect.offset_changes.large.prepared_check import PreparedCheck  # noqa: PLC0415 - it imports numpy and Arrow

        folder.mkdir(parents=True, exist_ok=True)
        with self.started_early():
            prepared = PreparedCheck.of(questions, folder)
        with self.sessions.using(self.say) as session:
            self.say("checking on Spark")
            return prepared.answer(session, folder / "ready" if ready else None, violations)

    @contextmanager
    def started_early(self) -> Iterator[None]:
        """Start the session during the block. If it does not start, the next user of the session gets the error."""
        starting = Thread(target=self._start, daemon=True)
        starting.start()
        try:
            yield
        finally:
            starting.join()

    def _start(self) -> None:
        with suppress(GitopsConnectError), self.sessions.using(self.say):
            return

    def copy(self, uri: str, takes: Callable[[str], bool], folder: str) -> list[CopiedFile]:
        """A `Copy` by Spark. Raises SparkFailed, SparkUnusable, and UsageError if a package is not installed."""
        _require_packages()
        from gitops_connect.spark import file_copy  # noqa: PLC0415 - it imports numpy and Arrow

        with self.sessions.using(self.say) as session:
            self.say(f"copying {uri}")
            return file_copy.copy(session, uri, takes, folder)


def _require_packages() -> None:
    try:
        import gitops_connect.offset_changes.large.prepared_check  # noqa: F401, PLC0415 - it imports numpy and Arrow
    except ModuleNotFoundError as error:
        raise UsageError(
            f"large manifests are checked on Spark, which needs the package {error.name}:"
            " pip install 'gitops-connect[spark]'"
        ) from error
