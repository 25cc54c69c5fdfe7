"""One connector as a value for `get` and `describe`: sensitive values masked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.masking import masked_value
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.ownership import Ownership
from gitops_connect.report.connector_status import connector_health, task_count
from gitops_connect.report.words import remedy

HEADERS = ("CLUSTER", "NAME", "TYPE", "STATE", "TASKS", "CLASS", "OWNED")


@dataclass(frozen=True, slots=True)
class PluginView:
    """What a worker returns about a connector's class: its config keys of type PASSWORD, and its installed versions."""

    passwords: Collection[str]
    installed: tuple[str, ...] = ()


def connector_row(cluster: str, observed: ObservedConnector, owned: Ownership | None) -> dict[str, str]:
    """One line of `get connectors`."""
    return {
        "cluster": cluster,
        "name": observed.name,
        "type": observed.type.value,
        "state": observed.state.value,
        "tasks": task_count(observed),
        "class": observed.config.get("connector.class", "-").rpartition(".")[2],
        "owned": owned.origin.value if owned else "-",
    }


def describe_connector(
    cluster: str,
    observed: ObservedConnector,
    problem: UnhealthyConnector | None,
    owned: Ownership | None,
    plugin: PluginView,
) -> dict[str, Any]:
    """Everything about one connector. The caller must have masked secrets in its stack traces, also in `problem`."""
    return {
        "Name": observed.name,
        "Cluster": cluster,
        "Type": observed.type.value,
        "State": observed.state.value,
        "Health": connector_health(observed, problem)[0].value,
        **_problems(problem),
        "Worker": observed.worker,
        "Plugin": _plugin(observed, plugin),
        "Ownership": _ownership(owned),
        "Config": {
            key: masked_value(key, value, sensitive=key in plugin.passwords)
            for key, value in sorted(observed.config.items())
        },
        "Tasks": [
            {
                "Id": task.id,
                "State": task.state.value,
                "Worker": task.worker,
                **({"Trace": task.trace} if task.trace else {}),
            }
            for task in observed.tasks
        ],
        **({"Trace": observed.trace} if observed.trace else {}),
    }


def _problems(problem: UnhealthyConnector | None) -> dict[str, Any]:
    if problem is None:
        return {}
    restart = {"Hint": remedy(problem.name)} if problem.failures else {}
    return {"Problems": list(problem.problems), **restart}


def _plugin(observed: ObservedConnector, plugin: PluginView) -> dict[str, str]:
    """The class, and its versions as far as they are known: in the config, running (from Kafka 4.1 on), installed."""
    class_name = observed.config.get("connector.class", "-")
    versions = {
        "Requested version": observed.config.get("connector.plugin.version", ""),
        "Running version": observed.version,
        "Installed versions": ", ".join(plugin.installed),
    }
    return {"Class": class_name, **{name: text for name, text in versions.items() if text}}


def _ownership(owned: Ownership | None) -> Any:
    if owned is None:
        return "unmanaged"
    since = owned.since.isoformat(timespec="seconds")
    return {"Origin": owned.origin.value, "Since": since, "Applied": owned.revision}
