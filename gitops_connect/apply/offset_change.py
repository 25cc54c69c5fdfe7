"""One offset change, from the first read of the current offsets to the last record in the ledger.

    fence -> read -> review -> begin -> send -> read back -> settle

A task that Connect has abandoned, or whose worker hangs, may still write to Kafka. If the plan names the transactional
ids of the tasks, their producers are fenced first: Connect itself fences them only when the offsets are sent, after the
review. Otherwise, the offsets of a source are read twice, and must agree. If this is interrupted, it is done again:
fencing the tasks of a stopped connector twice does no harm.

The ledger records the change before the cluster receives it, and records it as applied before anything starts the
connector again. Requests contain absolute offsets, not relative ones. While the connector is stopped, sending a request
twice has the effect of sending it once.

Offsets that do not fit into memory are sent in chunks, and each chunk is recorded. Each partition is in exactly one
chunk, so a chunk whose answer was lost does no harm by arriving late. An interrupted change continues with the first
chunk that was not recorded as accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from gitops_connect.apply.ports import LargeChange
from gitops_connect.apply.step_context import StepContext
from gitops_connect.apply.step_execution import RETRY, StepResult
from gitops_connect.connect.wire import is_unchecked
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
from gitops_connect.model.differences import Review, missing
from gitops_connect.model.observed_state import ConnectorType, WorkerState
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    Failure,
    OffsetChange,
    OffsetChangeKind,
    resolve_command,
)
from gitops_connect.model.offsets import Offsets, merged, patch_between
from gitops_connect.model.outcomes import Result, SendingProgress

T = TypeVar("T")

_REMOVES_ALL = (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR)
_POLLS = 3
"""If accepted offsets are not seen after this many polls, they are sent again: an abandoned task may have written once
more (`Worker` cancels those that do not stop in time, and only exactly-once sources are fenced)."""
_MIN_FAILURES = 3
"""Failures of chunks in a row before the timeout may end. Connect gives up a request after 90 s, as long as most
timeouts."""
_MAY_BE_APPLIED = (
    "it may have been applied: the connector stays stopped, and the next reconciliation finishes the change"
)
_READ_LATER = "the connector was created by this plan, and its current offsets could not be read before"


class StepFailed(Exception):
    """The step cannot continue. `certain`: it had no effect. `final`: then, it never will have one.

    `lacks` are the acknowledgements with which it could continue.
    """

    def __init__(
        self,
        message: str,
        *,
        certain: bool,
        final: bool = False,
        lacks: frozenset[Acknowledgement] = frozenset(),
    ) -> None:
        super().__init__(message)
        self.certain = certain
        self.final = final
        self.lacks = lacks


class _Interrupted(Exception):
    """Nothing more may begin."""


def change_offsets(offset_change: OffsetChange, context: StepContext, fenced: Sequence[str] = ()) -> StepResult:
    """Carry out the change. The producers with the transactional ids in `fenced` are fenced before. Raises nothing
    except for bugs.

    The result is `harmless` if the offsets certainly are as before, so that the connector may continue as before.
    """
    if not offset_change.is_large:
        return _SmallChange(offset_change, context, fenced).run()
    try:
        with context.options.changes.large(offset_change) as change:
            return _ChunkedChange(offset_change, context, change, fenced).run()
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, str(error))


def record_failure(offset_change: OffsetChange, context: StepContext, failed: StepFailed) -> StepResult:
    """Record in the ledger how this attempt at the offset change failed."""
    journal = context.options.journal
    try:
        if failed.certain:
            journal.fail(offset_change, Failure(str(failed), failed.final, failed.lacks))
        else:
            journal.note(offset_change, str(failed))
    except GitopsConnectError as error:
        return StepResult(Result.FAILED, f"{failed}; the ledger could not record this: {error}")
    return StepResult(Result.FAILED, str(failed), harmless=failed.certain and _may_run(offset_change))


def _may_run(offset_change: OffsetChange) -> bool:
    """Whether the connector may continue: not if it was to be seeded before it runs, or to be deleted."""
    return offset_change.kind not in (OffsetChangeKind.SEED, OffsetChangeKind.CLEAR)


class _OffsetChange:
    """`_begun`: the ledger has recorded the change. `_touched`: offsets may have changed."""

    def __init__(
        self, offset_change: OffsetChange, context: StepContext, fenced: Sequence[str], *, begun: bool
    ) -> None:
        self._fenced = fenced
        self._offset_change = offset_change
        self._context = context
        self._clock, self._cluster, self._journal = context.options.clock, context.cluster, context.options.journal
        self._timeout = context.options.settle_timeout
        self._begun = begun
        self._touched = False

    def _fence(self) -> None:
        """Fence the tasks of the connector. Raises StepFailed, or LedgerBusy if the lease was lost."""
        if not self._fenced:
            return
        try:
            seen = self._cluster.connectors()[0].get(self._offset_change.connector)
            if seen is not None and seen.state is not WorkerState.STOPPED:  # the producers of its tasks would fail
                why = f"its tasks are not fenced: expected STOPPED, found {seen.state.value}"
                raise StepFailed(why, certain=not self._begun)
            self._context.options.before_effect()
            self._context.options.fence(self._fenced)
        except LedgerBusy:
            raise
        except GitopsConnectError as error:
            raise StepFailed(f"its tasks could not be fenced: {error}", certain=not self._begun) from error

    @property
    def _must_settle(self) -> bool:
        """Whether tasks may still write after the connector was stopped: of a source that has run, if not fenced."""
        seen = self._context.options.before.get(self._offset_change.connector)
        has_run = seen is not None and seen.type is not ConnectorType.SINK
        is_seed = self._offset_change.kind is OffsetChangeKind.SEED
        return has_run and not self._fenced and not is_seed and self._context.options.task_shutdown_timeout > 0

    def _await_settled(self, agrees: Callable[[], bool]) -> bool:
        """Wait until the offsets are the same after a while. Returns whether they always were. Raises StepFailed."""
        until, always = self._clock.monotonic() + self._timeout, True
        while self._must_settle:
            self._clock.sleep(self._context.options.task_shutdown_timeout)
            if agrees():
                break
            always = False
            if self._clock.monotonic() >= until:
                why = f"the offsets of the stopped connector still changed after {self._timeout:g} s"
                raise StepFailed(f"{why}: a task that did not stop still writes", certain=not self._begun)
        return always

    def _block(self, review: Review) -> StepResult:
        """The plan did not know this effect: a person must check it, and the connector continues."""
        reasons = "; ".join(refusal.message for refusal in review.refusals)
        is_new = self._offset_change.connector not in self._context.options.before
        why = _READ_LATER if is_new else "the current offsets changed after the plan was made"
        failed = StepFailed(
            f"blocked, because {why}: {reasons}", certain=not self._begun, lacks=missing(review.refusals)
        )
        result = record_failure(self._offset_change, self._context, failed)
        return replace(result, harmless=_may_run(self._offset_change))

    def _fail(self, failed: StepFailed, state: str = _MAY_BE_APPLIED) -> StepResult:
        """Record a failed attempt. With an uncertain outcome, the offset change stays in `state`, and can be
        abandoned."""
        if not failed.certain:
            command = resolve_command(self._cluster.cluster, self._offset_change.name, "not-applied")
            way_out = f"to abandon it, remove the change from Git and run {command}"
            failed = StepFailed(f"{failed}; {state}; {way_out}", certain=False)
        return record_failure(self._offset_change, self._context, failed)

    def _end_unrecorded(self, error: GitopsConnectError) -> StepResult:
        """What the ledger records as in progress is finished later. Nothing was sent before that.

        The connector may continue only if the failure is recorded: a write that was not answered may have taken effect.
        """
        if self._begun:
            return StepResult(Result.FAILED, str(error))
        return self._fail(StepFailed(str(error), certain=True))

    def _unreadable(self, what: str, error: GitopsConnectError, *, is_late: bool = False) -> StepFailed:
        late = f"not applied after {self._timeout:g} s: " if is_late else ""
        return StepFailed(f"{late}{what} could not be read: {error}", certain=not self._begun)

    def _explain(self, error: GitopsConnectError) -> str:
        """Why the cluster did not accept the change: its answer, or its last answer before the timeout."""
        if isinstance(error, ConnectRefused):
            return str(error)
        group = f" ({self._group()})" if isinstance(error, GroupInUse) else ""
        return f"not applied after {self._timeout:g} s: {error}{group}"

    def _group(self) -> str:
        """The consumer group of a sink (`SinkUtils.consumerGroupId`, or the group that its config sets)."""
        default = f"connect-{self._offset_change.connector}"
        try:
            seen = self._cluster.connectors()[0].get(self._offset_change.connector)
        except GitopsConnectError:
            seen = None
        if seen is None:
            return f"its consumer group is {default}, unless its config names another"
        return f"its consumer group is {seen.config.get('consumer.override.group.id', default)}"


def _warning_of(answer: str, review: Review) -> str:
    """Connect's warning after a change; if the class did not check the change, the review's own, which may be empty."""
    return review.unchecked if is_unchecked(answer) else answer


def _is_without_effect(error: GitopsConnectError) -> bool:
    """Whether a worker that reports this error has done nothing. After GroupInUse or a failure half may be done."""
    return isinstance(error, Waiting) and not isinstance(error, GroupInUse | OutcomeUnknown)


class _SmallChange(_OffsetChange):
    """A change that fits into one request, with the offsets before and after it in memory."""

    def __init__(self, offset_change: OffsetChange, context: StepContext, fenced: Sequence[str]) -> None:
        super().__init__(offset_change, context, fenced, begun=context.options.changes.is_begun(offset_change))
        self._deadline = self._clock.monotonic() + self._timeout
        self._before: Offsets = {}

    def run(self) -> StepResult:
        try:
            self._fence()
            before = self._read_settled()
            review = self._context.options.changes.review(self._offset_change, before)
            self._begun = review.partial
            if review.refusals:
                return self._block(review)
            if review.resolved is not None:
                self._offset_change = replace(self._offset_change, offsets=review.resolved)
            self._journal.begin(self._offset_change, before, review.difference)
            self._begun = True
            warning = self._carry_out(before, review)
        except StepFailed as failed:
            return self._fail(failed)
        except GitopsConnectError as error:  # mostly of the ledger
            return self._end_unrecorded(error)
        return StepResult(Result.APPLIED, warning)

    def _read_settled(self) -> Offsets:
        self._before = self._read("the current offsets")
        self._await_settled(self._agrees)
        self._deadline = self._clock.monotonic() + self._timeout
        return self._before

    def _agrees(self) -> bool:
        earlier, self._before = self._before, self._read("the current offsets")
        return self._before == earlier

    def _carry_out(self, before: Offsets, review: Review) -> str:
        """Send the change, observe it, and record it as applied. Returns Connect's warning."""
        after = merged(before, review.patch)
        warning, seen = "", before
        while review.patch:
            warning = _warning_of(self._send(review, after), review) or warning
            self._touched = True
            seen = self._see(review, after)
            if self._is_in_effect(seen, review, after):
                break
        if self._offset_change.kind is not OffsetChangeKind.CLEAR:
            self._journal.settle(self._offset_change, seen, warning)
        return warning

    def _send(self, review: Review, after: Offsets) -> str:
        """Send until the cluster has accepted the change. Raises StepFailed."""
        doubtful = False
        for pause in RETRY:
            try:
                if self._offset_change.kind in _REMOVES_ALL:
                    return self._cluster.reset_offsets(self._offset_change.connector)
                return self._cluster.alter_offsets(self._offset_change.connector, review.patch)
            except LedgerBusy:  # the lease was lost, and nothing was sent
                raise
            except (ConnectRefused, Waiting) as error:
                self._touched = self._touched or not _is_without_effect(error)
                doubtful = doubtful or isinstance(error, OutcomeUnknown)
                over = isinstance(error, ConnectRefused) or self._is_late(pause)
                if over or isinstance(error, OutcomeUnknown):
                    seen = self._read("the offsets after the request")
                    if self._is_in_effect(seen, review, after):
                        return ""
                    if over:
                        raise self._give_up(error, seen, review, doubtful=doubtful) from error
            self._clock.sleep(pause)
            self._require_unchanged(review, doubtful=doubtful)
        raise AssertionError("the waits do not end")

    def _require_unchanged(self, review: Review, *, doubtful: bool) -> None:
        """Raise StepFailed if the offsets are not those that were reviewed: someone has started the connector."""
        is_changed_by_us = doubtful or self._touched or review.partial
        if not is_changed_by_us and self._read("the current offsets") != review.before:
            raise StepFailed("the current offsets changed while Connect did not accept the change", certain=True)

    def _give_up(self, error: GitopsConnectError, seen: Offsets, review: Review, *, doubtful: bool) -> StepFailed:
        """The worker has rejected the change, or has not accepted it in time.

        Restore the offsets that it changed anyway. A sink's offsets may be changed in part: if one of its topics is
        unknown, all the others are set, and the answer is a 500 (`Worker.alterSinkConnectorOffsets`). If an answer was
        lost, the request may still be in progress in the worker and could overwrite restored offsets later, so the
        outcome is uncertain. If nothing was done and the offsets changed nevertheless, someone has started the
        connector: those offsets are not restored.
        """
        message, final, before = self._explain(error), isinstance(error, OffsetsNotSupported), review.before
        is_unchanged = seen == before or not (self._touched or review.partial)
        if doubtful or is_unchanged or _is_without_effect(error):
            return StepFailed(message, certain=is_unchanged and not doubtful, final=final)
        try:
            self._cluster.alter_offsets(self._offset_change.connector, patch_between(seen, before))
        except GitopsConnectError as second:
            text = f"{message}; some offsets were changed and could not be restored: {second}"
            return StepFailed(text, certain=False)
        certain = self._read("the restored offsets") == before
        result = "were restored" if certain else "were restored, but the cluster shows other offsets now"
        return StepFailed(f"{message}; the offsets that it had changed {result}", certain=certain, final=final)

    def _see(self, review: Review, after: Offsets) -> Offsets:
        """The offsets after the change was sent: as soon as they have the effect, at the latest after a few polls."""
        seen = self._read("the offsets after the change")
        for _ in range(_POLLS - 1):
            if self._is_in_effect(seen, review, after):
                return seen
            if self._is_late(RETRY.first):
                wrong = [one for one, offset in review.patch.items() if seen.get(one) != offset]
                one_differs = f"the partition {wrong[0]} has another offset than declared" if len(wrong) == 1 else ""
                differing = one_differs or f"{len(wrong)} partitions have other offsets than declared"
                why = f"{differing}, although Connect accepted the change"
                raise StepFailed(f"not applied after {self._timeout:g} s: {why}", certain=False)
            self._clock.sleep(RETRY.first)
            seen = self._read("the offsets after the change")
        return seen

    def _is_in_effect(self, seen: Offsets, review: Review, after: Offsets) -> bool:
        """Whether the offsets have the effect: on every partition of an alter or seed, else on all."""
        if self._offset_change.kind in (OffsetChangeKind.ALTER, OffsetChangeKind.SEED):
            return all(seen.get(one) == offset for one, offset in review.patch.items())
        return seen == after

    def _read(self, what: str) -> Offsets:
        """The current offsets. Raises StepFailed if the cluster does not answer; a sent change may have an effect."""
        for pause in RETRY:
            try:
                return self._cluster.offsets(self._offset_change.connector)
            except Waiting as error:
                if self._is_late(pause):
                    raise self._unreadable(what, error, is_late=True) from error
                self._clock.sleep(pause)
            except ConnectRefused as error:
                raise self._unreadable(what, error) from error
        raise AssertionError("the waits do not end")

    def _is_late(self, pause: float) -> bool:
        return self._clock.monotonic() + pause > self._deadline


class _Retries:
    """How long consecutive failures of a large change are retried, with a pause that grows each time."""

    def __init__(self, context: StepContext) -> None:
        self._context, self._clock = context, context.options.clock
        self._since = self._clock.monotonic()
        self.failures = 0

    def ends(self) -> bool:
        """Count a failure. Returns whether it was the last one that is retried."""
        self.failures += 1
        waited = self._clock.monotonic() + RETRY.after(self.failures) - self._since
        return waited > self._context.options.settle_timeout and self.failures >= _MIN_FAILURES

    def wait(self) -> None:
        """Sleep before the next try. Raises _Interrupted."""
        self._clock.sleep(RETRY.after(self.failures))
        if self._context.interrupted():
            raise _Interrupted


class _ChunkedChange(_OffsetChange):
    """A large change. `_done` entries were accepted. `_doubtful`: a request may still take effect."""

    def __init__(
        self, offset_change: OffsetChange, context: StepContext, change: LargeChange, fenced: Sequence[str]
    ) -> None:
        super().__init__(offset_change, context, fenced, begun=change.is_begun)
        self._change = change
        self._doubtful = change.is_begun
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
            return self._end_failed(failed)
        except _Interrupted:
            if self._begun:
                return self._end_failed(StepFailed("interrupted", certain=False))
            return StepResult(Result.SKIPPED, "skipped: interrupted", harmless=_may_run(self._offset_change))
        except (LedgerBusy, LedgerUnusable, OperationSettled) as error:
            return self._end_unrecorded(error)
        except GitopsConnectError as error:
            return self._end_failed(StepFailed(str(error), certain=not self._begun))

    def _do(self) -> StepResult:
        self._fence()
        review = self._read(self._change.review, "the current offsets")
        if not self._await_settled(lambda: self._read(self._change.is_settled, "the current offsets")):
            review = self._read(self._change.review, "the current offsets")
        if review.refusals:
            blocked = self._block(review)
            # A connector must not continue from a change that was sent only in part.
            return replace(blocked, harmless=blocked.harmless and not self._change.sent)
        self._reviewed, self._done = True, self._change.sent
        self._check_interrupted()
        if not self._begun:
            self._change.begin(review.difference)
            self._begun = True
        if self._change.entries:
            self._carry_out()
        warning = _warning_of(self._warning, review)
        if self._offset_change.kind is not OffsetChangeKind.CLEAR:
            self._change.settle(warning)
        return StepResult(Result.APPLIED, warning)

    def _carry_out(self) -> None:
        """Send the change and observe it; send it once more if the current offsets differ. Raises StepFailed."""
        self._send()
        if self._difference():
            self._done = 0
            self._send()
            if difference := self._difference():
                raise StepFailed(f"{difference}, although Connect accepted the change twice", certain=False)

    def _send(self) -> None:
        self._retries = _Retries(self._context)
        if self._offset_change.kind in _REMOVES_ALL:
            self._reset()
            return
        self._send_began = self._done, self._clock.monotonic()
        self._report_progress()
        while self._done < self._change.entries:
            self._check_interrupted()
            self._send_chunk()

    def _send_chunk(self) -> None:
        left = (self._change.entries - self._done) * self._entry_size
        chunk = self._change.chunk(self._done, self._size.of(left))
        try:
            with self._context.sending:
                began = self._clock.monotonic()
                warning = self._cluster.alter_offsets_with(self._offset_change.connector, chunk.body)
                seconds = self._clock.monotonic() - began
        except LedgerBusy:  # the lease was lost, and nothing was sent
            raise
        except (ConnectRefused, Waiting) as error:
            is_first_failure = isinstance(error, ConnectUnavailable) and not self._retries.failures
            if isinstance(error, OutcomeUnknown) or is_first_failure:
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
                self._warning = self._cluster.reset_offsets(self._offset_change.connector) or self._warning
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
        self._touched = self._touched or not _is_without_effect(error)
        self._doubtful = self._doubtful or isinstance(error, OutcomeUnknown)
        if isinstance(error, ConnectRefused):
            raise self._give_up(error) from error
        while True:
            if self._retries.ends():
                raise self._give_up(error) from error
            self._retries.wait()
            if self._offset_change.kind not in _REMOVES_ALL:
                self._change.mark(self._done)  # raises LedgerBusy if the lease was lost
            try:
                self._cluster.await_herder()  # a restarted worker may still be reading
            except Waiting as another:
                error = another
            else:
                return

    def _give_up(self, error: GitopsConnectError) -> StepFailed:
        """The failure. A source's first chunk may be rejected for its content; a sink's after half of it was done."""
        certain = not (self._doubtful or self._done) and (not self._touched or self._is_untouched())
        return StepFailed(self._explain(error), certain=certain, final=isinstance(error, OffsetsNotSupported))

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
        """The answer of `ask`. Raises StepFailed if the cluster does not answer: sent chunks may have an effect."""
        retries = _Retries(self._context)
        while True:
            try:
                return ask()
            except (ConnectUnavailable, RebalanceInProgress) as error:
                if retries.ends():
                    raise self._unreadable(what, error, is_late=True) from error
                retries.wait()
            except ConnectRefused as error:
                raise self._unreadable(what, error) from error

    def _check_interrupted(self) -> None:
        if self._context.interrupted():
            raise _Interrupted

    def _report_progress(self) -> None:
        done, began = self._send_began
        seconds = self._clock.monotonic() - began
        rate = (self._done - done) / seconds if seconds > 0 and self._done > done else None
        remaining = None if rate is None else (self._change.entries - self._done) / rate
        name, connector = self._offset_change.name, self._offset_change.connector
        self._context.progress(SendingProgress(name, connector, self._done, self._change.entries, rate, remaining))

    def _end_failed(self, failed: StepFailed) -> StepResult:
        if not self._reviewed or self._offset_change.kind in _REMOVES_ALL:
            return self._fail(failed)
        progress = f"{self._done:,} of {self._change.entries:,} offsets are set"
        return self._fail(failed, f"{progress}: the connector stays stopped, and the next reconciliation continues")
