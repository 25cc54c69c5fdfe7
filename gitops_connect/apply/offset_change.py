"""One offset change, from the first read of the current offsets to the last record in the ledger.

    read -> review -> begin -> send -> read back -> settle

The ledger records the change before the cluster receives it, and records it as applied before anything starts the
connector again. Alter and reset requests contain absolute offsets, not relative ones. While the connector is stopped,
sending a request twice has the effect of sending it once.
"""

from __future__ import annotations

from gitops_connect.apply.step_context import (
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
    GitopsConnectError,
    GroupInUse,
    LedgerBusy,
    NotFound,
    OffsetsNotSupported,
    OutcomeUnknown,
    Waiting,
)
from gitops_connect.model.differences import Review
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import Offsets, merged, patch_between
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.outcomes import Result

_ALL = (OperationKind.RESET, OperationKind.CLEAR)
_ATTEMPTS = 3
"""If accepted offsets are not seen after this many polls, they are sent again: an abandoned task may have written once
more (`Worker` cancels those that do not stop in time, and only exactly-once sources are fenced)."""


def _is_without_effect(error: GitopsConnectError) -> bool:
    """Whether a worker that reports this error has done nothing. After GroupInUse or a failure half may be done."""
    return isinstance(error, Waiting) and not isinstance(error, GroupInUse | OutcomeUnknown)


def change_offsets(operation: Operation, context: StepContext) -> StepResult:
    """Carry out the change. Raises nothing except for bugs.

    The result is `harmless` if the offsets certainly are as before, so that the connector may continue as before.
    """
    return _OffsetChange(operation, context).run()


class _OffsetChange:
    def __init__(self, operation: Operation, context: StepContext) -> None:
        self._operation = operation
        self._context = context
        self._deadline = context.clock.monotonic() + context.timeout
        self._begun = context.changes.is_begun(operation)
        self._touched = False

    def run(self) -> StepResult:
        try:
            before = self._read("the current offsets")
            review = self._context.changes.review(self._operation, before)
            self._begun = review.partial
            if review.refusals:
                return block(self._operation, self._context, review, begun=self._begun)
            self._context.journal.begin(self._operation, before)
            self._begun = True
            warning = self._carry_out(before, review)
        except StepFailed as failed:
            return record_attempt(self._operation, self._context, failed)
        except GitopsConnectError as error:
            # Mostly a ledger error: what the ledger does not record was not done, and what it records as in progress is
            # finished later.
            return StepResult(Result.FAILED, str(error), harmless=not self._begun and may_run(self._operation))
        return StepResult(Result.APPLIED, warning)

    def _carry_out(self, before: Offsets, review: Review) -> str:
        """Send the change, observe it, and record it as applied. Returns Connect's warning."""
        after = merged(before, review.patch)
        warning, seen = "", before
        while review.patch:
            warning = warning_of(self._send(before, review), review) or warning
            self._touched = True
            seen = self._see(review, after)
            if self._is_in_effect(seen, review, after):
                break
        if self._operation.kind is not OperationKind.CLEAR:
            self._context.journal.settle(self._operation, seen, warning)
        return warning

    def _send(self, before: Offsets, review: Review) -> str:
        """Send until the cluster has accepted the change. Raises StepFailed."""
        doubtful, after = False, merged(before, review.patch)
        for pause in RETRY:
            try:
                return self._request(review)
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
            self._context.clock.sleep(pause)
        raise AssertionError("the waits do not end")

    def _give_up(self, error: GitopsConnectError, seen: Offsets, review: Review, *, doubtful: bool) -> StepFailed:
        """The worker has rejected the change, or has not accepted it in time.

        Restore the offsets that it changed anyway. A sink's offsets may be changed in part: if one of its topics is
        unknown, all the others are set, and the answer is a 500 (`Worker.alterSinkConnectorOffsets`). If an answer was
        lost, the request may still be in progress in the worker and could overwrite restored offsets later, so the
        outcome is uncertain. If nothing was done and the offsets changed nevertheless, someone has started the
        connector: those offsets are not restored.
        """
        message, final, before = (
            explain(error, self._operation, self._context),
            isinstance(error, OffsetsNotSupported),
            review.before,
        )
        if doubtful:
            return StepFailed(message, certain=False)
        if seen == before or not (self._touched or review.partial):
            return StepFailed(message, certain=True, final=final)
        if _is_without_effect(error):
            return StepFailed(message, certain=False)
        try:
            self._context.cluster.alter_offsets(self._operation.connector, patch_between(seen, before))
        except GitopsConnectError as second:
            return StepFailed(
                f"{message}; some offsets were changed and could not be restored: {second}", certain=False
            )
        certain = self._read("the restored offsets") == before
        result = "were restored" if certain else "were restored, but the cluster shows other offsets now"
        return StepFailed(f"{message}; the offsets that it had changed {result}", certain=certain, final=final)

    def _request(self, review: Review) -> str:
        name = self._operation.connector
        if self._operation.kind in _ALL:
            return self._context.cluster.reset_offsets(name)
        return self._context.cluster.alter_offsets(name, review.patch)

    def _see(self, review: Review, after: Offsets) -> Offsets:
        """The offsets after the change was sent: as soon as they have the effect, at the latest after a few polls."""
        seen = self._read("the offsets after the change")
        for _ in range(_ATTEMPTS - 1):
            if self._is_in_effect(seen, review, after):
                return seen
            self._wait(
                RETRY.first, f"{self._differing(seen, review)}, although Connect accepted the change", certain=False
            )
            seen = self._read("the offsets after the change")
        return seen

    def _is_in_effect(self, seen: Offsets, review: Review, after: Offsets) -> bool:
        """Whether the offsets have the effect: on every partition of an alter or seed, else on all."""
        if self._operation.kind in (OperationKind.ALTER, OperationKind.SEED):
            return all(seen.get(one) == offset for one, offset in review.patch.items())
        return seen == after

    def _differing(self, seen: Offsets, review: Review) -> str:
        wrong = [one for one, offset in review.patch.items() if seen.get(one) != offset]
        more = f"{len(wrong)} partitions have other offsets than declared" if len(wrong) != 1 else ""
        return more or f"the partition {wrong[0]} has another offset than declared"

    def _read(self, what: str) -> Offsets:
        """The current offsets. Raises StepFailed if the cluster does not answer; a sent change may have an effect."""
        for pause in RETRY:
            try:
                return self._context.cluster.offsets(self._operation.connector)
            except Waiting as error:
                self._wait(pause, f"{what} could not be read: {error}", certain=not self._begun)
            except ConnectRefused as error:
                raise StepFailed(f"{what} could not be read: {error}", certain=not self._begun) from error
        raise AssertionError("the waits do not end")

    def _wait(self, pause: float, reason: str, *, certain: bool) -> None:
        if self._is_late(pause):
            raise StepFailed(f"not applied after {self._context.timeout:g} s: {reason}", certain=certain)
        self._context.clock.sleep(pause)

    def _is_late(self, pause: float) -> bool:
        return self._context.clock.monotonic() + pause > self._deadline


def leftovers(name: ConnectorName, context: StepContext) -> str:
    """What to report of a connector that was just created: offsets outlive their connector (KIP-875).

    Read at once, before the new connector writes offsets. The worker that answers may not know the connector yet.
    """
    attempts = 0
    while True:
        attempts += 1
        try:
            return _leftovers(context.cluster.offsets(name))
        except GitopsConnectError as error:
            if attempts == _ATTEMPTS or not isinstance(error, NotFound):
                return f"could not read whether an earlier connector of this name left offsets behind: {error}"
        context.clock.sleep(RETRY.first)


def _leftovers(found: Offsets) -> str:
    if not found:
        return ""
    count = "1 offset" if len(found) == 1 else f"{len(found):,} offsets"
    return f"an earlier connector of this name left {count} behind, and the new connector continues from there"
