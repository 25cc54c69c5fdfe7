"""A `Connector` as the text of a file, and the list of the secrets that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_connect.model.desired import TargetState
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.report import yaml_text
from gitops_connect.report.printable import escaped

_CLASS, _VERSION, _TASKS = "connector.class", "connector.plugin.version", "tasks.max"
_MOST_TASKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConnectorDocument:
    """The content of the document. `config` is what Connect stores, without the keys of `secrets`.

    `secrets` has the environment variable of each secret key. `note` becomes a comment, if it is not empty.
    """

    name: ConnectorName
    cluster: ClusterName
    state: TargetState
    config: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def render(document: ConnectorDocument) -> str:
    """The document as YAML."""
    config = dict(sorted(document.config.items()))
    lines = [
        *([f"# {document.note}"] if document.note else []),
        "apiVersion: gitops-connect/v1",
        "kind: Connector",
        "metadata:",
        f"  name: {yaml_text.scalar(document.name)}",
        f"  cluster: {yaml_text.scalar(document.cluster)}",
        "spec:",
    ]
    if _CLASS in config:
        lines.append(yaml_text.field("class", config.pop(_CLASS), "  "))
    if config.get(_VERSION):
        lines.append(yaml_text.field("version", config.pop(_VERSION), "  "))
    if _is_number_of_tasks(config.get(_TASKS, "")):
        lines.append(f"  tasksMax: {config.pop(_TASKS)}")
    lines.append(f"  state: {document.state.value}")
    if config:
        lines += ["  config:", *(yaml_text.field(key, value, "    ") for key, value in config.items())]
    if document.secrets:
        lines += ["  secrets:", *_secrets(document.secrets)]
    return "".join(f"{line}\n" for line in lines)


def _is_number_of_tasks(text: str) -> bool:
    """Whether `spec.tasksMax` can have this value. Other values, such as `04`, are written into the config."""
    return text.isascii() and text.isdecimal() and text[0] != "0" and len(text) <= 10 and int(text) <= _MOST_TASKS


def _secrets(secrets: Mapping[str, str]) -> Iterator[str]:
    for key, variable in sorted(secrets.items()):
        yield f"    {yaml_text.scalar(key)}: {{env: {yaml_text.scalar(variable)}}}"


def allowed_variables(documents: Iterable[ConnectorDocument]) -> str:
    """The section of the settings that allows the variables of the documents; empty if there are none."""
    lines = [f'  "{variable}",  # {where}\n' for variable, where in _variables(documents)]
    return f"[secrets]\nenv = [\n{''.join(lines)}]\n" if lines else ""


def placeholders(documents: Iterable[ConnectorDocument]) -> str:
    """The variables of the documents, each with its placeholder, one a line."""
    return "".join(f"{placeholder(variable)}  # {where}\n" for variable, where in _variables(documents))


def placeholder(variable: str) -> str:
    """The reference to an environment variable of the worker, for Kafka's `EnvVarConfigProvider` (KIP-887)."""
    return f"${{env:{variable}}}"


def _variables(documents: Iterable[ConnectorDocument]) -> Iterator[tuple[str, str]]:
    """Each variable, and the connector and key that need it."""
    for document in documents:
        for key, variable in sorted(document.secrets.items()):
            yield variable, escaped(f"{document.name}: {key}")
