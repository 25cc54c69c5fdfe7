"""Which of several daemons with one ledger reconciles: the leader. The others follow, and one of them takes over.

The leader has a lease in the ledger, which it renews. This module only decides who reconciles. That two daemons never
change a cluster at the same time does not depend on it: each change verifies the lease in the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from logging import INFO, WARNING

from gitops_connect.daemon import events
from gitops_connect.errors import GitopsConnectError, LedgerBusy
from gitops_connect.ledger.leases import Lease
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock

RETRY = 1.0
"""Seconds between the attempts of a follower to become the leader, and of a leader to renew its lease."""


class Leadership:
    """Whether this daemon is the leader. Another thread calls the functions.

    `elected` is called each time it becomes the leader, `lost` when it no longer is, and `tried` after each attempt to
    reach the ledger.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        elected: Callable[[], None],
        lost: Callable[[], None],
        tried: Callable[[Exception | None], None],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._elected = elected
        self._lost = lost
        self._tried = tried
        self._stop: Callable[[], None] = lambda: None
        self._renewed = 0.0
        self._news = events.NewItems()
        self.lease: Lease | None = None
        """The lease of the leader; None while this daemon is a follower."""
        self.leader = ""
        """Who the leader is if it is another process, in words."""

    @property
    def is_leader(self) -> bool:
        return self.lease is not None

    def begin(self) -> None:
        """Become the leader, or follow the leader and take over when it ends.

        Raises LedgerBusy if the ledger allows one daemon, and there is another one.
        """
        if not self._ledger.allows_replicas:
            self._require_alone()
        self._stop = self._clock.repeat(self._try, 0, "leadership")

    def end(self) -> None:
        """Let another daemon become the leader. Call this when nothing is changed any more."""
        self._stop()
        lease, self.lease = self.lease, None
        if lease is not None:
            with suppress(GitopsConnectError):  # the lease expires by itself
                lease.release()

    def step(self) -> float:
        """Try to become the leader, or to stay the leader. Returns the seconds until the next step."""
        return self._campaign() if self.lease is None else self._renew(self.lease)

    def _try(self) -> float:
        try:
            return self.step()
        except Exception as error:  # a bug: without this thread, nobody would reconcile
            events.bug(error)
            return RETRY

    def _campaign(self) -> float:
        lease, now = self._ledger.leadership(self._clock), self._clock.monotonic()
        try:
            lease.acquire()
        except LedgerBusy as busy:
            self._tried(None)
            self.leader = str(busy)
            if self._news.of([self.leader]):
                events.say(INFO, "leader_followed", message=self.leader)
            return RETRY
        except GitopsConnectError as error:
            self._tried(error)
            if self._news.of([events.cause(error)]):
                events.say_error("leader_unknown", error)
            return RETRY
        self._win(lease, now)
        return lease.ttl / 3

    def _win(self, lease: Lease, now: float) -> None:
        self._tried(None)
        self._renewed, self.lease, self.leader = now, lease, ""
        self._news.of(())
        events.say(INFO, "leader_elected", number=lease.number)
        self._elected()

    def _renew(self, lease: Lease) -> float:
        """If the lease cannot be renewed, another daemon may have it as soon as its time is over."""
        now = self._clock.monotonic()
        try:
            lease.renew()
        except GitopsConnectError as error:
            self._tried(None if isinstance(error, LedgerBusy) else error)
            if now - self._renewed >= lease.ttl:
                self.lease = None
                events.say_error("leader_lost", error, WARNING)
                self._lost()
            return RETRY
        self._tried(None)
        self._renewed = now
        return lease.ttl / 3

    def _require_alone(self) -> None:
        """Become the leader, or raise LedgerBusy.

        A daemon that was killed in another container cannot be seen from here: wait until its lease expires.
        """
        lease, now, until = self._ledger.leadership(self._clock), self._clock.monotonic(), math.inf
        while True:
            try:
                lease.acquire()
            except LedgerBusy as busy:
                holder = lease.holder()
                # The first attempt may take long. It limits the lease to its time from then on.
                if math.isinf(until):
                    until = self._clock.monotonic() + lease.ttl + RETRY
                if now >= until or (holder is not None and holder.is_here()):
                    way_out = "stop that process, or store the ledger in PostgreSQL"
                    raise LedgerBusy(f"an SQLite ledger allows one daemon, and {busy}; {way_out}") from busy
            else:
                self._win(lease, now)
                return
            self._clock.sleep(RETRY)
            now = self._clock.monotonic()
