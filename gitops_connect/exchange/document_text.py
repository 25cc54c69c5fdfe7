"""A connector as the text of a file: a `Connector`, a `KafkaConnector` of Strimzi, or JSON. And its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, assert_never

from gitops_connect.connect.wire import create_body
from gitops_connect.exchange.declarations import TargetFormat
from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.report import yaml_text
from gitops_connect.report.printable import escaped
from gitops_connect.report.table import as_json

CLASS, VERSION, TASKS = "connector.class", "connector.plugin.version", "tasks.max"
_MOST_TASKS = 2**31 - 1
_CLUSTER_LABEL = "strimzi.io/cluster"
_PAUSED = "strimzi.io/pause-reconciliation"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253
_RESTARTS = ("enabled", "maxRestarts")


@dataclass(frozen=True, slots=True)
class ConnectorDocument:
    """The content of the document. `config` is what Connect stores, without the keys of `secrets`.

    `secrets` has the environment variable of each secret key, and `secret_files` the file of a key whose secret is in a
    file. `fields` are the other fields of `spec`. `note` becomes a comment, if it is not empty.
    """

    name: ConnectorName
    cluster: ClusterName | None
    state: TargetState
    config: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    secret_files: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False)


def text_of(document: ConnectorDocument, target: TargetFormat) -> str:
    """The content of the file. A format without fields for secrets has references in the config."""
    match target:
        case TargetFormat.GITOPS_CONNECT:
            return render(document)
        case TargetFormat.STRIMZI:
            return _resource(with_references(document, target))
        case TargetFormat.JSON:
            return as_json(json_body(document))
        case _:
            assert_never(target)


def json_body(document: ConnectorDocument) -> Mapping[str, object]:
    """The body of POST `/connectors`."""
    config = with_references(document, TargetFormat.JSON).config
    state = None if document.state is TargetState.RUNNING else document.state
    return create_body(document.name, dict(sorted(config.items())), state)


def with_references(document: ConnectorDocument, target: TargetFormat) -> ConnectorDocument:
    """The document with references of config providers as the values of its secrets."""
    provider = "strimzidir" if target is TargetFormat.STRIMZI else "directory"
    values = {key: _reference(name, target) for key, name in document.secrets.items()}
    for key, name in document.secret_files.items():
        path = PurePosixPath(name)
        values[key] = f"${{{provider}:{path.parent}:{path.name}}}"
    return replace(document, config={**document.config, **values}, secrets={}, secret_files={})


def _reference(variable: str, target: TargetFormat) -> str:
    """The reference to an environment variable of the worker: that of Strimzi, or of Kafka's provider (KIP-887)."""
    return f"${{{'strimzienv' if target is TargetFormat.STRIMZI else 'env'}:{variable}}}"


def needed_secrets(documents: Iterable[ConnectorDocument], target: TargetFormat) -> str:
    """The section of the settings that allows the variables of the documents, or the references, one a line.

    It is empty if the documents name no variable. Each line says which connector and key need the variable.
    """
    variables = [
        (name, escaped(f"{document.name}: {key}"))
        for document in documents
        for key, name in sorted(document.secrets.items())
    ]
    if target is not TargetFormat.GITOPS_CONNECT:
        return "".join(f"{_reference(name, target)}  # {where}\n" for name, where in variables)
    lines = [f'  "{name}",  # {where}\n' for name, where in variables]
    return f"[secrets]\nenv = [\n{''.join(lines)}]\n" if lines else ""


def render(document: ConnectorDocument) -> str:
    """The document as YAML."""
    config = dict(sorted(document.config.items()))
    lines = [
        *_head(document, "gitops-connect/v1", "Connector"),
        *([f"  cluster: {yaml_text.scalar(document.cluster)}"] if document.cluster else []),
        *_texts("labels", document.labels),
        *_texts("annotations", document.annotations),
        "spec:",
    ]
    if CLASS in config:
        lines.append(yaml_text.field("class", config.pop(CLASS), "  "))
    if config.get(VERSION):
        lines.append(yaml_text.field("version", config.pop(VERSION), "  "))
    if _is_number_of_tasks(config.get(TASKS, "")):
        lines.append(f"  tasksMax: {config.pop(TASKS)}")
    lines += [f"  state: {document.state.value}", *_texts("config", config)]
    if document.secrets or document.secret_files:
        lines += ["  secrets:", *_secrets(document)]
    for name, value in document.fields.items():
        lines += yaml_text.lines(name, value, "  ")
    return "".join(f"{line}\n" for line in lines)


def _is_number_of_tasks(text: str) -> bool:
    """Whether `spec.tasksMax` can have this value. Other values, such as `04`, are written into the config."""
    return text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= 10 and int(text) <= _MOST_TASKS


def _head(document: ConnectorDocument, version: str, kind: str) -> Iterator[str]:
    if document.note:
        yield f"# {document.note}"
    yield from (f"apiVersion: {version}", f"kind: {kind}", "metadata:", f"  name: {yaml_text.scalar(document.name)}")


def _texts(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    if texts:
        yield f"  {name}:"
        yield from (yaml_text.field(key, text, "    ") for key, text in sorted(texts.items()))


def _secrets(document: ConnectorDocument) -> Iterator[str]:
    sources = {key: ("env", name) for key, name in document.secrets.items()}
    sources |= {key: ("file", path) for key, path in document.secret_files.items()}
    for key, (source, name) in sorted(sources.items()):
        yield f"    {yaml_text.scalar(key)}: {{{source}: {yaml_text.in_flow(name)}}}"


def problem_of_resource(document: ConnectorDocument) -> str:
    """Why the connector cannot be a `KafkaConnector`; empty if it can."""
    if not _NAME.fullmatch(document.name) or len(document.name) > _LONGEST_NAME:
        return (
            "the name of a Kubernetes resource has lower case letters, digits, dashes and dots only, and Strimzi uses"
            " it as the name of the connector"
        )
    if document.cluster is None:
        return f"Strimzi needs the name of a KafkaConnect resource, in the label {_CLUSTER_LABEL}"
    if document.state is TargetState.ABSENT:
        return "Strimzi has no state `absent`: the connector is deleted with its resource"
    tasks = document.config.get(TASKS)
    if tasks is not None and not _is_number_of_tasks(tasks):
        return f"Strimzi's tasksMax is a number from 1 to 2147483647, and the value of {TASKS} is {tasks!r}"
    return ""


def lost_in_resource(document: ConnectorDocument) -> Iterator[str]:
    """The fields of `spec` that a `KafkaConnector` does not have, as in `autoRestart.onlyOn`."""
    for name, value in document.fields.items():
        if name == "autoRestart":
            yield from (f"{name}.{key}" for key in value if key not in _RESTARTS)
        elif name != "suspend":
            yield name


def _resource(document: ConnectorDocument) -> str:
    """The `KafkaConnector` as YAML, of a document with references."""
    config = dict(sorted(document.config.items()))
    spec: list[tuple[str, Any]] = [("class", config.pop(CLASS))]
    spec += [("tasksMax", int(config.pop(TASKS)))] if TASKS in config else []
    spec.append(("state", document.state.value))
    spec += [("version", config.pop(VERSION))] if VERSION in config else []
    restarts = {key: one for key, one in document.fields.get("autoRestart", {}).items() if key in _RESTARTS}
    paused = {_PAUSED: "true"} if document.fields.get("suspend") else {}
    lines = [
        *_head(document, "kafka.strimzi.io/v1", "KafkaConnector"),
        *_texts("labels", {**document.labels, _CLUSTER_LABEL: document.cluster or ""}),
        *_texts("annotations", {**document.annotations, **paused}),
        "spec:",
        *(line for key, value in spec for line in yaml_text.lines(key, value, "  ")),
        *(yaml_text.lines("autoRestart", restarts, "  ") if restarts else ()),
        *_texts("config", config),
    ]
    return "".join(f"{line}\n" for line in lines)
