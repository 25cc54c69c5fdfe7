"""`gitops-connect doctor`: checks the settings, the connections, the versions, and what a worker does not support."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import typer

from gitops_connect import DISTRIBUTION, __version__
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import ListOutput, TableOutput, listing
from gitops_connect.cli.progress import Update, progress
from gitops_connect.connect.capabilities import ACTIVE_TOPICS, EXPANDED_LIST, bugs_of, missing_in
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.exactly_once_answers import OF_KAFKA
from gitops_connect.errors import ForgeRefused, GitopsConnectError, TopicTrackingDisabled, UsageError
from gitops_connect.forge.opening import open_forge
from gitops_connect.model.exactly_once import ExactlyOnceSupport, ExpectedSupport
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ConnectorName
from gitops_connect.observe import observe_exactly_once
from gitops_connect.runtime import SystemClock, ledger_note, open_ledger, open_source
from gitops_connect.sandbox.java import find_java
from gitops_connect.server.listen_address import address_of, require_safe
from gitops_connect.settings.own import credentials_in
from gitops_connect.settings.sections import ClusterSettings, ServerSettings, Settings
from gitops_connect.source.git_program import git_version


class CheckResult(NamedTuple):
    """One line of the report: `ok`, `note` or `error`, what was checked, and what was found."""

    verdict: str
    part: str
    found: str


def doctor(context: typer.Context, output: ListOutput = TableOutput.TABLE) -> int:
    """Check settings, repository, forge, ledger, clusters and tools."""
    with progress("Checking", "settings, tools, repository, ledger and forge") as update:
        findings = list(_checks(context, update))
    emit(listing(("VERDICT", "PART", "FOUND"), findings, [one._asdict() for one in findings], output))
    return ExitCode.FAILED if any(one.verdict == "error" for one in findings) else ExitCode.DONE


def _checks(context: typer.Context, update: Update) -> Iterator[CheckResult]:
    program = f"{__version__} on Python {platform.python_version()}, {sys.platform}"
    yield CheckResult("ok", "gitops-connect", program)
    yield _examine("git", git_version)
    yield _examine("java", _java, otherwise="note")
    yield _pyspark()
    try:
        settings = settings_of(context)
    except GitopsConnectError as error:
        yield CheckResult("error", "settings", str(error))
        return
    yield from _look_at_settings(settings)
    for cluster in settings.clusters.values():
        update(f"cluster {cluster.name}")
        yield from _look_at_cluster(cluster)


def _examine(part: str, check: Callable[[], str], *, otherwise: str = "error") -> CheckResult:
    try:
        return CheckResult("ok", part, check())
    except GitopsConnectError as error:
        return CheckResult(otherwise, part, str(error))


def _pyspark() -> CheckResult:
    try:
        return CheckResult("ok", "pyspark", metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        advice = f"pip install '{DISTRIBUTION}[spark]' for large offset manifests"
        return CheckResult("note", "pyspark", f"not installed: {advice}")


def _java() -> str:
    java = find_java(os.environ)
    return f"Java {java.version} at {java.path} (used by the sandbox and by Spark)"


def _look_at_settings(settings: Settings) -> Iterator[CheckResult]:
    if settings.repository.url:
        yield _examine("repository", lambda: _repository(settings))
    else:
        advice = "set `url` in [repository], or give each command a directory"
        yield CheckResult("note", "repository", f"not configured: {advice}")
    if note := ledger_note(settings):
        yield CheckResult("note", "ledger", note.partition(": ")[2])
    yield _examine("ledger", lambda: _ledger(settings))
    forge = _examine("forge", lambda: _forge(settings))
    if forge.found:  # nothing without [forge]
        yield forge
    if settings.server.listen is not None:
        yield _examine("server", lambda: _server(settings.server))
    yield from _credentials(settings)
    yield from _secrets(settings)
    if not settings.clusters:
        advice = 'add [clusters.NAME] with url = ["http://…:8083"] to the settings'
        yield CheckResult("error", "clusters", f"not configured: {advice}")


def _repository(settings: Settings) -> str:
    with closing(open_source(settings, None)) as source:
        checkout = source.fetch()
    return f"commit {checkout.revision}, {len(checkout.entries)} files"


def _ledger(settings: Settings) -> str:
    with closing(open_ledger(settings)) as ledger:
        owned = sum(len(ledger.ownership(cluster)) for cluster in settings.clusters)
        return f"{ledger.place}, managed connectors: {owned}"


def _forge(settings: Settings) -> str:
    forge = open_forge(settings, SystemClock())
    if forge is None:
        return ""
    with closing(forge):
        account, missing = forge.user(), forge.missing_permissions()
        pull_requests = len(forge.open_pull_requests())
    if missing:
        setting = "app_id" if settings.forge.token is None else "token"
        raise ForgeRefused(
            f"[forge] {setting}: the account {account} lacks {', '.join(missing)}; grant this, or use another account:"
            " docs/reference/forges.md lists all permissions"
        )
    return f"repository {settings.forge.repository}, account {account}, open pull requests: {pull_requests}"


def _server(settings: ServerSettings) -> str:
    """Raises UsageError if `run` would not start the server, for example because the file of a token is missing."""
    address = address_of(settings.listen or "")
    require_safe(settings, address)
    return f"{address.host}, port {address.port}"


def _credentials(settings: Settings) -> Iterator[CheckResult]:
    """Report credentials that cannot be read, of the parts that no other check uses."""
    kafka = tuple((one.kafka, one.kafka_clusters, one.databases) for one in settings.clusters.values())
    for credential in credentials_in(settings.notifications, settings.spark, kafka):
        try:
            credential.read()
        except UsageError as error:
            yield CheckResult("error", "credential", str(error))


def _secrets(settings: Settings) -> Iterator[CheckResult]:
    """Note secrets that are allowed too widely: who can write to the repository can send any of them to a connector."""
    wide = [f"env = {pattern!r}" for pattern in settings.secrets.env if not pattern.strip("*?")]
    wide += [f"files = {str(directory)!r}" for directory in settings.secrets.files if _is_wide(directory, settings)]
    if wide:
        advice = "anyone who can write to the repository can send any of these to a connector; allow less"
        yield CheckResult("note", "secrets", f"[secrets] {', '.join(wide)}: {advice}")


def _is_wide(directory: Path, settings: Settings) -> bool:
    """Whether it is a directory above the settings file, or above the user's home directory."""
    real = directory.resolve()
    return settings.directory.resolve().is_relative_to(real) or Path.home().is_relative_to(real)


_SAME = {
    "versions": ("note", "finish the upgrade of all workers"),
    "Kafka clusters": ("error", "correct url in the settings"),
    "support for exactly-once sources": ("note", "set exactly.once.source.support to the same value on all workers"),
    "topic tracking": ("note", "set topic.tracking.enable to the same value on all workers"),
    "plugins": ("note", "install the same plugins on all workers"),
}
"""What the workers of one cluster must have in common: the verdict if they differ, and what to do."""
_PLUGINS_SHOWN = 3


class _Worker(NamedTuple):
    """What is known of a worker, by the keys of `_SAME`, and the classes of its plugins with their versions."""

    facts: dict[str, str]
    plugins: frozenset[tuple[str, str]]


def _look_at_cluster(cluster: ClusterSettings) -> Iterator[CheckResult]:
    """Check each worker by itself, because failover to another worker would hide a worker that is down."""
    workers: dict[str, _Worker] = {}
    for number, url in enumerate(cluster.url):
        part = f"cluster {cluster.name}" if len(cluster.url) == 1 else f"cluster {cluster.name} worker {number + 1}"
        found = yield from _look_at_worker(part, replace(cluster, url=(url,)))
        if found is not None:
            workers[mask(url)] = found
    _compare_plugins(workers.values())
    for what, (verdict, advice) in _SAME.items():
        values = {url: one.facts[what] for url, one in workers.items() if one.facts.get(what)}
        if len(set(values.values())) > 1:
            each = ", ".join(f"{url}: {value}" for url, value in values.items())
            text = f"its workers have different {what} ({each}); {advice}"
            yield CheckResult(verdict, f"cluster {cluster.name}", text)


def _compare_plugins(workers: Collection[_Worker]) -> None:
    """Say what each worker lacks. During an upgrade, the plugins of Kafka differ, too: they are left out."""
    is_upgraded = len({one.facts["versions"] for one in workers}) > 1
    everything = frozenset(chain.from_iterable(one.plugins for one in workers))
    for one in (one for one in workers if one.plugins):
        missing = [
            f"{name} {version}"
            for name, version in sorted(everything - one.plugins)
            if not (is_upgraded and name.startswith(OF_KAFKA))
        ]
        more = f" and {len(missing) - _PLUGINS_SHOWN} more" if len(missing) > _PLUGINS_SHOWN else ""
        one.facts["plugins"] = f"lacks {', '.join(missing[:_PLUGINS_SHOWN])}{more}" if missing else "all"


def _look_at_worker(part: str, cluster: ClusterSettings) -> Generator[CheckResult, None, _Worker | None]:
    """The worker, and what it cannot do because it is too old, each with the consequence. None: it does not answer."""
    try:
        with closing(ConnectClient(cluster, SystemClock())) as client:
            info = client.info()
            connectors = len(client.names())
            tracking = _topic_tracking(part, client) if ACTIVE_TOPICS.is_in(info.version) else None
            support = observe_exactly_once(client)
            plugins = _plugins(client)
    except GitopsConnectError as error:
        yield CheckResult("error", part, str(error))
        return None
    yield CheckResult("ok", part, f"Kafka Connect {info.version}, {connectors} connectors")
    if tracking is not None:
        yield tracking[1]
    yield _exactly_once(part, support, cluster.exactly_once)
    for one in missing_in(info.version):
        text = f"{one.missing(info.version)}: {one.without}"
        yield CheckResult("error" if one is EXPANDED_LIST else "note", part, text)
    for bug in bugs_of(info.version):
        yield CheckResult("note", part, f"Kafka Connect {info.version} has {bug.source}: {bug.effect}; {bug.advice}")
    facts = {
        "versions": info.reported,
        "Kafka clusters": info.kafka_cluster_id,
        "support for exactly-once sources": "" if support is ExactlyOnceSupport.UNKNOWN else support.value,
        "topic tracking": tracking[0] if tracking is not None else "",
    }
    return _Worker(facts, plugins)


def _plugins(client: ConnectClient) -> frozenset[tuple[str, str]]:
    """The classes of the worker's plugins with their versions; none if they cannot be read."""
    with suppress(GitopsConnectError):
        return frozenset((one.class_name, one.version) for one in client.all_plugins())
    return frozenset()


def _topic_tracking(part: str, client: ConnectClient) -> tuple[str, CheckResult]:
    """Whether the worker tracks topics (empty: unknown), and the line about it.

    Its answer is the same for any name; only a reset shows whether it is allowed. Raises nothing for an answer.
    """
    try:
        client.active_topics(ConnectorName("gitops-connect"))
    except TopicTrackingDisabled:
        advice = "set topic.tracking.enable=true on all workers"
        text = f"topic tracking is disabled: {ACTIVE_TOPICS.without}; {advice}"
        return "disabled", CheckResult("note", part, text)
    except GitopsConnectError as error:
        return "", CheckResult("note", part, f"it is unknown whether topic tracking is enabled: {error}")
    text = "topic tracking is enabled; only a reset shows whether resets are allowed"
    return "enabled", CheckResult("ok", part, text)


def _exactly_once(part: str, support: ExactlyOnceSupport, stated: ExpectedSupport | None) -> CheckResult:
    found = f"support for exactly-once sources: {support.value}"
    if support is ExactlyOnceSupport.UNKNOWN:
        return CheckResult("note", part, f"{found}; no source class of the worker shows it")
    if stated is not None and support is not stated.support:
        return CheckResult("note", part, f"{found}, but exactly_once is {stated.value!r} in the settings")
    return CheckResult("ok", part, found)
