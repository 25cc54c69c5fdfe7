"""The page of commands, from the command line itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

from generated_tables import NOTICE, cell

from gitops_connect.cli.main import COMMANDS, command_line

CLI_INTRODUCTION = """\
This page lists all commands and their options, with the texts of `--help`.

Every command accepts `--config`, `--chdir`, `--verbose`, `--debug` and `--no-color`, before and after its name. Every
command also has `-h` and `--help`.

On a terminal, a command that takes more than a second says on stderr what it does, in a line that disappears. Without a
terminal, it prints such a line after 2 seconds, and then every 10 seconds.

An option without a value is a flag: it is off unless it is given. [Exit codes](exit-codes.md) are the same for all
commands.
"""


def cli() -> str:
    """The command line."""
    lines = ["# Commands", "", NOTICE, CLI_INTRODUCTION, *_command(loaded_commands(), "gitops-connect")]
    return "\n".join(lines).rstrip() + "\n"


@cache
def loaded_commands() -> Any:
    """The command line, with the module of every command. Loaded once: it takes a third of a second."""
    commands = command_line()
    for name in COMMANDS:
        commands.load(name)
    return commands


def _command(command: Any, name: str) -> Iterator[str]:
    yield f"## `{name}`"
    yield ""
    yield inspect.cleandoc(command.help or "")
    yield ""
    yield from (
        _commands(command, name) if getattr(command, "commands", {}) else ("```text", _usage(command, name), "```")
    )
    yield ""
    every = name == "gitops-connect"  # the global options are listed once
    shown = (one for one in command.params if one.name != "help" and not getattr(one, "hidden", False))
    parameters = [one for one in shown if every or one.expose_value]
    if parameters:
        yield "| option | meaning | value | default |"
        yield "| --- | --- | --- | --- |"
    for one in parameters:
        meaning, default = _meaning(one)
        yield f"| {_spelling(one)} | {cell(meaning)} | {_value(one, command)} | {default} |"
    if parameters:
        yield ""
    for child, below in sorted(getattr(command, "commands", {}).items()):
        if not below.hidden:
            yield from _command(below, f"{name} {child}")


def _commands(command: Any, name: str) -> Iterator[str]:
    """The commands of a group, each with the first line of its help."""
    yield from ("| command | meaning |", "| --- | --- |")
    for child, below in sorted(command.commands.items()):
        if not below.hidden:
            anchor = f"{name} {child}".replace(" ", "-")
            yield f"| [`{name} {child}`](#{anchor}) | {cell((below.help or '').partition(chr(10))[0])} |"


def _usage(command: Any, name: str) -> str:
    """The required options and the arguments; an argument in brackets may be left out."""
    options = [one for one in command.params if one.param_type_name == "option"]
    required = [f"{one.opts[0]} {one.metavar}" for one in options if one.required]
    pieces = []
    for one in command.params:
        if one.param_type_name != "option":
            shown = (one.metavar or one.name.upper()) + ("..." if one.nargs == -1 else "")
            pieces.append(shown if one.required else f"[{shown}]")
    return " ".join([name, *required, "[OPTIONS]", *pieces])


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name != "option":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    spellings = [
        ", ".join(f"`{option}`" for option in options) for options in (parameter.opts, parameter.secondary_opts)
    ]
    return " or ".join(filter(None, spellings))


def _value(parameter: Any, command: Any) -> str:
    """What follows an option: its choices, or the name of its value; nothing for a flag."""
    if parameter.param_type_name != "option" or parameter.is_flag:
        return ""
    kind = parameter.metavar or parameter.display_type(command.context_class(command)).strip("<>")
    least = getattr(parameter, "min", None)
    values = [f"`{one}`" for one in kind.split("|")]
    return ", ".join(values) + (f" ({least} or more)" if least is not None else "")


def _meaning(parameter: Any) -> tuple[str, str]:
    """The help, and the default, which the help has at its end if it is no plain value."""
    text, _, told = (getattr(parameter, "help", "") or "").partition(" [default: ")
    if parameter.required:
        return text, "required"
    if told:
        return text, told.removesuffix("]")
    value = getattr(parameter.default, "value", parameter.default)
    return text, "" if value is None or value is False or value == () else f"`{value}`"
