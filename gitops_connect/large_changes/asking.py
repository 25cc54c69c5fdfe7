"""Where questions about large manifests are asked. Importing this imports nothing of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.checks.large.sessions import Say, Sessions
from gitops_connect.errors import UsageError
from gitops_connect.large_changes.questions import Question
from gitops_connect.model.large_manifests import LargeVerdict


@dataclass(frozen=True, slots=True)
class Spark:
    """Where questions are asked; `say` is told what takes long."""

    sessions: Sessions
    say: Say

    def ask(
        self, questions: Sequence[Question], folder: Path, *, ready: bool = False, offenders: Path | None = None
    ) -> list[LargeVerdict]:
        """One verdict for each, in their order, by one job. `folder` is for the files of this, and may be not there.

        With `ready`, what is to be sent is left in it, for those that nothing holds up; `offenders` is a folder for a
        list of everything that is wrong. Raises SparkFailed, SparkUnusable, OSError, and UsageError where a part of
        the program is not installed.
        """
        try:
            from gitops_connect.large_changes import checking  # noqa: PLC0415 - it imports numpy and Arrow
        except ModuleNotFoundError as error:
            raise UsageError(
                f"large manifests are checked on Spark, which needs {error.name}: pip install 'gitops-connect[spark]'"
            ) from error
        folder.mkdir(parents=True, exist_ok=True)
        with self.sessions.using(self.say) as session:
            self.say("checking on Spark")
            return checking.answer(session, questions, folder, ready=ready, offenders=offenders)
