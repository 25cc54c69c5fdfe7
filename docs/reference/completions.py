"""The parameters of all commands, as gitops_connect/cli/known_commands.py reads them."""

from __future__ import annotations

import inspect
import json
from typing import Any

from cli_page import loaded_commands

from gitops_connect.cli.main import COMMANDS


def completions() -> str:
    """The data: a line for each command."""
    commands = loaded_commands().commands
    lines = [f"{json.dumps(name)}: {json.dumps(_command(commands[name]))}" for name in sorted(COMMANDS)]
    return "{{\n{}\n}}\n".format(",\n".join(lines))


def _command(command: Any) -> dict[str, Any]:
    if below := getattr(command, "commands", None):
        return {"commands": {name: {**_command(one), "hidden": one.hidden} for name, one in below.items()}}
    own = [one for one in command.params if one.expose_value]
    return {"help": command.get_short_help_str(200), "parameters": [_parameter(one) for one in own]}


def _parameter(one: Any) -> dict[str, Any]:
    """The facts about it that `known_commands._parameter` reads, without those that are empty."""
    is_option, kind = one.param_type_name == "option", one.type_descriptor
    spellings = ["/".join(filter(None, pair)) for pair in _pairs(one)] if is_option else []
    facts = {
        "name": one.name,
        "help": one.help or "",
        "spellings": spellings,
        "flag": is_option and one.is_flag,
        "many": one.nargs == -1 or getattr(one, "multiple", False),
        "values": [choice.value for choice in kind.choices or ()],
        "completer": _completer(one),
    }
    return {name: value for name, value in facts.items() if value}


def _pairs(one: Any) -> list[tuple[str, str]]:
    """The spellings, the last one with that of the negation of a flag."""
    negation = one.secondary_opts[0] if one.secondary_opts else ""
    return [*((opt, "") for opt in one.opts[:-1]), (one.opts[-1], negation)]


def _completer(one: Any) -> str:
    """The name of the function in gitops_connect/cli/completion.py that completes the value."""
    found = one._custom_shell_complete  # noqa: SLF001 - there is no other way to it
    return str(inspect.getclosurevars(found).nonlocals["autocompletion"].__name__) if found is not None else ""
