"""The sections of `gitops-connect.toml`, a dataclass each. The field's docstring is its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from gitops_connect.model.clock import Duration
from gitops_connect.model.desired import OnManualPause
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.model.names import ClusterName
from gitops_connect.model.reviewed_plans import ReviewMode
from gitops_connect.model.strimzi import NEWEST, StrimziOptions, StrimziVersion
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, OTHER, SkipLimits
from gitops_connect.settings.coerce import POSITIVE, Size
from gitops_connect.settings.credential_sources import Credential

# Checks the addresses in settings before a library gets them: some libraries fail with errors of their own.

_LONGEST = 253


def is_http_url(url: str) -> bool:
    """Whether this is an http(s) URL with a host that can be looked up, and with a port from 1 to 65535, if any."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def is_host(host: str) -> bool:
    """Whether this can be a host name or an IP address. A name in another alphabet has to be written as `xn--…`."""
    labels = host.removesuffix(".").split(".")
    return host.isascii() and host.isprintable() and len(host) <= _LONGEST and all(0 < len(one) < 64 for one in labels)


# The sections of `gitops-connect.toml` that only `run` uses. The field's docstring is its documentation.


class LogFormat(Enum):
    """How `run` writes its log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """`[daemon]`: intervals and the log of `gitops-connect run`."""

    jitter: Duration = Duration(5)
    """A random time up to this value is added to each wait, to spread the load of several daemons."""
    retry_interval: Duration = field(default=Duration(10), metadata=POSITIVE)
    """The wait after a failed reconciliation. It doubles with each further failure."""
    max_retry_interval: Duration = field(default=Duration(300), metadata=POSITIVE)
    """The longest wait after a failed reconciliation."""
    shutdown_timeout: Duration = Duration(25)
    """How long steps in progress may take to end after SIGTERM. Then the process ends, and the next start finishes
    them. Kubernetes kills a pod after 30s, unless `terminationGracePeriodSeconds` is set."""
    log_format: LogFormat = LogFormat.JSON
    """The format of log lines: `json` or `text`."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`[server]`: the HTTP server of `gitops-connect run`, with the status page, the API, metrics and webhooks."""

    listen: str | None = None
    """The address and the port of the server, such as `127.0.0.1:8080` or `[::]:8080`. Not set: there is no server."""
    public_url: str | None = None
    """The URL under which others reach the server, if it differs from `listen`. `gitops-connect reconcile` and
    `review` use it, and comments and statuses on a forge link to it."""
    token: Credential | None = None
    """The token for requests that start something. It also allows to read. Not set: the server is read-only."""
    read_token: Credential | None = None
    """The token that is required to read. Not set: no token is required, which `anonymous_read` may have to allow."""
    anonymous_read: bool = False
    """Allow to read without a token on an address that other machines can reach. On a loopback address, only
    `read_token` restricts reading."""
    hosts: tuple[str, ...] = ()
    """If reading needs no token: further host names of the server. `localhost`, IP addresses and the host of
    `public_url` are always accepted."""
    webhook_secret: Credential | None = None
    """The secret of the webhooks of GitHub, Gitea, Forgejo or GitLab. Not set: webhooks are rejected."""
    metrics_connectors: int = 1000
    """How many connectors of each cluster have metrics of their own."""


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """`[notifications]`: what `run` tells people, through Slack, Teams, mail and other services."""

    targets: Mapping[str, Credential] = field(default_factory=dict)
    """The services, by any name, each as a URL of apprise. A URL usually contains a token, so use a credential."""
    events: tuple[str, ...] = (
        "config_rolled_back",
        "connector_given_up",
        "rollout_stopped",
        "unexpected_topics",
        "drift_corrected",
        "reconciliation_failed",
        "reconciliation_finished",
        "repository_unreachable",
        "step_failed",
    )
    """The log events that are sent (glob patterns). `reconciliation_finished` is sent only if a step was applied or has
    failed."""
    repeat_after: Duration = Duration(4 * 3600)
    """The same event with the same message is sent again only after this time, or after its end was sent."""
    max_per_hour: int = field(default=30, metadata=POSITIVE)
    """How many notifications are sent in an hour, and how many of alarms. Further events are grouped."""


class ForgeKind(Enum):
    """The software of a forge."""

    GITHUB = "github"
    GITEA = "gitea"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class ForgeSettings:
    """`[forge]`: the forge with the pull requests of the repository, where `run` writes what a merge would do."""

    kind: ForgeKind | None = None
    """`github`, `gitlab`, or `gitea`, which includes Forgejo. Not set: pull requests are not reviewed."""
    url: str | None = None
    """The URL of the API, such as `https://gitea.example.com/api/v1`. Default for `github` and `gitlab`: github.com and
    gitlab.com."""
    repository: str = ""
    """The name of the repository on the forge: `owner/name`. On GitLab, the path of the project."""
    token: Credential | None = None
    """The access token. The permissions that it needs depend on the forge."""
    app_id: int | None = field(default=None, metadata=POSITIVE)
    """The id of a GitHub app, instead of `token`."""
    installation_id: int | None = field(default=None, metadata=POSITIVE)
    """The id of the installation of the GitHub app for the repository."""
    private_key: Credential | None = None
    """The private key of the GitHub app, as PEM."""
    ca_file: Path | None = None
    """CA certificates to verify the forge, a PEM file."""
    timeout: Duration = field(default=Duration(30), metadata=POSITIVE)
    """How long one request to the forge may take, with its whole answer."""
    plan_timeout: Duration = field(default=Duration(600), metadata=POSITIVE)
    """How long the plan of one pull request may take. Then its requests to clusters and its checks of large manifests
    end, and no further cluster is planned. What was planned is shown, and the pull request fails its check."""
    review: ReviewMode = ReviewMode.REVIEWED
    """What is applied after a merge. `reviewed`: what was shown in the pull request, and what needs no review; a new
    destructive change waits for an approval. `auto`: everything. `manual`: only what was approved in a comment."""
    author_may_approve: bool = True
    """Whether the author of a pull request may approve its plan in a comment. `false`: another person with write access
    has to. Who may merge it is decided by the branch protection of the forge."""
    approvals: int = field(default=1, metadata=POSITIVE)
    """How many people have to approve a plan before an approval counts."""


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """`[repository]`: where the desired state is."""

    url: str = ""
    """The URL of the Git repository, or a local path."""
    branch: str = "main"
    """The branch to follow, if neither `tag` nor `commit` is set."""
    tag: str | None = None
    """A tag to follow instead of the branch."""
    commit: str | None = None
    """A fixed commit instead of a branch or tag: all 40 hex digits."""
    path: str = "."
    """The directory in the repository that contains the documents."""
    interval: Duration = field(default=Duration(60), metadata=POSITIVE)
    """How often `run` checks for new commits."""
    timeout: Duration = field(default=Duration(60), metadata=POSITIVE)
    """The timeout of one Git operation."""
    git_memory: Size = field(default=Size(384 * 2**20), metadata=POSITIVE)
    """The memory limit of each Git process (Linux only)."""
    max_fetch: Size = field(default=Size(2**33), metadata=POSITIVE)
    """The largest file that Git may write, which limits each fetch: Git writes a fetch to one file."""
    username: str | None = None
    """User name for HTTP(S). With a token, many servers accept any name."""
    password: Credential | None = None
    """Password or token for HTTP(S)."""
    ssh_key: Path | None = None
    """Private key file for SSH."""
    known_hosts: Path | None = None
    """Host keys file for SSH. Default: the known hosts of the user."""
    ca_file: Path | None = None
    """CA certificates for HTTPS, a PEM file."""


@dataclass(frozen=True, slots=True)
class StateSettings:
    """`[state]`: the ledger, a database of managed connectors and applied offset changes."""

    url: str = "sqlite:///state.db"
    """The database, as an SQLAlchemy URL. A relative SQLite path starts from the directory of the settings file. If the
    URL is not set and that directory is in a Git work tree, a new ledger is in the user's state directory instead."""
    key: Credential | None = None
    """The key for digests of secrets. Default: a generated key, stored in a file next to the SQLite database."""
    keep_offsets: Duration = Duration(90 * 24 * 3600)
    """How long the ledger keeps the offsets before a change that was applied, which `offsets undo` needs. The record
    that the change was applied is never removed."""
    keep_history: Duration = Duration(365 * 24 * 3600)
    """How long the ledger keeps the steps of the history: who or what changed a connector, when, why, and with which
    result. Of each cluster, it keeps the last 100,000 at most."""


@dataclass(frozen=True, slots=True)
class SkipSettings:
    """`[clusters.NAME.max_skip]`: how much one offset change may skip in total without `acknowledge: [skip]` in its
    document. The connector class decides which of these limits applies."""

    records: int = DEFAULT_SKIP_LIMITS["records"]
    """Records of topics: sink connectors, and MirrorMaker's MirrorSourceConnector."""
    file_bytes: Size = Size(DEFAULT_SKIP_LIMITS["file_bytes"])
    """Bytes of a file: FileStreamSourceConnector."""
    wal_bytes: Size = Size(DEFAULT_SKIP_LIMITS["wal_bytes"])
    """Bytes of the write-ahead log, including the changes of other tables: Debezium for PostgreSQL."""
    binlog_bytes: Size = Size(DEFAULT_SKIP_LIMITS["binlog_bytes"])
    """Bytes of the binlog, including the changes of other tables: Debezium for MySQL and MariaDB."""
    ids: int = DEFAULT_SKIP_LIMITS["ids"]
    """Values of the incrementing column: JDBC sources in mode `incrementing`."""
    time: Duration = Duration(DEFAULT_SKIP_LIMITS["time"] // 1000)
    """Time between two timestamps: JDBC sources in mode `timestamp` or `timestamp+incrementing`."""
    other: int = DEFAULT_SKIP_LIMITS[OTHER]
    """Any other unit: classes with an offset schema in the repository whose `x-unit` is not a key of this table."""

    @property
    def limits(self) -> SkipLimits:
        """By key; time in milliseconds."""
        return {**asdict(self), "time": round(self.time * 1000)}


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """`[clusters.NAME.databases.DATABASE]`: a PostgreSQL server with replication slots of Debezium's connectors. Plans
    of offset changes read the slots of these connectors. `DATABASE` is any name."""

    url: Credential
    """The connection URI, such as `postgresql://user@host/database?sslmode=verify-full`, with any database of the
    server. The role needs no privilege except to connect."""
    connectors: tuple[str, ...]
    """The connectors whose slots are in this server (glob patterns). If several databases list a connector, the first
    one counts."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """`[clusters.NAME.worker]`: what the config of the workers says about Kafka, for `gitops-connect acls`. Connect's
    REST API does not provide it."""

    group_id: str = ""
    """The worker's `group.id`."""
    config_topic: str = ""
    """The worker's `config.storage.topic`."""
    offsets_topic: str = ""
    """The worker's `offset.storage.topic`."""
    status_topic: str = ""
    """The worker's `status.storage.topic`."""
    principal: str = ""
    """The principal of the worker on Kafka, such as `User:connect` or `User:CN=connect`."""
    producer_principal: str = ""
    """The principal of the producers of connectors (the worker's `producer.` settings). Default: `principal`."""
    consumer_principal: str = ""
    """The principal of the consumers of connectors (the worker's `consumer.` settings). Default: `principal`."""
    admin_principal: str = ""
    """The principal of the admin clients of connectors (the worker's `admin.` settings). Default: `principal`."""
    principals: Mapping[str, str] = field(default_factory=dict)
    """The principals of connectors with credentials of their own, such as `consumer.override.sasl.jaas.config`, by the
    connector's name. Credentials are never read to find a principal."""


class OutdatedTopics(Enum):
    """What happens to active topics that a sink does not read any more."""

    REPORT = "report"
    RESET = "reset"


class SecurityProtocol(Enum):
    """How clients connect to the brokers (`security.protocol`)."""

    PLAINTEXT = "plaintext"
    SSL = "ssl"
    SASL_PLAINTEXT = "sasl_plaintext"
    SASL_SSL = "sasl_ssl"


class SaslMechanism(Enum):
    """How clients log in to the brokers (`sasl.mechanism`)."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """`[clusters.NAME.kafka]`: the Kafka cluster of the workers, for `acls --check`, to fence exactly-once sources, to
    read the first and last offsets of partitions, and to measure lag. `[clusters.NAME.kafka_clusters.ALIAS]` has the
    same settings for another Kafka cluster. These tables need the extra `kafka`."""

    bootstrap_servers: tuple[str, ...]
    """The brokers to connect to first, each as `host:port`."""
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """`plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`, as `security.protocol` of Kafka's clients."""
    sasl_mechanism: SaslMechanism = SaslMechanism.SCRAM_SHA_512
    """`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` or `OAUTHBEARER`, if the protocol has SASL."""
    username: str | None = None
    """User name for SASL. With `OAUTHBEARER`, the client id."""
    password: Credential | None = None
    """Password for SASL. With `OAUTHBEARER`, the client secret."""
    token_url: str | None = None
    """For `OAUTHBEARER`: the URL from which the client gets its tokens (OIDC, client credentials). It must begin with
    `https://`, except for `localhost`, `127.0.0.1` and `[::1]`. The CA certificates of the system verify it."""
    scope: str | None = None
    """For `OAUTHBEARER`: the scope of the tokens, if the server of `token_url` needs one."""
    ca_file: Path | None = None
    """CA certificates to verify the brokers, a PEM file. Default: those of the system."""
    client_certificate: Path | None = None
    """Client certificate for mutual TLS, a PEM file."""
    client_key: Path | None = None
    """Private key of the client certificate, a PEM file. Default: the key is in `client_certificate`."""
    timeout: Duration = field(default=Duration(30), metadata=POSITIVE)
    """How long one operation may take: to list all ACLs, to fence all tasks of a connector, or to read the offsets of
    any number of logs."""
    lag_interval: Duration = Duration(60)
    """How often `run` measures the lag of the sinks and mirrors that read this Kafka cluster. If several Kafka clusters
    differ, the shortest interval counts. `0`: never, and `status` shows no lag of these connectors."""


class ClusterMode(Enum):
    """Whether a cluster is changed or only observed."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """`[clusters.NAME]`: one Connect cluster."""

    name: ClusterName
    url: tuple[str, ...]
    """The URLs of the workers. If a worker does not answer, gitops-connect asks the next worker."""
    mode: ClusterMode = ClusterMode.ENFORCE
    """`enforce` applies changes; `observe` only plans and reports them."""
    suspend: bool = False
    """Change nothing on this cluster until you set this to `false`; plans show what would be changed."""
    prune: bool = False
    """Delete managed connectors that are no longer declared."""
    on_manual_pause: OnManualPause = OnManualPause.REVERT
    """What to do if someone pauses or stops a connector that should run: `revert` resumes it; `respect` leaves it
    paused or stopped, until its document changes its state or config. `spec.onManualPause` of a document takes
    precedence."""
    strimzi: tuple[str, ...] = ()
    """The Connect clusters of Strimzi resources that mean this cluster: values of the label `strimzi.io/cluster`, and
    names of `KafkaMirrorMaker2` resources. The name of this cluster always means this cluster."""
    protected: tuple[str, ...] = ()
    """Connectors that are never deleted (glob patterns)."""
    max_deletions: float = 0.3
    """The fraction of the managed connectors that one plan may delete. Deleting one connector is always allowed."""
    max_skip: SkipSettings = field(default_factory=SkipSettings)
    """How much one offset change may skip: the table `[clusters.NAME.max_skip]`. A single number sets its key
    `records`."""
    databases: Mapping[str, DatabaseSettings] = field(default_factory=dict)
    """The source databases whose replication slots plans read: tables `[clusters.NAME.databases.DATABASE]`. By default,
    gitops-connect connects to no database."""
    exactly_once: ExpectedSupport | None = None
    """What `exactly.once.source.support` of the workers should be: `disabled`, `preparing` or `enabled`. A plan warns
    if the workers differ, and uses this value if it cannot find out. Connect does not tell `disabled` from
    `preparing`. By default, nothing is expected. `acls` lists the permissions for this value."""
    require_exactly_once: tuple[str, ...] = ()
    """Sources (glob patterns) whose documents must set `exactly.once.support` to `required`. Anything else is an error,
    also in `validate` and in pull requests."""
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    """What the workers' config says about Kafka: the table `[clusters.NAME.worker]`."""
    kafka: KafkaSettings | None = None
    """The Kafka cluster of the workers: the table `[clusters.NAME.kafka]`. By default, gitops-connect never connects to
    Kafka."""
    kafka_clusters: Mapping[str, KafkaSettings] = field(default_factory=dict)
    """Other Kafka clusters that connectors read: tables `[clusters.NAME.kafka_clusters.ALIAS]`; `ALIAS` is any
    name. A connector reads one of them if they share an address in `bootstrap.servers`. No other address is
    contacted."""
    task_shutdown_timeout: Duration = Duration(5)
    """`task.shutdown.graceful.timeout.ms` of the workers. A task that does not stop in time may still write. So before
    the offsets of a source are changed, they are read again after this time, and must be the same, unless its tasks are
    fenced. With `0`, they are read once."""
    connect_validate: bool = True
    """Let Connect validate each new or changed config (`config/validate`)."""
    validate_unmerged: tuple[str, ...] = ()
    """Connector classes (full names) whose configs in pull requests Connect may validate before they are merged, with
    placeholders for secrets. By default, none: the validation of such a class connects to any server that the author of
    the pull request names. Configs with a placeholder of a config provider (`${…}`) are never sent."""
    validate_timeout: Duration = field(default=Duration(60), metadata=POSITIVE)
    """The timeout of all `config/validate` requests of one plan together. Then gitops-connect cancels the requests in
    progress, and warns of each config that Connect has not validated."""
    parallelism: int = field(default=8, metadata=POSITIVE)
    """The number of concurrent requests. With 1 or 2, up to two reads of new connectors are added."""
    timeout: Duration = field(default=Duration(100), metadata=POSITIVE)
    """The timeout of one request, including its answer. Connect itself gives up after 90s. For a large answer,
    one second is added for each 64 KiB."""
    max_answer: Size = field(default=Size(2**26), metadata=POSITIVE)
    """The largest answer that is accepted from a worker, after decompression. Current offsets that are saved to a file
    may have 64 times this size."""
    settle_timeout: Duration = field(default=Duration(120), metadata=POSITIVE)
    """The timeout of one step: how long gitops-connect waits until it observes the effect on the cluster."""
    min_running: Duration = Duration(5)
    """How long a connector and all its tasks must be RUNNING before the last step of the connector succeeds, or as long
    as they took to start if that is longer. With `0`, the tasks are not checked."""
    auto_restart: bool = True
    """Let `run` restart connectors and tasks that have FAILED, unless `spec.autoRestart` of a document turns it off."""
    concurrent_restarts: int = 5
    """How many connectors one reconciliation restarts automatically. Each restart may cause a rebalance."""
    stable_after: Duration = Duration(600)
    """How long a connector must work after its last automatic restart until its restarts are no longer counted."""
    rollback_watch: Duration = Duration(0)
    """How long a new config of a connector is on trial in `run`, unless `spec.rollback` of its document says otherwise.
    If the connector fails or is degraded in that time, its previous config is restored. `0` disables this."""
    rollout_size: int = 0
    """How many connectors `run` gives another config in one reconciliation. `0`: all."""
    rollout_max_failures: int = 0
    """After how many connectors that do not work with their new config `run` gives no other connector its new config,
    until their documents change or `gitops-connect rollout` continues. `0`: never."""
    topic_history: bool = False
    """Let `run` read the active topics of all connectors of the cluster, and log those that are added or removed."""
    topic_requests: int = field(default=100, metadata=POSITIVE)
    """The number of connectors whose active topics one reconciliation reads at most. The others have their turn in
    later reconciliations."""
    outdated_topics: OutdatedTopics = OutdatedTopics.REPORT
    """What happens if a sink has used topics that its `topics` or `topics.regex` does not read any more. `report`: the
    plan has a note if its document declares `spec.topics`. `reset`: its active topics are read and reset."""
    degraded_after: Duration = Duration(120)
    """How long a connector or task may be UNASSIGNED, or on a worker that does not answer, until the connector is
    Degraded. A rolling restart of the workers should take less time for each worker."""
    worker_heap: Size = Size(2**31)
    """The heap of each worker (`-Xmx`). Offset changes that need more heap are blocked. `0` disables the limit."""
    username: str | None = None
    """User name for basic authentication."""
    password: Credential | None = None
    """Password for basic authentication."""
    token: Credential | None = None
    """Bearer token."""
    headers: Mapping[str, Credential] = field(default_factory=dict)
    """Additional request headers, by name."""
    ca_file: Path | None = None
    """CA certificates to verify the workers, a PEM file."""
    client_certificate: Path | None = None
    """Client certificate for mutual TLS, a PEM file."""
    client_key: Path | None = None
    """Private key of the client certificate, a PEM file. Default: the key is in `client_certificate`."""

    @property
    def fences(self) -> bool:
        """Whether exactly-once sources can be fenced: the brokers and the names of the transactional ids are known."""
        return self.kafka is not None and bool(self.worker.group_id)

    @property
    def lag_interval(self) -> float:
        """Seconds between two measurements of the lag; 0: it is not measured."""
        named = (self.kafka, *self.kafka_clusters.values())
        return min((one.lag_interval for one in named if one is not None and one.lag_interval), default=0.0)


@dataclass(frozen=True, slots=True)
class SecretsSettings:
    """`[secrets]`: which secrets documents may refer to in `spec.secrets`. By default, none.

    Without this limit, anyone who can write to the repository could send any file or environment variable of
    gitops-connect to a connector.
    """

    env: tuple[str, ...] = ()
    """Allowed environment variables (glob patterns). Variables with credentials of the settings are never sent."""
    files: tuple[Path, ...] = ()
    """Directories; the files in them and below them are allowed."""


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """`[spark]`: Apache Spark, which checks offset manifests that are too large for one process."""

    master: str = "local[*]"
    """The master URL: `local[*]`, `spark://…`, `yarn`, `k8s://…`, or `sc://…` for Spark Connect."""
    directory: Path | None = None
    """A directory that gitops-connect and all executors share. Default with a `local` master: in the user's cache."""
    options: Mapping[str, Credential] = field(default_factory=dict)
    """Spark configuration properties: strings or credentials. Quote the names, as they contain dots."""
    idle: Duration = Duration(300)
    """How long an unused Spark session is kept. The next large manifest starts a new session."""
    min_size: Size = Size(2 * 2**30)
    """Spark checks large manifests if, together with the current offsets, they have at least this size. Otherwise,
    processes on this machine check them, without the time that Spark needs to start. With 0, Spark checks all of them.
    A compressed file counts as ten times its size, and each row of Parquet as 128 bytes."""
    uris: tuple[str, ...] = ()
    """Allowed values of `manifest.uri` in documents (glob patterns). By default, none: anyone who can write to the
    repository could otherwise make gitops-connect read any file."""


@dataclass(frozen=True, slots=True)
class StrimziSettings:
    """`[strimzi]`: how `KafkaConnector` and `KafkaMirrorMaker2` resources of Strimzi are read."""

    version: StrimziVersion = NEWEST
    """The version of Strimzi's operator whose rules apply, such as `0.45`: the one that has deployed your workers. The
    rules for the config of a `KafkaMirrorMaker2` differ between versions, and so do the placeholders of its secrets."""
    workers: bool = False
    """Whether Strimzi deploys the workers. They have Strimzi's config providers, so that all placeholders are left
    unchanged, and the converters of MirrorMaker, which are added to its connectors otherwise."""
    placeholders: Mapping[str, str] = field(default_factory=dict)
    """What replaces the placeholders of Strimzi's own config providers, which other workers do not have. Each key is
    the beginning of a placeholder without `${`; its value replaces this beginning. The longest key applies."""
    auto_restart: bool = False
    """Whether failed connectors without `autoRestart` are restarted, as proposal 007 of Strimzi says. Strimzi's
    releases do not restart them. `autoRestart: {enabled: false}` in a resource switches it off."""
    api_groups: tuple[str, ...] = ()
    """The API groups of other products whose resources have the fields of Strimzi's, such as `eventstreams.ibm.com` of
    IBM Event Streams. Labels and annotations with the group as their prefix, such as `eventstreams.ibm.com/cluster`,
    mean those of `strimzi.io`."""
    output: Path | None = None
    """The directory for the ConfigMaps that `strimzi.io/connector-offsets: list` requests."""
    output_branch: str = ""
    """The branch of the repository for these ConfigMaps. gitops-connect commits to it and pushes, without force. The
    branch is created if it does not exist. Compared without case, it must differ from
    `[repository] branch`. It has no prefix such as `refs/heads/`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of them, the directory that relative paths start from, and the file that they were read from, if any.

    `chooses_ledger`: `[state] url` is not set, and is the URL of the file that `ledger_place` has chosen.
    """

    directory: Path
    file: Path | None = None
    chooses_ledger: bool = False
    repository: RepositorySettings = field(default_factory=RepositorySettings)
    state: StateSettings = field(default_factory=StateSettings)
    clusters: Mapping[ClusterName, ClusterSettings] = field(default_factory=dict)
    secrets: SecretsSettings = field(default_factory=SecretsSettings)
    spark: SparkSettings = field(default_factory=SparkSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    notifications: NotificationSettings = field(default_factory=NotificationSettings)
    forge: ForgeSettings = field(default_factory=ForgeSettings)
    strimzi: StrimziSettings = field(default_factory=StrimziSettings)

    @property
    def strimzi_options(self) -> StrimziOptions:
        """`[strimzi]`, and the names of Strimzi's Connect clusters in `[clusters.NAME] strimzi`.

        Without clusters, as in `validate` of a directory, nothing is known of the workers: placeholders are left.
        """
        names = {name: cluster.name for cluster in self.clusters.values() for name in cluster.strimzi}
        workers = self.strimzi.workers or not self.clusters
        own = self.strimzi
        return StrimziOptions(own.version, names, own.placeholders, workers, own.auto_restart, own.api_groups)
