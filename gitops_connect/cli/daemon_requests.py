"""`gitops-connect reconcile` and `review`: ask a running daemon to reconcile, or what a pull request would do."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_connect import errors
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode, exit_code, worst_code
from gitops_connect.cli.options import OUTPUT, PlanOutput, argument, option
from gitops_connect.cli.plan import show_problems
from gitops_connect.cli.progress import progress
from gitops_connect.errors import DaemonUnavailable, UsageError
from gitops_connect.model.clock import parse_duration
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.plans import Action
from gitops_connect.model.revisions import origin
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.table import as_json
from gitops_connect.runtime import SystemClock
from gitops_connect.server.daemon_client import DaemonClient, daemon_url
from gitops_connect.settings.sections import ServerSettings

Answer = Mapping[str, Any]
Server = Annotated[
    str | None, option("--server", "URL", "The daemon. [default: public_url, else listen, of the settings]")
]
Timeout = Annotated[str, option("--timeout", "DURATION", "How long to wait.")]
_PAUSE, _REVIEW_PAUSE = 0.5, 1.0
"""Seconds between two requests while `reconcile` and `review` wait."""
_REFERENCE = re.compile(r"refs/pull/(\d+)/(?:merge|head)")


def reconcile(
    context: typer.Context,
    cluster: Annotated[str | None, option("--cluster", "NAME", "Only this cluster.")] = None,
    server: Server = None,
    wait: Annotated[bool, typer.Option(help="Wait until the reconciliation has ended, and show its steps.")] = True,
    timeout: Timeout = "10m",
) -> int:
    """Let the running daemon reconcile at once.

    It polls the repository first. The daemon needs `listen` and `token` in the section `server` of its settings, and
    this command the same token.
    """
    settings, seconds = settings_of(context).server, _seconds(timeout)
    if wait:
        return await_reconciliation(settings, cluster, server, seconds)
    with closing(daemon_with_token(settings, server)) as client:
        client.reconcile(cluster)
    emit("The daemon reconciles now.\n")
    return ExitCode.DONE


def daemon_with_token(settings: ServerSettings, server: str | None = None) -> DaemonClient:
    """A client that may let the daemon reconcile. No request is sent yet. Raises UsageError."""
    if settings.token is None:
        raise UsageError("[server] token is not set; the daemon accepts requests only with this token")
    return DaemonClient(daemon_url(settings, server), settings.token.read())


def await_reconciliation(
    settings: ServerSettings, cluster: str | None, server: str | None = None, seconds: float = 600
) -> ExitCode:
    """Let the daemon reconcile, wait until it has done so, and show its steps."""
    with closing(daemon_with_token(settings, server)) as client:
        number = client.reconcile(cluster)
        with progress("Reconciling", "waiting for the daemon"):
            late = f"the reconciliation did not end within {seconds:g}s; the daemon continues with it"
            ask = partial(client.progress, number, cluster)
            done = _await(ask, lambda one: bool(one["finished"]), lambda _: late, seconds, _PAUSE)
    emit("".join(f"{line}\n" for result in done["results"] for line in _lines(result)))
    codes = {_code(result) for result in done["results"]}
    if done["repository_error"]:
        echo(f"warning: the repository cannot be read: {done['repository_error']}")
        codes.add(ExitCode.FAILED)
    return worst_code(codes)


def _seconds(timeout: str) -> float:
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout: expected a duration such as 30s or 5m, found {timeout!r}") from error


def _await(
    ask: Callable[[], Answer],
    is_last: Callable[[Answer], bool],
    why: Callable[[Answer], str],
    seconds: float,
    pause: float,
) -> Answer:
    """The first answer for which `is_last` is true. Raises DaemonUnavailable with `why` after these seconds."""
    clock = SystemClock()
    until = clock.monotonic() + seconds
    while not is_last(answer := ask()):
        if clock.monotonic() >= until:
            raise DaemonUnavailable(why(answer))
        clock.sleep(pause)
    return answer


def _lines(result: Answer) -> list[str]:
    name = escaped(result["cluster"])
    if result["message"]:
        return [f"cluster {name}: {result['result']}: {one_line(result['message'])}"]
    lines = [
        f"  {Action(step['action']).symbol} {escaped(step['connector'])}: {step['action']} {step['result']}"
        + (f": {one_line(step['message'])}" if step["message"] else f" after {step['seconds']:.1f} s")
        for step in result["steps"]
    ]
    errors = f", {result['errors']} errors in the documents" if result["errors"] else ""
    return [f"cluster {name}: {result['result']} ({origin(result['commit'])}{errors})", *lines]


def _code(result: Answer) -> ExitCode:
    if result["error"]:
        kind = getattr(errors, result["error"], None)
        is_known = isinstance(kind, type) and issubclass(kind, errors.GitopsConnectError)
        return exit_code(kind("")) if is_known and kind is not None else ExitCode.BUG
    if result["result"] == "failed":
        return ExitCode.FAILED
    if result["result"] == "unconfirmed":
        return ExitCode.UNCONFIRMED
    return ExitCode.INVALID if result["errors"] else ExitCode.DONE


def review(
    context: typer.Context,
    number: Annotated[int | None, argument("NUMBER", "The pull request. [default: that of the CI job]")] = None,
    commit: Annotated[
        str | None, option("--commit", "SHA", "Wait for the plan of this commit. [default: that of the CI job]")
    ] = None,
    server: Server = None,
    output: Annotated[PlanOutput, OUTPUT] = PlanOutput.TEXT,
    timeout: Timeout = "10m",
) -> int:
    """Show what merging a pull request would do.

    The running daemon plans open pull requests if its settings have the section `forge`. This command waits for the
    plan, and needs no credentials of Connect. It fails if the plan prevents a merge.
    """
    settings = settings_of(context).server
    seconds = _seconds(timeout)
    of_job, head = ci_pull_request(os.environ)
    chosen = number or of_job
    if chosen is None:
        raise UsageError("expected the number of a pull request; outside a CI job there is no default")
    expected = commit or (head if chosen == of_job else None)
    token = settings.token or settings.read_token
    with closing(DaemonClient(daemon_url(settings, server), token.read() if token is not None else None)) as client:
        if settings.token is not None:
            client.review()
        with progress("Reviewing", "waiting for the daemon"):
            _await_review(client, chosen, expected, seconds)
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


def _await_review(client: DaemonClient, number: int, commit: str | None, seconds: float) -> None:
    """Wait until the daemon has reviewed the pull request at this commit (None: at any commit)."""

    def head(answer: Answer) -> str | None:
        return next((one["head"] for one in answer["pull_requests"] if one["number"] == number), None)

    def is_reviewed(answer: Answer) -> bool:
        if answer["forge"] is None:
            raise UsageError("the daemon reviews no pull requests; set [forge] kind in its settings")
        if not answer["is_leader"]:
            client.close()  # another connection may reach the leader
        return head(answer) is not None and commit in (None, head(answer))

    def why_not(answer: Answer) -> str:
        if not answer["is_leader"]:
            why = "only a replica answered that is not the leader, and so reviews no pull requests,"
        elif head(answer) is None:
            must = "which must be open and to the branch of [repository],"
            why = f"the daemon did not review pull request {number}, {must}"
        else:
            why = f"the daemon reviewed pull request {number} at commit {head(answer)}, and not at {commit},"
        return f"{why} within {seconds:g}s"

    _await(client.pull_requests, is_reviewed, why_not, seconds, _REVIEW_PAUSE)


def _text(client: DaemonClient, found: Answer, output: PlanOutput) -> str:
    match output:
        case PlanOutput.MARKDOWN:
            return f"{found['comment']}\n"
        case PlanOutput.JSON:
            return as_json(client.pull_request_plan(found["number"]))
        case PlanOutput.TEXT:
            show_problems(Diagnostics.of(map(_diagnostic, found["diagnostics"])))
            echo(f"Pull request {found['number']} at commit {found['head']}: {found['summary']}")
            return str(found["text"])


def _diagnostic(one: Answer) -> Diagnostic:
    location = Location(one["file"], one["line"], one["column"])
    return Diagnostic(Severity(one["severity"]), one["rule"], one["summary"], location, one["hint"], one["connector"])
