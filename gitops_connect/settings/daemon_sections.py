"""The sections of `gitops-connect.toml` that only `run` uses. The field's docstring is its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from gitops_connect.model.durations import Duration
from gitops_connect.model.reviewed_plans import ReviewMode
from gitops_connect.settings.convert import POSITIVE
from gitops_connect.settings.credential_sources import Credential


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
        "drift_corrected",
        "reconciliation_failed",
        "reconciliation_finished",
        "repository_unreachable",
        "step_failed",
    )
    """The log events that are sent (glob patterns). `reconciliation_finished` is sent only if a step was applied or has
    failed."""
    repeat_after: Duration = Duration(4 * 3600)
    """The same event with the same message is sent again only after this time."""
    max_per_hour: int = 30
    """How many notifications are sent in an hour. The next one says how many were left out."""


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
    """How long the plan of one pull request may take. Then its requests to clusters end, and no further cluster is
    planned. What was planned is shown, and the pull request fails its check."""
    review: ReviewMode = ReviewMode.REVIEWED
    """What is applied after a merge. `reviewed`: what was shown in the pull request, and what needs no review; a new
    destructive change waits for an approval. `auto`: everything. `manual`: only what was approved in a comment."""
