"""Every error that is not a bug, sorted by whether a retry can help and by who must act.

The class of an error tells the daemon whether to retry soon:

    GitopsConnectError
      Waiting                       temporary: the same call may succeed later
        SourceUnavailable           the Git server did not answer
        ConnectUnavailable          no worker answered, or the answer was a 5xx without a reason
        RebalanceInProgress         the Connect group is rebalancing
        NotStopped                  the offsets cannot be changed yet: the connector is not stopped, or still has tasks
        GroupInUse                  the offsets of a sink cannot be changed yet: its consumer group has active members
        OutcomeUnknown              a request was sent, but no answer arrived: read the state before sending again
        NotSettled                  the cluster accepted a step, but its effect was not observed in time
        LedgerBusy                  another process holds the lease of this cluster
        SparkFailed                 Spark was lost or did not answer, so large manifests could not be checked
      Stalled                       a retry does not help: a new commit or an administrator must fix the cause
        UsageError                  the command line or the settings are wrong
        SourceRefused               the repository answered, but its content cannot be used
        UnsafePlan                  a guard rejected the plan
        StalePlan                   the reviewed plan no longer matches the repository or the cluster
        LedgerUnusable              the ledger cannot be read or written
        OperationSettled            an offset change was applied, or may have been applied: it is never applied again
        ConnectRefused              a worker answered and rejected the request
          Unauthorized              401 or 403
          NotFound                  404
          AlreadyExists             409 without a rebalance
          Rejected                  400 or 422, with the message of Connect
          OffsetsNotSupported       the connector does not support changed offsets (UnsupportedOperationException)
          OffsetsNotChanged         an offset change failed on the worker, and may be partly applied
        SandboxFailed               a part of the sandbox could not be downloaded or started
        SparkUnusable               Spark lacks something: Java, packages on the executors, or a shared directory

Any other exception is a bug and is reported as one (exit code 70). A mistake in a document is not an exception but a
`Diagnostic`, so that all mistakes are shown at once.
"""

from __future__ import annotations


class GitopsConnectError(Exception):
    """The base class of all errors that are not bugs."""


class Waiting(GitopsConnectError):
    """A temporary error: the same call may succeed later."""


class SourceUnavailable(Waiting):
    """The Git server did not answer, or not within the timeout."""


class ConnectUnavailable(Waiting):
    """No worker of the cluster answered, or a worker answered 5xx without a reason."""


class RebalanceInProgress(Waiting):
    """The Connect group is rebalancing. Connect answers 409, or 500 with a message about the rebalance."""


class NotStopped(Waiting):
    """The connector is not STOPPED or still has tasks, so its offsets cannot be changed yet. Connect answers 400."""


class GroupInUse(Waiting):
    """The consumer group of a sink has active members: tasks or other consumers. Connect answers 500."""


class OutcomeUnknown(Waiting):
    """A write request was sent, but no answer arrived. The request may have been executed (KAFKA-14353)."""


class NotSettled(Waiting):
    """The cluster accepted a step, but its effect was not observed within `settle_timeout`."""


class LedgerBusy(Waiting):
    """Another process holds the lease of this cluster, or a lock on the ledger's database."""


class SparkFailed(Waiting):
    """Spark did not answer, was lost, or failed. The next reconciliation tries again."""


class Stalled(GitopsConnectError):
    """A permanent error: a new commit or an administrator must fix the cause."""


class UsageError(Stalled):
    """The command line, the settings file or an environment variable is wrong."""


class SourceRefused(Stalled):
    """The repository does not have the branch or commit, or its content is rejected."""


class UnsafePlan(Stalled):
    """A guard rejected the plan. The message names the guard and how to proceed."""


class StalePlan(Stalled):
    """The commit or the state of the cluster changed since the plan was made."""


class LedgerUnusable(Stalled):
    """The ledger cannot be opened, read or written."""


class OperationSettled(Stalled):
    """An offset change that was applied, or may have been applied, is never applied again."""


class ConnectRefused(Stalled):
    """A worker answered and rejected the request."""


class Unauthorized(ConnectRefused):
    """Connect, or a proxy in front of Connect, answered 401 or 403."""


class NotFound(ConnectRefused):
    """The connector, plugin or endpoint does not exist. Connect answers 404."""


class AlreadyExists(ConnectRefused):
    """A connector with this name exists already. Connect answers 409."""


class Rejected(ConnectRefused):
    """Connect answered 400 or 422. The message contains Connect's reason."""


class OffsetsNotSupported(ConnectRefused):
    """The connector class does not support changed offsets (UnsupportedOperationException). Connect answers 500."""


class OffsetsNotChanged(ConnectRefused):
    """An offset change failed on the worker. The offsets may be partly changed; check them. Connect answers 500."""


class SandboxFailed(Stalled):
    """A part of the sandbox could not be found, downloaded or started."""


class SparkUnusable(Stalled):
    """No Java, or executors have another Python version, lack a package or cannot access the shared directory."""
