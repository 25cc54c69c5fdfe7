"""How long the daemon waits between two polls, and before a retry."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gitops_connect.errors import LedgerBusy, Stalled, UsageError
from gitops_connect.settings.sections import Settings

BUSY = 2.0
"""Seconds until a cluster that another process holds is tried again."""


@dataclass(slots=True)
class PollSchedule:
    """How long to wait, in seconds. A random time of up to `jitter` is added to each wait."""

    interval: float
    retry: float
    longest: float
    jitter: float

    @staticmethod
    def of(settings: Settings) -> PollSchedule:
        """The schedule of the settings. Raises UsageError for an interval of 0, as polls would have no pause."""
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

    def change(self, settings: Settings) -> None:
        """Use other settings from the next wait on. Raises UsageError as `of` does, and changes nothing then."""
        new = PollSchedule.of(settings)
        self.interval, self.retry, self.longest, self.jitter = new.interval, new.retry, new.longest, new.jitter

    def usual(self) -> float:
        """The wait after a success."""
        return self._with_jitter(self.interval)

    def next(self, failures: int) -> float:
        """The wait after so many failed polls in a row. It is never longer than after a success."""
        usual = self.usual()
        return min(usual, self.after(None, failures)) if failures else usual

    def after(self, error: Exception | None, failures: int) -> float:
        """The wait after so many failures in a row; `error` is the last one (None: a step failed).

        If waiting does not help, the wait is the longest. If another process holds the cluster, the wait is short: for
        a new leader, the leases of its predecessor expire soon.
        """
        if isinstance(error, LedgerBusy):
            return min(BUSY, self.usual())
        if isinstance(error, Stalled):
            return self._with_jitter(self.longest)
        return self._with_jitter(min(self.retry * 2.0 ** min(failures - 1, 32), self.longest))

    def _with_jitter(self, seconds: float) -> float:
        return seconds + random.uniform(0, self.jitter)  # noqa: S311 - to spread load, and for no secret
