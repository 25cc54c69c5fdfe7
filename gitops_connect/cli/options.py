"""The options that several commands share, each defined and explained once."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.errors import UsageError


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
    from gitops_connect.model.durations import parse_duration

    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout: expected a duration such as 30s or 5m, found {timeout!r}") from error
