"""The fields of a `Connector` document that passed its schema, typed, with their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from gitops_connect.model.desired import (
    ALLOW_UNKNOWN_KEYS,
    DesiredConnector,
    Mode,
    OnDelete,
    OnManualPause,
    SecretReference,
    SecretSource,
    TargetState,
)
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.durations import parse_duration
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.restarts import AutoRestart, RestartKind, RestartRequest
from gitops_connect.model.rollbacks import RollbackOptions, RollbackTrigger

NAME = "name"
CLASS = "connector.class"
TASKS = "tasks.max"
VERSION = "connector.plugin.version"
_DEFAULT_TASKS = 1


@dataclass(frozen=True, slots=True)
class ConnectorFields:
    """The fields of a document. `config` is `spec.config` as strings; None marks a field that the document omits."""

    document: Document
    name: ConnectorName
    config: Mapping[str, str] = field(repr=False)
    connector_class: str | None
    tasks_max: int | None
    version: str | None
    state: TargetState
    secrets: Mapping[str, SecretReference]

    @staticmethod
    def of(document: Document) -> ConnectorFields:
        """The fields of a document, which must not have schema errors."""
        spec = document.value["spec"]
        tasks_max = spec.get("tasksMax")
        return ConnectorFields(
            document=document,
            name=ConnectorName(document.value["metadata"]["name"]),
            config=_config(document),
            connector_class=spec.get("class"),
            tasks_max=int(tasks_max) if tasks_max is not None else None,
            version=spec.get("version"),
            state=TargetState(spec.get("state", TargetState.RUNNING.value)),
            secrets={key: _secret(reference) for key, reference in spec.get("secrets", {}).items()},
        )

    @property
    def annotations(self) -> Mapping[str, str]:
        """`metadata.annotations`."""
        found: Mapping[str, str] = self.document.value["metadata"].get("annotations", {})
        return found

    def connector(self) -> DesiredConnector:
        """The connector that the document declares, without its initial offsets; its config as Connect stores it."""
        spec = self.document.value["spec"]
        config = {key: value for key, value in self.config.items() if key != NAME}
        if self.connector_class is not None:
            config[CLASS] = self.connector_class
        if self.tasks_max is not None or TASKS not in config:
            config[TASKS] = str(self.tasks_max or _DEFAULT_TASKS)
        if self.version is not None:
            config[VERSION] = self.version
        return DesiredConnector(
            name=self.name,
            state=self.state,
            config=config,
            document=self.document,
            secrets=self.secrets,
            ignore=tuple(spec.get("ignore", ())),
            allow_unknown_keys=tuple(self.annotations.get(ALLOW_UNKNOWN_KEYS, "").replace(",", " ").split()),
            mode=Mode(spec.get("mode", Mode.ENFORCE.value)),
            suspend=spec.get("suspend", False),
            on_manual_pause=OnManualPause(spec["onManualPause"]) if "onManualPause" in spec else None,
            auto_restart=_auto_restart(spec.get("autoRestart", {})),
            restarts=tuple(_restart_requests(spec, self.document.texts)),
            rollback=_rollback(spec.get("rollback")),
            offsets_move_within=_duration(spec.get("health", {}).get("offsetsMoveWithin")),
            on_delete=OnDelete(spec.get("onDelete", {}).get("offsets", OnDelete.KEEP.value)),
        )


def _auto_restart(fields: Mapping[str, Any]) -> AutoRestart:
    default = AutoRestart()
    return AutoRestart(
        fields.get("enabled", default.enabled),
        int(fields.get("maxRestarts", default.max_restarts)),
        tuple(fields.get("onlyOn", ())),
        tuple(fields.get("neverOn", ())),
    )


def _rollback(fields: Mapping[str, Any] | None) -> RollbackOptions | None:
    if fields is None:
        return None
    on = frozenset(RollbackTrigger(name) for name in fields.get("on", [one.value for one in RollbackTrigger]))
    return RollbackOptions(timedelta(seconds=parse_duration(fields["watch"])), on)


def _duration(value: str | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=parse_duration(value))


def _restart_requests(spec: Mapping[str, Any], texts: Mapping[Pointer, str]) -> Iterator[RestartRequest]:
    if (fields := spec.get(RestartKind.CONNECTOR.value)) is not None:
        include_tasks, only_failed = fields.get("includeTasks", True), fields.get("onlyFailed", False)
        yield RestartRequest(RestartKind.CONNECTOR, fields["id"], include_tasks, only_failed)
    if (fields := spec.get(RestartKind.TASKS.value)) is not None:
        tasks = tuple(sorted({int(task) for task in fields["tasks"]}))
        yield RestartRequest(RestartKind.TASKS, fields["id"], tasks=tasks)
    if (version := spec.get(RestartKind.SECRETS.value)) is not None:
        yield RestartRequest(RestartKind.SECRETS, texts.get(("spec", RestartKind.SECRETS.value), str(version)))


def _config(document: Document) -> dict[str, str]:
    """Every value in its source text: `1.10` stays `1.10`, and `True` stays `True`."""
    config: Mapping[str, Any] = document.value["spec"].get("config", {})
    texts = document.texts
    return {key: texts.get(("spec", "config", key), value) for key, value in config.items()}


def secret_references(document: Document) -> Mapping[str, SecretReference]:
    """The entries of `spec.secrets` with exactly one source, of any document, also of a document with errors."""
    spec = document.value.get("spec")
    secrets = spec.get("secrets") if isinstance(spec, Mapping) else None
    if not isinstance(secrets, Mapping):
        return {}
    return {key: _secret(one) for key, one in secrets.items() if isinstance(key, str) and _is_reference(one)}


def _is_reference(value: object) -> bool:
    sources = {source.value for source in SecretSource}
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((source, name),) = value.items()
    return source in sources and isinstance(name, str)


def _secret(reference: Mapping[str, str]) -> SecretReference:
    source = SecretSource.ENV if SecretSource.ENV.value in reference else SecretSource.FILE
    return SecretReference(source, reference[source.value])
