"""The offsets that an earlier connector of the same name has left behind: they outlive their connector (KIP-875)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future

from gitops_connect.apply.step_context import ExecuteOptions, StepContext
from gitops_connect.apply.step_execution import RETRY
from gitops_connect.errors import GitopsConnectError, NotFound
from gitops_connect.model.names import ConnectorName
from gitops_connect.tracing.spans import in_trace

_TRIES = 3
_LONGEST_READ = 30.0
"""Seconds. A worker that can read the offsets answers in less than one, and a large offsets topic takes some more."""
_UNREAD = "whether an earlier connector of this name left offsets behind could not be read"
_LATE = (
    "of a sink, the worker asks the Kafka cluster in its `admin.override.bootstrap.servers`: check that it is reachable"
)


def leftovers_timeout(options: ExecuteOptions) -> float:
    """How many seconds after a connector was created its offsets may take: never longer than the effect of a step."""
    return min(_LONGEST_READ, options.settle_timeout)


def leftovers(name: ConnectorName, context: StepContext, until: float) -> str:
    """What to report of a connector that was just created: offsets outlive their connector (KIP-875).

    Read soon, before the new connector writes offsets, and until then (monotonic seconds): a worker may answer very
    late. The worker that answers may not know the connector yet.
    """
    clock = context.options.clock
    for left in reversed(range(_TRIES)):
        try:
            count = len(context.cluster.offsets(name, within=until - clock.monotonic()))
        except GitopsConnectError as error:
            if clock.monotonic() >= until:
                return f"{_UNREAD} within {leftovers_timeout(context.options):g} s; {_LATE}"
            if not left or not isinstance(error, NotFound):
                return f"{_UNREAD}: {error}"
            clock.sleep(RETRY.first)
        else:
            found = "1 offset" if count == 1 else f"{count:,} offsets"
            and_then = "behind, and the new connector continues from there"
            return f"an earlier connector of this name left {found} {and_then}" if count else ""
    raise AssertionError("the last try returns")


_LATEST, _LATEST_IDLE = 0.25, 2.0
"""Seconds after a creation. A connector that runs soon writes offsets of its own."""
_LONGEST_BURST = 2.0
"""Seconds for which all other steps wait for reads, because a read may take long."""


class LeftoverReads:
    """Reads the leftovers of many new connectors, one burst after another. Times are monotonic seconds.

    A worker carries out creations and these reads in one thread, and has one rebalance for all connectors of which it
    finds the creation there together (`DistributedHerder.tick`). With reads in between it has many more of them.
    """

    def __init__(self, threads: Callable[[int], Executor], parallelism: int) -> None:
        self._parallelism = parallelism
        self._most = max(2, parallelism // 2)  # one that hangs delays no other
        self.threads = threads(self._most)
        self._waiting: deque[tuple[Callable[[], str], Future[str]]] = deque()
        self._due = math.inf
        self._under_way: list[Future[None]] = []
        self._is_burst = False
        self._held_until = 0.0

    @property
    def under_way(self) -> Sequence[Future[None]]:
        return self._under_way

    def add(self, read: Callable[[], str], now: float, *, runs: bool) -> Future[str]:
        """The result of a read of a connector that was created now, and runs or not."""
        self._due = min(self._due, now + (_LATEST if runs else _LATEST_IDLE))
        found = Future[str]()
        self._waiting.append((read, found))
        return found

    def begin(self, now: float, others: int, *, are_last: bool) -> None:
        """Begin the reads that are due, next to so many other requests. `are_last`: no step waits for its request."""
        self._under_way = [one for one in self._under_way if not one.done()]
        if not self._is_burst and self._waiting and (are_last or now >= self._due):
            self._is_burst, self._held_until = True, now + _LONGEST_BURST
        most = min(self._most, max(self._parallelism, self._most) - others) if self._is_burst else 0
        while self._waiting and len(self._under_way) < most:
            self._under_way.append(self.threads.submit(in_trace(_bring), self._waiting))
        self._is_burst = self._is_burst and bool(self._waiting)
        if not self._waiting:
            self._due = math.inf

    def room(self, now: float) -> int:
        """How many other requests there may be in addition to the reads."""
        if self._is_burst and now < self._held_until:
            return 0
        wanted = len(self._under_way) + self._is_burst * len(self._waiting)
        return max(1, self._parallelism - min(self._most, wanted))

    def due(self, now: float) -> float:
        """When the next burst begins, or when other requests no longer wait for this one."""
        if self._is_burst:
            return self._held_until if now < self._held_until else math.inf
        return self._due


def _bring(waiting: deque[tuple[Callable[[], str], Future[str]]]) -> None:
    """Read until nothing waits: the thread that decides everything would need some time for each read."""
    while True:
        try:
            read, found = waiting.popleft()
        except IndexError:
            return
        try:
            found.set_result(read())
        except BaseException as error:  # raised by the one who waits for it
            found.set_exception(error)
