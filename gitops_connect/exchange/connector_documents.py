"""Declared connectors as documents in which no secret is, with what the target format cannot express.

And the names of files and environment variables, which are made of the names of connectors and config keys.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, assert_never

from gitops_connect.documents.connector_rules import clear_secrets
from gitops_connect.documents.fields import CLASS, TASKS, VERSION
from gitops_connect.exchange.declarations import ConnectorDeclaration, TargetFormat, reference_of
from gitops_connect.exchange.document_text import lost_in_resource, problem_of_resource
from gitops_connect.model.desired import SecretReference, SecretSource, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.masking import clear_secret
from gitops_connect.model.names import REFUSED_IN_KEYS, ClusterName, ConnectorName, first_refused
from gitops_connect.model.sensitivity import is_mask, is_only_reference, is_placeholder, is_sensitive_key
from gitops_connect.report.printable import shortened

_PLACEHOLDER = re.compile(r"\$\{strimzi(?:env|dir|file|secrets):")
_BEGIN_OF_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY")
_MISPLACED = "convert/secret"
_NEVER_SECRET = (CLASS, VERSION, TASKS)
_LONGEST = 200
"""Characters. File systems allow 255 bytes, and some are for the suffix."""
_LONGEST_KEY = 1000
"""Characters of a config key that every YAML parser reads: the limit of YAML is 1024."""


class Converted(NamedTuple):
    """A connector, and the connector without secrets: each key of its `secrets` is not in its `config`."""

    source: ConnectorDeclaration
    document: ConnectorDeclaration


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """The target, the variables that no secret may have, and the names of the clusters for Strimzi, if they differ.

    `with_cluster`: the names of variables have the cluster, also if all connectors are of one cluster.
    """

    target: TargetFormat
    reserved: Collection[str] = ()
    connect_clusters: Mapping[ClusterName, ClusterName] = field(default_factory=dict)
    with_cluster: bool = False


def convert_all(declarations: Sequence[ConnectorDeclaration], options: ConvertOptions) -> list[Converted]:
    """Each connector as a document. Variables that a document names already are not chosen for another secret."""
    taken = [*options.reserved, *(one.name for source in declarations for one in source.secrets.values())]
    variables = UniqueNames(taken)
    with_cluster = options.with_cluster or len({source.cluster for source in declarations}) > 1
    converted = []
    for source in declarations:
        kept = _with_ignored_keys(source) if options.target is TargetFormat.GITOPS_CONNECT else source
        secrets = _secrets(kept, variables, with_cluster=with_cluster)
        config = {key: value for key, value in kept.config.items() if key not in secrets}
        cluster = source.cluster
        if options.target is TargetFormat.STRIMZI and cluster is not None:
            cluster = options.connect_clusters.get(cluster, cluster)
        document = replace(kept, cluster=cluster, config=config, secrets={**secrets, **source.secrets})
        converted.append(Converted(source, document))
    return converted


def _with_ignored_keys(source: ConnectorDeclaration) -> ConnectorDeclaration:
    """The connector without the config keys that no document can have: their values on the cluster are ignored."""
    odd = {key for key in (*source.config, *source.unknown) if _why_not(key)}
    if not odd:
        return source
    config, unknown = (
        {key: one for key, one in all_.items() if key not in odd} for all_ in (source.config, source.unknown)
    )
    ignored = [*source.fields.get("ignore", ()), *map(_pattern, sorted(odd))]
    return replace(source, config=config, unknown=unknown, fields={**source.fields, "ignore": ignored})


def _why_not(key: str) -> str:
    """Why a document cannot declare the config key; empty if it can. An empty key has no pattern either."""
    long = f"{len(key):,} characters, expected at most {_LONGEST_KEY:,}" if len(key) > _LONGEST_KEY else ""
    return first_refused(REFUSED_IN_KEYS, key) or long


def _pattern(key: str) -> str:
    """A pattern of `spec.ignore` that matches the key, and contains nothing from the first refused character on.

    The rest may be a secret that belongs elsewhere, as in `a.password: hunter2`.
    """
    found = REFUSED_IN_KEYS.search(key)
    end = min(found.start() if found else _LONGEST_KEY, _LONGEST_KEY // 4)
    begin = re.sub(r"[*?[]", r"[\g<0>]", key[:end])
    return f"{begin}[!!-~]*" if found and found.start() == end else f"{begin}*"


def left_out(source: ConnectorDeclaration) -> Iterator[Diagnostic]:
    """A warning for each config key that no document can have."""
    for key in sorted({*source.config, *source.unknown}):
        if why := _why_not(key):
            summary = f"a config key cannot be declared, and spec.ignore leaves it unchanged on the cluster: {why}"
            yield _problem(source, "convert/key", summary, key)


def _secrets(
    source: ConnectorDeclaration, variables: UniqueNames, *, with_cluster: bool
) -> Mapping[str, SecretReference]:
    """A variable for each config key whose value must not be in Git, or is unknown."""
    prefix = (source.cluster,) if with_cluster and source.cluster else ()
    hidden = sorted({*(key for key, value in source.config.items() if _is_secret(source, key, value)), *source.unknown})
    names = {key: variables.choose(variable_name(*prefix, source.name, key), "_") for key in hidden}
    return {key: SecretReference(SecretSource.ENV, name) for key, name in names.items()}


def _is_secret(source: ConnectorDeclaration, key: str, value: str) -> bool:
    """Whether a value must not be in Git. If the types of keys are unknown, a placeholder may be one of a secret."""
    if key in _NEVER_SECRET or not value:
        return False
    if is_mask(value) or clear_secret(key, value):
        return True
    if not source.is_described and is_placeholder(value) and is_sensitive_key(key):
        return True
    return key in source.sensitive and not is_only_reference(value)


def problems_of(converted: Converted, target: TargetFormat) -> list[Diagnostic]:
    """What the conversion leaves out or changes. A connector with an error must not be written."""
    source, document = converted
    problems = [*_misplaced_secrets(source), *_unknown_values(source, document.secrets)]
    problems += _losses(source, document, target)
    problems += left_out(source) if target is TargetFormat.GITOPS_CONNECT else ()
    problems += _placeholders(source) if target is not TargetFormat.STRIMZI else ()
    return problems


def _misplaced_secrets(source: ConnectorDeclaration) -> Iterator[Diagnostic]:
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


def _unknown_values(source: ConnectorDeclaration, secrets: Mapping[str, SecretReference]) -> Iterator[Diagnostic]:
    for key, expression in source.unknown.items():
        if key not in secrets:  # it is left out
            continue
        is_error = key in _NEVER_SECRET
        found = reference_of(expression) if expression else "not in the file"
        unknown = ", which is unknown" if expression else ""
        read_from = "" if is_error else f"{unknown}: it is read from {secrets[key].name}"
        summary = f"the value of {key!r} is {found}{read_from}"
        yield _problem(source, "convert/unknown-value", summary, key, is_error=is_error)


def _placeholders(source: ConnectorDeclaration) -> Iterator[Diagnostic]:
    for key, value in sorted(source.config.items()):
        if _PLACEHOLDER.search(value):
            summary = f"the value of {key!r} has a placeholder that only workers of Strimzi resolve"
            yield _problem(source, "convert/placeholder", summary, key)


def _losses(source: ConnectorDeclaration, document: ConnectorDeclaration, target: TargetFormat) -> Iterator[Diagnostic]:
    match target:
        case TargetFormat.GITOPS_CONNECT:
            return
        case TargetFormat.STRIMZI:
            if problem := problem_of_resource(document):
                yield _problem(source, "convert/target", problem, "metadata.name", is_error=True)
            yield from (_lost(source, name, "Strimzi") for name in lost_in_resource(document))
        case TargetFormat.JSON:
            if document.state is TargetState.ABSENT:
                yield _problem(source, "convert/target", "JSON has no state `absent`", "state", is_error=True)
            texts = [name for name, found in (("labels", source.labels), ("annotations", source.annotations)) if found]
            yield from (_lost(source, name, "JSON") for name in [*texts, *document.fields])
        case _:
            assert_never(target)
    for key, secret in source.secrets.items():
        if secret.source is SecretSource.FILE:
            summary = f"the secret of {key!r} is read on the worker, from the file {secret.name}"
            yield _problem(source, "convert/target", summary, key)


def _lost(source: ConnectorDeclaration, name: str, target: str) -> Diagnostic:
    return _problem(
        source, "convert/target", f"{target} has no counterpart of {name}: it is left out", name.partition(".")[0]
    )


def _problem(source: ConnectorDeclaration, rule: str, summary: str, key: str, *, is_error: bool = False) -> Diagnostic:
    severity = Severity.ERROR if is_error else Severity.WARNING
    summary = f"connector {shortened(source.name)}: {summary}"
    return Diagnostic(severity, rule, summary, source.locate(key), "", source.name)


class UniqueNames:
    """Uses each name once. Case does not count, because some file systems ignore it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}
        self._numbers: dict[str, int] = defaultdict(lambda: 1)

    def choose(self, name: str, separator: str) -> str:
        """The name, with a number at its end if it is taken."""
        chosen = name
        while chosen.lower() in self._taken:
            self._numbers[name.lower()] += 1
            chosen = f"{name}{separator}{self._numbers[name.lower()]}"
        self._taken.add(chosen.lower())
        return chosen


def file_stems(names: Collection[ConnectorName], taken: Collection[str] = ()) -> Mapping[ConnectorName, str]:
    """A file name without suffix for each connector. A connector whose name is a safe file name has the first choice.

    A file name does not begin with a dot: hidden files are not read.
    """
    stems = {name: re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip(".-")[:_LONGEST] or "connector" for name in names}
    unique = UniqueNames(taken)
    return {name: unique.choose(stems[name], "-") for name in sorted(names, key=lambda one: (stems[one] != one, one))}


def variable_name(*parts: str) -> str:
    """The name of an environment variable that is not one of gitops-connect's own settings."""
    name = re.sub(r"[^A-Z0-9]", "_", "_".join(part[:_LONGEST] for part in parts).upper())
    return f"_{name}" if name[0].isdigit() or name.startswith("GITOPS_CONNECT_") else name
