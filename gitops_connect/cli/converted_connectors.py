"""Connectors of files as documents in which no secret is, with what the target format cannot express."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import assert_never

from gitops_connect.cli.import_names import UniqueNames, variable_name
from gitops_connect.desired.clear_secrets import clear_secrets
from gitops_connect.model.declarations import ConnectorDeclaration
from gitops_connect.model.desired import SecretSource, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.expressions import reference_of
from gitops_connect.model.file_formats import TargetFormat
from gitops_connect.model.masking import clear_secret
from gitops_connect.model.names import ClusterName
from gitops_connect.model.sensitivity import is_mask, is_only_reference, is_placeholder, is_sensitive_key
from gitops_connect.report import connector_document, strimzi_document
from gitops_connect.report.connector_document import ConnectorDocument
from gitops_connect.report.printable import shortened

_PLACEHOLDER = re.compile(r"\$\{strimzi(?:env|dir|file|secrets):")
_BEGIN_OF_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY")
_MISPLACED = "convert/secret"
_NEVER_SECRET = (connector_document.CLASS, connector_document.VERSION, connector_document.TASKS)


@dataclass(frozen=True, slots=True)
class Converted:
    """A connector, the document of it, and what its conversion leaves out or changes."""

    source: ConnectorDeclaration
    document: ConnectorDocument
    problems: Sequence[Diagnostic] = field(default_factory=tuple)

    @property
    def failed(self) -> bool:
        """Whether it must not be written."""
        return any(one.severity is Severity.ERROR for one in self.problems)


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """The target, the variables that no secret may have, and the names of the clusters for Strimzi, if they differ."""

    target: TargetFormat
    reserved: Collection[str] = ()
    connect_clusters: Mapping[ClusterName, ClusterName] = field(default_factory=dict)


def convert_all(declarations: Sequence[ConnectorDeclaration], options: ConvertOptions) -> list[Converted]:
    """Each connector as a document. Variables that a document names already are not chosen for another secret."""
    taken = [*options.reserved, *(one.name for source in declarations for one in source.secrets.values())]
    variables = UniqueNames(taken)
    several = len({source.cluster for source in declarations}) > 1
    return [_convert(source, variables, options, with_cluster=several) for source in declarations]


def text_of(converted: Converted, target: TargetFormat) -> str:
    """The content of the file."""
    from gitops_connect.report.table import as_json

    document = converted.document
    match target:
        case TargetFormat.GITOPS_CONNECT:
            return connector_document.render(document)
        case TargetFormat.STRIMZI:
            return strimzi_document.render(_with_references(document, target))
        case TargetFormat.JSON:
            return as_json(json_body(converted))
        case _:
            assert_never(target)


def json_body(converted: Converted) -> Mapping[str, object]:
    """The body of POST `/connectors`."""
    from gitops_connect.connect.wire import create_body

    document = _with_references(converted.document, TargetFormat.JSON)
    state = None if document.state is TargetState.RUNNING else document.state
    return create_body(document.name, dict(sorted(document.config.items())), state)


def references(converted: Sequence[Converted], target: TargetFormat) -> str:
    """The settings or the references that the secrets of the documents need; empty if there are none."""
    documents = [one.document for one in converted]
    match target:
        case TargetFormat.GITOPS_CONNECT:
            return connector_document.allowed_variables(documents)
        case TargetFormat.STRIMZI:
            return connector_document.placeholders(documents, strimzi_document.placeholder)
        case TargetFormat.JSON:
            return connector_document.placeholders(documents)
        case _:
            assert_never(target)


def _convert(
    source: ConnectorDeclaration, variables: UniqueNames, options: ConvertOptions, *, with_cluster: bool
) -> Converted:
    target, cluster = options.target, source.cluster
    if target is TargetFormat.STRIMZI and cluster is not None:
        cluster = options.connect_clusters.get(cluster, cluster)
    prefix = (source.cluster,) if with_cluster and source.cluster else ()
    own = {key: one.name for key, one in source.secrets.items() if one.source is SecretSource.ENV}
    hidden = sorted({*(key for key, value in source.config.items() if _is_secret(source, key, value)), *source.unknown})
    secrets = {key: variables.choose(variable_name(*prefix, source.name, key), "_") for key in hidden}
    document = ConnectorDocument(
        name=source.name,
        cluster=cluster,
        state=source.state,
        config={key: value for key, value in source.config.items() if key not in secrets},
        secrets={**secrets, **own},
        secret_files={key: one.name for key, one in source.secrets.items() if one.source is SecretSource.FILE},
        labels=source.labels,
        annotations=source.annotations,
        fields=source.fields,
    )
    problems = [*_misplaced_secrets(source), *_unknown_values(source, secrets), *_losses(source, document, target)]
    problems += _placeholders(source) if target is not TargetFormat.STRIMZI else ()
    return Converted(source, document, problems)


def _is_secret(source: ConnectorDeclaration, key: str, value: str) -> bool:
    """Whether a value must not be in Git. The types of keys are unknown: no worker is asked."""
    if key in _NEVER_SECRET or not value:
        return False
    if is_mask(value) or clear_secret(key, value) or (is_placeholder(value) and is_sensitive_key(key)):
        return True
    return key in source.sensitive and not is_only_reference(value)


def _misplaced_secrets(source: ConnectorDeclaration) -> Iterator[Diagnostic]:
    """An error for each secret that no variable can replace."""
    elsewhere = {"labels": source.labels, "annotations": source.annotations, **source.fields}
    for pointer, kind in clear_secrets({"metadata": elsewhere}, {}):
        place = ".".join(map(str, pointer[1:]))
        yield _problem(source, _MISPLACED, f"{place} contains {kind}", str(pointer[1]), is_error=True)
    for key, value in source.config.items():
        if in_key := clear_secret("", key):
            yield _problem(source, _MISPLACED, f"the name of a config key contains {in_key}", key, is_error=True)
        if _BEGIN_OF_KEY.search(value) and "-----END" not in value:
            summary = f"the value of {key!r} is cut off: the rest of a private key may be in the next config keys"
            yield _problem(source, _MISPLACED, summary, key, is_error=True)


def _unknown_values(source: ConnectorDeclaration, secrets: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, expression in source.unknown.items():
        shown = reference_of(expression)
        summary = f"the value of {key!r} is {shown}, which is unknown: it is read from {secrets[key]}"
        if key in _NEVER_SECRET:
            yield _problem(source, "convert/unknown-value", f"the value of {key!r} is {shown}", key, is_error=True)
        else:
            yield _problem(source, "convert/unknown-value", summary, key)


def _placeholders(source: ConnectorDeclaration) -> Iterator[Diagnostic]:
    for key, value in sorted(source.config.items()):
        if _PLACEHOLDER.search(value):
            summary = f"the value of {key!r} has a placeholder that only workers of Strimzi resolve"
            yield _problem(source, "convert/placeholder", summary, key)


def _losses(source: ConnectorDeclaration, document: ConnectorDocument, target: TargetFormat) -> Iterator[Diagnostic]:
    match target:
        case TargetFormat.GITOPS_CONNECT:
            return
        case TargetFormat.STRIMZI:
            if problem := strimzi_document.problem_of(document):
                yield _problem(source, "convert/target", problem, "metadata.name", is_error=True)
            yield from (_lost(source, name, "Strimzi") for name in strimzi_document.lost(document))
        case TargetFormat.JSON:
            if document.state is TargetState.ABSENT:
                yield _problem(source, "convert/target", "JSON has no state `absent`", "state", is_error=True)
            texts = [name for name, found in (("labels", source.labels), ("annotations", source.annotations)) if found]
            yield from (_lost(source, name, "JSON") for name in [*texts, *document.fields])
        case _:
            assert_never(target)
    for key, path in document.secret_files.items():
        summary = f"the secret of {key!r} is read on the worker, from the file {path}"
        yield _problem(source, "convert/target", summary, key)


def _lost(source: ConnectorDeclaration, name: str, target: str) -> Diagnostic:
    return _problem(
        source, "convert/target", f"{target} has no counterpart of {name}: it is left out", name.partition(".")[0]
    )


def _problem(source: ConnectorDeclaration, rule: str, summary: str, key: str, *, is_error: bool = False) -> Diagnostic:
    severity = Severity.ERROR if is_error else Severity.WARNING
    summary = f"connector {shortened(source.name)}: {summary}"
    return Diagnostic(severity, rule, summary, source.locate(key), "", source.name)


def _with_references(document: ConnectorDocument, target: TargetFormat) -> ConnectorDocument:
    """The document with references of config providers as the values of its secrets."""
    is_strimzi = target is TargetFormat.STRIMZI
    env = strimzi_document.placeholder if is_strimzi else connector_document.placeholder
    provider = "strimzidir" if is_strimzi else "directory"
    values = {key: env(name) for key, name in document.secrets.items()}
    for key, name in document.secret_files.items():
        path = PurePosixPath(name)
        values[key] = f"${{{provider}:{path.parent}:{path.name}}}"
    return replace(document, config={**document.config, **values}, secrets={}, secret_files={})
