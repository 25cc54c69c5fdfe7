"""Kafka Connect 3.6, which can stop a connector and cannot create one stopped (KIP-980 came with 3.7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

# The first run downloads that release.
pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    directory = tmp_path_factory.mktemp("older") / "sandbox"
    options = SandboxOptions(directory=directory, workers=1, release="3.6.2", heap=512, tied=True)
    with Sandbox.up(options) as sandbox:
        yield sandbox


@pytest.fixture
def at(older: Sandbox, tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, older.worker_urls)
    yield workplace
    workplace.clean()


@pytest.mark.parametrize("state", ["stopped", "paused"])
def test_it_is_created_and_then_brought_to_rest_and_that_is_said(at: Workplace, state: str) -> None:
    at.commit("orders.yaml", at.source("orders", f"state: {state}"))
    planned = at.run("plan")
    assert "(Kafka Connect 3.6.2)" in planned.out
    assert f"cannot create a connector {state} (3.7 and later can): it runs briefly before that" in planned.out
    at.apply()
    assert at.states() == {"orders": state.upper()}
    assert at.run("plan", "--detailed-exitcode").code == 0


def test_everything_else_is_as_on_a_new_one(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    at.apply()
    at.commit("orders.yaml", at.source("orders", "state: paused", **{"batch.size": "5"}))
    at.apply()
    assert (at.states(), at.config("orders")["batch.size"]) == ({"orders": "PAUSED"}, "5")
    at.commit("orders.yaml", at.source("orders", "state: absent"))
    at.apply()
    assert at.states() == {}
