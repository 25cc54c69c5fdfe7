"""Pull requests of a real Gitea, reviewed by a daemon in another process."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest
from acceptance.workplace import Workplace
from forge.gitea_server import GiteaServer
from forge.project import Project, create_project
from standin.connect import StandIn
from support.daemon_log import AsProcess

from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.reviewed_plans import PlanPurpose

pytestmark = pytest.mark.slow


@pytest.fixture
def project(gitea: GiteaServer, at: Workplace) -> Project:
    return create_project(gitea, at)


@pytest.fixture
def daemon(project: Project) -> Iterator[AsProcess]:
    project.push("main", "orders", orders=project.at.source("orders"))
    with AsProcess(project.at, environment=project.environment) as running:
        running.wait("step_applied", connector=project.at.name("orders"))
        yield running


def test_one_comment_follows_the_pushes_also_after_a_restart(project: Project, daemon: AsProcess) -> None:
    first = project.push("topic", "more", more=project.at.source("more"))
    number = project.open("topic")
    comment = project.await_comment(number, lambda body: "1 to create" in body)
    assert f"+ {project.at.name('more')}" in comment["body"]
    assert project.await_status(first, "success")["context"] == "gitops-connect/plan"
    daemon.process.kill()
    daemon.code()
    with AsProcess(project.at, environment=project.environment) as again:
        broken = project.push("topic", "broken", more=project.at.source("more", "state: runing"))
        updated = project.await_comment(number, lambda body: "state is 'runing'" in body)
        assert updated["id"] == comment["id"]
        assert f"/src/commit/{broken}/more.yaml#L" in updated["body"]
        status = project.await_status(broken, "failure")
        assert status["description"].startswith("No changes can be applied now. 1 error")
        second = project.push("topic", "fixed", more=project.at.source("more", "state: stopped"))
        project.await_status(second, "success")
        merged = project.merge(number)
        again.wait("step_applied", connector=project.at.name("more"))
        assert project.await_status(merged, "success", "apply")["description"] == "applied on local"
    assert len(project.comments(number)) == 1


def set_position(project: Project, standin: StandIn, position: int, connector: str = "orders") -> None:
    """The connector has read so far."""
    partition = {"filename": str(project.at.directory / "in.txt")}
    with standin.cluster.lock:
        standin.cluster.stored.set_source(project.at.name(connector), partition, {"position": position})


def rewind(project: Project, position: int, connector: str = "orders", name: str = "move") -> str:
    entry = f"{{partition: {{filename: {project.at.directory / 'in.txt'}}}, offset: {{position: {position}}}}}"
    return offset_change(
        project, name, f"operation: alter\n  acknowledge: [rewind, skip]\n  offsets: [{entry}]", connector
    )


def offset_change(project: Project, name: str, what: str, connector: str = "orders") -> str:
    return (
        f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {name}}}\n"
        f"spec:\n  connector: {project.at.name(connector)}\n  {what}\n  reason: test\n"
    )


@pytest.mark.parametrize("is_killed", [False, True], ids=["between two polls", "while no daemon runs"])
def test_two_pull_requests_that_are_merged(
    project: Project, daemon: AsProcess, standin: StandIn, is_killed: bool
) -> None:
    project.push("main", "more", more=project.at.source("more"))
    daemon.wait("step_applied", connector=project.at.name("more"))
    heads, numbers = [], []
    for connector in ("orders", "more"):
        set_position(project, standin, 100, connector)
        document = rewind(project, 40, connector, name=f"{connector}-back")
        heads.append(project.push(f"rewind-{connector}", "rewind", **{f"{connector}-back": document}))
        numbers.append(project.open(f"rewind-{connector}"))
    for head, number in zip(heads, numbers, strict=True):
        project.await_comment(number, lambda body: "60" in body)
        project.await_status(head, "success")
    with closing(Ledger.open("sqlite:///state.db", project.at.directory, None)) as ledger:
        shown = partial(ledger.reviews.plans, numbers, PlanPurpose.REVIEW)
        project.at.await_that(shown, lambda plans: len(plans) == len(numbers))
    daemon.send(signal.SIGKILL if is_killed else signal.SIGSTOP)
    merged = [project.merge(number) for number in numbers]
    with ExitStack() as stack:
        if is_killed:
            daemon.code()
            daemon = stack.enter_context(AsProcess(project.at, environment=project.environment))
        else:
            daemon.send(signal.SIGCONT)
        for name in ("orders-back", "more-back"):
            daemon.wait("step_applied", action="alter", offset_change=name)
        for commit in merged:
            project.await_status(commit, "success", "apply")


@pytest.mark.parametrize("is_killed", [False, True], ids=["while a daemon runs", "while no daemon runs"])
def test_a_direct_push_of_several_commits(project: Project, daemon: AsProcess, is_killed: bool) -> None:
    """Gitea shows the status of a push at its last commit. Only the one in the middle changes documents."""
    daemon.send(signal.SIGKILL if is_killed else signal.SIGSTOP)
    commits = []
    for text in ("one", "two", "three"):
        documents = {"more": project.at.source("more")} if text == "two" else {}
        commits.append(project.commit("main", text, **documents))
    project.at.git("push", "--quiet", "origin", "main")
    with ExitStack() as stack:
        if is_killed:
            daemon.code()
            daemon = stack.enter_context(AsProcess(project.at, environment=project.environment))
        else:
            daemon.send(signal.SIGCONT)
        daemon.wait("step_applied", connector=project.at.name("more"))
        assert project.await_status(commits[-1], "success", "apply")["description"] == "applied on local"
        assert [project.ask("GET", f"/commits/{one}/status")["statuses"] or [] for one in commits[:-1]] == [[], []]


def test_a_conflict_and_two_pull_requests_for_the_same_offsets_are_named(project: Project, daemon: AsProcess) -> None:
    for name in ("one", "two"):
        reset = offset_change(project, name, "operation: reset\n  acknowledge: [reset]")
        project.push(name, name, **{name: reset})
    numbers = [project.open(name) for name in ("one", "two")]
    body = project.await_comment(numbers[0], lambda body: "also changes offsets" in body)["body"]
    assert f"/pulls/{numbers[1]}" in body
    project.push("conflict", "conflict", orders=project.at.source("orders", "state: paused"))
    project.push("main", "other", orders=project.at.source("orders", "state: stopped"))
    head = project.at.git("rev-parse", "conflict")
    number = project.open("conflict")
    project.await_comment(number, lambda body: "conflict" in body)
    assert project.await_status(head, "failure")["description"] == "not planned: conflict"


def test_a_secret_in_clear_text_is_reported_without_its_value(project: Project, daemon: AsProcess) -> None:
    value = "hunter2-in-clear-text"
    project.push("secret", "secret", more=project.at.source("more", **{"db.password": value}))
    number = project.open("secret")
    body = project.await_comment(number, lambda body: "in clear text in Git" in body)["body"]
    assert ("connector/clear-secret" in body, value in body) == (True, False)


def test_merging_another_pull_request_releases_nothing(project: Project, daemon: AsProcess, standin: StandIn) -> None:
    set_position(project, standin, 100)
    direct = project.push("main", "direct", back=rewind(project, 40))
    daemon.wait("note", connector=project.at.name("orders"))
    head = project.push("other", "other", more=project.at.source("more"))
    number = project.open("other")
    body = project.await_comment(number, lambda body: project.at.name("more") in body)["body"]
    own, _, before = body.partition("### Already on the branch, not applied yet, not part of this pull request")
    assert (project.at.name("orders") in own, project.at.name("orders") in before) == (False, True), direct
    project.await_status(head, "success")
    merged = project.merge(number)
    daemon.wait("step_applied", connector=project.at.name("more"))
    status = project.await_status(merged, "failure", "apply")
    assert (status["description"], standin.count("PATCH")) == ("blocked on local: not reviewed", 0)


def test_a_skip_that_became_a_rewind_begins_the_review_again(
    project: Project, daemon: AsProcess, standin: StandIn
) -> None:
    set_position(project, standin, 20)
    head = project.push("topic", "skip", move=rewind(project, 40))
    number = project.open("topic")
    project.await_comment(number, lambda body: "skip" in body)
    project.await_status(head, "success")
    set_position(project, standin, 100)
    project.await_status(head, "pending")
    old, new = (one["body"] for one in project.comments(number))
    assert ("Outdated" in old, "destructive changes that were not shown before" in new) == (True, True)
    found = re.search(r"gitops-connect approve ([0-9a-f]{64})", new)
    assert found is not None
    project.comment(number, found[0], project.reader)
    assert daemon.wait("command_rejected")["author"] == project.reader
    project.comment(number, f"gitops-connect approve {'0' * 64}", project.owner)
    daemon.wait("approval_rejected")
    project.comment(number, found[0], project.owner)
    project.await_status(head, "success")
    answers = [one["body"] for one in project.comments(number) if "answer comment=" in one["body"]]
    assert [next(word for word in ("Refused", "Approved") if word in one) for one in answers] == [
        *("Refused", "Refused", "Approved")
    ]
    commands = [one["id"] for one in project.comments(number) if one["body"].startswith("gitops-connect")]
    reactions = [project.ask("GET", f"/issues/comments/{one}/reactions") for one in commands]
    assert [[one["content"] for one in found] for found in reactions] == [["-1"], ["-1"], ["+1"]]
    assert standin.count("PATCH") == 0
    merged = project.merge(number)
    daemon.wait("step_applied", action="alter")
    project.await_status(merged, "success", "apply")
