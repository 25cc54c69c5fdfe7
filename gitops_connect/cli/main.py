"""The entry point: the table of commands, and the only place that catches every exception."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from typing import IO, Annotated, Any

import typer
import typer.main

from gitops_connect import __version__
from gitops_connect.cli import (
    apply,
    convert,
    describe,
    doctor,
    get,
    import_connectors,
    ledger,
    offsets,
    plan,
    reconcile,
    restart,
    review,
    run,
    sandbox,
    status,
    suspend,
    validate,
    version,
)
from gitops_connect.cli.console import bug_report, echo, emit
from gitops_connect.cli.exit_codes import ExitCode, exit_code
from gitops_connect.cli.global_options import GlobalOptions, add_global_options
from gitops_connect.errors import GitopsConnectError
from gitops_connect.file_modes import create_private_files

app = typer.Typer(
    name="gitops-connect",
    help="Keep Kafka Connect clusters in sync with a Git repository.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(validate.validate)
app.command()(plan.plan)
app.command()(apply.apply)
app.command()(run.run)
app.command()(reconcile.reconcile)
app.command()(review.review)
app.command()(status.status)
app.add_typer(get.app, name="get")
app.add_typer(describe.app, name="describe")
app.command("import")(import_connectors.import_connectors)
app.command()(convert.convert)
app.add_typer(restart.app, name="restart")
app.add_typer(suspend.suspend, name="suspend")
app.add_typer(suspend.resume, name="resume")
app.add_typer(ledger.app, name="ledger")
app.add_typer(offsets.app, name="offsets")
app.command()(doctor.doctor)
app.add_typer(sandbox.app, name="sandbox")
app.command()(version.version)


def _version(value: bool) -> None:
    if value:
        emit(f"gitops-connect {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The callback of `app`: its help is the help of the program."""


@cache
def command_line() -> Any:
    """All commands (of click) with all their options, as they are parsed. They are made once in a process."""
    command: Any = typer.main.get_command(app)
    add_global_options(command)
    return command


def main() -> None:
    """Run the command line of this process, and end it with an exit code."""
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
    """The command for an issue. It is named without its values, which may be private."""
    options = (argument.partition("=")[0] for argument in arguments if argument.startswith("-"))
    return " ".join(["command: gitops-connect", *_command_words(arguments), *options])


def _command_words(arguments: list[str]) -> list[str]:
    """The names of commands among the arguments."""
    apps = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    commands = [command for one in apps for command in one.registered_commands]
    names = {command.name or command.callback.__name__ for command in commands if command.callback}
    names |= {str(group.name) for group in app.registered_groups}
    return [argument for argument in arguments if argument in names]


if __name__ == "__main__":
    main()
