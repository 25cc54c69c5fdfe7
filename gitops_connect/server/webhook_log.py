"""Log events of webhooks. Anyone may send a wrong one, so that rejected webhooks are logged at most once a minute."""

from __future__ import annotations

import logging
import threading

from gitops_connect.model.clock import Clock

PAUSE = 60.0
"""Seconds between two events `webhook_rejected`."""
log = logging.getLogger("gitops_connect")


class WebhookLog:
    """Logs webhooks. Safe for several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = float("-inf")
        self._left_out = 0

    def accepted(self, provider: str, reason: str) -> None:
        """An authentic webhook."""
        log.info("webhook_received", extra={"fields": {"provider": provider, "message": reason}})

    def rejected(self, provider: str, reason: str) -> None:
        """A webhook that is not authentic, or too large. The event counts those that were not logged before it."""
        with self._lock:
            now = self._clock.monotonic()
            if now - self._last < PAUSE:
                self._left_out += 1
                return
            left_out, self._left_out, self._last = self._left_out, 0, now
        fields = {"provider": provider, "message": reason, "not_logged": left_out or None}
        log.warning("webhook_rejected", extra={"fields": fields})
