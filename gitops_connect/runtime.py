"""The composition root: from the settings to the objects of a reconciliation. Callers may pass other parts."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Event, Thread
from typing import Protocol

from gitops_connect import DISTRIBUTION
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import UsageError
from gitops_connect.families import ENTRY_POINTS, Family
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Clock
from gitops_connect.model.config_histories import RollbackOptions
from gitops_connect.model.kafka_logs import KafkaPartition, LoggedRecord, LogRange
from gitops_connect.model.names import ClusterName
from gitops_connect.model.required_acls import LiveAcl
from gitops_connect.model.suspensions import SuspendedBy, Suspension, Suspensions
from gitops_connect.observe import TopicReads
from gitops_connect.offsets.spark.verdict_cache import VerdictCache
from gitops_connect.plan.situation import Policy
from gitops_connect.settings.ledger_place import place_outside, prepare_place, work_tree
from gitops_connect.settings.own import cache_directory, ledger_file
from gitops_connect.settings.sections import (
    ClusterMode,
    ClusterSettings,
    KafkaSettings,
    OutdatedTopics,
    RepositorySettings,
    Settings,
)
from gitops_connect.settings.settings_file import require_clusters
from gitops_connect.source.checkout import Source
from gitops_connect.source.commit_history import CommitHistory
from gitops_connect.source.git_url import absolute_url
from gitops_connect.source.ignored_files import are_exposed, ignore
from gitops_connect.source.merge_result import MergeResult
from gitops_connect.source.output_branch import OutputBranch
from gitops_connect.source.repository import Repository
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.spark.session import Say, SharedSession

_WAY_OUT = "upgrade or uninstall the package"
NO_REPOSITORY = "no repository is configured; add [repository] with url = … to the settings"


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def repeat(self, work: Callable[[], float], wait: float, name: str) -> Callable[[], None]:
        """In a thread of that name. It does not keep the process alive."""
        over = Event()

        def run() -> None:
            pause = wait
            while not over.wait(pause):
                pause = work()

        def end() -> None:
            over.set()
            thread.join()

        thread = Thread(target=run, name=name, daemon=True)
        thread.start()
        return end


def _ignore(text: str) -> None:
    """Discard the message: nothing listens."""


class KafkaLogReader(Protocol):
    """Reads positions in the partitions of one Kafka cluster. All methods raise KafkaUnavailable and KafkaRefused.

    What the brokers answer for single partitions is in the second result: the reason for each that cannot be read.
    """

    def partitions(self, topics: Collection[str] | None) -> Mapping[str, int]:
        """The number of partitions of each of these topics that exists; None: of all topics."""

    def ranges(
        self, partitions: Collection[KafkaPartition], *, committed_only: bool = False
    ) -> tuple[Mapping[KafkaPartition, LogRange], Mapping[KafkaPartition, str]]:
        """The records that exist; with `committed_only`, those before the first transaction in progress."""

    def at(
        self, times: Mapping[KafkaPartition, int]
    ) -> tuple[Mapping[KafkaPartition, LoggedRecord | None], Mapping[KafkaPartition, str]]:
        """The first record at or after a time in milliseconds since 1970; None: there is none."""

    def times(self, offsets: Mapping[KafkaPartition, int]) -> Mapping[KafkaPartition, int]:
        """When the records at these offsets were written, in milliseconds since 1970, as far as that is known."""


OpenKafka = Callable[[KafkaSettings, str], KafkaLogReader]


def open_kafka(settings: KafkaSettings, where: str) -> KafkaLogReader:
    """A reader for the brokers of these settings; `where` names the settings in errors. Raises UsageError."""
    try:
        from gitops_connect.kafka_log_reader import KafkaLogs  # noqa: PLC0415 - it needs an extra
    except ImportError as error:
        raise _lacks_extra(where, "kafka", error) from error
    return KafkaLogs(settings, where)


@dataclass(frozen=True, slots=True)
class Runtime:
    """The objects of a reconciliation: clients of the clusters, and the ledger of what was applied. Close it when done.

    `verdicts` contains Spark's recent verdicts; only speed depends on it. `topic_reads` has the active topics that were
    read before. `say` gets messages about long offset changes, in the thread that runs them. `open_kafka` connects to
    the brokers of Kafka settings. Plans must be made `until` a time of the clock.
    """

    settings: Settings
    ledger: Ledger
    clients: Mapping[ClusterName, ConnectClient]
    environment: Mapping[str, str] = field(repr=False)
    spark: SharedSession
    clock: Clock = field(default_factory=SystemClock)
    verdicts: VerdictCache = field(default_factory=VerdictCache, repr=False)
    families: Registry = field(default=BUILT_IN, repr=False)
    say: Say = _ignore
    topic_reads: dict[ClusterName, TopicReads] = field(default_factory=dict, repr=False)
    open_kafka: OpenKafka = open_kafka
    until: float = math.inf

    def time_left(self) -> float:
        """The seconds in which a plan must be made."""
        return self.until - self.clock.monotonic()

    def cluster(self, name: ClusterName) -> ClusterSettings:
        return self.settings.clusters[name]

    def policy(self, name: ClusterName, *, is_daemon: bool = False) -> Policy:
        """What the administrator allows on the cluster. `is_daemon`: `run` makes the plan."""
        cluster = self.cluster(name)
        watch = timedelta(seconds=cluster.rollback_watch)
        return Policy(
            cluster.mode is ClusterMode.ENFORCE,
            cluster.prune,
            cluster.protected,
            cluster.max_deletions,
            cluster.max_skip.limits,
            cluster.worker_heap,
            cluster.auto_restart,
            cluster.concurrent_restarts if is_daemon else 0,
            timedelta(seconds=cluster.stable_after),
            timedelta(seconds=cluster.degraded_after),
            RollbackOptions(watch) if watch else None,
            cluster.rollout_size if is_daemon else 0,
            cluster.rollout_max_failures,
            cluster.on_manual_pause,
            lists_offsets=bool(self.settings.strimzi.output or self.settings.strimzi.output_branch),
            guards_hold=is_daemon,
            exactly_once=cluster.exactly_once,
            resets_outdated_topics=cluster.outdated_topics is OutdatedTopics.RESET,
            group_id=cluster.worker.group_id,
            fences=cluster.fences,
        )

    def suspensions(self, name: ClusterName) -> Suspensions:
        """What suspends connectors of the cluster: a command, which has a reason, rather than the setting."""
        recorded = self.ledger.suspensions(name)
        if recorded.cluster is None and self.cluster(name).suspend:
            return replace(recorded, cluster=Suspension(SuspendedBy.SETTINGS, whole_cluster=True))
        return recorded

    def close(self) -> None:
        """Release connections, files and locks."""
        for client in self.clients.values():
            client.close()
        self.spark.close()
        self.ledger.close()


@cache
def open_families() -> Registry:
    """The families of connectors that gitops-connect knows, and those of installed packages, found once.

    Raises UsageError if a package provides a family that cannot be used.
    """
    return with_installed(BUILT_IN, entry_points(group=ENTRY_POINTS))


def with_installed(families: Registry, entries: Iterable[EntryPoint]) -> Registry:
    """With the families of these entry points. Raises UsageError, which names the package."""
    for entry in sorted(entries, key=lambda one: one.name):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"
        origin = f"the connector family {entry.name!r} of {package}"
        try:
            families = families.with_family(_load_family(entry, origin), origin)
        except UsageError:
            raise
        except Exception as error:  # whatever the package does when it is imported
            raise UsageError(f"{origin} cannot be loaded: {type(error).__name__}: {error}; {_WAY_OUT}") from error
    return families


def _load_family(entry: EntryPoint, origin: str) -> Family:
    family = entry.load()
    if not isinstance(family, Family):
        found = f"{type(family).__name__}, expected a Family of gitops_connect.families"
        raise UsageError(f"{origin} has the type {found}; {_WAY_OUT}")
    api: int = family.api
    if api != 1:
        found = f"is for version {api!r} of the interface, but this gitops-connect has version 1"
        raise UsageError(f"{origin} {found}; {_WAY_OUT}")
    return family


def open_runtime(settings: Settings) -> Runtime:
    """Open the ledger, and a client for each cluster.

    Raises UsageError if a setting is missing or an installed family cannot be used, LedgerUnusable if the ledger cannot
    be opened.
    """
    require_clusters(settings)
    require_extras(settings)
    families, clock = open_families(), SystemClock()
    ledger = open_ledger(settings)
    clients = {name: ConnectClient(cluster, clock) for name, cluster in settings.clusters.items()}
    return Runtime(settings, ledger, clients, os.environ, open_spark(settings), clock, families=families)


_EXTRAS = {
    "databases": ("postgresql", "gitops_connect.replication_slots"),
    "kafka": ("kafka", "gitops_connect.kafka_client"),
    "kafka_clusters": ("kafka", "gitops_connect.kafka_client"),
}
"""Settings of a cluster that need an extra, and the module that needs it."""


def require_extras(settings: Settings) -> None:
    """Raise UsageError if the settings name a source database or a Kafka cluster, and a package is not installed."""
    for table, (extra, module) in _EXTRAS.items():
        if any(getattr(one, table) for one in settings.clusters.values()):
            try:
                import_module(module)
            except ImportError as error:
                raise _lacks_extra(f"[clusters.NAME.{table}]", extra, error) from error


def _lacks_extra(table: str, extra: str, error: ImportError) -> UsageError:
    return UsageError(f"{table} needs another package: {error}; run pip install '{DISTRIBUTION}[{extra}]'")


def live_acls(settings: Settings, name: ClusterName) -> list[LiveAcl]:
    """The ACLs of the brokers that the settings of the cluster name.

    Raises UsageError without these settings, KafkaRefused or KafkaUnavailable if the ACLs cannot be read.
    """
    where = f"{settings.file}: [clusters.{name}.kafka]"
    if (kafka := settings.clusters[name].kafka) is None:
        raise UsageError(f"{where} is missing: add it with bootstrap_servers")
    require_extras(settings)
    from gitops_connect.kafka_client import read_acls  # noqa: PLC0415 - it needs an extra

    return read_acls(kafka, where)


def fence(settings: Settings, name: ClusterName, transactional_ids: Sequence[str]) -> None:
    """Fence the producers with these ids on the brokers that the settings of the cluster name.

    Raises KafkaRefused or KafkaUnavailable, and UsageError for a wrong setting.
    """
    from gitops_connect.kafka_client import fence as fence_producers  # noqa: PLC0415 - it needs an extra

    if (kafka := settings.clusters[name].kafka) is None:
        raise AssertionError("planned without brokers")
    fence_producers(kafka, f"[clusters.{name}.kafka]", transactional_ids)


def open_spark(settings: Settings) -> SharedSession:
    """The session in which large manifests are checked; it is started at its first use."""
    return SharedSession(settings.spark, os.environ, cache_directory())


def open_ledger(settings: Settings) -> Ledger:
    """The ledger that `[state]` names. Raises LedgerUnusable, LedgerBusy or UsageError."""
    if settings.chooses_ledger:
        prepare_place(settings.directory)
    key = settings.state.key.read().encode() if settings.state.key else None
    return Ledger.open(settings.state.url, settings.directory, key)


def ledger_note(settings: Settings) -> str:
    """What the user should know about the place of the ledger before it is opened; nothing if the place is good."""
    if (file := ledger_file(settings)) is None:
        return ""
    outside = place_outside(settings.directory) if settings.chooses_ledger else None
    if file == outside and not file.exists():
        return f"note: a new ledger is created: {file}"
    if (tree := work_tree(file.parent)) is None:
        return ""
    danger = f"warning: the ledger {file} is in the Git work tree {tree}"
    if outside is not None and outside != file:
        return f"{danger}: stop gitops-connect, and move {file.name} and {file.name}.key to {outside.parent}"
    if are_exposed(_with_key(file), tree):
        return f"{danger}, and Git does not ignore it: add /{file.name}* to {file.parent / '.gitignore'}"
    return ""


def ignore_ledger(settings: Settings) -> Path | None:
    """Let Git ignore the ledger if it is in a work tree. The `.gitignore` that was changed. Raises OSError."""
    file = ledger_file(settings)
    tree = work_tree(file.parent) if file is not None else None
    return ignore(file) if file is not None and tree is not None and are_exposed(_with_key(file), tree) else None


def _with_key(file: Path) -> Sequence[Path]:
    real = file.parent.resolve() / file.name
    return real, real.with_name(f"{real.name}.key")


def open_source(settings: Settings, path: Path | None) -> Source:
    """The repository that the settings name, or the directory `path`. Raises UsageError without either."""
    if path is not None:
        return WorkingTree(path)
    repository = _repository(settings)
    directory = clone_directory(repository.url)
    return Repository(repository, directory, CommitHistory(repository, directory).at)


def open_output_branch(settings: Settings) -> OutputBranch:
    """The branch of `[strimzi] output_branch`. Raises UsageError without a repository, or if the branch is invalid."""
    repository = _repository(settings)
    return OutputBranch(repository, clone_directory(repository.url), settings.strimzi.output_branch)


def open_merge(settings: Settings, head_ref: str) -> Source:
    """The repository as it would be if the head of a pull request were merged.

    Raises UsageError without a repository or a branch, SourceRefused if `head_ref` is no reference.
    """
    repository = _repository(settings)
    directory = clone_directory(repository.url)
    return MergeResult(repository, directory, head_ref, CommitHistory(repository, directory).at)


def _repository(settings: Settings) -> RepositorySettings:
    if not settings.repository.url:
        raise UsageError(NO_REPOSITORY)
    return replace(settings.repository, url=absolute_url(settings.repository.url, settings.directory))


def clone_directory(url: str) -> Path:
    """The directory of the clone: in the user's cache, by URL."""
    return cache_directory() / "clones" / hashlib.sha256(url.encode()).hexdigest()[:16]
