"""The ledger's knowledge of the offset changes of one cluster: which took effect, and which may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from gitops_connect.model.names import OperationName
from gitops_connect.model.operations import OperationRecord, OperationState


class Past(Enum):
    """Whether an offset change has taken effect."""

    PENDING = "pending"
    """It has not taken effect: it is checked against its connector as it is declared now."""
    DONE = "done"
    """It has taken effect, or it was begun and is finished from the ledger: its document is never sent again."""
    UNKNOWN = "unknown"
    """It may have taken effect. If so, its connector may have changed since."""


@dataclass(frozen=True, slots=True)
class OperationHistory:
    """The ledger's records of one cluster's offset changes.

    `is_complete` is False if a change without a record may have been applied: the ledger could not be read, or has
    never worked on this cluster.
    """

    records: Mapping[OperationName, OperationRecord] = field(default_factory=dict)
    is_complete: bool = False

    def past(self, name: OperationName) -> Past:
        """Whether that offset change has taken effect, as far as the ledger knows."""
        record = self.records.get(name)
        if record is None:
            return Past.PENDING if self.is_complete else Past.UNKNOWN
        match record.state:
            case OperationState.SETTLED | OperationState.OPEN:
                return Past.DONE
            case OperationState.UNKNOWN:
                return Past.UNKNOWN
            case OperationState.FAILED | OperationState.INTENDED | OperationState.RELEASED:
                return Past.PENDING
            case _:
                assert_never(record.state)
