"""The options that several commands share, each defined and explained once, and outputs in the format they select."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_connect.cli.completion import complete_clusters, complete_connectors
from gitops_connect.cli.console import echo
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.report.code_scanning import code_quality, sarif, workflow_commands
from gitops_connect.report.table import as_json, as_yaml, table


class TableOutput(Enum):
    """How lists are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class PlanOutput(Enum):
    """How plans are printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class ProblemOutput(Enum):
    """How the problems of documents are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"


class TextOutput(Enum):
    """How a difference, or a version, is printed."""

    TEXT = "text"
    JSON = "json"


Clusters = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Only this cluster; may be repeated. [default: all]",
        autocompletion=complete_clusters,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="The cluster, if several clusters have the connector.",
        autocompletion=complete_clusters,
    ),
]
OnlyCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="The cluster. [default: the only one]",
        autocompletion=complete_clusters,
    ),
]
Connector = Annotated[
    str, typer.Argument(metavar="CONNECTOR", help="The connector's name.", autocompletion=complete_connectors)
]
NamedConnector = Annotated[
    str, typer.Argument(metavar="NAME", help="The connector's name.", autocompletion=complete_connectors)
]
NamedConnectors = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Only these connectors. [default: all]", autocompletion=complete_connectors),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Directory = Annotated[
    Path | None, typer.Argument(metavar="PATH", help="Read this directory instead of the configured repository.")
]
OUTPUT = typer.Option("-o", "--output", help="Output format.")
ListOutput = Annotated[TableOutput, OUTPUT]
Offline = Annotated[bool, typer.Option("--offline", help="Do not contact the Connect clusters.")]
DetailedExitcode = Annotated[bool, typer.Option("--detailed-exitcode", help="Exit with 2 if there are changes.")]
AllOffsets = Annotated[bool, typer.Option("--all-offsets", help="Show every partition whose offset changes.")]
Untrusted = Annotated[
    bool | None,
    typer.Option(
        "--untrusted/--trusted",
        help="Whether the documents are not merged yet: read no secret, and send no config to Connect."
        " [default: untrusted in a CI job of a pull request]",
        show_default=False,
    ),
]

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


def group() -> typer.Typer:
    """A group of commands. Its help is in `main.COMMANDS`."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def listing(headers: Sequence[str], rows: Sequence[Sequence[str]], values: Sequence[Any], output: TableOutput) -> str:
    """The rows as a table, or the values as JSON or YAML."""
    return in_format(output, list(values), lambda: table(headers, rows))


def in_format(output: TableOutput, value: Any, as_table: Callable[[], str]) -> str:
    """The table, or the value as JSON or YAML."""
    match output:
        case TableOutput.TABLE:
            return as_table()
        case TableOutput.JSON:
            return as_json(value)
        case TableOutput.YAML:
            return as_yaml(value)


def problem_report(
    diagnostics: Diagnostics,
    output: ProblemOutput,
    own: Callable[[], str | Iterator[str]],
    documents: int | None = None,
) -> str | Iterator[str]:
    """The problems in a format of other programs; `own` returns them as text or JSON."""
    match output:
        case ProblemOutput.TEXT | ProblemOutput.JSON:
            return own()
        case ProblemOutput.SARIF:
            return sarif(diagnostics)
        case ProblemOutput.GITHUB:
            return workflow_commands(diagnostics, documents)
        case ProblemOutput.GITLAB:
            return code_quality(diagnostics)


def unmerged_variable(environment: Mapping[str, str]) -> str | None:
    """The variable that shows that this is a CI job of a pull request, whose documents are not merged; else None."""
    if environment.get("GITHUB_EVENT_NAME", "").startswith(("pull_request", "merge_group")):
        return "GITHUB_EVENT_NAME"
    return next((name for name in _VARIABLES if environment.get(name, "").lower() not in ("", "false")), None)


def is_untrusted(chosen: bool | None) -> bool:
    """What the options of a command and the environment say. If the environment decides, a note says so."""
    found = unmerged_variable(os.environ) if chosen is None else None
    if found is None:
        return bool(chosen)
    echo(f"note: {found} is set: the documents are not merged, so no secret is read, and no config is sent to Connect")
    return True
