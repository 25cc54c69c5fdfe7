"""`--help` is fast, because the module of a command is imported when the command is called."""

from __future__ import annotations

import sys

import pytest
from acceptance.workplace import Ran, run_apart
from cli_page import loaded_commands

from gitops_connect.cli.main import COMMANDS

pytestmark = pytest.mark.slow

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


def run(*arguments: str, before: str = "") -> Ran:
    """Run a command; stderr ends with the names of all imported modules."""
    return run_apart([sys.executable, "-c", before + PROGRAM, *arguments])


def test_the_help_of_the_program_imports_no_command_and_no_library_but_that_of_the_command_line() -> None:
    ran = run("--help").expect(0)
    imported = set(ran.err.split())
    assert "typer" in imported
    assert not FOREIGN & imported
    assert not {f"gitops_connect.cli.{one.module}" for one in COMMANDS.values()} & imported
    for name in COMMANDS:
        assert f"\n  {name} " in ran.out


def test_the_help_of_the_program_has_the_first_sentence_of_the_help_of_each_command() -> None:
    commands = loaded_commands().commands
    assert {name: commands[name].get_short_help_str(200) for name in COMMANDS} == {
        name: one.help for name, one in COMMANDS.items()
    }


def test_a_command_whose_module_cannot_be_imported_is_a_bug_of_that_command_only() -> None:
    before = "import sys; sys.modules['gitops_connect.cli.plan'] = None"
    bug = ("This is a bug in gitops-connect.", "command: gitops-connect plan\n")
    run("plan", before=before).expect(70, err=bug)
    run("version", before=before).expect(0)


def test_a_command_imports_neither_the_planner_nor_the_ledger_if_it_needs_none() -> None:
    for command, unneeded in (("get", "gitops_connect.reconcile"), ("convert", "gitops_connect.ledger.ledger")):
        assert not {unneeded, "pyspark", "rich"} & set(run(command, "--help").expect(0).err.split()), command
