"""Every error that the world or the operator can cause, sorted by two questions.

*Will waiting help?* and *who must act?* decide an error's class, so that one place (`daemon`, for the loop) can read
the answer off the type:

    GitopsConnectError
      Waiting                       the world is busy: back off and look again
        SourceUnavailable           git did not answer
        ConnectUnavailable          no worker answered, or the answer was a 5xx that says nothing more
        RebalanceInProgress         the Connect group is rebalancing
        NotStopped                  offsets cannot be changed yet: the connector still has tasks, or runs
        GroupInUse                  offsets of a sink cannot be changed yet: its consumer group still has members
        OutcomeUnknown              a request was sent and its answer never came: read back before sending again
        NotSettled                  the cluster accepted a step, and did not get there by the deadline
        LedgerBusy                  somebody else holds the lease of this cluster
        SparkFailed                 large manifests could not be checked on Spark, which was lost or did not answer
      Stalled                       only a new revision or a human helps
        UsageError                  the command line or the settings are wrong
        SourceRefused               the repository answered, and what it holds cannot be used
        UnsafePlan                  a guard refuses the plan
        StalePlan                   what was reviewed is not what would be applied
        LedgerUnusable              the ledger cannot be read or written
        OperationSettled            a change of offsets took effect, or may have: it is never begun again
        ConnectRefused              a worker answered, and will not do it
          Unauthorized              401 or 403
          NotFound                  404
          AlreadyExists             409, and no rebalance
          Rejected                  400 or 422, with Connect's own words
          OffsetsNotSupported       the connector lets nobody change its offsets (UnsupportedOperationException)
          OffsetsNotChanged         a change of offsets failed on the worker, perhaps after half of it was done
        SandboxFailed               a part of the local Kafka could not be fetched or started
        SparkUnusable               Spark has not what it needs: Java, packages where executors run, a shared folder

Anything that is not one of these is a bug, and is reported as one (exit code 70). A mistake in a document is no
exception at all but a `Diagnostic`, so that all of them are shown at once.
"""

from __future__ import annotations


class GitopsConnectError(Exception):
    """The root of all errors that are not bugs."""


class Waiting(GitopsConnectError):
    """The world is busy; the same call may succeed later."""


class SourceUnavailable(Waiting):
    """The git server did not answer, or not in time."""


class ConnectUnavailable(Waiting):
    """No worker of the cluster answered, or one answered 5xx without a reason."""


class RebalanceInProgress(Waiting):
    """The Connect group is rebalancing (409, or the 500 that says so; HerderRequestHandler)."""


class NotStopped(Waiting):
    """400 to a change of offsets: the connector is not in the STOPPED state, or its tasks are not gone yet."""


class GroupInUse(Waiting):
    """500 to a change of a sink's offsets: tasks of it, or other consumers, are still members of its group."""


class OutcomeUnknown(Waiting):
    """A write was sent and no answer came: it may have happened (KAFKA-14353)."""


class NotSettled(Waiting):
    """A step was accepted, and its effect was not observed before the deadline."""


class LedgerBusy(Waiting):
    """Another process holds the lease of this cluster, or a lock on the ledger."""


class SparkFailed(Waiting):
    """Spark did not answer, was lost, or could not do its work; the next cycle tries it again."""


class Stalled(GitopsConnectError):
    """Trying again changes nothing; a new revision or a human must act."""


class UsageError(Stalled):
    """The command line, the settings file or an environment variable is wrong."""


class SourceRefused(Stalled):
    """The repository answered, but has no such branch, no commit, or content that is refused."""


class UnsafePlan(Stalled):
    """A guard refuses the plan; the message names the guard and the way out."""


class StalePlan(Stalled):
    """The commit or the observed state moved since the plan was saved."""


class LedgerUnusable(Stalled):
    """The ledger cannot be opened, read or written."""


class OperationSettled(Stalled):
    """A settled operation is never begun again, nor one that the ledger cannot say to be without effect."""


class ConnectRefused(Stalled):
    """A worker answered and will not do what was asked."""


class Unauthorized(ConnectRefused):
    """401 or 403 from Connect, or from what stands before it."""


class NotFound(ConnectRefused):
    """404: no such connector, plugin or endpoint."""


class AlreadyExists(ConnectRefused):
    """409 that is not a rebalance: a connector of that name is there."""


class Rejected(ConnectRefused):
    """400 or 422: Connect says in its own words why not."""


class OffsetsNotSupported(ConnectRefused):
    """500 to a change of offsets: the connector's class forbids it (UnsupportedOperationException); final."""


class OffsetsNotChanged(ConnectRefused):
    """500 to a change of offsets, with the worker's words: it is over, and what stands has to be looked at."""


class SandboxFailed(Stalled):
    """A part of the local Kafka could not be found, fetched or started."""


class SparkUnusable(Stalled):
    """No Java; or executors that have another Python, lack a package, or do not see the shared folder."""
