"""Connect's own opinion of the configs, asked of a worker beforehand and laid on the lines of the documents.

It finds what no schema of ours can: what the plugin itself requires, and whether it is installed. It is advice from a
remote machine: where it cannot be had, that is a warning, and nothing waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.wire import unaddressable
from gitops_connect.errors import GitopsConnectError, Rejected, Unauthorized
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Pointer
from gitops_connect.model.suggestions import closest
from gitops_connect.model.validation import ConfigVerdict, ConnectChecks, Plugin

PATIENCE = 3
"""After so many failures the rest is not asked: a worker that hangs costs a whole time-out for each."""

_CLASS = "connector.class"
_NO_SUCH_CLASS = "Failed to find any class"
_MISSING = re.compile(r'Missing required configuration "(?P<key>[^"]+)"')
_ECHO_OF_ANOTHER = re.compile(r"Invalid value null for configuration \S+: Value must be non-null")


def validate(
    client: ConnectClient, connectors: Iterable[DesiredConnector], plugins: Sequence[Plugin] | None = None
) -> ConnectChecks:
    """Ask Connect about each config, as many at once as the client's parallelism. Raises nothing for what it answers.

    `connectors` have the values of their secrets in their configs; none of these gets into a diagnostic. `plugins` are
    only for suggestions, and are fetched where they are needed and not given.
    """
    asked = sorted(connectors, key=lambda connector: connector.name)
    inquiry = _Inquiry(client)
    with ThreadPoolExecutor(client.parallelism, thread_name_prefix="validate") as pool:
        verdicts = list(pool.map(inquiry.ask, asked))
    pairs = list(zip(asked, verdicts, strict=True))
    catalogue = _Catalogue(client, plugins)
    found = [problem for connector, verdict in pairs for problem in _problems(connector, verdict, catalogue)]
    found += _unasked([connector for connector, verdict in pairs if verdict is None], inquiry.reason)
    return ConnectChecks(
        Diagnostics.of(found),
        frozenset(item.connector for item in found if item.severity is Severity.ERROR and item.connector is not None),
        {connector.name: _sensitive(connector, verdict) for connector, verdict in pairs},
    )


@dataclass(slots=True)
class _Inquiry:
    """Asks, until the cluster has shown that it will not answer."""

    client: ConnectClient
    failures: int = 0
    reason: str = ""
    lock: Lock = field(default_factory=Lock)

    def ask(self, connector: DesiredConnector) -> ConfigVerdict | GitopsConnectError | None:
        """The verdict, the error in its place, or None where it was not asked any more."""
        if self.failures >= PATIENCE:
            return None
        config = {**connector.config, "name": connector.name}
        try:
            return self.client.validate(config.get(_CLASS, ""), config, sensitive=connector.secrets)
        except Rejected as error:
            return error
        except GitopsConnectError as error:
            with self.lock:
                self.failures += PATIENCE if isinstance(error, Unauthorized) else 1
                self.reason = str(error)
            return error


@dataclass(slots=True)
class _Catalogue:
    """The plugins of the worker, fetched when the first one is not there."""

    client: ConnectClient
    plugins: Sequence[Plugin] | None

    def classes(self) -> list[str]:
        if self.plugins is None:
            try:
                self.plugins = self.client.plugins()
            except GitopsConnectError:  # the unknown class is reported all the same, only without a suggestion
                self.plugins = ()
        return sorted({plugin.class_name for plugin in self.plugins})


def _problems(
    connector: DesiredConnector, verdict: ConfigVerdict | GitopsConnectError | None, catalogue: _Catalogue
) -> Iterator[Diagnostic]:
    if why := unaddressable(connector.name):
        summary = f"the connector name {connector.name!r} is of no use: {why}"
        yield _error(connector, "connect/unusable-name", summary, ("metadata", "name"))
    if isinstance(verdict, ConfigVerdict):
        for key, messages in verdict.errors.items():
            yield from _config_errors(connector, verdict, key, messages)
    elif isinstance(verdict, Rejected) and _NO_SUCH_CLASS in str(verdict):
        yield _unknown_plugin(connector, catalogue.classes())
    elif isinstance(verdict, Rejected):
        yield _error(connector, "connect/invalid-config", str(verdict), ("spec", "config"))
    elif verdict is not None:
        yield _not_validated(connector, f"Connect could not check this config: {verdict}")


def _config_errors(
    connector: DesiredConnector, verdict: ConfigVerdict, key: str, messages: tuple[str, ...]
) -> Iterator[Diagnostic]:
    telling = [message for message in messages if not _ECHO_OF_ANOTHER.fullmatch(message)] or messages
    for message in telling:
        location = connector.locate(("metadata", "name")) if key == "name" else connector.locate_config(key)
        hint = _hint(connector, verdict, message)
        yield Diagnostic(
            Severity.ERROR, "connect/invalid-config", f"{key}: {message}", location, hint, connector=connector.name
        )


def _hint(connector: DesiredConnector, verdict: ConfigVerdict, message: str) -> str:
    """A required key that is missing is often there under another spelling."""
    missing = _MISSING.match(message)
    if missing is None:
        return ""
    spare = closest(missing["key"], sorted(connector.config.keys() - verdict.defined))
    return f"is {spare!r} meant for it?" if spare else f"add {missing['key']!r} to spec.config"


def _unknown_plugin(connector: DesiredConnector, classes: list[str]) -> Diagnostic:
    wanted = connector.config.get(_CLASS, "")
    summary = f"the worker has no connector class {wanted!r}"
    by_name = {name: class_name for class_name in classes for name in (class_name, *_aliases(class_name))}
    meant = closest(wanted, by_name)
    hint = f"did you mean {meant!r}? " if meant else ""
    hint += f"there are {', '.join(classes)}" if classes else "install the plugin on every worker"
    return _error(connector, "connect/unknown-plugin", summary, ("spec", "class"), hint)


def _aliases(class_name: str) -> tuple[str, ...]:
    """The short names that Connect takes too: the simple name, with and without `Connector` (`PluginUtils`)."""
    simple = class_name.rpartition(".")[2].rpartition("$")[2]
    return simple, simple.removesuffix("Connector") or simple


def _unasked(connectors: list[DesiredConnector], reason: str) -> Iterator[Diagnostic]:
    if connectors:
        summary = f"Connect was not asked about this and {len(connectors) - 1} more configs, as it does not answer"
        yield _not_validated(connectors[0], f"{summary}: {reason}")


def _not_validated(connector: DesiredConnector, summary: str) -> Diagnostic:
    where = connector.locate(("spec",))
    return Diagnostic(Severity.WARNING, "connect/not-validated", summary, where, connector=connector.name)


def _error(connector: DesiredConnector, rule: str, summary: str, pointer: Pointer, hint: str = "") -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, summary, connector.locate(pointer), hint, connector=connector.name)


def _sensitive(connector: DesiredConnector, verdict: ConfigVerdict | GitopsConnectError | None) -> frozenset[str]:
    found = verdict.sensitive if isinstance(verdict, ConfigVerdict) else frozenset()
    return found | connector.secrets.keys()
