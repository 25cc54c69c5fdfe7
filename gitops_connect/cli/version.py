"""`gitops-connect version`: the versions that a bug report needs."""

from __future__ import annotations

import json
import platform
from enum import Enum
from typing import Annotated

import typer

from gitops_connect import __version__
from gitops_connect.cli.console import emit
from gitops_connect.cli.exit_codes import ExitCode


class VersionOutput(Enum):
    """How versions are printed."""

    TEXT = "text"
    JSON = "json"


def version(
    output: Annotated[VersionOutput, typer.Option("-o", "--output", help="Output format.")] = VersionOutput.TEXT,
) -> int:
    """Show the versions of gitops-connect and Python."""
    found = {"version": __version__, "python": platform.python_version(), "platform": platform.platform()}
    if output is VersionOutput.JSON:
        emit(json.dumps(found, indent=2) + "\n")
    else:
        emit(f"gitops-connect {found['version']}\nPython {found['python']} on {found['platform']}\n")
    return ExitCode.DONE
