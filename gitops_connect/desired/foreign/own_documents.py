"""Documents of this project, and those of Strimzi resources, as connectors to convert."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gitops_connect.desired import clear_secrets, connector_rules
from gitops_connect.desired.fields import TASKS, ConnectorFields
from gitops_connect.desired.foreign import strimzi_resources
from gitops_connect.model.declarations import ConnectorDeclaration
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import Document
from gitops_connect.model.file_formats import FileFormat
from gitops_connect.model.names import ClusterName

_DIRECTORY = "clusters"
_CONFIG_FIELDS = ("class", "version", "tasksMax", "state", "config", "secrets")
"""The fields of `spec` that are not in `ConnectorDeclaration.fields`: what Connect gets, and the state."""
_RELATIVE = ("./", "../")


def read(document: Document) -> tuple[ConnectorDeclaration | None, list[Diagnostic]]:
    """The connector of a document that fits its schema, and its problems; None if it cannot be converted."""
    if document.is_offset_change:
        summary = f"the offset change {document.operation!r} is not converted: it is no connector"
        return None, [_problem(document, "convert/offset-change", summary, ("kind",))]
    fields = ConnectorFields.of(document)
    problems = [*connector_rules.check(fields), *clear_secrets.check(document), *_relative_path(document)]
    if any(one.severity is Severity.ERROR for one in problems):
        return None, problems
    spec, metadata, resource = document.value["spec"], document.value["metadata"], document.resource
    config = dict(fields.connector().config)
    if fields.tasks_max is None and TASKS not in fields.config:
        del config[TASKS]
    declaration = ConnectorDeclaration(
        name=fields.name,
        format=FileFormat.STRIMZI if resource else FileFormat.GITOPS_CONNECT,
        location=document.location,
        config=config,
        state=fields.state,
        cluster=document.cluster or _cluster_of(document.location.file),
        labels=strimzi_resources.texts_of(resource, "labels") if resource else metadata.get("labels", {}),
        annotations=(
            strimzi_resources.texts_of(resource, "annotations") if resource else metadata.get("annotations", {})
        ),
        secrets=fields.secrets,
        fields={key: value for key, value in spec.items() if key not in _CONFIG_FIELDS},
        places=dict(_places(document)),
    )
    return declaration, problems


def _cluster_of(path: str) -> ClusterName | None:
    """NAME, if the file is in a directory `clusters/NAME/`."""
    directories = path.split("/")[:-1]
    found = [name for parent, name in pairwise(directories) if parent == _DIRECTORY]
    return ClusterName(found[-1]) if found else None


def _places(document: Document) -> Iterator[tuple[str, Location]]:
    """The location of each field of `spec` and `metadata`, and of each config key."""
    for pointer in document.positions:
        if len(pointer) == 2 and pointer[0] in ("spec", "metadata"):
            yield str(pointer[1]), document.locate(pointer)
    for pointer in document.positions:
        if len(pointer) == 3 and pointer[:2] in (("spec", "config"), ("spec", "secrets")):
            yield str(pointer[2]), document.locate(pointer)


def _relative_path(document: Document) -> Iterator[Diagnostic]:
    manifest = document.value["spec"].get("initialOffsets", {}).get("manifest", {})
    if str(manifest.get("path", "")).startswith(_RELATIVE):
        summary = f"the path {manifest['path']!r} is relative to the file, which is written to another directory"
        yield _problem(document, "convert/path", summary, ("spec", "initialOffsets", "manifest", "path"))


def _problem(document: Document, rule: str, summary: str, pointer: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(Severity.WARNING, rule, summary, document.locate(pointer), "", document.connector)
