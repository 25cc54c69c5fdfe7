"""`gitops-connect review`: shows what the daemon says that merging a pull request would do."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import PlanOutput, Server, Timeout, timeout_seconds
from gitops_connect.cli.plan import show_problems
from gitops_connect.cli.progress import progress
from gitops_connect.errors import DaemonUnavailable, UsageError
from gitops_connect.model.clock import Clock
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.report.table import as_json
from gitops_connect.runtime import SystemClock
from gitops_connect.server.daemon_client import DaemonClient, daemon_url

_PAUSE = 1.0
"""Seconds between two requests while the command waits."""
_REFERENCE = re.compile(r"refs/pull/(\d+)/(?:merge|head)")


def review(
    context: typer.Context,
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="The pull request. [default: that of the CI job]")
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option("--commit", metavar="SHA", help="Wait for the plan of this commit. [default: that of the CI job]"),
    ] = None,
    server: Server = None,
    output: Annotated[PlanOutput, typer.Option("-o", "--output", help="Output format.")] = PlanOutput.TEXT,
    timeout: Timeout = "10m",
) -> int:
    """Show what merging a pull request would do.

    The running daemon plans open pull requests if its settings have the section `forge`. This command waits for the
    plan, and needs no credentials of Connect. It fails if the plan prevents a merge.
    """
    settings = settings_of(context).server
    seconds = timeout_seconds(timeout)
    of_job, head = ci_pull_request(os.environ)
    chosen = number or of_job
    if chosen is None:
        raise UsageError("expected the number of a pull request; outside a CI job there is no default")
    expected = commit or (head if chosen == of_job else None)
    token = settings.token or settings.read_token
    secret = None if token is None else token.read()
    with closing(DaemonClient(daemon_url(settings, server), secret)) as client:
        if settings.token is not None:
            client.review()
        with progress("Reviewing") as update:
            update("waiting for the daemon")
            _await(client, chosen, expected, seconds, SystemClock())
        found = client.pull_request(chosen)
        emit(_text(client, found, output))
    if found["state"] != "failure":
        return ExitCode.DONE
    return ExitCode.INVALID if found["errors"] else ExitCode.FAILED


def ci_pull_request(environment: Mapping[str, str]) -> tuple[int | None, str | None]:
    """The pull request of a CI job, and its head commit, as far as the variables of the job name them.

    GitHub, Gitea and Forgejo set `GITHUB_REF` and store the event in a file, which has the commit: `GITHUB_SHA` is a
    merge of it. GitLab sets `CI_MERGE_REQUEST_IID`; a merged results pipeline has the commit in a variable of its own.
    """
    if number := environment.get("CI_MERGE_REQUEST_IID"):
        head = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA")
        return int(number), head
    found = _REFERENCE.fullmatch(environment.get("GITHUB_REF", ""))
    if found is None:
        return None, None
    try:
        event = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_bytes())
        return int(found[1]), str(event["pull_request"]["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return int(found[1]), None


def _await(client: DaemonClient, number: int, commit: str | None, seconds: float, clock: Clock) -> None:
    """Wait until the daemon has reviewed the pull request at this commit. Raises DaemonUnavailable."""
    until = clock.monotonic() + seconds
    while True:
        answer = client.pull_requests()
        if answer["forge"] is None:
            raise UsageError("the daemon reviews no pull requests; set [forge] kind in its settings")
        heads = {one["number"]: one["head"] for one in answer["pull_requests"]}
        if number in heads and (commit is None or heads[number] == commit):
            return
        if clock.monotonic() >= until:
            raise DaemonUnavailable(_why(answer, number, commit, heads.get(number)) + f" within {seconds:g}s")
        if not answer["is_leader"]:
            client.close()  # another connection may reach the leader
        clock.sleep(_PAUSE)


def _why(answer: Mapping[str, Any], number: int, commit: str | None, head: str | None) -> str:
    if not answer["is_leader"]:
        return "only a replica answered that is not the leader, and so reviews no pull requests,"
    if head is None:
        return f"the daemon did not review pull request {number}, which must be open and to the branch of [repository],"
    return f"the daemon reviewed pull request {number} at commit {head}, and not at {commit},"


def _text(client: DaemonClient, found: Mapping[str, Any], output: PlanOutput) -> str:
    match output:
        case PlanOutput.MARKDOWN:
            return f"{found['comment']}\n"
        case PlanOutput.JSON:
            return as_json(client.pull_request_plan(found["number"]))
        case PlanOutput.TEXT:
            show_problems(Diagnostics.of(map(_diagnostic, found["diagnostics"])))
            echo(f"Pull request {found['number']} at commit {found['head']}: {found['summary']}")
            return str(found["text"])


def _diagnostic(one: Mapping[str, Any]) -> Diagnostic:
    location = Location(one["file"], one["line"], one["column"])
    return Diagnostic(Severity(one["severity"]), one["rule"], one["summary"], location, one["hint"], one["connector"])
