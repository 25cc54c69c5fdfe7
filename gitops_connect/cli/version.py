"""`gitops-connect version`: the versions that a bug report needs."""

from __future__ import annotations

import json
import platform
from enum import Enum
from typing import Annotated, assert_never

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
    match output:
        case VersionOutput.TEXT:
            emit(f"gitops-connect {__version__}\nPython {platform.python_version()} on {platform.platform()}\n")
        case VersionOutput.JSON:
            found = {
                "version": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
            }
            emit(json.dumps(found, indent=2) + "\n")
        case _:
            assert_never(output)
    return ExitCode.DONE
