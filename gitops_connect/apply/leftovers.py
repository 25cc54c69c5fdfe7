"""The offsets that an earlier connector of the same name has left behind: they outlive their connector (KIP-875)."""

from __future__ import annotations

from gitops_connect.apply.step_context import ExecuteOptions, StepContext
from gitops_connect.apply.step_execution import RETRY
from gitops_connect.errors import GitopsConnectError, NotFound
from gitops_connect.model.names import ConnectorName

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

    Read at once, before the new connector writes offsets, and until then (monotonic seconds): a worker may answer very
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
