"""One connector as a value for `get` and `describe`: sensitive values masked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gitops_connect.model.observed import ObservedConnector
from gitops_connect.model.ownership import Ownership
from gitops_connect.model.sensitivity import is_reference, is_sensitive_key
from gitops_connect.report.status import connector_health, task_count

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
    cluster: str, observed: ObservedConnector, owned: Ownership | None, passwords: Collection[str]
) -> dict[str, Any]:
    """Everything that is known of one connector. `passwords` are the keys that its plugin calls PASSWORD."""
    return {
        "Name": observed.name,
        "Cluster": cluster,
        "Type": observed.type.value,
        "State": observed.state.value,
        "Health": connector_health(observed).value,
        "Worker": observed.worker,
        "Ownership": _ownership(owned),
        "Config": {key: _masked(key, value, passwords) for key, value in sorted(observed.config.items())},
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


def _ownership(owned: Ownership | None) -> Any:
    if owned is None:
        return "not ours"
    since = owned.since.isoformat(timespec="seconds")
    return {"Origin": owned.origin.value, "Since": since, "Applied": owned.revision}


def _masked(key: str, value: str, passwords: Collection[str]) -> str:
    secret = (key in passwords or is_sensitive_key(key)) and not is_reference(value)
    return "***" if secret else value
