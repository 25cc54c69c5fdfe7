"""The options that several commands share, each defined and explained once, and outputs in the format they select."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, assert_never

import typer

from gitops_connect.errors import UsageError
from gitops_connect.model.clock import parse_duration
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
    """How a difference is printed."""

    TEXT = "text"
    JSON = "json"


Clusters = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="NAME", help="Only this cluster; may be repeated. [default: all]"),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="NAME", help="The cluster, if several clusters have the connector."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Directory = Annotated[
    Path | None,
    typer.Argument(metavar="PATH", help="Read this directory instead of the configured repository."),
]
ListOutput = Annotated[TableOutput, typer.Option("-o", "--output", help="Output format.")]
AllOffsets = Annotated[bool, typer.Option("--all-offsets", help="Show every partition whose offset changes.")]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="The daemon. [default: public_url, else listen, of the settings]"),
]
Timeout = Annotated[str, typer.Option("--timeout", metavar="DURATION", help="How long to wait.")]


def timeout_seconds(timeout: str) -> float:
    """The value of `--timeout` in seconds. Raises UsageError."""
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout: expected a duration such as 30s or 5m, found {timeout!r}") from error


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
        case _:
            assert_never(output)


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
        case _:
            assert_never(output)
