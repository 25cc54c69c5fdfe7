"""Short ways to write steps and plans in tests."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, Revision
from gitops_connect.model.observed_state import ConnectVersion
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Plan, Step
from gitops_connect.model.restart_records import Restart

_SEVERAL_REQUESTS = (Action.ALTER, Action.RESET, Action.RESET_TOPICS)
_WITHOUT_REQUEST = (Action.ADOPT, Action.LIST, Action.RECORD)
OF_THE_CONNECTOR = tuple(one for one in Action if one not in (*_SEVERAL_REQUESTS, *_WITHOUT_REQUEST))
"""The actions that send one request, whose effect the state of the connector shows."""


def request_of(action: Action) -> str:
    """The method of the cluster that the action calls."""
    return "configure" if action.changes_config else action.value


def step(
    name: str,
    action: Action,
    config: Mapping[str, str] | None = None,
    *,
    initial: TargetState | None = None,
    changes: tuple[Change, ...] = (),
) -> Step:
    return Step(
        connector=ConnectorName(name),
        action=action,
        reason="a reason",
        changes=changes,
        config=config or {},
        initial_state=initial,
        restart=Restart() if action is Action.RESTART else None,
        topics=TopicsReset("1") if action is Action.RESET_TOPICS else None,
    )


def plan(*steps: Step, applicable: bool = True) -> Plan:
    """The steps by connector, each connector's in the given order."""
    lanes: dict[ConnectorName, tuple[Step, ...]] = {}
    for one in steps:
        lanes[one.connector] = (*lanes.get(one.connector, ()), one)
    connectors = tuple(ConnectorPlan(name, lanes[name], applicable=applicable) for name in sorted(lanes))
    return Plan(
        cluster=ClusterName("local"),
        connect_version=ConnectVersion(4, 3, 1),
        revision=Revision("a" * 40),
        connectors=connectors,
        fingerprint=Digest("f"),
        digest=Digest("d"),
    )
