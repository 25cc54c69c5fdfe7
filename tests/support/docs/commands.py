"""Whether a command line names commands and options that exist."""

from __future__ import annotations

from typing import Any


def problem(arguments: list[str], command: Any) -> str:
    """The first command or option that does not exist; empty if all exist."""
    path: list[str] = []
    known = options(command)
    words = iter(arguments)
    for word in words:
        path += [] if word.startswith("-") or not hasattr(command, "commands") else [word]
        option = word.partition("=")[0]
        if word.startswith("-") and word != "-":
            if option not in known:
                return f"{' '.join(path)}: no option {option}"
            if not known[option].is_flag and "=" not in word:
                next(words, None)
        elif hasattr(command, "commands"):
            if word not in command.commands:
                return f"no command {' '.join(path)}"
            command = command.commands[word]
            known |= options(command)
    return ""


def options(command: Any) -> dict[str, Any]:
    """Every spelling of each option of one command."""
    every = [*command.params, command.get_help_option(command.context_class(command))]
    return {name: one for one in every for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}
