"""Checks large manifests on Spark, in one job for all of them. Importing this imports nothing of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

from gitops_connect.errors import GitopsConnectError, UsageError
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.spark.file_copy import CopiedFile
from gitops_connect.spark.session import Say, SharedSession


@dataclass(frozen=True, slots=True)
class SparkChecks:
    """Checks on a shared Spark session; `say` receives messages about long operations."""

    sessions: SharedSession
    say: Say

    def check(
        self, manifests: Sequence[LargeManifest], *, ready: Path | None = None, violations: Path | None = None
    ) -> list[LargeVerdict]:
        """One verdict for each manifest, in their order, by one job. The manifests are read while Spark starts.

        The directory `ready` receives the entries to send, for changes that nothing blocks; `violations` receives a
        list of all violations. Raises SparkFailed, SparkUnusable, OSError, and UsageError if a package is not
        installed.
        """
        with self.started_early():
            try:
                from gitops_connect.offsets.spark import check, job_files  # noqa: PLC0415 - see above
            except ModuleNotFoundError as error:
                raise UsageError(
                    f"Spark needs the package {error.name}: pip install 'gitops-connect[spark]'"
                ) from error
            directories = job_files.job_directories(ready, violations)
            job = replace(check.prepare(manifests), directories=directories)
        with self.sessions.using(self.say) as session:
            self.say("checking on Spark")
            return check.carry_out(manifests, job, check.SparkEngine(session))

    @contextmanager
    def started_early(self) -> Iterator[None]:
        """Start the session during the block. If it does not start, the next user of the session gets the error."""

        def start() -> None:
            with suppress(GitopsConnectError), self.sessions.using(self.say):
                return

        starting = Thread(target=start, daemon=True)
        starting.start()
        try:
            yield
        finally:
            starting.join()

    def copy(self, uri: str, takes: Callable[[str], bool], directory: str) -> list[CopiedFile]:
        """A `Copy` by Spark. Raises SparkFailed, SparkUnusable, and UsageError if a package is not installed."""
        with self.sessions.using(self.say) as session:
            from gitops_connect.spark import file_copy  # noqa: PLC0415 - see above

            self.say(f"copying {uri}")
            return file_copy.copy(session, uri, takes, directory)
