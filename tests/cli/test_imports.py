"""`--help` is fast, because a command imports its libraries only when it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gitops_connect.cli.main import app

FOREIGN = {
    "alembic",
    "git",
    "jsonschema",
    "platformdirs",
    "psutil",
    "pyspark",
    "requests",
    "rich",
    "sqlalchemy",
    "yaml",
}
COMMANDS = [
    *(command.name or command.callback.__name__ for command in app.registered_commands),
    *(group.name for group in app.registered_groups),
]
PROGRAM = """
import sys
from gitops_connect.cli.main import run_command
for command in sys.argv[1:]:
    code = run_command([*command.split(), "--help"])
    if code:
        sys.exit(f"{command} --help ended with {code}")
sys.stderr.write(" ".join(sys.modules))
"""


@pytest.mark.slow
def test_the_help_of_all_commands_imports_no_library_but_that_of_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "", *COMMANDS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: gitops-connect") == len(COMMANDS) + 1
    imported = set(done.stderr.split())
    assert "typer" in imported
    assert not FOREIGN & imported
