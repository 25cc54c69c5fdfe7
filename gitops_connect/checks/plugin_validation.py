"""Connect's own validation of the configs, requested from a worker and mapped to the lines of the documents.

It finds errors that no schema of this project can find: what the plugin itself requires, and whether it is installed.
It is advice from a remote machine: if Connect does not answer, that is a warning, and blocks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from threading import Lock

from gitops_connect.checks.unknown_keys import unknown_keys
from gitops_connect.connect.capabilities import EXACTLY_ONCE, PLUGIN_VERSIONS, Capability
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exactly_once_answers import known_answer
from gitops_connect.connect.validation import ConfigVerdict, ConnectChecks, Plugin, installed_versions
from gitops_connect.errors import GitopsConnectError, Rejected, Unauthorized
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.families.sinks import is_sink
from gitops_connect.model.clock import Clock
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity, contained_or
from gitops_connect.model.exactly_once import BOUNDARY, FIELDS, SUPPORT
from gitops_connect.model.masking import distinctive, mask, sensitive_values
from gitops_connect.model.names import unaddressable
from gitops_connect.model.observed_state import ConnectVersion
from gitops_connect.model.suggestions import closest
from gitops_connect.tracing.spans import in_trace

PATIENCE = 3
"""After this many failures the remaining configs are skipped: a hanging worker costs a whole timeout for each."""

_CLASS = "connector.class"
Answer = ConfigVerdict | Exception | None
"""The verdict on a config, or the error instead; None if the config was not checked."""
_Pair = tuple[DesiredConnector, Answer]
NO_SUCH_CLASS = "Failed to find any class"
"""The beginning of Connect's answer for a class that no worker has."""


@dataclass(frozen=True, slots=True)
class ValidateOptions:
    """`timeout`: seconds after which no further config is sent, and requests in progress are ended.

    `say` gets the progress, from any thread. `unmerged` are the classes whose configs may be sent before the merge.
    `families` are the known connector classes.
    """

    clock: Clock
    timeout: float
    say: Callable[[str], None]
    unmerged: tuple[str, ...] = ()
    families: Registry = BUILT_IN


def validate(
    client: ConnectClient,
    connectors: Iterable[DesiredConnector],
    options: ValidateOptions,
    plugins: Sequence[Plugin] | None = None,
) -> ConnectChecks:
    """Validate each config on Connect, as many in parallel as the client allows. Raises nothing for an answer.

    `connectors` have the values of their secrets in their configs; no diagnostic contains one of these. `plugins` are
    only for suggestions, and are fetched if they are needed and not given.

    The configs that were not checked before the timeout, or because Connect does not answer, are one warning.
    """
    pairs, reason = answers(client, connectors, options)
    return checks_of(pairs, Catalogue(client, plugins, options.families), reason)


def answers(
    client: ConnectClient, connectors: Iterable[DesiredConnector], options: ValidateOptions
) -> tuple[Sequence[_Pair], str]:
    """Connect's answer to each config, sorted by connector, and the reason why some configs were not checked."""
    ordered = sorted(connectors, key=lambda connector: connector.name)
    validation = _Validation(client, options, len(ordered), options.clock.monotonic() + options.timeout)
    with client.threads() as pool:
        asked = [pool.submit(in_trace(validation.validate), connector) for connector in ordered]
    return [(connector, one.result()) for connector, one in zip(ordered, asked, strict=True)], validation.reason


def checks_of(pairs: Sequence[_Pair], catalogue: Catalogue, reason: str) -> ConnectChecks:
    """The result of these verdicts. `reason`: why some of the configs were not checked."""
    pairs = _without_secrets(pairs)
    found = [problem for connector, verdict in pairs for problem in _contained(connector, verdict, catalogue)]
    found += _unchecked([connector for connector, verdict in pairs if verdict is None], reason)
    return ConnectChecks(
        Diagnostics.of(found),
        frozenset(item.connector for item in found if item.severity is Severity.ERROR and item.connector is not None),
        {connector.name: _sensitive(connector, verdict) for connector, verdict in pairs},
        frozenset(connector.name for connector, verdict in pairs if isinstance(verdict, ConfigVerdict)),
    )


@dataclass(slots=True)
class _Validation:
    """Validates configs until too many requests have failed, or until `deadline` (monotonic seconds)."""

    client: ConnectClient
    options: ValidateOptions
    total: int
    deadline: float
    begun: int = 0
    failures: int = 0
    reason: str = ""
    lock: Lock = field(default_factory=Lock)

    def validate(self, connector: DesiredConnector) -> Answer:
        """The verdict, or the error instead; None if the time is over, or if Connect no longer answers."""
        if not self._may_ask():
            return None
        left = self.deadline - self.options.clock.monotonic()
        config = {**connector.config, "name": connector.name}
        try:
            return self.client.validate(config.get(_CLASS, ""), config, sensitive=connector.secrets, within=left)
        except Rejected as error:
            return error
        except GitopsConnectError as error:
            with self.lock:
                if self._is_over():
                    return None
                self.failures += PATIENCE if isinstance(error, Unauthorized) else 1
                self.reason = f"Connect does not answer: {error}"
            return error
        except Exception as error:  # a bug, which becomes a diagnostic of this connector
            return error

    def _may_ask(self) -> bool:
        with self.lock:
            if self.failures >= PATIENCE or self._is_over():
                return False
            self.begun += 1
            self.options.say(f"validating configs on Connect: {self.begun:,} of {self.total:,}")
            return True

    def _is_over(self) -> bool:
        if self.options.clock.monotonic() < self.deadline:
            return False
        setting = f"validate_timeout in [clusters.{self.client.cluster}]"
        self.reason = f"{setting} ({self.options.timeout:g}s) has passed; raise it, or check fewer connectors at once"
        return True


@dataclass(slots=True)
class Catalogue:
    """What is known of classes. The plugins of the worker are fetched when the first unknown class is found."""

    client: ConnectClient
    plugins: Sequence[Plugin] | None
    families: Registry

    def classes(self) -> list[str]:
        if self.plugins is None:
            try:
                self.plugins = self.client.plugins()
            except GitopsConnectError:  # the unknown class is still reported, only without a suggestion
                self.plugins = ()
        return sorted({plugin.class_name for plugin in self.plugins})

    def versions(self, class_name: str) -> tuple[str, ...]:
        self.classes()  # fetches the plugins
        return installed_versions(self.plugins or (), class_name)


def _without_secrets(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Mask all secrets: the last verdict may add password keys, and each message may quote any connector's config."""
    found = (sensitive_values(connector.config, _sensitive(connector, verdict)) for connector, verdict in pairs)
    secrets = distinctive(chain.from_iterable(found))
    return [(connector, _masked(verdict, secrets)) for connector, verdict in pairs]


def _masked(verdict: Answer, secrets: frozenset[str]) -> Answer:
    match verdict:
        case ConfigVerdict():
            errors = {key: tuple(mask(text, secrets) for text in texts) for key, texts in verdict.errors.items()}
            return replace(verdict, errors=errors)
        case GitopsConnectError():
            return type(verdict)(mask(str(verdict), secrets))
        case _:
            return verdict


def _contained(connector: DesiredConnector, verdict: Answer, catalogue: Catalogue) -> Iterable[Diagnostic]:

    def find() -> list[Diagnostic]:
        if isinstance(verdict, Exception) and not isinstance(verdict, GitopsConnectError):
            raise verdict
        return list(_problems(connector, verdict, catalogue))

    return contained_or(lambda bug: [bug], find, connector.document.location, connector.name)


def _problems(connector: DesiredConnector, verdict: Answer, catalogue: Catalogue) -> Iterator[Diagnostic]:
    if why := unaddressable(connector.name):
        summary = f"the connector name {connector.name!r} cannot be used: {why}"
        yield _error(connector, "connect/unusable-name", summary, _place(connector, "name"))
    if isinstance(verdict, ConfigVerdict):
        yield from config_errors(connector, verdict)
        yield from unknown_keys(connector, verdict, catalogue.families, misspelt(connector, verdict))
    elif isinstance(verdict, Rejected) and NO_SUCH_CLASS in str(verdict):
        yield _unknown_plugin(connector, catalogue.classes())
    elif isinstance(verdict, Rejected):
        yield _error(connector, "connect/invalid-config", str(verdict), connector.locate(("spec", "config")))
    elif verdict is not None and cannot_load(str(verdict)):
        yield not_loaded(connector, catalogue.versions(connector.config.get(_CLASS, "")))
    elif verdict is not None:
        yield _not_validated(connector, f"Connect could not check this config: {verdict}")


def _unknown_plugin(connector: DesiredConnector, classes: list[str]) -> Diagnostic:
    wanted = connector.config.get(_CLASS, "")
    summary = f"the worker has no connector class {wanted!r}"
    by_name = {name: class_name for class_name in classes for name in (class_name, *_aliases(class_name))}
    meant = closest(wanted, by_name)
    known = (
        f"use one of the installed classes: {', '.join(classes)}" if classes else "install the plugin on every worker"
    )
    hint = f"did you mean {meant!r}? {known}" if meant else known
    return _error(connector, "connect/unknown-plugin", summary, connector.locate(("spec", "class")), hint)


def _aliases(class_name: str) -> tuple[str, ...]:
    """The short names that Connect also accepts: the simple name, with and without `Connector` (`PluginUtils`)."""
    simple = class_name.rpartition(".")[2].rpartition("$")[2]
    return simple, simple.removesuffix("Connector") or simple


def _unchecked(connectors: list[DesiredConnector], reason: str) -> Iterator[Diagnostic]:
    if connectors:
        summary = f"Connect did not check this config and {len(connectors) - 1:,} more"
        yield _not_validated(connectors[0], f"{summary}: {reason}")


def _not_validated(connector: DesiredConnector, summary: str) -> Diagnostic:
    where = connector.locate(("spec",))
    return Diagnostic(Severity.WARNING, "connect/not-validated", summary, where, connector=connector.name)


def _error(connector: DesiredConnector, rule: str, summary: str, where: Location, hint: str = "") -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, summary, where, hint, connector.name)


def _sensitive(connector: DesiredConnector, verdict: Answer) -> frozenset[str]:
    found = verdict.sensitive if isinstance(verdict, ConfigVerdict) else frozenset()
    return found | connector.secrets.keys()


# Converts Connect's errors of one config to diagnostics: one for each cause, at the line of the key that it concerns.
#
# Connect reports one wrong value several times. A value that cannot be read is null for every later check of its key
# (`ConfigDef.validateAll`: "Invalid value null for configuration …"), a check may run twice, and a check over several
# keys adds its message to each of them (`SinkConnectorConfig.validate` to `topics` and `topics.regex`, Confluent's
# `JdbcSourceConnectorValidation` to six keys).

_MISSING = re.compile(r'Missing required configuration "(?P<key>[^"]+)"')
_OF_NULL = re.compile(r"Invalid value null for configuration \S+: .*", re.DOTALL)


def config_errors(connector: DesiredConnector, verdict: ConfigVerdict) -> Iterator[Diagnostic]:
    """An error for each message of Connect. The other keys with the same message are in its hint."""
    keys: dict[str, list[str]] = {}
    for key, messages in verdict.errors.items():
        for message in _causes(messages):
            keys.setdefault(message, []).append(key)
    given = {"name", *connector.config}
    for message, concerned in keys.items():
        if found := _NOT_INSTALLED.fullmatch(message):
            yield from _not_installed(connector, found, concerned)
            continue
        first, *others = sorted(concerned, key=lambda key: (key not in given, _place(connector, key), key))
        known = known_answer(message) if first in (SUPPORT, BOUNDARY) else None
        own_hint, rule = (known.hint, known.rule) if known else ("", "connect/invalid-config")
        hint = "; ".join(filter(None, (own_hint, _hint(connector, verdict, message), _same(others))))
        yield _error(connector, rule, f"{first}: {message}", _place(connector, first), hint)


def misspelt(connector: DesiredConnector, verdict: ConfigVerdict) -> frozenset[str]:
    """The keys that are named in a hint, as another spelling of a required key that is missing."""
    messages = [message for found in verdict.errors.values() for message in found]
    spare = {_spare(connector, verdict, found["key"]) for message in messages if (found := _MISSING.match(message))}
    return frozenset(key for key in spare if key is not None)


def _causes(messages: Sequence[str]) -> list[str]:
    """The messages without repeats, and without those that only follow from another message of the key."""
    causes = [message for message in messages if not _OF_NULL.fullmatch(message)]
    return list(dict.fromkeys(causes or messages))


def _place(connector: DesiredConnector, key: str) -> Location:
    return connector.locate(("metadata", "name")) if key == "name" else connector.locate_config(key)


def _same(others: Sequence[str]) -> str:
    if not others:
        return ""
    more = "1 more key" if len(others) == 1 else f"{len(others)} more keys"
    return f"Connect reports the same error for {more}: {', '.join(others)}"


def _hint(connector: DesiredConnector, verdict: ConfigVerdict, message: str) -> str:
    missing = _MISSING.match(message)
    if missing is None:
        return ""
    spare = _spare(connector, verdict, missing["key"])
    return (
        f"rename {spare!r} to {missing['key']!r} if the key is misspelt"
        if spare
        else f"add {missing['key']!r} to spec.config"
    )


def _spare(connector: DesiredConnector, verdict: ConfigVerdict, missing: str) -> str | None:
    """The key of the config that is probably a misspelling of a missing required key."""
    return closest(missing, sorted(connector.config.keys() - verdict.defined))


# Versions of plugins (KIP-891): those that the workers are too old for, and those that are not installed.

_KEYS = (
    *("connector.plugin.version", "key.converter.plugin.version", "value.converter.plugin.version"),
    *("header.converter.plugin.version", "transforms.*.plugin.version", "predicates.*.plugin.version"),
)
"""The config keys that choose a version (`ConnectorConfig`), as patterns."""
_FEATURES = (
    (_KEYS, PLUGIN_VERSIONS),
    (tuple(FIELDS.values()), EXACTLY_ONCE),
)
"""Config keys as patterns, and the feature that they need."""
_NOT_INSTALLED = re.compile(
    r"Plugin (?P<plugin>\S+) not found that matches the version range "
    r"(?:\[(?P<version>[^,]*),(?P=version)\]|(?P<range>.+)), available versions: \[(?P<installed>.*)\]"
)


def unsupported(connectors: Iterable[DesiredConnector], version: ConnectVersion) -> Diagnostics:
    """Errors for keys of features that the workers are too old for: they would ignore the keys."""
    present = [one for one in connectors if one.state is not TargetState.ABSENT]
    return Diagnostics.of(
        _too_old(one, key, feature, version)
        for patterns, feature in _FEATURES
        if not feature.is_in(version)
        for one in present
        if feature is not EXACTLY_ONCE or not is_sink(one.config)
        for key in sorted(one.config)
        if any(fnmatchcase(key, pattern) for pattern in patterns)
    )


def _too_old(connector: DesiredConnector, key: str, feature: Capability, version: ConnectVersion) -> Diagnostic:
    summary, what = f"{feature.missing(version)}, and would ignore {key}", "version" if _chooses(key) else "key"
    hint = f"remove the {what}, or upgrade the workers to Kafka {feature.first} or newer"
    return _error(connector, "connect/too-old", summary, connector.locate_config(key), hint)


def _chooses(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _KEYS)


def cannot_load(message: str) -> bool:
    """Whether an answer 500 is Connect 4.3.1's second answer about a version that is not installed.

    The first validation of such a config reports the version. Every later one, and POST, fails with a
    NullPointerException, because the cached exception has no list of versions.
    """
    return "VersionedPluginLoadingException.availableVersions()" in message


def not_loaded(connector: DesiredConnector, installed: Sequence[str]) -> Diagnostic:
    """The error for `cannot_load`. Connect does not name the plugin: the version may be that of a converter."""
    keys = [key for key in sorted(connector.config) if _chooses(key)]
    summary = f"the worker has no plugin of a version that {' or '.join(keys)} chooses"
    where = connector.locate_config(keys[0]) if keys else connector.locate(("spec",))
    hint = f"installed versions of the class: {', '.join(installed)}; use one of them, or install the version"
    return _error(connector, "connect/version-not-installed", summary, where, hint)


def _not_installed(connector: DesiredConnector, found: re.Match[str], keys: Sequence[str]) -> Iterator[Diagnostic]:
    """One error for this message of Connect, which it gives for the class and for the version: two of `keys`."""
    for key in [one for one in keys if _chooses(one)][:1]:
        chosen = f"version in the range {found['range']}" if found["range"] else f"version {found['version']}"
        summary, installed = f"the worker has no {chosen} of {found['plugin']}", found["installed"]
        hint = (
            f"use one of the installed versions: {installed}" if installed else "install this version on every worker"
        )
        yield _error(connector, "connect/version-not-installed", summary, connector.locate_config(key), hint)
