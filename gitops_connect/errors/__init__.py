"""Every error that is not a bug, sorted by whether a retry can help and by who must act.

The class of an error tells the daemon whether to retry soon:

    GitopsConnectError
      Waiting                       temporary: the same call may succeed later
        SourceUnavailable           the Git server did not answer
        ConnectUnavailable          no worker answered, or the answer was a 5xx without a reason
        RebalanceInProgress         the Connect group is rebalancing
        NotStopped                  the offsets cannot be changed yet: the connector is not stopped, or still has tasks
        GroupInUse                  the offsets of a sink cannot be changed yet: its consumer group has active members
        OutcomeUnknown              a request was sent, but no response arrived: read the state before sending again
        NotSettled                  the cluster accepted a step, but its effect was not observed in time
        LedgerBusy                  another process holds the lease of this cluster
        DaemonUnavailable           no daemon answers to `gitops-connect reconcile`
        SparkFailed                 Spark was lost or did not answer, so large manifests could not be checked
        ForgeUnavailable            the forge did not answer, or limits the rate of requests
      Stalled                       a retry does not help: a new commit or an administrator must fix the cause
        UsageError                  the command line or the settings are wrong
        SourceRefused               the repository answered, but its content cannot be used
        UnsafePlan                  the plan exceeds a limit
        StalePlan                   the reviewed plan no longer matches the repository or the cluster
        LedgerUnusable              the ledger cannot be read or written
        OperationSettled            an offset change was applied, or may have been applied: it is never applied again
        UndoImpossible              an offset change cannot be undone
        ConnectRefused              a worker answered and rejected the request
          Unauthorized              401 or 403
          NotFound                  404
          AlreadyExists             409 without a rebalance
          Rejected                  400 or 422, with the message of Connect
          OffsetsNotSupported       the connector does not support changed offsets (UnsupportedOperationException)
          OffsetsNotChanged         an offset change failed on the worker, and may be partly applied
        SandboxFailed               a part of the sandbox could not be downloaded or started
        SparkUnusable               Spark lacks something: Java, packages on the executors, or a shared directory
        ForgeRefused                the forge answered and rejected the request
          ForgeNotFound             404: it does not exist, or the token may not see it

The docstring of each error says what it means, what gitops-connect does by itself (`Retry:`) and what an administrator
does (`Fix:`). docs/reference/errors.md is generated from them.

Any other exception is a bug and is reported as one (exit code 70). A mistake in a document is not an exception but a
`Diagnostic`, so that all mistakes are shown at once.
"""

from __future__ import annotations

from gitops_connect.errors.kinds import (
    GitopsConnectError,
    Stalled,
    Waiting,
)
from gitops_connect.errors.permanent import (
    AlreadyExists,
    ConnectRefused,
    ForgeNotFound,
    ForgeRefused,
    LedgerUnusable,
    NotFound,
    OffsetsNotChanged,
    OffsetsNotSupported,
    OperationSettled,
    Rejected,
    SandboxFailed,
    SourceRefused,
    SparkUnusable,
    StalePlan,
    Unauthorized,
    UndoImpossible,
    UnsafePlan,
    UsageError,
)
from gitops_connect.errors.temporary import (
    ConnectUnavailable,
    DaemonUnavailable,
    ForgeUnavailable,
    GroupInUse,
    LedgerBusy,
    NotSettled,
    NotStopped,
    OutcomeUnknown,
    RebalanceInProgress,
    SourceUnavailable,
    SparkFailed,
)

__all__ = [
    "AlreadyExists",
    "ConnectRefused",
    "ConnectUnavailable",
    "DaemonUnavailable",
    "ForgeNotFound",
    "ForgeRefused",
    "ForgeUnavailable",
    "GitopsConnectError",
    "GroupInUse",
    "LedgerBusy",
    "LedgerUnusable",
    "NotFound",
    "NotSettled",
    "NotStopped",
    "OffsetsNotChanged",
    "OffsetsNotSupported",
    "OperationSettled",
    "OutcomeUnknown",
    "RebalanceInProgress",
    "Rejected",
    "SandboxFailed",
    "SourceRefused",
    "SourceUnavailable",
    "SparkFailed",
    "SparkUnusable",
    "StalePlan",
    "Stalled",
    "Unauthorized",
    "UndoImpossible",
    "UnsafePlan",
    "UsageError",
    "Waiting",
]
