"""Temporary errors: the same call may succeed later."""

from __future__ import annotations

from datetime import datetime

from gitops_connect.errors.kinds import Waiting


class SourceUnavailable(Waiting):
    """The Git server did not answer, or not within `[repository] timeout`; or a file changed while a directory was
    read.

    Retry: `run` asks again after 10s, then with growing waits, at the latest after `[repository] interval`. Until
    then it continues with the last revision that it read.
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
