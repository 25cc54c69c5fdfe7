"""Whether a connector works, and why it may have no tasks: that depends on its class."""

from __future__ import annotations

from gitops_connect.families.registry import Registry
from gitops_connect.model.health import UnhealthyConnector, failures
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector, WorkerState

_READ_THE_LOG = "or `taskConfigs` failed: the worker logs the error and tries again"


def unhealthy(connector: ObservedConnector, families: Registry) -> UnhealthyConnector | None:
    """The problems of the connector; None if it works, starts, or was paused or stopped with no failed part."""
    if found := failures(connector):
        return UnhealthyConnector(connector.name, found)
    if runs_without_tasks(connector, families):
        return UnhealthyConnector(connector.name, no_tasks=why_no_tasks(connector, families))
    return None


def runs_without_tasks(connector: ObservedConnector, families: Registry) -> bool:
    """True if the connector is RUNNING without tasks, and its config does not disable it: it moves no records."""
    if connector.state is not WorkerState.RUNNING or connector.tasks:
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
