"""A step in the journal of the ledger: what was done, when, for which commit, and with which result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitops_connect.model.names import ClusterName, ConnectorName, Revision
from gitops_connect.model.outcomes import Result
from gitops_connect.model.plans import Action


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step. `author` is the author of the commit (empty without Git), `operation` the name of its offset change.

    `reason` is why the step was planned, `message` the error or the warning. No text contains a secret. `id` is 0 until
    the entry is stored.
    """

    cluster: ClusterName
    at: datetime
    revision: Revision
    author: str
    connector: ConnectorName
    action: Action
    operation: str
    result: Result
    reason: str
    message: str
    seconds: float
    id: int = 0
