"""Every `gitops-connect …` in the README and the docs is a command of the program, with options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from cli_page import loaded_commands
from support.docs.docs_pages import PAGES, Code, code

from gitops_connect.cli.main import COMMANDS
from gitops_connect.report.comment_writer import APPROVE, HELP

COMMAND = re.compile(r"(?:^|&& |\| |-- |=)(?:\$ )?(?:[\w./]*/)?gitops-connect (?P<rest>[^|>&]*)")
IN_COMMENTS = {one.removeprefix("gitops-connect ") for one in (APPROVE, HELP)}
"""Commands that only a comment on a pull request can have."""
HISTORY = {"CHANGELOG.md"}
"""Pages that also name commands of earlier versions."""


def commands(block: Code) -> Iterator[list[str]]:
    """The arguments of each command of a block, without comments. A Markdown document shows no commands to run."""
    if block.language == "markdown":
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        if found := COMMAND.search(line.strip()):
            yield shlex.split(found["rest"], comments=True)


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


def test_every_command_and_option_exists() -> None:
    tree = loaded_commands()
    found = [
        f"{block.page}:{block.line}: gitops-connect {' '.join(arguments)}: {wrong}"
        for page in PAGES
        if page.name not in HISTORY
        for block in code(page)
        for arguments in commands(block)
        if arguments and arguments[0] not in IN_COMMENTS and (wrong := problem(arguments, tree))
    ]
    assert not found, "\n".join(found)


def test_a_wrong_command_is_found() -> None:
    tree = loaded_commands()
    assert problem(["plan", "--oout", "x"], tree) == "plan: no option --oout"
    assert problem(["plans"], tree) == "no command plans"
    assert problem(["offsets", "gett", "x"], tree) == "no command offsets gett"
    assert not problem(["--config", "x", "offsets", "get", "orders", "--save=x"], tree)


def test_the_docs_show_nearly_every_command() -> None:
    """If this fails, the search misses a form in which pages write commands."""
    shown = {tuple(arguments[:1]) for page in PAGES for block in code(page) for arguments in commands(block)}
    assert {(name,) for name in COMMANDS} <= shown
