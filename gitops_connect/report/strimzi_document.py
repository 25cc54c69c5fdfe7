"""A connector as Strimzi's `KafkaConnector`, and what such a resource cannot express."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gitops_connect.model.desired import TargetState
from gitops_connect.report import yaml_text
from gitops_connect.report.connector_document import CLASS, TASKS, ConnectorDocument, is_number_of_tasks

CLUSTER_LABEL = "strimzi.io/cluster"
PAUSED = "strimzi.io/pause-reconciliation"
_VERSION = "connector.plugin.version"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
_RESTARTS = ("enabled", "maxRestarts")


def problem_of(document: ConnectorDocument) -> str:
    """Why the connector cannot be a `KafkaConnector`; empty if it can."""
    if not _NAME.fullmatch(document.name) or len(document.name) > _LONGEST_NAME:
        return (
            "the name of a Kubernetes resource has lower case letters, digits, dashes and dots only, and Strimzi uses"
            " it as the name of the connector"
        )
    if document.cluster is None:
        return f"Strimzi needs the name of a KafkaConnect resource, in the label {CLUSTER_LABEL}"
    if document.state is TargetState.ABSENT:
        return "Strimzi has no state `absent`: the connector is deleted with its resource"
    tasks = document.config.get(TASKS)
    if tasks is not None and not is_number_of_tasks(tasks):
        return f"Strimzi's tasksMax is a number from 1 to 2147483647, and the value of {TASKS} is {tasks!r}"
    return ""


def lost(document: ConnectorDocument) -> Iterator[str]:
    """The fields of `spec` that the resource does not have, as in `autoRestart.onlyOn`."""
    for name, value in document.fields.items():
        if name == "autoRestart":
            yield from (f"{name}.{key}" for key in value if key not in _RESTARTS)
        elif name != "suspend":
            yield name


def placeholder(variable: str) -> str:
    """The reference to an environment variable of the worker, for the config provider that Strimzi configures."""
    return f"${{strimzienv:{variable}}}"


def render(document: ConnectorDocument) -> str:
    """The resource as YAML. `secrets` and `secret_files` must be references in `config` already."""
    config = dict(sorted(document.config.items()))
    spec = [("class", config.pop(CLASS)), *_tasks(config), ("state", document.state.value)]
    if _VERSION in config:
        spec.append(("version", config.pop(_VERSION)))
    restarts = {key: one for key, one in document.fields.get("autoRestart", {}).items() if key in _RESTARTS}
    labels = {**document.labels, CLUSTER_LABEL: document.cluster or ""}
    annotations = {**document.annotations, **({PAUSED: "true"} if document.fields.get("suspend") else {})}
    lines = [
        *([f"# {document.note}"] if document.note else []),
        "apiVersion: kafka.strimzi.io/v1",
        "kind: KafkaConnector",
        "metadata:",
        f"  name: {yaml_text.scalar(document.name)}",
        *_mapping("labels", labels),
        *_mapping("annotations", annotations),
        "spec:",
        *(line for key, value in spec for line in yaml_text.lines(key, value, "  ")),
        *(yaml_text.lines("autoRestart", restarts, "  ") if restarts else ()),
        *_mapping("config", config),
    ]
    return "".join(f"{line}\n" for line in lines)


def _tasks(config: dict[str, str]) -> Iterator[tuple[str, Any]]:
    if TASKS in config:
        yield "tasksMax", int(config.pop(TASKS))


def _mapping(name: str, texts: dict[str, str]) -> Iterator[str]:
    if texts:
        yield f"  {name}:"
        yield from (yaml_text.field(key, text, "    ") for key, text in sorted(texts.items()))
