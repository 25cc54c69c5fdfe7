"""Whether a connector works, and why it may have no tasks: that depends on its class."""

from __future__ import annotations

from collections.abc import Collection

from gitops_connect.families.known_failures import CAUSED_BY, known_failure
from gitops_connect.families.registry import Registry
from gitops_connect.model.health import FailedPart, UnhealthyConnector, numbered
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, WorkerState

_READ_THE_LOG = "or `taskConfigs` failed: the worker logs the error and tries again"
_SHOWN_OF_AN_END = 160
"""Characters that are shown of the beginning and of the end of a long line."""


def unhealthy(connector: ObservedConnector, families: Registry) -> UnhealthyConnector | None:
    """The problems of the connector; None if it works, starts, or was paused or stopped with no failed part."""
    if found := failures(connector):
        return UnhealthyConnector(connector.name, found)
    if runs_without_tasks(connector, families):
        return UnhealthyConnector(connector.name, no_tasks=why_no_tasks(connector, families))
    return None


def runs_without_tasks(connector: ObservedConnector, families: Registry) -> bool:
    """True if the connector is RUNNING without tasks, and its config does not disable it: it moves no records."""
    if connector.state is not WorkerState.RUNNING or connector.tasks or connector.starting:
        return False
    return not any(known.is_disabled(connector.config) for known in families.named(_simple_class(connector)))


def why_no_tasks(connector: ObservedConnector, families: Registry) -> str:
    """The most frequent reason why a RUNNING connector has no tasks (`Connector.taskConfigs` returned none).

    The framework itself never drops tasks: a sink whose topics match nothing keeps its tasks. If `taskConfigs` throws,
    the herder logs the error and retries without end
    (`DistributedHerder.reconfigureConnectorTasksWithExponentialBackoffRetries`).
    """
    for known in families.named(_simple_class(connector)):
        if known.why_no_tasks:
            return known.why_no_tasks
    match connector.type:
        case ConnectorType.SOURCE:
            return f"usually its class found nothing to read, for example no matching topic or table; {_READ_THE_LOG}"
        case ConnectorType.SINK | ConnectorType.UNKNOWN:
            return f"its class returned no task configs; {_READ_THE_LOG}"


def _simple_class(connector: ObservedConnector) -> str:
    """The class's name without package and `Connector`, which Connect accepts too (`PluginUtils`)."""
    return connector.config.get("connector.class", "").rpartition(".")[2].removesuffix("Connector")


LONGEST_TRACE = 8 * 1024
"""Characters of a stack trace that are kept."""


def failures(connector: ObservedConnector) -> tuple[FailedPart, ...]:
    """FAILED parts: the connector first, then its tasks by number. A RUNNING connector often has FAILED tasks."""
    tasks = (_failed_part(task.id, task.trace) for task in connector.tasks if task.state is WorkerState.FAILED)
    if connector.state is WorkerState.FAILED:
        return (_failed_part(None, connector.trace), *tasks)
    return tuple(tasks)


def _failed_part(task: int | None, trace: str) -> FailedPart:
    known, words = known_failure(trace), summary(trace)
    return FailedPart(task, words if known is None else f"{known.cause}: {words}", known, trace[:LONGEST_TRACE])


def idle_parts(connector: ObservedConnector, gone: Collection[str] = ()) -> tuple[str, ...]:
    """The parts of a connector that should run and run nowhere, as in `tasks 0-3 are UNASSIGNED`.

    `gone` are the workers that do not answer. Connect reports what ran on such a worker as RUNNING until it is assigned
    to another worker, by default for 5 minutes (`scheduled.rebalance.max.delay.ms`, KIP-415).
    """
    if connector.state in (WorkerState.PAUSED, WorkerState.STOPPED, WorkerState.FAILED):
        return ()
    found = [] if (why := _why_idle(connector.state, connector.worker, gone)) is None else [f"the connector is {why}"]
    tasks: dict[str, list[int]] = {"starting": [*connector.starting]} if connector.starting else {}
    for task in connector.tasks:
        if (why := _why_idle(task.state, task.worker, gone)) is not None:
            tasks.setdefault(why, []).append(task.id)
    return (*found, *(f"{numbered(numbers)} {why}" for why, numbers in tasks.items()))


def _why_idle(state: WorkerState, worker: str, gone: Collection[str]) -> str | None:
    if state in (WorkerState.UNASSIGNED, WorkerState.RESTARTING):
        return str(state.value)
    if state is WorkerState.RUNNING and worker in gone:
        return f"on worker {worker}, which does not answer"
    return None


def summary(trace: str) -> str:
    """The first line of a Java stack trace, and the innermost cause if the first line does not quote it.

    Connect wraps what a task throws: the first line is often only "Exiting WorkerSinkTask due to unrecoverable
    exception." (`WorkerSinkTask`), or "Tolerance exceeded in error handler" (`RetryWithToleranceOperator`).
    """
    lines = trace.strip().splitlines()
    first = lines[0] if lines else "the worker reports no trace"
    causes = [line.removeprefix(CAUSED_BY).strip() for line in lines if line.startswith(CAUSED_BY)]
    if not causes or causes[-1] in first:
        return _shorten(first)
    return f"{_shorten(first)} Caused by: {_shorten(causes[-1])}"


def _shorten(line: str) -> str:
    """Debezium quotes a whole offset in the middle of its messages; the error is at the beginning and at the end."""
    return line if len(line) <= 2 * _SHOWN_OF_AN_END else f"{line[:_SHOWN_OF_AN_END]} … {line[-_SHOWN_OF_AN_END:]}"
