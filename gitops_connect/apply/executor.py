"""Carries out a plan: the steps of a connector in order, connectors in parallel, one poll for all that wait.

One thread, the caller's, decides everything. A pool of other threads only sends requests. So the order of events is
that of one loop, the callbacks need no locks, and a KeyboardInterrupt reaches the caller.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from functools import partial
from itertools import chain, count, islice
from queue import SimpleQueue
from typing import Any, TypeVar

from gitops_connect.apply.actions import adopt, carry_out
from gitops_connect.apply.connector_run import ConnectorRun
from gitops_connect.apply.effects import leaves_running
from gitops_connect.apply.leftovers import LeftoverReads
from gitops_connect.apply.step_context import ExecuteOptions, StepContext
from gitops_connect.apply.step_execution import (
    AwaitEffect,
    ClusterSnapshot,
    NextAction,
    PollInterval,
    SendAgain,
    StepResult,
    take_snapshot,
)
from gitops_connect.connect.capabilities import GET_OFFSETS
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import GitopsConnectError
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Plan
from gitops_connect.tracing.spans import in_trace, span

T = TypeVar("T")
_Begun = StepResult | Callable[[], str] | None
"""What `carry_out` returns."""

_LONGEST_REST = 1.0
_CHECK_EVERY = 5.0


@span("apply")
def execute(plan: Plan, cluster: ConnectClient, options: ExecuteOptions) -> tuple[StepOutcome, ...]:
    """Carry out every applicable step; return how each ended, in the order of the plan.

    Raises nothing for a step: a bug in a step ends only the steps of its connector. An error of `on_outcomes` and any
    other bug prevent further steps, and are raised when the steps in progress have ended.
    """
    return _Run(plan, cluster, options).run()


class _Run:
    """One execution. A connector run is in exactly one place: ready, later, sending, waiting, ended, or over."""

    def __init__(self, plan: Plan, cluster: ConnectClient, options: ExecuteOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._clock = options.clock
        self._progress: SimpleQueue[SendingProgress] = SimpleQueue()
        self._parallelism = max(1, options.parallelism)
        self._reads = LeftoverReads(cluster.threads, self._parallelism)
        self._context = StepContext(
            cluster,
            options,
            GET_OFFSETS.is_in(plan.connect_version),
            lambda: bool(self._halted) or options.interrupted(),
            self._progress.put,
        )
        applicable = (one for one in plan.connectors if one.applicable and one.steps)
        self._runs = [ConnectorRun(one, plan.cluster, options) for one in applicable]
        self._ready = deque(self._runs)
        self._later: list[tuple[float, int, ConnectorRun]] = []
        self._sending: dict[Future[_Begun], ConnectorRun] = {}
        self._waiting: list[ConnectorRun] = []
        self._is_urgent = False
        self._ended: list[tuple[ConnectorRun, StepOutcome]] = []
        self._snapshot_taken: Future[ClusterSnapshot] | None = None
        self._snapshots = 0
        self._tickets = count()
        self._pace = PollInterval(self._clock.monotonic())
        self._halted, self._takes_back = "", False
        self._error: BaseException | None = None
        self._checked = self._clock.monotonic()

    def run(self) -> tuple[StepOutcome, ...]:
        self._adopt()
        # One thread more than requests, for the poll. Leaving the block waits for the requests in progress. The pool
        # has no queue: a request is only submitted when a thread is free.
        with self._reads.threads, self._cluster.threads(self._parallelism + 1) as pool:
            while self._ready or self._later or self._sending or self._waiting or self._ended:
                self._report_ended()
                if self._options.interrupted() or self._is_check_due():
                    self._may_go_on()
                self._send(pool)
                self._take_snapshot(pool)
                self._rest()
        if self._error is not None:
            raise self._error
        return tuple(chain.from_iterable(run.outcomes for run in self._runs))

    def _adopt(self) -> None:
        """Record all adoptions at once, before any request: a transaction for each would take very long."""
        new = [run for run in self._ready if run.step.action is Action.ADOPT]
        if new and self._may_go_on():
            self._ready = deque(run for run in self._ready if run.step.action is not Action.ADOPT)
            adopted = adopt([run.name for run in new], self._options.journal)
            for run in reversed(new):  # each is put before those that are ready
                self._end(run, adopted)

    def _is_check_due(self) -> bool:
        return self._clock.monotonic() - self._checked >= _CHECK_EVERY

    def _may_go_on(self) -> bool:
        """Check whether another effect is allowed; if not, nothing more begins.

        Not again for each of many creations: they were recorded under the lease, and each request has a check of its
        own (`ConnectClient.guarded_by`).
        """
        if self._halted:
            return False
        if self._is_check_due() or not (self._ready and self._ready[0].announced):
            self._checked = self._clock.monotonic()
            try:
                self._options.before_effect()
            except GitopsConnectError as error:
                self._halt(str(error))
            except Exception as error:  # a bug: raised when the steps in progress have ended
                self._fail(error)
        if self._options.interrupted():
            self._halt("interrupted", takes_back=True)
        return not self._halted

    def _may_take_back(self) -> bool:
        """After an interrupt, only connectors that were stopped for their offsets are started again."""
        if self._takes_back:
            try:
                self._options.before_effect()
            except GitopsConnectError as error:
                self._takes_back = False
                for run in [self._ready.popleft() for _ in range(len(self._ready))]:
                    self._end(run, StepResult(Result.SKIPPED, f"skipped: {error}"))
        return self._takes_back

    def _halt(self, reason: str, *, takes_back: bool = False) -> None:
        """Begin nothing more: every run that has no request or effect in progress is over."""
        if self._halted:
            return
        self._halted, self._takes_back = reason, takes_back
        idle = [*self._ready, *(run for _, _, run in self._later)]
        self._ready.clear()
        self._later.clear()
        for run in idle:
            if takes_back and run.goes_back:
                self._ready.append(run)
            else:
                self._stop(run)

    def _send(self, pool: Executor) -> None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[2])
        self._reads.begin(now, len(self._sending), are_last=not self._ready)
        if not (self._ready and self._has_room() and (self._may_go_on() or self._may_take_back())):
            return
        while self._ready and self._has_room():
            if not self._ready[0].announced:
                self._announce()
            run = self._ready.popleft()
            run.execution(self._clock.monotonic())
            self._sending[pool.submit(in_trace(carry_out), run.step, self._context, run.exchanges)] = run
        if not self._has_room():
            self._announce()

    def _announce(self) -> None:
        """Record the next creations, at most two for each request that may be in progress, in one transaction.

        A transaction for each would delay its request, and a worker has one rebalance for all creations that it finds
        together (`DistributedHerder.tick`). If the process is killed, a few are managed that it has not created.
        """
        runs = [run for run in islice(self._ready, 2 * self._parallelism) if run.step.action is Action.CREATE]
        if all(run.announced for run in runs[: self._parallelism]):
            return
        new = [run for run in runs if not run.announced]
        for run in new:
            run.announced = True
        with suppress(Exception):  # each is recorded again before it is created, and then has its own error
            self._options.journal.creating([run.step for run in new])

    def _has_room(self) -> bool:
        return len(self._sending) < self._reads.room(self._clock.monotonic())

    def _take_snapshot(self, pool: Executor) -> None:
        is_due = self._clock.monotonic() >= self._poll_due()
        if self._waiting and self._snapshot_taken is None and is_due:
            self._snapshots += 1
            deleted = frozenset(run.name for run in self._waiting if run.step.action is Action.DELETE)
            self._snapshot_taken = pool.submit(
                in_trace(take_snapshot), self._cluster, self._clock, self._snapshots, deleted
            )

    def _poll_due(self) -> float:
        return self._pace.due(busy=bool(self._ready), urgent=self._is_urgent)

    def _rest(self) -> None:
        """Wait until a request ends or an action is due, and process what has ended."""
        pause = max(0.0, min(self._times()))
        under_way: list[Future[Any]] = [*self._sending, *self._reads.under_way]
        if self._snapshot_taken is not None:
            under_way.append(self._snapshot_taken)
        if under_way:
            wait(under_way, timeout=pause, return_when=FIRST_COMPLETED)
            self._take_in()
        elif pause and (self._waiting or self._later):
            self._clock.sleep(pause)

    def _times(self) -> list[float]:
        """In how many seconds each next action is due, at most `_LONGEST_REST`, so that interrupts are noticed."""
        now = self._clock.monotonic()
        times = [0.0 if self._ended else _LONGEST_REST]
        if self._waiting and self._snapshot_taken is None:
            times.append(self._poll_due() - now)
        times.append(self._reads.due(now) - now)
        if self._later and self._has_room():
            times.append(self._later[0][0] - now)
        return times

    def _take_in(self) -> None:
        ended = [future for future in self._sending if future.done()]
        latest = {}  # the latest progress of each offset change is reported, before the end of its step
        while not self._progress.empty():
            progress = self._progress.get()
            latest[progress.offset_change] = progress
        for progress in latest.values():
            self._report(self._options.on_progress, progress)
        for future in ended:
            self._answered(self._sending.pop(future), future)
        if self._snapshot_taken is not None and self._snapshot_taken.done():
            finished, self._snapshot_taken = self._snapshot_taken, None
            self._snapshot_ended(finished)

    def _answered(self, run: ConnectorRun, future: Future[_Begun]) -> None:
        now = self._clock.monotonic()

        def decide() -> NextAction:
            error = future.exception()
            if error is not None and not isinstance(error, GitopsConnectError):
                raise error
            answer = None if error else future.result()
            if isinstance(answer, StepResult):
                return answer
            remark = None if answer is None else self._reads.add(answer, now, runs=leaves_running(run.step))
            return run.answered(error, self._snapshots, now, remark)

        self._move(run, decide)
        if run.attempt is not None:
            self._pace.answered(now, alone=len(self._waiting) == 1)

    def _snapshot_ended(self, future: Future[ClusterSnapshot]) -> None:
        now = self._clock.monotonic()
        runs, self._waiting, self._is_urgent = self._waiting, [], False
        error = future.exception()
        if error is not None:
            self._fail(error)
            for run in runs:
                self._stop(run)
            return
        snapshot = future.result()
        for run in runs:
            self._move(run, partial(run.execution(now).observe, snapshot, now))
        self._pace.observe(now, snapshot.seconds, moved=len(self._waiting) < len(runs))

    def _move(self, run: ConnectorRun, decide: Callable[[], NextAction]) -> None:
        try:
            move = decide()
        except Exception as error:  # a bug in this step: other connectors continue
            message = f"internal error, please report it: {type(error).__name__}: {error}"
            move = StepResult(Result.FAILED, message, bug=error)
        match move:
            case StepResult():
                self._end(run, move)
            case SendAgain(at):
                if self._halted and not (self._takes_back and run.goes_back):
                    self._stop(run)
                else:
                    heapq.heappush(self._later, (at, next(self._tickets), run))
            case AwaitEffect():
                self._waiting.append(run)
                self._is_urgent = self._is_urgent or not run.can_wait

    def _end(self, run: ConnectorRun, ending: StepResult) -> None:
        now = self._clock.monotonic()
        seconds = now - run.attempt.started if run.attempt else 0.0
        self._ended.append((run, run.end(ending, seconds, self._clock.now())))

    def _report_ended(self) -> None:
        """Report all steps that have ended at once: a transaction for each would take longer than the requests."""
        while self._ended:
            ended, self._ended = self._ended, []
            self._report(self._options.on_outcomes, [outcome for _, outcome in ended])
            for run, _ in ended:
                if not run.is_over:
                    self._go_on(run)

    def _go_on(self, run: ConnectorRun) -> None:
        halted = self._halted and not (self._takes_back and run.goes_back)
        why_not = run.why_not() or (f"skipped: {self._halted}" if halted else "")
        if why_not:
            self._end(run, StepResult(Result.SKIPPED, why_not))
        else:
            self._ready.appendleft(run)

    def _stop(self, run: ConnectorRun) -> None:
        skipped = StepResult(Result.SKIPPED, f"skipped: {self._halted}")
        self._end(run, skipped if run.attempt is None else run.attempt.abandon(self._halted))

    def _report(self, listener: Callable[[T], None], event: T) -> None:
        try:
            listener(event)
        except Exception as error:  # any error is raised when the steps in progress have ended
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Keep the first error that is not a step's for the end, and begin nothing more."""
        self._error = self._error or error
        self._halt(f"stopped by {type(error).__name__}: {error}")
