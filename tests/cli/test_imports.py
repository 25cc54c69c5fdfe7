"""`--help` is fast, because the module of a command is imported when the command is called."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli_page import loaded_commands

from gitops_connect.cli.main import COMMANDS

FOREIGN = {
    *("alembic", "git", "jsonschema", "platformdirs", "psutil", "pyspark", "requests", "rich", "sqlalchemy", "yaml"),
}
PROGRAM = """
import sys
from gitops_connect.cli.main import run_command
code = run_command(sys.argv[1:])
sys.stderr.write(" ".join(sys.modules))
sys.exit(code)
"""


def test_the_help_of_the_program_imports_no_command_and_no_library_but_that_of_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = set(done.stderr.split())
    assert "typer" in imported
    assert not FOREIGN & imported
    assert not {f"gitops_connect.cli.{one.module}" for one in COMMANDS.values()} & imported
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_the_help_of_the_program_has_the_first_sentence_of_the_help_of_each_command() -> None:
    commands = loaded_commands().commands
    assert {name: commands[name].get_short_help_str(200) for name in COMMANDS} == {
        name: one.help for name, one in COMMANDS.items()
    }


@pytest.mark.slow
def test_a_command_whose_module_cannot_be_imported_is_a_bug_of_that_command_only() -> None:
    program = f"import sys; sys.modules['gitops_connect.cli.plan'] = None\n{PROGRAM}"
    plan = subprocess.run([sys.executable, "-c", program, "plan"], capture_output=True, text=True, check=False)
    assert plan.returncode == 70
    assert "This is a bug in gitops-connect." in plan.stderr
    assert "command: gitops-connect plan\n" in plan.stderr
    version = subprocess.run([sys.executable, "-c", program, "version"], capture_output=True, text=True, check=False)
    assert version.returncode == 0


@pytest.mark.slow
def test_a_command_imports_neither_the_planner_nor_the_ledger_if_it_needs_none() -> None:
    for command, unneeded in (("get", "gitops_connect.reconcile"), ("convert", "gitops_connect.ledger.ledger")):
        arguments = [sys.executable, "-c", PROGRAM, command, "--help"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not {unneeded, "pyspark", "rich"} & set(done.stderr.split()), command
