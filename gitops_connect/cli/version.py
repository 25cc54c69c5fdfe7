"""`gitops-connect version`: the versions that a bug report needs."""

from __future__ import annotations

import json
import platform
from typing import Annotated

from gitops_connect import __version__
from gitops_connect.cli.console import emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import OUTPUT, TextOutput


def version(output: Annotated[TextOutput, OUTPUT] = TextOutput.TEXT) -> int:
    """Show the versions of gitops-connect and Python."""
    found = {"version": __version__, "python": platform.python_version(), "platform": platform.platform()}
    if output is TextOutput.JSON:
        emit(json.dumps(found, indent=2) + "\n")
    else:
        emit(f"gitops-connect {found['version']}\nPython {found['python']} on {found['platform']}\n")
    return ExitCode.DONE
