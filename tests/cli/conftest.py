"""A user's directory with a stand-in, for the tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from standin.fixtures import standin

__all__ = ["standin"]


@pytest.fixture
def at(standin: StandIn, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, (standin.url,))
    yield workplace
    workplace.session.close()
