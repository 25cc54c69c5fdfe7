"""How long the daemon waits between two looks, and between two tries."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gitops_connect.errors import Stalled, UsageError
from gitops_connect.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class PollSchedule:
    """How long to wait, in seconds; to everything up to `jitter` is added."""

    interval: float
    retry: float
    longest: float
    jitter: float

    @staticmethod
    def of(settings: Settings) -> PollSchedule:
        """That of the settings. Raises UsageError where one would have servers asked without a pause."""
        for name, value in (
            ("[repository] interval", settings.repository.interval),
            ("[daemon] retry_interval", settings.daemon.retry_interval),
            ("[daemon] max_retry_interval", settings.daemon.max_retry_interval),
        ):
            if not value:
                raise UsageError(f"{name}: expected a duration longer than 0s")
        daemon = settings.daemon
        return PollSchedule(
            settings.repository.interval, daemon.retry_interval, daemon.max_retry_interval, daemon.jitter
        )

    def usual(self) -> float:
        """After what went well, and where another process is at work."""
        return self._with_jitter(self.interval)

    def after(self, error: Exception | None, failures: int) -> float:
        """After so many failures in a row, the last one this (None: a step). What time does not mend waits longest."""
        if isinstance(error, Stalled):
            return self._with_jitter(self.longest)
        return self._with_jitter(min(self.retry * 2.0 ** min(failures - 1, 32), self.longest))

    def _with_jitter(self, seconds: float) -> float:
        return seconds + random.uniform(0, self.jitter)  # noqa: S311 - to spread load, and for no secret
