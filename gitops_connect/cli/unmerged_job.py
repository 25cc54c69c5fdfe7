"""Recognizes the CI jobs of pull requests: a command in such a job reads documents that are not merged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from gitops_connect.cli.console import echo
from gitops_connect.errors import UsageError

_NO = ("", "false")
_VARIABLES = (
    "GITHUB_HEAD_REF",  # GitHub, Gitea, Forgejo
    "CI_MERGE_REQUEST_IID",  # GitLab
    "CI_EXTERNAL_PULL_REQUEST_IID",  # GitLab with a repository on GitHub
    "CI_COMMIT_PULL_REQUEST",  # Woodpecker
    "DRONE_PULL_REQUEST",
    "BITBUCKET_PR_ID",
    "CHANGE_ID",  # Jenkins
    "SYSTEM_PULLREQUEST_PULLREQUESTID",  # Azure Pipelines
    "BUILDKITE_PULL_REQUEST",
    "CIRCLE_PULL_REQUEST",
    "TRAVIS_PULL_REQUEST",
    "APPVEYOR_PULL_REQUEST_NUMBER",
    "SEMAPHORE_GIT_PR_NUMBER",
    "PULL_NUMBER",  # Prow
)
"""Set in the jobs of pull requests only, or `false` in others."""

Untrusted = Annotated[
    bool | None,
    typer.Option(
        "--untrusted/--trusted",
        help="Whether the documents are not merged yet: read no secret, and send no config to Connect."
        " [default: untrusted in a CI job of a pull request]",
        show_default=False,
    ),
]
Trusted = Annotated[
    bool, typer.Option("--trusted", help="Apply documents that are not merged, in a CI job of a pull request.")
]


def unmerged_variable(environment: Mapping[str, str]) -> str | None:
    """The variable that shows that this is a CI job of a pull request; None if there is none."""
    if environment.get("GITHUB_EVENT_NAME", "").startswith(("pull_request", "merge_group")):
        return "GITHUB_EVENT_NAME"
    return next((name for name in _VARIABLES if environment.get(name, "").lower() not in _NO), None)


def is_untrusted(chosen: bool | None) -> bool:
    """What the options of a command and the environment say. If the environment decides, a note says so."""
    found = unmerged_variable(os.environ) if chosen is None else None
    if found is None:
        return bool(chosen)
    echo(f"note: {found} is set: the documents are not merged, so no secret is read, and no config is sent to Connect")
    return True


def require_merged(*, trusted: bool) -> None:
    """Raise UsageError in a CI job of a pull request, unless the user says that its documents are trusted."""
    if not trusted and (found := unmerged_variable(os.environ)) is not None:
        raise UsageError(
            f"{found} is set: this is a job of a pull request, whose documents are not merged; apply them after the"
            " merge, or apply them anyway with --trusted"
        )
