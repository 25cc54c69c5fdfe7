"""The connectors of a cluster as documents, in which no secret is: what `import` writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import TYPE_CHECKING

from gitops_connect.cli.console import echo
from gitops_connect.cli.import_names import UniqueNames, variable_name
from gitops_connect.errors import GitopsConnectError, NotFound

if TYPE_CHECKING:
    from gitops_connect.connect.client import ConnectClient
    from gitops_connect.model.desired import TargetState
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.model.observed_state import ConnectVersion, ObservedConnector, ObservedState, WorkerState
    from gitops_connect.model.strimzi import StrimziOptions
    from gitops_connect.report.connector_document import ConnectorDocument
    from gitops_connect.settings.sections import Settings

_CLASS = "connector.class"
_SHOWN = frozenset((_CLASS, "connector.plugin.version", "tasks.max"))
"""Keys that are never secrets: `spec.class` and `spec.tasksMax`."""
_PART = re.compile(r"(?:transforms|predicates)\..+\.type|(?:key|value|header)\.converter", re.DOTALL)
"""Keys with the class of a part of the connector, which has config keys of its own."""
PasswordKeys = frozenset[str] | GitopsConnectError | None
"""The keys of type PASSWORD of a class; None if no worker has the class, or the error of the request."""


@dataclass(frozen=True, slots=True)
class Found:
    """The chosen connectors of a cluster. `names` are all of its connectors, `unread` the chosen ones without state."""

    connectors: tuple[ObservedConnector, ...]
    unread: tuple[ConnectorName, ...]
    names: frozenset[ConnectorName]
    version: ConnectVersion


def find(client: ConnectClient, selectors: Collection[str]) -> Found:
    """The connectors whose names match one of the patterns, or all without patterns, sorted by name.

    Raises NotFound for a pattern that matches nothing, and the errors of the requests.
    """
    observed = _observe(client)
    names = observed.connectors.keys() | observed.unknown
    chosen = sorted(name for name in names if not selectors or any(fnmatchcase(name, one) for one in selectors))
    for pattern in selectors:
        if not any(fnmatchcase(name, pattern) for name in chosen):
            raise NotFound(f"cluster {client.cluster} has no connector that matches {pattern!r}")
    readable = tuple(observed.connectors[name] for name in chosen if name in observed.connectors)
    unread = tuple(name for name in chosen if name in observed.unknown)
    return Found(readable, unread, frozenset(names), observed.version)


def _observe(client: ConnectClient) -> ObservedState:
    """All connectors, once the worker has read the whole config topic, and none is in transit."""
    from gitops_connect.observed import observe_at_rest
    from gitops_connect.runtime import SystemClock

    client.await_herder()
    return observe_at_rest(client, client.names(), SystemClock())


@dataclass(frozen=True, slots=True)
class Imported:
    """The documents, and the connectors without one, each with the reason."""

    documents: list[ConnectorDocument] = field(default_factory=list)
    failed: dict[ConnectorName, str] = field(default_factory=dict)


def documents_of(client: ConnectClient, found: Found, settings: Settings) -> Imported:
    """A document for each connector. If its secret keys cannot be determined, it has none."""
    from gitops_connect.model.capabilities import PLUGIN_KEYS
    from gitops_connect.settings.own import own_variables

    imported = Imported(failed=dict.fromkeys(found.unread, "the workers did not report its state and config"))
    prefix = (client.cluster,) if len(settings.clusters) > 1 else ()
    variables = UniqueNames(own_variables(settings))
    described = _described_by(client, found.version)
    for observed in found.connectors:
        passwords = _all_password_keys(observed, described)
        if isinstance(passwords, GitopsConnectError):
            imported.failed[observed.name] = f"cannot determine which config keys are passwords: {passwords}"
            continue
        if passwords is None and PLUGIN_KEYS.is_in(found.version):
            echo(f"note: connector {observed.name}: no worker has its plugin, so every config value counts as a secret")
        secrets = {
            key: variables.choose(variable_name(*prefix, observed.name, key), "_")
            for key, value in sorted(observed.config.items())
            if key not in _SHOWN and _is_secret(key, value, passwords)
        }
        imported.documents.append(_document(client.cluster, observed, secrets))
    return imported


def _described_by(client: ConnectClient, version: ConnectVersion) -> Callable[..., PasswordKeys]:
    """A function from a class and its version to its keys of type PASSWORD."""
    from gitops_connect.model.capabilities import PLUGIN_KEYS

    if PLUGIN_KEYS.is_in(version):
        return cache(partial(_password_keys, client))
    echo(f"note: {PLUGIN_KEYS.missing(version)}, so every config value counts as a secret")
    return lambda _class_name, _version="": None


def _all_password_keys(observed: ObservedConnector, described: Callable[..., PasswordKeys]) -> PasswordKeys:
    """The keys of type PASSWORD of the connector's plugin, and of its transforms, predicates and converters.

    `described` returns those of one class, in a version if it is known. A part that no worker has is left out.
    """
    config = observed.config
    own = described(config.get(_CLASS, ""), observed.version)
    if not isinstance(own, frozenset):
        return own
    found = set(own)
    for key in filter(_PART.fullmatch, config):
        keys = described(config[key]) if config[key] else None
        if isinstance(keys, GitopsConnectError):
            return keys
        prefix = key.removesuffix("type") if key.endswith(".type") else f"{key}."
        found |= {prefix + one for one in keys or ()}
    return frozenset(found)


def _password_keys(client: ConnectClient, class_name: str, version: str = "") -> PasswordKeys:
    """The keys of type PASSWORD; None if no worker has the plugin, or the error of the request."""
    try:
        return client.sensitive_keys(class_name, version)
    except NotFound:
        return None
    except GitopsConnectError as error:
        return error


def _is_secret(key: str, value: str, passwords: Collection[str] | None) -> bool:
    """Whether a value must not be in Git. `passwords` None: every key may be a password."""
    from gitops_connect.model.masking import clear_secret
    from gitops_connect.model.sensitivity import is_mask, is_only_reference

    if is_mask(value) or clear_secret(key, value):
        return True
    return (passwords is None or key in passwords) and bool(value) and not is_only_reference(value)


def _document(cluster: ClusterName, observed: ObservedConnector, secrets: Mapping[str, str]) -> ConnectorDocument:
    from gitops_connect.report.connector_document import ConnectorDocument

    state, is_certain = _target_state(observed.state)
    note = f"The connector was {observed.state.value}, which does not show its target state. `running` is assumed."
    config = {key: value for key, value in observed.config.items() if key not in secrets}
    return ConnectorDocument(observed.name, cluster, state, config, secrets, "" if is_certain else note)


def _target_state(state: WorkerState) -> tuple[TargetState, bool]:
    """The state to declare, and whether the state on the cluster shows it."""
    from gitops_connect.model.desired import TargetState
    from gitops_connect.model.observed_state import WorkerState

    certain = {
        WorkerState.RUNNING: TargetState.RUNNING,
        WorkerState.PAUSED: TargetState.PAUSED,
        WorkerState.STOPPED: TargetState.STOPPED,
    }
    return certain.get(state, TargetState.RUNNING), state in certain


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Documents that were read again: the config of each valid connector, and the first error of each other one."""

    configs: Mapping[ConnectorName, Mapping[str, str]] = field(repr=False)
    problems: Mapping[ConnectorName, str]


def problems_of(texts: Mapping[ConnectorName, str], cluster: ClusterName | None) -> Mapping[ConnectorName, str]:
    """The connectors whose documents are invalid, such as one with a slash in its name, each with the first error.

    `cluster` is the cluster that the documents name, or None if they name none.
    """
    return read_back(texts, cluster).problems


def read_back(
    texts: Mapping[ConnectorName, str], cluster: ClusterName | None, strimzi: StrimziOptions | None = None
) -> ReadBack:
    """Read the documents or resources of connectors, each as the file of a repository."""
    from gitops_connect.checks import document_schemas
    from gitops_connect.desired import desired_state
    from gitops_connect.desired.file_content import read_file
    from gitops_connect.desired.strimzi.translation import TranslationCache, translate
    from gitops_connect.model.diagnostics import Diagnostics
    from gitops_connect.model.documents import Blob, Documents
    from gitops_connect.model.strimzi import DEFAULT_OPTIONS

    names = {f"{number:09}": name for number, name in enumerate(texts)}
    read = [read_file(Blob(path, "", texts[name].encode())) for path, name in names.items()]
    parsed = [one for one in read if one is not None]
    documents = Documents(
        tuple(document for one in parsed for document in one.documents),
        Diagnostics.of(problem for one in parsed for problem in one.diagnostics),
        all(one.complete for one in parsed),
        tuple(document for one in parsed for document in one.broken),
        strimzi=tuple(resource for one in parsed for resource in one.strimzi),
        broken_strimzi=tuple(resource for one in parsed for resource in one.broken_strimzi),
    )
    documents = translate(documents, strimzi or DEFAULT_OPTIONS, TranslationCache())
    problems = document_schemas.check(documents)
    states, diagnostics = desired_state.build(documents, [cluster] if cluster else None, problems)
    return ReadBack(
        {one.name: one.config for state in states.values() for one in state.connectors},
        {
            names[error.location.file]: f"its document would be invalid: {error.summary}"
            for error in reversed(diagnostics.errors)
        },
    )
