"""Command lines in messages: a shell and the program read each name as it is."""

from __future__ import annotations

import shlex

import pytest
from cli_page import loaded_commands

from gitops_connect.model.command_lines import command_line


@pytest.mark.parametrize("name", ["orders", "-x", "--applied", "it's", "$(id); `id`"])
@pytest.mark.parametrize(
    ("command", "options", "parameter"),
    [
        ("ledger resolve", ("--cluster", "-c", "--not-applied"), "names"),
        ("explain connector", ("--cluster", "-c"), "name"),
    ],
)
def test_a_name_is_read_as_a_name(command: str, options: tuple[str, ...], parameter: str, name: str) -> None:
    _, first, *words = shlex.split(command_line(command, name, *options))
    found = loaded_commands().commands[first]
    if hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    with found.make_context(first, words, resilient_parsing=True) as context:
        assert context.params[parameter] in (name, [name])
        assert "-c" in context.params["cluster"]


def test_the_usual_order_is_that_of_the_documentation() -> None:
    assert command_line("ledger resolve", "a", "--applied") == "gitops-connect ledger resolve a --applied"
