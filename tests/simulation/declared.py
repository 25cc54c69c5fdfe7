"""What the repository of a simulation declares: the documents of its connectors."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState

CLASS = "org.example.Numbers"


@dataclass
class Declared:
    """The document of one connector. With `fails`, the connector does not start with its config."""

    state: str = "running"
    version: int = 1
    fails: bool = False
    restart: int = 0
    is_there: bool = True

    @property
    def config(self) -> dict[str, str]:
        config = {"connector.class": CLASS, "version": str(self.version), "tasks.max": "1"}
        return config | ({"start": "fail"} if self.fails else {})

    def text(self, name: str) -> str:
        config = {key: value for key, value in self.config.items() if key != "connector.class"}
        restart = f"  restart: {{id: r{self.restart}}}\n" if self.restart else ""
        return (
            f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\nspec:\n  class: {CLASS}\n"
            f"  state: {self.state}\n{restart}  autoRestart: {{maxRestarts: 1}}\n  config: {json.dumps(config)}\n"
        )

    def differs_from(self, there: ObservedConnector | None, ill: Set[ConnectorName]) -> str:
        """How the connector differs from its document; empty if it does not. One that is `ill` may have failed."""
        if not self.is_there:
            return "" if there is None else "it is still there"
        if there is None:
            return "it is missing"
        if there.config.get("version") != str(self.version):
            return f"it has version {there.config.get('version')}, not {self.version}"
        wanted, is_ill = TargetState(self.state).name, there.state is WorkerState.FAILED and there.name in ill
        return "" if self.fails or is_ill or there.state.value == wanted else f"it is {there.state.value}, not {wanted}"
