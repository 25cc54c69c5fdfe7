"""One connector as a value for `get` and `describe`: sensitive values masked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.masking import masked_value
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.ownership import Ownership
from gitops_connect.report.connector_status import connector_health, task_count
from gitops_connect.report.health_lines import remedy

HEADERS = ("CLUSTER", "NAME", "TYPE", "STATE", "TASKS", "CLASS", "OWNED")


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
    passwords: Collection[str],
) -> dict[str, Any]:
    """Everything about one connector. `passwords` are the keys of the plugin's type PASSWORD.

    Stack traces are shown unchanged: the caller must have masked their secrets, also in `problem`.
    """
    return {
        "Name": observed.name,
        "Cluster": cluster,
        "Type": observed.type.value,
        "State": observed.state.value,
        "Health": connector_health(observed, problem)[0].value,
        **_problems(problem),
        "Worker": observed.worker,
        "Ownership": _ownership(owned),
        "Config": {
            key: masked_value(key, value, sensitive=key in passwords) for key, value in sorted(observed.config.items())
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


def _ownership(owned: Ownership | None) -> Any:
    if owned is None:
        return "unmanaged"
    since = owned.since.isoformat(timespec="seconds")
    return {"Origin": owned.origin.value, "Since": since, "Applied": owned.revision}
