"""The sections of `gitops-connect.toml`, a dataclass each. The field's docstring is its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from gitops_connect.model.names import ClusterName
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, SkipLimits, Unit
from gitops_connect.settings.credentials import Credential
from gitops_connect.settings.durations import Duration
from gitops_connect.settings.sizes import Size


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """`[repository]`: where the desired state is."""

    url: str = ""
    """URL of a git server, or the path of a repository."""
    branch: str = "main"
    """The branch to follow, unless `tag` or `commit` is set."""
    tag: str | None = None
    """A tag to follow in place of the branch."""
    commit: str | None = None
    """A commit to stay at, in full (40 hex digits)."""
    path: str = "."
    """The folder inside the repository that holds the documents."""
    interval: Duration = Duration(60)
    """How often `run` looks for new commits."""
    timeout: Duration = Duration(60)
    """How long one git operation may take."""
    git_memory: Size = Size(2**31)
    """The memory that each of git's processes may have (Linux)."""
    max_fetch: Size = Size(2**33)
    """The largest file that git may write: one fetch is one file."""
    username: str | None = None
    """User name for HTTP; many servers take any with a token."""
    password: Credential | None = None
    """Password or token for HTTP."""
    ssh_key: Path | None = None
    """Private key for SSH."""
    known_hosts: Path | None = None
    """Host keys for SSH; without it, those of the user."""
    ca_file: Path | None = None
    """CA certificates (PEM) for HTTPS."""


@dataclass(frozen=True, slots=True)
class StateSettings:
    """`[state]`: the ledger, which remembers what is ours."""

    url: str = "sqlite:///state.db"
    """An SQLAlchemy URL; a relative SQLite path is relative to the settings file."""
    key: Credential | None = None
    """The key for digests of secrets; without it, one is made and kept in a file beside the SQLite database."""


@dataclass(frozen=True, slots=True)
class SkipSettings:
    """`[clusters.NAME.max_skip]`: how far one offset change may move offsets forward, in all, unless its document
    acknowledges `skip`. Each class has one unit."""

    records: int = DEFAULT_SKIP_LIMITS[Unit.RECORDS]
    """Records of a topic: sinks, and MirrorMaker's MirrorSourceConnector."""
    file_bytes: Size = Size(DEFAULT_SKIP_LIMITS[Unit.FILE_BYTES])
    """Bytes of a file: FileStreamSourceConnector."""
    wal_bytes: Size = Size(DEFAULT_SKIP_LIMITS[Unit.WAL_BYTES])
    """Bytes of the write-ahead log, with the changes of all tables: Debezium for PostgreSQL."""
    binlog_bytes: Size = Size(DEFAULT_SKIP_LIMITS[Unit.BINLOG_BYTES])
    """Bytes of the binlog, with the changes of all tables: Debezium for MySQL and MariaDB."""
    ids: int = DEFAULT_SKIP_LIMITS[Unit.IDS]
    """Values of the incrementing column: JDBC sources in the mode `incrementing`."""
    time: Duration = Duration(DEFAULT_SKIP_LIMITS[Unit.TIME] // 1000)
    """Time between two timestamps: JDBC sources in the modes `timestamp` and `timestamp+incrementing`."""
    other: int = DEFAULT_SKIP_LIMITS[Unit.OTHER]
    """Classes with a schema in the repository whose `x-unit` is none of the keys of this table."""

    @property
    def limits(self) -> SkipLimits:
        """By unit; time in milliseconds."""
        return {
            Unit.RECORDS: self.records,
            Unit.FILE_BYTES: self.file_bytes,
            Unit.WAL_BYTES: self.wal_bytes,
            Unit.BINLOG_BYTES: self.binlog_bytes,
            Unit.IDS: self.ids,
            Unit.TIME: round(self.time * 1000),
            Unit.OTHER: self.other,
        }


class ClusterMode(Enum):
    """Whether a cluster is changed, or only looked at."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`[clusters.NAME]`: one Connect cluster."""

    name: ClusterName
    url: tuple[str, ...]
    """The workers of the cluster; each is tried in turn."""
    mode: ClusterMode = ClusterMode.ENFORCE
    """`observe` plans and reports, and changes nothing."""
    prune: bool = False
    """Delete connectors that were created or adopted here and are no longer declared."""
    protected: tuple[str, ...] = ()
    """Connectors (glob patterns) that are never deleted."""
    max_deletions: float = 0.3
    """The share of our connectors that one plan may delete; at most one connector is always allowed."""
    max_skip: SkipSettings = field(default_factory=SkipSettings)
    """How far one offset change may move offsets forward: the table `[clusters.NAME.max_skip]`. A number alone is its
    limit for `records`."""
    connect_validate: bool = True
    """Ask Connect's own `config/validate` about each config that is new or changed."""
    validate_timeout: Duration = Duration(60)
    """How long all requests of one plan to `config/validate` may take. Then requests under way are ended, and the
    configs that were not checked are a warning."""
    parallelism: int = 8
    """How many requests are under way at once."""
    timeout: Duration = Duration(100)
    """How long one request may take, answer included; Connect itself gives up after 90 s. For an answer that is long
    in coming, a second is added for each 64 KiB."""
    max_answer: Size = Size(2**26)
    """The largest answer of a worker that is read, decompressed; offsets that go into a file may have 64 times that."""
    settle_timeout: Duration = Duration(120)
    """How long a step may take to show its effect."""
    min_running: Duration = Duration(5)
    """How long a connector and all its tasks have to be RUNNING until its last step succeeds; `0` does not look at the
    tasks."""
    worker_heap: Size = Size(2**31)
    """The heap of each worker (`-Xmx`): no offset change is sent that needs more; `0` lifts the limit."""
    username: str | None = None
    """User name for basic authentication."""
    password: Credential | None = None
    """Password for basic authentication."""
    token: Credential | None = None
    """Bearer token."""
    headers: Mapping[str, Credential] = field(default_factory=dict)
    """Further request headers."""
    ca_file: Path | None = None
    """CA certificates (PEM) that the workers' certificates are checked against."""
    client_certificate: Path | None = None
    """Client certificate (PEM) for mutual TLS."""
    client_key: Path | None = None
    """Its private key (PEM), where it is not in the same file."""


@dataclass(frozen=True, slots=True)
class SecretsSettings:
    """`[secrets]`: what `spec.secrets` of a document may name. Nothing, unless it is allowed here.

    Who can write to the repository could otherwise have any file or variable of this process sent to a connector.
    """

    env: tuple[str, ...] = ()
    """Environment variables (glob patterns). Those that hold credentials of the settings are never sent."""
    files: tuple[Path, ...] = ()
    """Folders whose files may be named."""


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """`[spark]`: where manifests are checked that are too large for one process."""

    master: str = "local[*]"
    """`local[*]`, `spark://…`, `yarn`, `k8s://…`, or `sc://…` for Spark Connect."""
    folder: Path | None = None
    """A folder that this process and all executors share; on this machine, by default one in the user's cache."""
    options: Mapping[str, Credential] = field(default_factory=dict)
    """Further configuration of Spark: texts, or where a secret is. Names have dots and so are quoted."""
    idle: Duration = Duration(300)
    """After that long without use Spark is ended; it starts anew when it is needed."""
    uris: tuple[str, ...] = ()
    """URIs (glob patterns) that `manifest.uri` of a document may name. Nothing, unless it is allowed here: who can
    write to the repository could otherwise have any file read."""


class LogFormat(Enum):
    """How `run` writes its log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """`[daemon]`: the cadence of `run`."""

    jitter: Duration = Duration(5)
    """Up to that much is added to each interval, so that many daemons do not meet."""
    retry_interval: Duration = Duration(10)
    """The wait after a failed cycle; it doubles with each further failure."""
    max_retry_interval: Duration = Duration(300)
    """The longest such wait."""
    log_format: LogFormat = LogFormat.JSON
    """`json` or `text`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of them, the directory that relative paths start from, and the file that they were read from, if any."""

    folder: Path
    file: Path | None = None
    repository: RepositorySettings = field(default_factory=RepositorySettings)
    state: StateSettings = field(default_factory=StateSettings)
    clusters: Mapping[ClusterName, ClusterSettings] = field(default_factory=dict)
    secrets: SecretsSettings = field(default_factory=SecretsSettings)
    spark: SparkSettings = field(default_factory=SparkSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
