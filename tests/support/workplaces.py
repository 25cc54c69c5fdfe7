"""A user's directory with a stand-in or with a real worker, for the tests of the daemon and of reviews."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn

from gitops_connect.sandbox.cluster import Sandbox


@pytest.fixture
def at(standin: StandIn, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, (standin.url,))
    yield workplace
    workplace.session.close()


@pytest.fixture
def really(sandbox: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, sandbox.worker_urls)
    yield workplace
    workplace.clean()
