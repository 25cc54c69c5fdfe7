"""A connector as the text of a file: a `Connector`, a `KafkaConnector` of Strimzi, or JSON. And its secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, assert_never

from gitops_connect.connect.wire import create_body
from gitops_connect.documents.fields import CLASS, TASKS, VERSION
from gitops_connect.documents.recognition import API_VERSION, STRIMZI_VERSIONS
from gitops_connect.exchange.declarations import ConnectorDeclaration, TargetFormat
from gitops_connect.model.desired import ACKNOWLEDGE, SecretReference, SecretSource, TargetState
from gitops_connect.model.documents import CONNECTOR
from gitops_connect.model.strimzi import KAFKA_CONNECTOR
from gitops_connect.report import yaml_text
from gitops_connect.report.printable import escaped
from gitops_connect.report.table import as_json
from gitops_connect.strimzi.resources import CLUSTER_LABEL, PAUSED, is_resource_name, refused_in_resource_name

_MOST_TASKS = 2**31 - 1
_RESTARTS = ("enabled", "maxRestarts")


def text_of(document: ConnectorDeclaration, target: TargetFormat) -> str:
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


def json_body(document: ConnectorDeclaration) -> Mapping[str, object]:
    config = with_references(document, TargetFormat.JSON).config
    state = None if document.state is TargetState.RUNNING else document.state
    return create_body(document.name, dict(sorted(config.items())), state)


def with_references(document: ConnectorDeclaration, target: TargetFormat) -> ConnectorDeclaration:
    """The document with references of config providers as the values of its secrets."""
    values = {key: _reference(secret, target) for key, secret in document.secrets.items()}
    return replace(document, config={**document.config, **values}, secrets={})


def _reference(secret: SecretReference, target: TargetFormat) -> str:
    """The reference to a variable or a file of the worker, for Strimzi's providers or Kafka's own (KIP-887)."""
    is_strimzi = target is TargetFormat.STRIMZI
    if secret.source is SecretSource.ENV:
        return f"${{{'strimzienv' if is_strimzi else 'env'}:{secret.name}}}"
    path = PurePosixPath(secret.name)
    return f"${{{'strimzidir' if is_strimzi else 'directory'}:{path.parent}:{path.name}}}"


def needed_secrets(documents: Iterable[ConnectorDeclaration], target: TargetFormat) -> str:
    """The section of the settings that allows the variables of the documents, or the references; may be empty."""
    variables = [
        (secret, escaped(f"{document.name}: {key}"))
        for document in documents
        for key, secret in sorted(document.secrets.items(), key=itemgetter(0))
        if secret.source is SecretSource.ENV
    ]
    if target is not TargetFormat.GITOPS_CONNECT:
        return "".join(f"{_reference(secret, target)}  # {where}\n" for secret, where in variables)
    lines = [f'  "{secret.name}",  # {where}\n' for secret, where in variables]
    return f"[secrets]\nenv = [\n{''.join(lines)}]\n" if lines else ""


def render(document: ConnectorDeclaration) -> str:
    config = dict(sorted(document.config.items()))
    lines = [
        *_head(document, API_VERSION, CONNECTOR),
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
    if document.secrets:
        lines.append("  secrets:")
    for key, secret in sorted(document.secrets.items(), key=itemgetter(0)):
        lines.append(f"    {yaml_text.scalar(key)}: {{{secret.source.value}: {yaml_text.in_flow(secret.name)}}}")
    for name, value in document.fields.items():
        lines += yaml_text.lines(name, value, "  ")
    return "".join(f"{line}\n" for line in lines)


def _is_number_of_tasks(text: str) -> bool:
    """Whether `spec.tasksMax` can have this value. Other values, such as `04`, are written into the config."""
    return text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= 10 and int(text) <= _MOST_TASKS


def _head(document: ConnectorDeclaration, version: str, kind: str) -> Iterator[str]:
    if document.note:
        yield f"# {document.note}"
    yield from (f"apiVersion: {version}", f"kind: {kind}", "metadata:", f"  name: {yaml_text.scalar(document.name)}")


def _texts(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    if texts:
        yield f"  {name}:"
        yield from (yaml_text.field(key, text, "    ") for key, text in sorted(texts.items()))


def problem_of_resource(document: ConnectorDeclaration) -> str:
    """Why the connector cannot be a `KafkaConnector`; empty if it can."""
    if not is_resource_name(document.name):
        return (
            "the name of a Kubernetes resource has lower case letters, digits, dashes and dots only, and Strimzi uses"
            f" it as the name of the connector{refused_in_resource_name(document.name)}"
        )
    if document.cluster is None:
        return f"Strimzi needs the name of a KafkaConnect resource, in the label {CLUSTER_LABEL}"
    if document.state is TargetState.ABSENT:
        return "Strimzi has no state `absent`: the connector is deleted with its resource"
    tasks = document.config.get(TASKS)
    if tasks is not None and not _is_number_of_tasks(tasks):
        return f"Strimzi's tasksMax is a number from 1 to 2147483647, and the value of {TASKS} is {tasks!r}"
    return ""


def lost_in_resource(document: ConnectorDeclaration) -> Iterator[str]:
    """The fields of `spec` that a `KafkaConnector` does not have, as in `autoRestart.onlyOn`."""
    for name, value in document.fields.items():
        if name == "autoRestart":
            yield from (f"{name}.{key}" for key in value if key not in _RESTARTS)
        elif name not in ("suspend", "acknowledge"):
            yield name


def _resource(document: ConnectorDeclaration) -> str:
    config = dict(sorted(document.config.items()))
    spec: list[tuple[str, Any]] = [("class", config.pop(CLASS))]
    spec += [("tasksMax", int(config.pop(TASKS)))] if TASKS in config else []
    spec.append(("state", document.state.value))
    spec += [("version", config.pop(VERSION))] if VERSION in config else []
    restarts = {key: one for key, one in document.fields.get("autoRestart", {}).items() if key in _RESTARTS}
    known = {PAUSED: "true"} if document.fields.get("suspend") else {}
    known |= {ACKNOWLEDGE: ",".join(some)} if (some := document.fields.get("acknowledge")) else {}
    lines = [
        *_head(document, STRIMZI_VERSIONS[0], KAFKA_CONNECTOR),
        *_texts("labels", {**document.labels, CLUSTER_LABEL: document.cluster or ""}),
        *_texts("annotations", {**document.annotations, **known}),
        "spec:",
        *(line for key, value in spec for line in yaml_text.lines(key, value, "  ")),
        *(yaml_text.lines("autoRestart", restarts, "  ") if restarts else ()),
        *_texts("config", config),
    ]
    return "".join(f"{line}\n" for line in lines)
