"""The daemon as a process that is stopped, killed and started again in the middle of its work."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path

import pytest
from acceptance.test_offsets import change
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import FOR_EVER, AsProcess, release, run_once
from support.git.http_server import serving

from gitops_connect.model.names import ClusterName, ConnectorName

TWO_STEPS = "3.6.2"
"""The last version of Connect on which a stopped connector takes two steps: create and stop."""
pytestmark = pytest.mark.slow


@pytest.fixture
def slow(at: Workplace, standin: StandIn) -> Workplace:
    """A connector with two steps, the first of which does not end before `release`."""
    standin.cluster.version, standin.cluster.delay = TWO_STEPS, FOR_EVER
    at.commit("orders.yaml", at.source("orders", "state: stopped"))
    return at


def is_sent(at: Workplace, standin: StandIn, method: str, path: str = ".*") -> None:
    at.await_that(lambda: standin.count(method, path), bool)


def hang_in_a_reset(at: Workplace, standin: StandIn, *, effect: bool) -> None:
    """Apply a connector, and commit a reset of its offsets that Connect does not answer."""
    at.deploy("orders.yaml", at.source("orders"))
    standin.cluster.stored.set_source(at.name("orders"), {"filename": "f"}, {"position": 1})
    standin.hang("DELETE", ".*/offsets", effect=effect)
    at.commit("reset.yaml", change("again", at.name("orders"), "operation: reset\nacknowledge: [reset]"))


def ours(at: Workplace) -> set[ConnectorName]:
    with closing(at.ledger()) as ledger:
        return set(ledger.ownership(ClusterName("local")))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_step_in_progress_is_finished_and_the_next_start_continues(
    slow: Workplace, standin: StandIn, number: int
) -> None:
    with AsProcess(slow) as daemon:
        is_sent(slow, standin, "POST")
        daemon.send(number)
        assert daemon.wait("daemon_stopping")["in_progress"] == ["local"]
        release(standin)
        assert daemon.code() == 0
        assert [(line["action"], line["event"]) for line in daemon.steps()] == [
            ("create", "step_applied"),
            ("stop", "step_skipped"),
        ]
        assert daemon.wait("reconciliation_finished")["interrupted"] is True
        assert daemon.lines[-1]["event"] == "daemon_stopped"
    assert ours(slow) == {slow.name("orders")}
    assert run_once(slow) == [("stop", "step_applied")]
    assert (standin.count("POST"), standin.count("PUT", ".*/stop")) == (1, 1), "nothing is done twice"


def test_a_second_signal_logs_the_connectors_that_are_left_stopped(at: Workplace, standin: StandIn) -> None:
    hang_in_a_reset(at, standin, effect=False)
    with AsProcess(at) as daemon:
        is_sent(at, standin, "DELETE")
        daemon.send(signal.SIGTERM)
        daemon.wait("daemon_stopping")
        assert daemon.end() == -signal.SIGTERM
        (left,) = daemon.all("connector_left_stopped", level="warning", cluster="local", connector=at.name("orders"))
    assert left["message"].endswith(f"curl -X PUT {at.urls[0]}/connectors/{at.name('orders')}/resume")
    assert at.states() == {"orders": "STOPPED"}
    run_once(at)
    assert at.states() == {"orders": "RUNNING"}


def test_a_step_that_outlasts_the_shutdown_is_finished_by_the_next_start(at: Workplace, standin: StandIn) -> None:
    name = at.name("orders")
    hang_in_a_reset(at, standin, effect=True)
    with AsProcess(at, environment={"GITOPS_CONNECT_DAEMON__SHUTDOWN_TIMEOUT": "0.2s"}) as daemon:
        is_sent(at, standin, "DELETE")
        assert daemon.end() == 1
        (step,) = daemon.all("step_abandoned", level="warning", cluster="local", connector=name)
        assert (step["action"], step["offset_change"]) == ("reset", "again")
        assert step["message"] == "still in progress after shutdown_timeout (0.2s); the next start finishes it"
        assert len(daemon.all("connector_left_stopped", connector=name)) == 1
    assert at.states() == {"orders": "STOPPED"}
    assert run_once(at) == [("reset", "step_applied"), ("resume", "step_applied")]
    assert at.states() == {"orders": "RUNNING"}
    assert standin.count("DELETE") == 1, "the reset had its effect, and is not sent again"


def test_a_second_daemon_with_an_sqlite_ledger_is_rejected_and_one_can_start_after_the_first(
    slow: Workplace, standin: StandIn
) -> None:
    with AsProcess(slow) as first:
        is_sent(slow, standin, "POST")
        leader = f"and the leader is process {first.process.pid} on "
        slow.run("run").expect(5, err=(leader, "stop that process, or store the ledger in PostgreSQL"))
        first.end(signal.SIGKILL)
    release(standin)
    with AsProcess(slow) as second:
        assert second.wait("reconciliation_finished")["applied"] == 1
        assert [line["action"] for line in second.steps()] == ["stop"]
        assert second.end() == 0
    assert (standin.count("POST"), standin.count("PUT", ".*/stop")) == (1, 1)


def test_a_server_that_hangs_does_not_delay_the_shutdown(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    standin.hang("GET", "/")
    with AsProcess(at) as daemon:
        is_sent(at, standin, "GET", "/")
        assert daemon.end() == 0
        assert (daemon.all("daemon_stopping")[0].get("in_progress"), daemon.all("reconciliation_failed")) == (None, [])
    run_once(at)  # what the first process held is free again


def test_a_git_server_that_hangs_does_not_delay_the_shutdown(at: Workplace, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.behaviour.hangs = True
        with AsProcess(at, environment={"GITOPS_CONNECT_REPOSITORY__URL": f"{server.url}/repository"}) as daemon:
            assert server.behaviour.arrived.wait(30)
            assert daemon.end() == 0


def test_a_secret_that_connect_echoes_is_in_no_line(at: Workplace, standin: StandIn) -> None:
    at.settings(more='[secrets]\nenv = ["ORDERS_*"]')
    document = at.mirror("orders", "secrets: {ssl.key.password: {env: ORDERS_PASSWORD}}")
    at.commit("orders.yaml", document)
    standin.refuse("POST", "/connectors", 400, 'the config {"ssl.key.password": "hunter2-of-orders"} is no good')
    with AsProcess(at, "--once", environment={"ORDERS_PASSWORD": "hunter2-of-orders"}) as daemon:
        assert daemon.code() == 1
        assert '"ssl.key.password": "***"' in daemon.steps()[0]["message"]
        assert "hunter2" not in str(daemon.lines)
    assert any("hunter2-of-orders" in str(call.body) for call in standin.calls), "Connect has it"


@pytest.mark.e2e
def test_the_steps_of_a_killed_process_are_finished_on_a_real_worker(really: Workplace) -> None:
    at = really
    at.commit("all.yaml", *(at.source(f"orders{number}", "state: paused") for number in range(8)))
    with AsProcess(at) as daemon:
        daemon.wait("step_applied")
        daemon.end(signal.SIGKILL)
    run_once(at)
    assert at.states() == {f"orders{number}": "PAUSED" for number in range(8)}
    assert ours(at) == {at.name(f"orders{number}") for number in range(8)}
    assert run_once(at) == []
