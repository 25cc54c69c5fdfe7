"""A config with which a connector fails is rolled back until its document changes. A rollout stops after failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from acceptance.workplace import SINK, Workplace
from support.daemon_log import InThread

from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.status import ConditionStatus, ConditionType

LOCAL = ClusterName("local")
pytestmark = pytest.mark.slow
WAY_OUT = "commit a fix, or run `gitops-connect rollout continue --cluster local`"


def sink(at: Workplace, stem: str, file: str) -> str:
    return at.document(stem, SINK, "", {"file": str(at.directory / file), "topics": "lines"})


def file_of(at: Workplace, stem: str) -> str:
    config = at.rest("GET", f"/connectors/{at.name(stem)}/config")
    return Path(config["file"]).relative_to(at.directory).as_posix()


def await_healthy(daemon: InThread, at: Workplace, stem: str) -> None:
    """Wait until the present config is recorded as one with which the connector works."""
    name = ConnectorName(at.name(stem))
    histories = daemon.runtime.ledger.configs.of
    at.await_that(lambda: histories(LOCAL).get(name), lambda found: found is not None and found.healthy is not None)


def require_rolled_back(daemon: InThread, at: Workplace) -> None:
    """Check what is said about a connector that got the last commit, and failed."""
    event, commit = daemon.wait("config_rolled_back"), at.git("rev-parse", "HEAD")
    assert (event["keys"], event["revision"]) == (["file"], commit)
    assert "Couldn't find or create file" in event["message"]
    key = ConnectorName(event["connector"]), ConditionType.ROLLED_BACK, ""
    state = daemon.await_state(lambda now: key in now.clusters[LOCAL].conditions)
    condition = state.clusters[LOCAL].conditions[key]
    assert (condition.status, f"commit {commit[:7]}" in condition.message) == (ConditionStatus.TRUE, True)
    assert f"its config of commit {commit[:7]} was rolled back" in at.run("plan").out
    (status,) = [one for one in json.loads(at.run("status", "-o", "json").out) if one["name"] == event["connector"]]
    assert status["sync"] == "OutOfSync"


def test_a_rollout_changes_no_more_than_a_batch_until_somebody_decides(at: Workplace) -> None:
    """No connector works with the new config. At most `rollout_size` get it before the rollout stops."""
    stems = ("a", "b", "c", "d", "e", "f")
    names = {at.name(stem): stem for stem in stems}
    at.settings('rollout_size = 2\nrollout_max_failures = 1\nrollback_watch = "4s"')
    at.commit("sinks.yaml", *(sink(at, stem, f"{stem}.txt") for stem in stems))
    with InThread(at) as daemon:
        for stem in stems:
            await_healthy(daemon, at, stem)

        def tried() -> set[str]:
            steps = [line for result in ("applied", "failed") for line in daemon.all(f"step_{result}")]
            return {names[line["connector"]] for line in steps if line["action"] == "configure"}

        at.commit("sinks.yaml", *(sink(at, stem, f"missing/{stem}.txt") for stem in stems))
        commit = at.git("rev-parse", "HEAD").strip()[:7]
        assert daemon.wait("rollout_stopped", cluster="local", level="ERROR")["hint"] == WAY_OUT
        first = tried()
        assert first <= {"a", "b"}
        require_rolled_back(daemon, at)
        at.commit("README.md", "Nothing about connectors.")
        daemon.wait("reconciliation_finished", revision=at.git("rev-parse", "HEAD").strip())
        assert tried() == first

        at.run("rollout", "skip", at.name("f"), "--reason", "INC-1").expect(0, out="will not get the config of commit ")
        at.run("rollout", "continue").expect(0, out=f"The rollout of commit {commit} on local continues")
        at.await_that(tried, lambda found: len(found) > len(first))
        at.await_that(lambda: daemon.all("rollout_stopped"), lambda found: len(found) > 1)
        assert len(tried()) <= len(first) + 2

        at.run("rollout", "abandon").expect(0)
        at.commit("README.md", "Nothing about connectors, again.")
        daemon.wait("rollout_continued")
        assert "f" not in (last := tried())
        assert f"{at.name('f')} was skipped by " in at.run("plan").out
        for stem in stems:
            at.await_that(lambda stem=stem: file_of(at, stem), lambda file, stem=stem: file == f"{stem}.txt")
        assert tried() == last
