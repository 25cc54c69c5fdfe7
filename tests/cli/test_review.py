"""`gitops-connect review`: what it takes from a CI job, what it waits for, and its exit codes."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from server.conftest import client, ledger_directory, made, serve, url
from support.files.tables import rows
from support.server.made_up import World, pull_request
from support.server.running import served

from gitops_connect.cli.daemon_requests import ci_pull_request
from gitops_connect.daemon.state import PullRequestView
from gitops_connect.model.names import Revision
from gitops_connect.server.app import application
from gitops_connect.settings.sections import ForgeSettings

__all__ = ["client", "ledger_directory", "made", "serve", "url"]
HEAD = Revision("5" * 40)


@pytest.mark.parametrize(("environment", "number", "commit"), rows(__file__, "jobs"))
def test_the_pull_request_of_a_ci_job(environment: Mapping[str, str], number: int | None, commit: str | None) -> None:
    assert ci_pull_request(environment) == (number, commit)


@pytest.mark.parametrize(
    "event", ["", "[]", '{"pull_request": {}}', f'{{"pull_request": {{"head": {{"sha": "{HEAD}"}}}}}}']
)
def test_the_event_of_a_github_job_has_the_commit(tmp_path: Path, event: str) -> None:
    file = tmp_path / "event.json"
    file.write_text(event)
    found = ci_pull_request({"GITHUB_REF": "refs/pull/12/merge", "GITHUB_EVENT_PATH": str(file)})
    assert found == (12, HEAD if HEAD in event else None)


@pytest.mark.slow
def test_a_plan_is_shown_in_every_format(at: Workplace, url: str) -> None:
    at.run("review", "12", "--server", url).expect(
        0, out="  + new", err=f"Pull request 12 at commit {HEAD}: 1 to create, 2 to change"
    )
    assert at.run("review", "12", "--server", url, "-o", "markdown").out == "**1 to create**\n"
    assert json.loads(at.run("review", "12", "--server", url, "-o", "json").out)["commit"] == HEAD
    at.run("review", "14", "--server", url).expect(
        4, err="clusters/local/orders.yaml:7:13: error: spec.tasksMax: expected a number"
    )


@pytest.mark.slow
def test_it_waits_for_the_plan_of_the_commit(
    at: Workplace, made: World, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.run("review", "12", "--server", url, "--commit", "6" * 40, "--timeout", "1s").expect(
        1, err=f"at commit {HEAD}, and not at {'6' * 40}, within 1s"
    )
    now = made.clock.now()

    def push() -> None:
        view = pull_request(13, now)
        made.daemon.state.set_pull_requests((_at(view, "6" * 40),))

    timer = threading.Timer(1.0, push)
    timer.start()
    monkeypatch.setenv("CI_MERGE_REQUEST_IID", "13")
    monkeypatch.setenv("CI_COMMIT_SHA", "6" * 40)
    ran = at.run("review", "--server", url)
    timer.join()
    assert (ran.code, "Pull request 13 at commit 666" in ran.err) == (0, True), ran


def _at(view: PullRequestView, head: str) -> PullRequestView:
    return replace(view, plan=replace(view.plan, head=Revision(head)))


@pytest.mark.slow
def test_what_prevents_a_review_is_named(at: Workplace, made: World, url: str) -> None:
    assert "expected the number of a pull request" in at.run("review", "--server", url).err
    at.run("review", "99", "--server", url, "--timeout", "1s").expect(1, err="did not review pull request 99")
    made.daemon.state.set_leader(is_leader=False)
    at.run("review", "99", "--server", url, "--timeout", "1s").expect(1, err="not the leader")
    off = replace(made.served, settings=replace(made.served.settings, forge=ForgeSettings()))
    with served(application(off)) as without:
        ran = at.run("review", "12", "--server", without)
    assert (ran.code, "set [forge] kind" in ran.err) == (64, True)
