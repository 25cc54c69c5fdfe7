"""The parameters of all commands as data: a shell completes them without the import of a command.

`make docs` writes the data from the commands (docs/reference/completions.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_connect.cli import completion

FILE = Path(__file__).with_name("known_commands.json")


def known_command(name: str) -> Any:
    """The command, or the group, with its parameters as they are completed. It cannot be called."""
    known = json.loads(FILE.read_text(encoding="utf-8"))[name]
    if "commands" not in known:
        return _command(known)
    group = typer.Typer()
    for below, one in known["commands"].items():
        group.command(below, hidden=one["hidden"])(_command(one))
    return group


def _command(known: Mapping[str, Any]) -> Callable[[], None]:
    def command() -> None:
        raise AssertionError("a command is completed, and not called")

    parameters = [_parameter(one) for one in known["parameters"]]
    command.__doc__ = known["help"]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it with `inspect`
    return command


def _parameter(one: Mapping[str, Any]) -> Parameter:
    """An option if it has spellings, otherwise an argument."""
    values = {value: value for value in one.get("values", ())}
    kind: Any = bool if "flag" in one else Enum("Values", values) if values else str
    complete = getattr(completion, one["completer"]) if "completer" in one else None
    declared = (
        typer.Option(*one["spellings"], help=one.get("help"), autocompletion=complete)
        if "spellings" in one
        else typer.Argument(help=one.get("help"), autocompletion=complete)
    )
    hint = list[kind] | None if "many" in one else kind | None
    return Parameter(one["name"], Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, declared])
