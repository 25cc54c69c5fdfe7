"""One offset change whose declared and current offsets do not fit into memory: sent in chunks, each recorded.

    review -> begin -> chunk, mark, chunk, mark, … -> read back -> settle

A chunk contains absolute offsets, and each partition is in exactly one chunk. While the connector is stopped, sending a
chunk twice has the effect of sending it once, and a chunk whose answer was lost does no harm by arriving late. So an
interrupted change continues with the first chunk that was not recorded as accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gitops_connect.apply.ports import LargeChange
from gitops_connect.apply.step_context import (
    MAY_BE_APPLIED,
    StepContext,
    StepFailed,
    block,
    explain,
    may_run,
    record_attempt,
    warning_of,
)
from gitops_connect.apply.step_execution import RETRY, StepResult
from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    GitopsConnectError,
    GroupInUse,
    LedgerBusy,
    LedgerUnusable,
    OffsetsNotSupported,
    OperationSettled,
    OutcomeUnknown,
    RebalanceInProgress,
    Waiting,
)
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.outcomes import Result, SendingProgress

T = TypeVar("T")

_REMOVES_ALL = (OperationKind.RESET, OperationKind.CLEAR)
_POLLS = 3
"""As many polls as for a small change, and for the same reason: after them everything is sent again, once."""
_MIN_FAILURES = 3
"""Failures in a row before the timeout may end. Connect gives up a request after 90 s, as long as most timeouts."""


def change_large_offsets(operation: Operation, context: StepContext) -> StepResult:
    """Carry out the change. Raises nothing except for bugs.

    The result is `harmless` if the offsets certainly are as before, so that the connector may continue as before.
    """
    try:
        with context.changes.large(operation) as change:
            return _ChunkedChange(operation, context, change).run()
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, str(error))


class _Interrupted(Exception):
    """Nothing more may begin."""


class _Retries:
    """How long consecutive failures are retried, with a pause that grows each time."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._since = context.clock.monotonic()
        self.failures = 0

    def ends(self) -> bool:
        """Count a failure. Returns whether it was the last one that is retried."""
        self.failures += 1
        waited = self._context.clock.monotonic() + RETRY.after(self.failures) - self._since
        return waited > self._context.timeout and self.failures >= _MIN_FAILURES

    def wait(self) -> None:
        """Sleep before the next try. Raises _Interrupted."""
        self._context.clock.sleep(RETRY.after(self.failures))
        if self._context.interrupted():
            raise _Interrupted


class _ChunkedChange:
    """`_done` entries were accepted. `_touched`: offsets may have changed.

    `_doubtful`: a request may still take effect.
    """

    def __init__(self, operation: Operation, context: StepContext, change: LargeChange) -> None:
        self._operation = operation
        self._context = context
        self._change = change
        self._begun = change.is_begun
        self._doubtful = change.is_begun
        self._touched = False
        self._reviewed = False
        self._size = change.chunk_size
        self._entry_size = 0.0
        self._done = 0
        self._warning = ""
        self._retries = _Retries(context)
        self._send_began: tuple[int, float] = (0, 0.0)

    def run(self) -> StepResult:
        try:
            return self._do()
        except StepFailed as failed:
            return self._fail(failed)
        except _Interrupted:
            if self._begun:
                return self._fail(StepFailed("interrupted", certain=False))
            return StepResult(Result.SKIPPED, "skipped: interrupted", harmless=may_run(self._operation))
        except (LedgerBusy, LedgerUnusable, OperationSettled) as error:
            # What the ledger does not record was not done, and what it records as in progress is finished later.
            return StepResult(Result.FAILED, str(error), harmless=not self._begun and may_run(self._operation))
        except GitopsConnectError as error:
            return self._fail(StepFailed(str(error), certain=not self._begun))

    def _do(self) -> StepResult:
        review = self._read(self._change.review, "the current offsets")
        if review.refusals:
            blocked = block(self._operation, self._context, review, begun=self._begun)
            # A connector must not continue from a change that was sent only in part.
            return replace(blocked, harmless=blocked.harmless and not self._change.sent)
        self._reviewed, self._done = True, self._change.sent
        self._check_interrupted()
        if not self._begun:
            self._change.begin()
            self._begun = True
        self._carry_out()
        if self._operation.kind is not OperationKind.CLEAR:
            self._change.settle(warning_of(self._warning, review))
        return StepResult(Result.APPLIED, warning_of(self._warning, review))

    def _carry_out(self) -> None:
        """Send the change and observe it; send it once more if the current offsets differ. Raises StepFailed."""
        if not self._change.entries:
            return
        self._send()
        if self._difference():
            self._done = 0
            self._send()
            if difference := self._difference():
                raise StepFailed(f"{difference}, although Connect accepted the change twice", certain=False)

    def _send(self) -> None:
        self._retries = _Retries(self._context)
        if self._operation.kind in _REMOVES_ALL:
            self._reset()
            return
        self._send_began = self._done, self._context.clock.monotonic()
        self._report_progress()
        while self._done < self._change.entries:
            self._check_interrupted()
            self._send_chunk()

    def _send_chunk(self) -> None:
        """Send the next entries; if the chunk is not accepted, it is retried after a pause."""
        left = (self._change.entries - self._done) * self._entry_size
        chunk = self._change.chunk(self._done, self._size.of(left))
        try:
            with self._context.sending:
                began = self._context.clock.monotonic()
                warning = self._context.cluster.alter_offsets_with(self._operation.connector, chunk.body)
                seconds = self._context.clock.monotonic() - began
        except LedgerBusy:  # the lease was lost, and nothing was sent
            raise
        except (ConnectRefused, Waiting) as error:
            if isinstance(error, OutcomeUnknown) or (
                isinstance(error, ConnectUnavailable) and not self._retries.failures
            ):
                self._size = self._size.failed(len(chunk.body))
            self._await_cluster(error)
            return
        self._size = self._size.accepted(len(chunk.body), seconds)
        self._entry_size = 1.01 * len(chunk.body) / chunk.entries  # the sizes of entries differ a little
        self._warning = warning or self._warning
        self._touched = True
        self._done += chunk.entries
        self._change.mark(self._done)
        self._retries = _Retries(self._context)
        self._report_progress()

    def _reset(self) -> None:
        while True:
            self._check_interrupted()
            try:
                self._warning = self._context.cluster.reset_offsets(self._operation.connector) or self._warning
            except LedgerBusy:
                raise
            except (ConnectRefused, Waiting) as error:
                self._await_cluster(error)
                if isinstance(error, OutcomeUnknown) and not self._read(
                    self._change.difference, "the offsets after the request"
                ):
                    return
            else:
                self._touched = True
                return

    def _await_cluster(self, error: GitopsConnectError) -> None:
        """Wait for the cluster if that may help. Raises StepFailed."""
        self._touched = self._touched or isinstance(error, ConnectRefused | GroupInUse | OutcomeUnknown)
        self._doubtful = self._doubtful or isinstance(error, OutcomeUnknown)
        if isinstance(error, ConnectRefused):
            raise self._give_up(error) from error
        while True:
            if self._retries.ends():
                raise self._give_up(error) from error
            self._retries.wait()
            if self._operation.kind not in _REMOVES_ALL:
                self._change.mark(self._done)  # raises LedgerBusy if the lease was lost
            try:
                self._context.cluster.await_herder()  # a restarted worker may still be reading
            except Waiting as another:
                error = another
            else:
                return

    def _give_up(self, error: GitopsConnectError) -> StepFailed:
        """The failure. A source's first chunk may be rejected for its content; a sink's after half of it was done."""
        message, final = explain(error, self._operation, self._context), isinstance(error, OffsetsNotSupported)
        certain = not (self._doubtful or self._done) and (not self._touched or self._is_untouched())
        return StepFailed(message, certain=certain, final=final)

    def _is_untouched(self) -> bool:
        try:
            return self._read(self._change.is_untouched, "the offsets after the failed request")
        except (StepFailed, GitopsConnectError, _Interrupted):
            return False

    def _difference(self) -> str:
        """How the current offsets differ from the declared offsets, after a few polls."""
        retries = _Retries(self._context)
        for _ in range(_POLLS - 1):
            if not self._read(self._change.difference, "the offsets after the change"):
                return ""
            retries.wait()
        return self._read(self._change.difference, "the offsets after the change")

    def _read(self, ask: Callable[[], T], what: str) -> T:
        """Returns what `ask` returns.

        Raises StepFailed if the cluster does not answer: sent chunks may have had an effect.
        """
        retries = _Retries(self._context)
        while True:
            try:
                return ask()
            except (ConnectUnavailable, RebalanceInProgress) as error:
                if retries.ends():
                    text = f"not applied after {self._context.timeout:g} s: {what} could not be read: {error}"
                    raise StepFailed(text, certain=not self._begun) from error
                retries.wait()
            except ConnectRefused as error:
                raise StepFailed(f"{what} could not be read: {error}", certain=not self._begun) from error

    def _check_interrupted(self) -> None:
        if self._context.interrupted():
            raise _Interrupted

    def _report_progress(self) -> None:
        done, began = self._send_began
        seconds = self._context.clock.monotonic() - began
        rate = (self._done - done) / seconds if seconds > 0 and self._done > done else None
        left = self._change.entries - self._done
        remaining = None if rate is None else left / rate
        name, connector = self._operation.name, self._operation.connector
        self._context.progress(SendingProgress(name, connector, self._done, self._change.entries, rate, remaining))

    def _fail(self, failed: StepFailed) -> StepResult:
        state = MAY_BE_APPLIED
        if self._reviewed and self._operation.kind not in _REMOVES_ALL:
            progress = f"{self._done:,} of {self._change.entries:,} offsets are set"
            state = f"{progress}: the connector stays stopped, and the next reconciliation continues"
        return record_attempt(self._operation, self._context, failed, state)
