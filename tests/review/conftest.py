"""A user's directory with a stand-in or with a real worker, and a ledger of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from standin.fixtures import standin
from support.workplaces import at, really

from gitops_connect.ledger.ledger import Ledger

__all__ = ["at", "really", "standin"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.open("sqlite:///state.db", tmp_path, b"k" * 32)) as opened:
        yield opened
