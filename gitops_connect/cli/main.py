"""The entry point: the table of commands, and the only place that catches every exception."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from importlib import import_module
from typing import IO, Annotated, Any, NamedTuple

import typer
import typer.core
import typer.main

from gitops_connect import __version__
from gitops_connect.cli.console import bug_report, echo, emit
from gitops_connect.cli.exit_codes import ExitCode, exit_code
from gitops_connect.cli.global_options import GlobalOptions, add_global_options
from gitops_connect.errors import GitopsConnectError
from gitops_connect.safe_files import create_private_files


class CommandEntry(NamedTuple):
    """Where a command is, and the first sentence of its help. `--help` and shells show it without an import."""

    module: str
    name: str
    help: str


COMMANDS = {
    "init": CommandEntry("init", "init", "Create the files of a new repository."),
    "validate": CommandEntry("validate", "validate", "Check documents, offset manifests and connector configs."),
    "plan": CommandEntry("plan", "plan", "Show the changes that apply would make."),
    "apply": CommandEntry("apply", "apply", "Apply a saved plan, or make a plan and apply it after approval."),
    "run": CommandEntry("run", "run", "Continuously reconcile the clusters with the repository."),
    "reconcile": CommandEntry("daemon_requests", "reconcile", "Let the running daemon reconcile at once."),
    "review": CommandEntry("daemon_requests", "review", "Show what merging a pull request would do."),
    "status": CommandEntry("plan", "status", "Show whether each connector is in sync and healthy."),
    "explain": CommandEntry("explain", "explain", "Explain a field, a rule, an error, a setting, or a connector."),
    "import": CommandEntry("import_connectors", "import_connectors", "Write the connectors of a cluster as documents."),
    "convert": CommandEntry("convert", "convert", "Convert connectors from and to the formats of other tools."),
    "doctor": CommandEntry("doctor", "doctor", "Check settings, repository, forge, ledger, clusters and tools."),
    "acls": CommandEntry("acls", "acls", "Show the permissions that connectors need on Kafka."),
    "version": CommandEntry("version", "version", "Show the versions of gitops-connect and Python."),
    "get": CommandEntry("connectors", "get", "List connectors or connector plugins."),
    "describe": CommandEntry("connectors", "describe", "Show the details of a connector."),
    "restart": CommandEntry("connectors", "restart", "Restart a connector."),
    "suspend": CommandEntry("suspend", "suspend", "Change nothing on a connector or a cluster until it is resumed."),
    "resume": CommandEntry("suspend", "resume", "End what `suspend` began."),
    "rollout": CommandEntry("rollout", "app", "Continue, skip or abandon a rollout that waits."),
    "history": CommandEntry("history", "history", "Show who or what changed connectors, newest first."),
    "ledger": CommandEntry("ledger_commands", "app", "Show, correct, export or import the ledger."),
    "offsets": CommandEntry("target_commands", "app", "Show, compare, check, move and restore offsets."),
    "sandbox": CommandEntry("sandbox", "app", "Run a local one-node Kafka with Connect workers."),
}

_COMPLETES = "_GITOPS_CONNECT_COMPLETE"
"""The variable that shells set while they complete a command line."""


class CommandGroup(typer.core.TyperGroup):
    """The commands of the program. The module of a command is imported when the command is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        entries = {name: typer.core.TyperCommand(name, help=entry.help) for name, entry in COMMANDS.items()}
        self.commands = {**entries, **self.commands}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, self.load(name) if name in COMMANDS else command, rest

    def load(self, name: str) -> Any:
        entry = COMMANDS[name]
        if os.environ.get(_COMPLETES):
            found = _known(name)
        else:
            found = getattr(import_module(f"gitops_connect.cli.{entry.module}"), entry.name)
        holder = typer.Typer(callback=_root, add_completion=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name, help=entry.help)
        else:
            holder.command(name)(found)
        group: Any = typer.main.get_command(holder)
        self.commands[name] = group.commands[name]
        add_global_options(self.commands[name])
        return self.commands[name]


def _known(name: str) -> Any:
    from gitops_connect.cli.known_commands import known_command  # noqa: PLC0415 - only shells need it

    return known_command(name)


def _version(value: bool) -> None:
    if value:
        emit(f"gitops-connect {__version__}\n")
        raise typer.Exit


def _root(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The callback of `app`: its help is the help of the program."""


app = typer.Typer(
    name="gitops-connect",
    cls=CommandGroup,
    callback=_root,
    help="Keep Kafka Connect clusters in sync with a Git repository.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@cache
def command_line() -> Any:
    """All commands (of click) with all their options, as they are parsed. They are made once in a process."""
    command: Any = typer.main.get_command(app)
    add_global_options(command)
    return command


GC_THRESHOLDS = (10_000, 20, 20)
"""Objects between two garbage collections, and how many of those between two larger ones (`gc.set_threshold`). With
Python's 700, a fifth of the time are collections: each document and connector needs some objects, which are used until
the end of the command or reconciliation, or are freed without a collection."""


def main() -> None:
    """Run the command line of this process, and end it with an exit code."""
    gc.set_threshold(*GC_THRESHOLDS)
    create_private_files()
    code = run_command(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        _let_go(stream)
    gc.freeze()  # without the final collection of Spark's objects, the process ends 0.3s sooner
    sys.exit(code)


def _let_go(stream: IO[str]) -> None:
    """If the reader of the stream is gone, prevent an error at the end, which would change the exit code to 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run_command(arguments: list[str]) -> int:
    """Run one command line. Returns its exit code, and raises nothing."""
    try:
        result = command_line().main(arguments, "gitops-connect", standalone_mode=False, obj=GlobalOptions())
        return int(result or 0)
    except GitopsConnectError as error:
        echo(f"error: {error}")
        return exit_code(error)
    except typer.TyperException as error:
        echo(_usage(error))
        return ExitCode.USAGE
    except (KeyboardInterrupt, typer.Abort):
        echo("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader of stdout is gone, and needs no message
        return ExitCode.FAILED
    except Exception as error:
        echo(bug_report(error, _command(arguments)))
        return ExitCode.BUG


def _usage(error: typer.TyperException) -> str:
    message = str(getattr(error, "format_message", error.__str__)())
    return message if message.startswith("Usage: ") else f"error: {message}\nSee gitops-connect --help."


def _command(arguments: list[str]) -> str:
    """The command for an issue, without its values, which may be private.

    The names of commands are those of the groups that were called: no other group is imported for its names.
    """
    commands = command_line().commands
    names = {*commands, *(name for one in commands.values() for name in getattr(one, "commands", ()))}
    words = [argument for argument in arguments if argument in names]
    options = (argument.partition("=")[0] for argument in arguments if argument.startswith("-"))
    return " ".join(["command: gitops-connect", *words, *options])


if __name__ == "__main__":
    main()
