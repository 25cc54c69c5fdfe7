"""Pull requests of a real Gitea, from its webhooks to the connectors of a real worker, as the guide sets it up."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from acceptance.test_offsets import LINES, Lines
from acceptance.workplace import Workplace
from forge.gitea_server import GiteaServer
from forge.project import Project, create_project
from support.daemon_log import PROGRAM, AsProcess
from support.docs.docs_pages import DOCS, code

pytestmark = pytest.mark.e2e
SECRET = "a-secret-of-the-webhook"
GUIDE = DOCS / "how-to" / "review-plans-on-gitea.md"


@dataclass
class Reviewed:
    """A project with a protected branch, whose daemon polls once an hour: it acts because of Gitea's webhooks."""

    project: Project
    lines: Lines
    daemon: AsProcess
    url: str

    def expect_in_ci(self, code: int, text: str, number: int, head: str, directory: Path) -> None:
        """Run `gitops-connect review` as a job of Gitea Actions does, without settings and credentials."""
        event = directory / "event.json"
        event.write_text(json.dumps({"pull_request": {"head": {"sha": head}}}))
        variables = {"GITHUB_REF": f"refs/pull/{number}/head", "GITHUB_EVENT_PATH": str(event)}
        command, job = [*PROGRAM, "review", "--server", self.url], {**os.environ, **variables}
        done = subprocess.run(command, cwd=event.parent, env=job, capture_output=True, text=True, check=False)
        assert (done.returncode, text in done.stdout + done.stderr) == (code, True), done


@pytest.fixture
def reviewed(gitea: GiteaServer, really: Workplace) -> Iterator[Reviewed]:
    project, lines = create_project(gitea, really), Lines(really, "orders")
    project.push("main", "orders", orders=lines.document())
    cluster = f'[clusters.local]\nurl = ["{really.urls[0]}"]\nmin_running = "0.2s"\ntask_shutdown_timeout = 0\n'
    (really.directory / "gitops-connect.toml").write_text(settings_of_the_guide(project) + cluster)
    secrets = {"FORGE_TOKEN": project.token, "WEBHOOK_SECRET": SECRET}
    with AsProcess(really, environment={**secrets, "GITOPS_CONNECT_REPOSITORY__INTERVAL": "1h"}) as daemon:
        url = daemon.wait("server_started")["url"]
        project.add_webhook(f"{url}/webhooks/gitea", SECRET)
        project.protect()
        daemon.wait("step_applied", connector=really.name("orders"))
        lines.await_position(len(LINES))
        yield Reviewed(project, lines, daemon, url)


def settings_of_the_guide(project: Project) -> str:
    """The settings on the page, with the addresses of this machine."""
    (text,) = (block.text for block in code(GUIDE) if block.language == "toml")
    for there, here in (
        ("https://gitea.example.com", project.gitea.url),
        ("platform/connectors", project.name),
        ("127.0.0.1:8080", "127.0.0.1:0"),
    ):
        assert there in text
        text = text.replace(there, here)
    return text


FROM_A_FILE = "operation: alter\nmanifest: {path: offsets/orders.jsonl}\nacknowledge: [rewind]"


def approval_in(comment: str, shown: str) -> str:
    """The command in a comment that shows the plan."""
    assert shown in comment
    found = re.search(r"gitops-connect approve [0-9a-f]{64}", comment)
    assert found is not None
    return found[0]


def test_a_merge_is_refused_until_its_plan_succeeds_and_is_applied_then(reviewed: Reviewed, tmp_path: Path) -> None:
    project, lines, at = reviewed.project, reviewed.lines, reviewed.project.at
    stopped = lines.document("state: stopped", **{"batch.size": '"100"'})
    at.write("offsets/orders.jsonl", json.dumps(lines.entry(8)))
    first = project.push("topic", "rewind", orders=stopped, rewind=lines.change("from-three", FROM_A_FILE))
    number = project.open("topic")
    comment = project.await_comment(number, lambda body: "rewind 6 bytes" in body)
    assert "**1 to change, 1 offset change: rewinds 6 bytes of the file.**" in comment["body"]
    project.await_status(first, "success")

    broken = project.push("topic", "broken", orders=stopped.replace("state: stopped", "state: stoped"))
    updated = project.await_comment(number, lambda body: "state is 'stoped'" in body)
    assert updated["id"] == comment["id"]
    project.await_status(broken, "failure")
    refused = project.try_merge(number)
    assert (refused.status_code, "required status checks" in refused.text) == (405, True), refused.text
    reviewed.expect_in_ci(4, "state is 'stoped'", number, broken, tmp_path)

    at.write("offsets/orders.jsonl", json.dumps(lines.entry(4)))
    fixed = project.push("topic", "fixed", orders=stopped)
    project.await_status(fixed, "pending")
    outdated, new = at.await_that(lambda: project.comments(number), lambda all_: len(all_) == 2)
    assert (outdated["id"], "Outdated" in outdated["body"]) == (comment["id"], True)
    project.comment(number, approval_in(new["body"], "rewind 10 bytes"), project.owner)
    project.await_status(fixed, "success")
    reviewed.expect_in_ci(0, "rewind 10 bytes", number, fixed, tmp_path)
    assert lines.position() == len(LINES)

    merged = project.merge(number)
    assert project.await_status(merged, "success", "apply")["description"] == "applied on local"
    assert (at.states(), at.config("orders")["batch.size"]) == ({"orders": "STOPPED"}, "100")
    assert at.rest("GET", f"/connectors/{at.name('orders')}/offsets") == {"offsets": [lines.entry(4)]}
    assert "Approved" in project.comments(number)[-1]["body"]
    assert reviewed.daemon.all("webhook_received", provider="gitea", message="a push to what is followed")
