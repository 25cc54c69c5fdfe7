"""Every error that is not a bug, sorted by whether a retry can help and by who must act.

Waiting errors are temporary: the daemon retries soon. Stalled errors need a new commit or an administrator.

The docstring of each error says what it means, what gitops-connect does by itself (`Retry:`) and what an administrator
does (`Fix:`). docs/reference/errors.md is generated from them.

Any other exception is a bug and is reported as one (exit code 70). A mistake in a document is not an exception but a
`Diagnostic`, so that all mistakes are shown at once.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """What may still be written to the disk of a directory: bytes, and files (inodes)."""

    directory: Path
    bytes: int
    files: int


class GitopsConnectError(Exception):
    """The base class of all errors that are not bugs."""

    full_disk: FreeSpace | None = None
    """The disk without enough free space that is the cause. A retry can help as soon as there is more space."""


def explanation(error: type[GitopsConnectError]) -> tuple[str, str, str]:
    """What an error means, what is retried, and what to do: the parts of its docstring."""
    meaning, _, rest = " ".join((inspect.getdoc(error) or "").split()).partition(" Retry: ")
    retry, _, fix = rest.partition(" Fix: ")
    return meaning, retry, fix


class Waiting(GitopsConnectError):
    """A temporary error: the same call may succeed later."""


class Stalled(GitopsConnectError):
    """A permanent error: a new commit or an administrator must fix the cause."""


class UsageError(Stalled):
    """The command line, the settings file or an environment variable is wrong. Nothing was changed.

    Retry: No. `run` does not start. While it runs, each reconciliation reads the credentials again.
    Fix: Correct the option or the setting that the message names.
    """


class SourceRefused(Stalled):
    """The Git server or the file system answered, but what it has cannot be used: the credentials are rejected, or
    the repository, branch, commit or directory does not exist.

    Retry: `run` asks again after 10s, then with growing waits, at the latest after `[repository] interval`. Until
    then it continues with the last revision that it read.
    Fix: Correct the setting in `[repository]` that the message names, or the repository.
    """


class UnsafePlan(Stalled):
    """The plan was rejected: it would delete a protected connector, or more connectors than `max_deletions` allows.
    Nothing was changed.

    Retry: No. The next reconciliation makes a new plan.
    Fix: Check the branch, the directory and the documents that are missing. If the deletions are intended, change
    `protected` or `max_deletions`.
    """


class StalePlan(Stalled):
    """The commit, the cluster, the settings or the ledger changed since the plan was saved or shown. Nothing was
    changed.

    Retry: No.
    Fix: Make a new plan, review it, and apply it.
    """


class LedgerUnusable(Stalled):
    """The ledger, its key or its database cannot be opened, read or written.

    Retry: No. `run` does not start. If the ledger fails later, `run` changes nothing until it can be used. If its disk
    is full, `run` tries again within seconds after there is more space.
    Fix: Fix the file, the permission or the disk that the message names, or restore a backup of the ledger together
    with its key.
    """


class OperationSettled(Stalled):
    """An offset change that was applied, or may have been applied, is never applied again. This happens if the
    ledger changes between the plan and the apply.

    Retry: No. The next plan shows the recorded state.
    Fix: Run `gitops-connect ledger show NAME`. To make the change again, declare it under a new name. If its state
    is unknown, run `gitops-connect ledger resolve NAME`.
    """


class UndoImpossible(Stalled):
    """`offsets undo` cannot write a document: the offset change is unknown, changed nothing, is in progress, or its
    earlier offsets were not saved or cannot be compared.

    Retry: No.
    Fix: Follow the message. If the earlier offsets are known from another source, write an OffsetChange with them.
    """


class ConnectRefused(Stalled):
    """A worker or a proxy answered and rejected the request: no such endpoint, a redirect, an answer that is too
    large or does not come from Connect, or TLS that fails.

    Retry: No.
    Fix: Follow the message: correct `url`, the TLS settings or `max_answer` in `[clusters.NAME]`, or upgrade the
    workers.
    """


class Unauthorized(ConnectRefused):
    """Connect, or a proxy in front of Connect, returned 401, 403 or 407.

    Retry: No. The next reconciliation reads the credentials again.
    Fix: Correct `username`, `password`, `token` or `headers` in `[clusters.NAME]`, or grant the permissions.
    """


class TopicTrackingDisabled(ConnectRefused):
    """The worker does not record which topics a connector uses, or does not allow to reset these records. Connect
    returns 403.

    Retry: No.
    Fix: Set `topic.tracking.enable=true`, and for a reset `topic.tracking.allow.reset=true`, on all workers.
    """


class NotFound(ConnectRefused):
    """The connector or plugin does not exist. Connect returns 404.

    Retry: No. The next reconciliation plans from the observed state.
    Fix: Correct the name, or choose the cluster with `--cluster`. If someone deleted the connector during the
    apply, apply again.
    """


class AlreadyExists(ConnectRefused):
    """A connector with this name exists already: someone created it after the plan was made. Connect returns 409.

    Retry: No. The next plan adopts the connector.
    Fix: Plan again: the plan compares the existing connector with its document.
    """


class Rejected(ConnectRefused):
    """Connect returned 400 or 422. The message contains Connect's reason.

    Retry: No.
    Fix: Correct the config or the offsets that the message names.
    """


class OffsetsNotSupported(ConnectRefused):
    """The connector class does not support changed offsets: it throws UnsupportedOperationException. Connect
    answers 500.

    Retry: No. The offset change is final and is not tried again.
    Fix: Remove the offset change. Change the position in the way that the documentation of the connector describes.
    """


class OffsetsNotChanged(ConnectRefused):
    """An offset change failed on the worker, and some offsets may have been changed. gitops-connect restores the
    earlier offsets if it can. Connect returns 500.

    Retry: The offset change is tried again after 1 minute, and at once if its document changes. The wait doubles
    with each failure, up to 1 hour.
    Fix: Find the cause in the log of the worker that leads the Connect group. Compare the offsets with
    `gitops-connect offsets get`.
    """


class KafkaRefused(Stalled):
    """A broker rejected a request of gitops-connect itself: a permission is missing, the brokers have no authorizer, or
    they do not support the request.

    Retry: `acls --check`: no. An offset change whose connector could not be fenced is tried again after 1 minute. The
    wait doubles with each failure, up to 1 hour. The lag is measured again after `lag_interval`.
    Fix: Add the ACL that the message names to the principal of the table that it names, or remove this table.
    """


class SandboxFailed(Stalled):
    """A part of the sandbox could not be found, downloaded or started.

    Retry: No.
    Fix: Follow the message. It contains the last lines of the log if a process has ended.
    """


class SparkUnusable(Stalled):
    """Spark lacks something: Java on this machine, packages or the same Python version on the executors, or a
    directory that they share with gitops-connect.

    Retry: No. `plan` and `apply` report the error for each offset change that needs Spark, as
    [offsets/spark](rules.md#offsetsspark), and process all other documents.
    Fix: Install what the message names, or correct `[spark]`. `gitops-connect doctor` finds Java.
    """


class ForgeRefused(Stalled):
    """The forge (GitHub, Gitea, Forgejo or GitLab) rejected a request: the token is wrong, expired or lacks a
    permission, or the content is not accepted. Or its answer cannot be used: it is too large, redirects, or has a value
    that no forge sends.

    Retry: No. `run` reads the token again for each request.
    Fix: Create a new token with the permissions that docs/reference/forges.md lists, or correct `[forge]`.
    `gitops-connect doctor` checks the token.
    """


class ForgeNotFound(ForgeRefused):
    """The repository, a pull request, a commit or a user does not exist on the forge, or the token may not see it. A
    forge answers 404 in both cases.

    Retry: No.
    Fix: Check `url` and `repository` in `[forge]`, and that the token has access to this repository.
    """


class SourceUnavailable(Waiting):
    """The Git server did not answer, or not within `[repository] timeout`; a file changed while a directory was read;
    or the disk of the clone is full.

    Retry: `run` asks again after 10s, then with growing waits, at the latest after `[repository] interval`, and within
    seconds after a full disk has more space. Until then it continues with the last revision that it read.
    Fix: Check the server, the network and the proxy. If the server is slow, raise `[repository] timeout`.
    """


class ConnectUnavailable(Waiting):
    """No worker of the cluster answered, or a worker answered 5xx without a reason. A request that changes
    something was not executed.

    Retry: The other workers are asked, and the request is repeated for up to 16s. A step is sent again until
    `settle_timeout` has passed. `run` then tries the whole reconciliation again.
    Fix: Start the workers, and check `url` in `[clusters.NAME]`, the network and the proxy. `gitops-connect doctor`
    tries each worker.
    """


class KafkaUnavailable(Waiting):
    """No broker of a Kafka cluster in the settings answered in time, or the login or TLS failed.

    Retry: `acls --check`: no. An offset change whose connector could not be fenced is tried again after 1 minute. The
    wait doubles with each failure, up to 1 hour. The lag is measured again after `lag_interval`.
    Fix: Check `bootstrap_servers`, `security_protocol` and the credentials. If the brokers are slow, raise `timeout`.
    """


class RebalanceInProgress(Waiting):
    """The Connect group is rebalancing. Connect returns 409, or 500 with a message about the rebalance.

    Retry: The request is repeated for up to 16s, and a step until `settle_timeout` has passed.
    Fix: Wait. If the group rebalances again and again, find the cause in the workers' logs: often a worker that
    leaves and joins.
    """


class NotStopped(Waiting):
    """The connector is not STOPPED or still has tasks, so its offsets cannot be changed yet. Connect returns 400.

    Retry: The request is repeated until `settle_timeout` has passed. The offset change is then tried again after 1
    minute. This wait doubles with each failure, up to 1 hour.
    Fix: Find out who started the connector again, or which task does not end. If a task hangs, restart its worker.
    """


class GroupInUse(Waiting):
    """The consumer group of a sink has active members: tasks that still run, or other consumers. Connect answers
    500.

    Retry: The request is repeated until `settle_timeout` has passed. The offset change is then tried again after 1
    minute. This wait doubles with each failure, up to 1 hour.
    Fix: Stop the other consumers of the group. If a task of the connector hangs, restart its worker.
    """


class OutcomeUnknown(Waiting):
    """A request that changes something was sent, but no response arrived. Connect may have executed the request, or
    may still execute it (KAFKA-14353).

    Retry: The state of the cluster is read before the request is sent again. If an offset change stays unfinished,
    the connector stays stopped, and the next reconciliation finishes the change.
    Fix: Do nothing, unless the error returns. Then find the cause in the log of the worker that leads the Connect
    group.
    """


class NotSettled(Waiting):
    """The cluster accepted a step, but its effect was not observed within `settle_timeout`.

    Retry: Not within this apply. The next reconciliation plans from the observed state.
    Fix: Read the state that the message contains, and the worker's log. If the connector starts slowly, raise
    `settle_timeout`.
    """


class LedgerBusy(Waiting):
    """Another process holds the lease of this cluster, or a lock on the ledger's database, or is the daemon of this
    SQLite ledger.

    Retry: `run` tries the cluster again every 2 seconds. It ends if an SQLite ledger has another daemon. The lease of a
    process that was killed on another machine expires after at most 10 seconds.
    Fix: Wait until the process that the message names has ended, or stop it. Run one daemon for each SQLite ledger.
    """


class DaemonUnavailable(Waiting):
    """No daemon answered to `gitops-connect reconcile` or `review`, or it did not finish within `--timeout`.

    Retry: None.
    Fix: Start `run` with `[server] listen`, and check the URL. After a timeout, the daemon continues: read its log.
    """


class SparkFailed(Waiting):
    """Spark did not answer, was lost, or failed, so large offset manifests could not be checked.

    Retry: The next reconciliation starts a new Spark session.
    Fix: Read the reason in the message, and check the Spark master, its free cores and its memory.
    """


class ForgeUnavailable(Waiting):
    """The forge (GitHub, Gitea, Forgejo or GitLab) did not answer, answered 409 or 5xx, or limits the rate of requests.
    A comment or a status may have been written.

    Retry: `run` tries the review again, after a rate limit not before the time that the message names. Until then it
    reconciles as usual.
    Fix: Check the forge, the network and the proxy. If a rate limit is reached again and again, give gitops-connect an
    account or a GitHub app of its own.
    """

    def __init__(self, message: str = "", retry_at: datetime | None = None) -> None:
        super().__init__(message)
        self.retry_at = retry_at
        """When the rate limit ends, if the forge says so."""
