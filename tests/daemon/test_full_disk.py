"""A full disk: the daemon names it once, keeps nothing that is incomplete, and continues soon after there is space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread
from support.files.small_disk import SmallDisk, small_disk

from gitops_connect.model.names import ClusterName
from gitops_connect.model.status import ConditionType

LOCAL = ClusterName("local")
# Without looks at the free space, each test would wait for an hour.
SLOW = {
    "GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h",
    "GITOPS_CONNECT_DAEMON__RETRY_INTERVAL": "1h",
    "GITOPS_CONNECT_DAEMON__MAX_RETRY_INTERVAL": "1h",
}
pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def test_a_clone_that_cannot_grow(at: Workplace, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_CONNECT_CACHE", str(disk.directory))
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, **SLOW) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        disk.fill()
        at.commit("payments.yaml", at.source("payments"))
        daemon.daemon.poll_now()
        failed = daemon.wait("repository_unreachable")
        assert f"no space left on {disk.directory}" in failed["message"]
        assert not [*disk.directory.rglob("tmp_*"), *disk.directory.rglob("*.partial")]
        again = daemon.daemon.reconcile_now(())
        at.await_that(lambda: daemon.daemon.reconciliations.polled, lambda polled: polled >= again)
        disk.free()
        daemon.wait("step_applied", connector=at.name("payments"))
        assert len(daemon.all("repository_unreachable")) == 1
        daemon.wait("repository_recovered")


def test_a_ledger_that_cannot_grow(at: Workplace, standin: StandIn, disk: SmallDisk) -> None:
    at.settings(more=f'[state]\nurl = "sqlite:///{disk.directory}/state.db"')
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at, **SLOW) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        disk.fill()
        at.commit("payments.yaml", at.source("payments"))
        daemon.daemon.poll_now()
        failed = daemon.wait("reconciliation_failed")
        assert f"no space left on {disk.directory}" in failed["message"]
        view = daemon.await_state(lambda now: bool(now.clusters[LOCAL].error)).clusters[LOCAL]
        assert "no space left" in {key[1]: one for key, one in view.conditions.items()}[ConditionType.READY].message
        assert standin.count("POST") == 1, "nothing is changed that cannot be recorded"
        disk.free()
        daemon.wait("step_applied", connector=at.name("payments"))
        daemon.wait("reconciliation_recovered")
        assert len(daemon.all("reconciliation_failed")) == 1
        assert not daemon.all("bug")
