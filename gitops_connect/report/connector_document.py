"""A `Connector` as the text of a file, and the list of the secrets that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.report import yaml_text
from gitops_connect.report.printable import escaped

CLASS, VERSION, TASKS = "connector.class", "connector.plugin.version", "tasks.max"
_MOST_TASKS = 2**31 - 1


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


def render(document: ConnectorDocument) -> str:
    """The document as YAML."""
    config = dict(sorted(document.config.items()))
    lines = [
        *([f"# {document.note}"] if document.note else []),
        "apiVersion: gitops-connect/v1",
        "kind: Connector",
        "metadata:",
        f"  name: {yaml_text.scalar(document.name)}",
        *([f"  cluster: {yaml_text.scalar(document.cluster)}"] if document.cluster else []),
        *_texts("labels", document.labels),
        *_texts("annotations", document.annotations),
        "spec:",
    ]
    if CLASS in config:
        lines.append(yaml_text.field("class", config.pop(CLASS), "  "))
    if config.get(VERSION):
        lines.append(yaml_text.field("version", config.pop(VERSION), "  "))
    if is_number_of_tasks(config.get(TASKS, "")):
        lines.append(f"  tasksMax: {config.pop(TASKS)}")
    lines.append(f"  state: {document.state.value}")
    if config:
        lines += ["  config:", *(yaml_text.field(key, value, "    ") for key, value in config.items())]
    if document.secrets or document.secret_files:
        lines += ["  secrets:", *_secrets(document)]
    for name, value in document.fields.items():
        lines += yaml_text.lines(name, value, "  ")
    return "".join(f"{line}\n" for line in lines)


def is_number_of_tasks(text: str) -> bool:
    """Whether `spec.tasksMax` can have this value. Other values, such as `04`, are written into the config."""
    return text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= 10 and int(text) <= _MOST_TASKS


def _texts(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    if texts:
        yield f"  {name}:"
        yield from (yaml_text.field(key, text, "    ") for key, text in sorted(texts.items()))


def _secrets(document: ConnectorDocument) -> Iterator[str]:
    sources = {key: ("env", name) for key, name in document.secrets.items()}
    sources |= {key: ("file", path) for key, path in document.secret_files.items()}
    for key, (source, name) in sorted(sources.items()):
        yield f"    {yaml_text.scalar(key)}: {{{source}: {yaml_text.in_flow(name)}}}"


def allowed_variables(documents: Iterable[ConnectorDocument]) -> str:
    """The section of the settings that allows the variables of the documents; empty if there are none."""
    lines = [f'  "{variable}",  # {where}\n' for variable, where in _variables(documents)]
    return f"[secrets]\nenv = [\n{''.join(lines)}]\n" if lines else ""


def placeholder(variable: str) -> str:
    """The reference to an environment variable of the worker, for Kafka's `EnvVarConfigProvider` (KIP-887)."""
    return f"${{env:{variable}}}"


def placeholders(documents: Iterable[ConnectorDocument], reference: Callable[[str], str] = placeholder) -> str:
    """The variables of the documents, each as a reference, one a line."""
    return "".join(f"{reference(variable)}  # {where}\n" for variable, where in _variables(documents))


def _variables(documents: Iterable[ConnectorDocument]) -> Iterator[tuple[str, str]]:
    """Each variable, and the connector and key that need it."""
    for document in documents:
        for key, variable in sorted(document.secrets.items()):
            yield variable, escaped(f"{document.name}: {key}")
