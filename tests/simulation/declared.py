"""What the repository of a simulation declares: the documents of its connectors."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector, WorkerState

CLASS, SINK_CLASS = "org.example.Numbers", "org.apache.kafka.connect.file.FileStreamSinkConnector"
SINK = "one"
"""The connector that reads topics. The others are sources."""
STREAMS = "avwxyz"
"""What a source reads, and the topics of the sink."""
RECORDS = 100
"""In the first two of these topics. The others are empty."""
REJECTED = "reject"
"""A config key that Connect does not accept."""
BY_HAND = "by-hand"
"""A config key that no document has."""
BROKEN_DOCUMENT = re.compile(r"^spec: [\[5]$", re.MULTILINE)
SUSPEND, OBSERVE = "suspend: true", "mode: observe"


def entry(name: str, stream: str, number: int | None) -> dict[str, Any]:
    """The entry of a document for an offset of the connector; None removes it."""
    if name == SINK:
        partition, key = {"kafka_topic": stream, "kafka_partition": 0}, "kafka_offset"
    else:
        partition, key = {"s": stream}, "n"
    return {"partition": partition, "offset": None if number is None else {key: number}}


@dataclass
class Declared:
    """The document of one connector. With `fails`, the connector does not start with its config."""

    name: str
    state: str = "running"
    version: int = 1
    fails: bool = False
    restart: int = 0
    is_there: bool = True
    annotation: int = 0
    """The value of the annotation that requests something; 0: there is none."""
    secret: int = 0
    """The number in the name of the variable with its secret; 0 if it has none."""
    broken: str = ""
    """What it contains instead of a specification: a syntax error, or something that the schema does not allow."""
    hold: str = ""
    """The line of its specification by which gitops-connect leaves it as it is; empty: there is none."""
    rejected: bool = False
    """Whether Connect rejects its config."""
    resets: bool = False
    """Whether the offsets are reset when the connector is deleted, and set when it is created."""
    says_absent: bool = False
    """Whether the document says that there is no connector, and is not removed."""
    is_strimzi: bool = False
    """Whether the document is a KafkaConnector of Strimzi."""

    @property
    def connector_class(self) -> str:
        return SINK_CLASS if self.name == SINK else CLASS

    @property
    def config(self) -> dict[str, str]:
        config = {"connector.class": self.connector_class, "version": str(self.version), "tasks.max": "1"}
        config |= {"topics": ",".join(STREAMS)} if self.name == SINK else {}
        return config | ({"start": "fail"} if self.fails else {}) | ({REJECTED: "true"} if self.rejected else {})

    @property
    def is_seeded(self) -> bool:
        """Whether the document has initial offsets."""
        return self.resets and not self.is_strimzi and not self.broken

    @property
    def is_left(self) -> bool:
        return self.is_there and not self.broken and bool(self.hold)

    @property
    def document(self) -> str | None:
        """None if there is none."""
        if self.is_there:
            return self.text
        return self._with_spec(f"{{class: {self.connector_class}, state: absent}}") if self.says_absent else None

    def _with_spec(self, spec: str) -> str:
        return f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {self.name}}}\nspec: {spec}\n"

    @property
    def text(self) -> str:
        if self.broken:
            return self._with_spec(self.broken)
        config = {key: value for key, value in self.config.items() if key not in ("connector.class", "tasks.max")}
        of_strimzi = ["apiVersion: kafka.strimzi.io/v1", "kind: KafkaConnector"]
        lines = of_strimzi if self.is_strimzi else ["apiVersion: gitops-connect/v1", "kind: Connector"]
        labels = ", labels: {strimzi.io/cluster: local}" if self.is_strimzi else ""
        key = "strimzi.io/restart" if self.is_strimzi else "gitops-connect/reset-topics"
        annotations = f', annotations: {{{key}: "{self.annotation}"}}' if self.annotation else ""
        lines += [f"metadata: {{name: {self.name}{labels}{annotations}}}", "spec:"]
        lines += [f"  class: {self.connector_class}", "  tasksMax: 1"]
        lines += [f"  restart: {{id: r{self.restart}}}"] if self.restart and not self.is_strimzi else []
        seed = json.dumps([entry(self.name, "a", 7), entry(self.name, "x", 8)])
        seeded = ["  onDelete: {offsets: reset}", f"  initialOffsets: {{offsets: {seed}}}"]
        lines += seeded if self.is_seeded else []
        restarts = "{enabled: true, maxRestarts: 1}"
        lines += [f"  state: {self.state}", f"  autoRestart: {restarts}", f"  config: {json.dumps(config)}"]
        lines += [f"  {self.hold}"] if self.hold else []
        lines += [f"  secrets: {{password: {{env: SECRET_{self.secret}}}}}"] if self.secret else []
        return "\n".join([*lines, ""])

    def differs_from(self, there: ObservedConnector | None, ill: Set[ConnectorName]) -> str:
        """How the connector differs from its document; empty if it does not. One that is `ill` may have failed."""
        if self.broken or self.is_left or self.rejected:
            return ""
        if not self.is_there:
            return "" if there is None else "it is still there"
        if there is None:
            return "it is missing"
        if there.config.get("version") != str(self.version):
            return f"it has version {there.config.get('version')}, not {self.version}"
        if BY_HAND in there.config:
            return "it has a config of someone else"
        wanted, is_ill = TargetState(self.state).name, there.state is WorkerState.FAILED and there.name in ill
        return "" if self.fails or is_ill or there.state.value == wanted else f"it is {there.state.value}, not {wanted}"
