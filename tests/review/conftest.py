"""A user's directory with a stand-in or with a real worker, and a ledger of its own."""

from __future__ import annotations

import pytest
from standin.fixtures import standin
from support.workplaces import at, really

from gitops_connect.ledger.ledger import Ledger

__all__ = ["at", "really", "standin"]


@pytest.fixture
def ledger(sqlite_ledger: Ledger) -> Ledger:
    return sqlite_ledger
