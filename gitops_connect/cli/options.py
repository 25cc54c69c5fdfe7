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


def option(name: str, metavar: str, text: str, **more: Any) -> Any:
    """An option with a value, which the help shows as `metavar`."""
    return typer.Option(name, metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """An argument, which the help shows as `metavar`."""
    return typer.Argument(metavar=metavar, help=text, **more)


def _cluster(text: str) -> Any:
    return option("--cluster", "NAME", text, autocompletion=complete_clusters)


def _connector(metavar: str, text: str) -> Any:
    return argument(metavar, text, autocompletion=complete_connectors)


Clusters = Annotated[list[str] | None, _cluster("Only this cluster; may be repeated. [default: all]")]
Cluster = Annotated[str | None, _cluster("The cluster, if several clusters have the connector.")]
OnlyCluster = Annotated[str | None, _cluster("The cluster. [default: the only one]")]
Connector = Annotated[str, _connector("CONNECTOR", "The connector's name.")]
NamedConnector = Annotated[str, _connector("NAME", "The connector's name.")]
NamedConnectors = Annotated[list[str] | None, _connector("NAME", "Only these connectors. [default: all]")]
Force = Annotated[bool, flag("--force", "Overwrite existing files.")]
Directory = Annotated[Path | None, argument("PATH", "Read this directory instead of the configured repository.")]
OUTPUT = typer.Option("-o", "--output", help="Output format.")
ListOutput = Annotated[TableOutput, OUTPUT]
Offline = Annotated[bool, flag("--offline", "Do not contact the Connect clusters.")]
DetailedExitcode = Annotated[bool, flag("--detailed-exitcode", "Exit with 2 if there are changes.")]
AllOffsets = Annotated[bool, flag("--all-offsets", "Show every partition whose offset changes.")]
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
