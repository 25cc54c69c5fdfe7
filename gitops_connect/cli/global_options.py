"""The options that every command takes, before and after its name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

from gitops_connect.errors import UsageError


@dataclass(slots=True)
class GlobalOptions:
    """The values of the options that commands read. The other options take effect when they are parsed."""

    config: Path | None = None
    verbose: bool = False


def of(context: typer.Context) -> GlobalOptions:
    """The global options of one command line."""
    options: GlobalOptions = context.obj
    return options


def _config(context: typer.Context, value: Path | None) -> None:
    if value is not None:
        of(context).config = value


def _verbose(context: typer.Context, value: bool) -> None:
    of(context).verbose |= value


def _change_directory(context: typer.Context, value: Path | None) -> None:
    if value is None or context.resilient_parsing:
        return
    before = Path.cwd()
    try:
        os.chdir(value)
    except OSError as error:
        raise UsageError(f"cannot change to the directory {value}: {error.strerror}") from error
    context.find_root().call_on_close(lambda: os.chdir(before))


def _debug(context: typer.Context, value: bool) -> None:
    if value and not context.resilient_parsing:
        from gitops_connect.cli.logs import requests_to_stderr  # noqa: PLC0415 - `--help` logs nothing

        context.find_root().call_on_close(requests_to_stderr())


def _no_color(context: typer.Context, value: bool) -> None:
    if value and not os.environ.get("NO_COLOR"):
        os.environ["NO_COLOR"] = "1"  # libraries read this variable, too
        context.find_root().call_on_close(lambda: os.environ.pop("NO_COLOR", None))


_option = partial(typer.Option, expose_value=False)


def _declared(
    _config_file: Annotated[
        Path | None,
        _option(
            "--config",
            metavar="FILE",
            callback=_config,
            help="The settings file. [default: $GITOPS_CONNECT_CONFIG, else gitops-connect.toml]",
        ),
    ] = None,
    _directory: Annotated[
        Path | None,
        _option(
            "-C",
            "--chdir",
            metavar="DIR",
            callback=_change_directory,
            help="Change to this directory before anything else.",
        ),
    ] = None,
    _more: Annotated[
        bool,
        _option(
            "-v",
            "--verbose",
            callback=_verbose,
            help="Show more details: ignored files (validate), and offset changes that were applied before (plan).",
        ),
    ] = False,
    _requests: Annotated[
        bool,
        _option("--debug", callback=_debug, help="Log each request to Connect on stderr, without headers and bodies."),
    ] = False,
    _plain: Annotated[bool, _option("--no-color", callback=_no_color, help="Print without colors.")] = False,
) -> None:
    """The signature of this function declares the options."""


def add_global_options(command: Any) -> None:
    """Add the global options to the command (of click), and to all commands below it."""
    declaration = typer.Typer(add_completion=False)
    declaration.command()(_declared)
    _add(command, typer.main.get_command(declaration).params)


def _add(command: Any, options: list[Any]) -> None:
    command.params.extend(options)
    for below in getattr(command, "commands", {}).values():
        _add(below, options)
