"""`gitops-connect doctor`: checks the settings, the connections, the versions, and what a worker does not support."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import typer

from gitops_connect import __version__
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import ListOutput, TableOutput, listing
from gitops_connect.cli.progress import progress
from gitops_connect.connect.capabilities import ACTIVE_TOPICS, EXPANDED_LIST, bugs_of, missing_in
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ForgeRefused, GitopsConnectError, TopicTrackingDisabled
from gitops_connect.forge.opening import open_forge
from gitops_connect.model.exactly_once import ExactlyOnceSupport, ExpectedSupport
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ClusterInfo
from gitops_connect.observe import observe_exactly_once
from gitops_connect.runtime import SystemClock, open_ledger, open_source
from gitops_connect.sandbox.java import find_java
from gitops_connect.settings.sections import ClusterSettings, Settings
from gitops_connect.source.git_program import git_version


class CheckResult(NamedTuple):
    """One line of the report: `ok`, `note` or `error`, what was checked, and what was found."""

    verdict: str
    part: str
    found: str


def doctor(context: typer.Context, output: ListOutput = TableOutput.TABLE) -> int:
    """Check settings, repository, forge, ledger, clusters and tools."""
    with progress("Checking") as update:
        findings = []
        for finding in _checks(context):
            update(finding.part)
            findings.append(finding)
    emit(listing(("VERDICT", "PART", "FOUND"), findings, [one._asdict() for one in findings], output))
    return ExitCode.FAILED if any(one.verdict == "error" for one in findings) else ExitCode.DONE


def _checks(context: typer.Context) -> Iterator[CheckResult]:
    program = f"{__version__} on Python {platform.python_version()}, {sys.platform}"
    yield CheckResult("ok", "gitops-connect", program)
    yield _examine("git", git_version)
    yield _examine("java", _java, otherwise="note")
    yield CheckResult("ok", "pyspark", metadata.version("pyspark"))
    try:
        settings = settings_of(context)
    except GitopsConnectError as error:
        yield CheckResult("error", "settings", str(error))
        return
    yield from _look_at_settings(settings)
    for cluster in settings.clusters.values():
        yield from _look_at_cluster(cluster)


def _examine(part: str, check: Callable[[], str], *, otherwise: str = "error") -> CheckResult:
    try:
        return CheckResult("ok", part, check())
    except GitopsConnectError as error:
        return CheckResult(otherwise, part, str(error))


def _java() -> str:
    java = find_java(os.environ)
    return f"Java {java.version} at {java.path} (used by the sandbox and by Spark)"


def _look_at_settings(settings: Settings) -> Iterator[CheckResult]:
    if settings.repository.url:
        yield _examine("repository", lambda: _repository(settings))
    else:
        advice = "set `url` in [repository], or give each command a directory"
        yield CheckResult("note", "repository", f"not configured: {advice}")
    yield _examine("ledger", lambda: _ledger(settings))
    forge = _examine("forge", lambda: _forge(settings))
    if forge.found:  # nothing without [forge]
        yield forge
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


def _look_at_cluster(cluster: ClusterSettings) -> Iterator[CheckResult]:
    """Check each worker by itself, because failover to another worker would hide a worker that is down."""
    supports: list[ExactlyOnceSupport] = []
    for number, url in enumerate(cluster.url):
        worker = replace(cluster, url=(url,))
        part = f"cluster {cluster.name}" if len(cluster.url) == 1 else f"cluster {cluster.name} worker {number + 1}"
        support = yield from _look_at_worker(part, worker)
        supports.append(support)
    yield from _compare(cluster.name, supports)
    yield from _compare_workers(cluster)


def _compare_workers(cluster: ClusterSettings) -> Iterator[CheckResult]:
    """Workers of one cluster must have the same version, and use the same Kafka cluster. Others do not answer."""
    found: dict[str, ClusterInfo] = {}
    for url in cluster.url if len(cluster.url) > 1 else ():
        worker = replace(cluster, url=(url,))
        with suppress(GitopsConnectError), closing(ConnectClient(worker, SystemClock())) as client:
            found[mask(url)] = client.info()
    kinds: tuple[tuple[str, str, Callable[[ClusterInfo], str]], ...] = (
        ("note", "versions: finish the upgrade of all workers", lambda one: one.reported),
        ("error", "Kafka clusters: correct url in the settings", lambda one: one.kafka_cluster_id),
    )
    for verdict, problem, value in kinds:
        values = {url: value(one) for url, one in found.items()}
        if len(set(values.values())) > 1:
            each = ", ".join(f"{url}: {one}" for url, one in values.items())
            different, _, advice = problem.partition(": ")
            what = f"its workers have different {different} ({each}); {advice}"
            yield CheckResult(verdict, f"cluster {cluster.name}", what)


def _compare(name: ClusterName, supports: Collection[ExactlyOnceSupport]) -> Iterator[CheckResult]:
    """A note if some workers support exactly-once sources and others do not."""
    if {ExactlyOnceSupport.ENABLED, ExactlyOnceSupport.NOT_ENABLED} <= set(supports):
        advice = "set exactly.once.source.support to the same value on all workers"
        yield CheckResult("note", f"cluster {name}", f"support for exactly-once sources: mixed; {advice}")


def _look_at_worker(part: str, cluster: ClusterSettings) -> Generator[CheckResult, None, ExactlyOnceSupport]:
    """The worker, and what it cannot do because it is too old, each with the consequence. Returns its support."""
    try:
        with closing(ConnectClient(cluster, SystemClock())) as client:
            version = client.info().version
            connectors = len(client.names())
            tracking = _topic_tracking(part, client) if ACTIVE_TOPICS.is_in(version) else None
            support = observe_exactly_once(client)
    except GitopsConnectError as error:
        yield CheckResult("error", part, str(error))
        return ExactlyOnceSupport.UNKNOWN
    yield CheckResult("ok", part, f"Kafka Connect {version}, {connectors} connectors")
    if tracking is not None:
        yield tracking
    yield _exactly_once(part, support, cluster.exactly_once)
    for one in missing_in(version):
        yield CheckResult("error" if one is EXPANDED_LIST else "note", part, f"{one.missing(version)}: {one.without}")
    for bug in bugs_of(version):
        yield CheckResult("note", part, f"Kafka Connect {version} has {bug.source}: {bug.effect}; {bug.advice}")
    return support


def _topic_tracking(part: str, client: ConnectClient) -> CheckResult:
    """Whether the worker tracks topics. Its answer is the same for any name; only a reset shows whether it is allowed.

    Raises nothing for an answer.
    """
    try:
        client.active_topics(ConnectorName("gitops-connect"))
    except TopicTrackingDisabled:
        advice = "set topic.tracking.enable=true on all workers"
        return CheckResult("note", part, f"topic tracking is disabled: {ACTIVE_TOPICS.without}; {advice}")
    except GitopsConnectError as error:
        return CheckResult("note", part, f"it is unknown whether topic tracking is enabled: {error}")
    return CheckResult("ok", part, "topic tracking is enabled; only a reset shows whether resets are allowed")


def _exactly_once(part: str, support: ExactlyOnceSupport, stated: ExpectedSupport | None) -> CheckResult:
    found = f"support for exactly-once sources: {support.value}"
    if support is ExactlyOnceSupport.UNKNOWN:
        return CheckResult("note", part, f"{found}; no source class of the worker shows it")
    if stated is not None and support is not stated.support:
        return CheckResult("note", part, f"{found}, but exactly_once is {stated.value!r} in the settings")
    return CheckResult("ok", part, found)
