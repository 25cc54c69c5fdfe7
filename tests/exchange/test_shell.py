"""The lexer of shell scripts: any text has tokens, with the place of each character, in a linear number of steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.exchange.readers.reading import LineStarts
from gitops_connect.exchange.readers.shell import ShellLexer, Token, TokenKind
from gitops_connect.exchange.readers.unknown_values import MARK, expression_of

PIECES = [
    "'",
    '"',
    "$'",
    "\\",
    "\n",
    " ",
    "$(",
    "(",
    ")",
    "((",
    "))",
    "`",
    "${",
    "}",
    "$A",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
]
PIECES += ["<<-E", "\t", "#", "|", ";", "&", ">", "<", "<<<", "a", "é", "{}", "\r\n", "=", "$", "E", "$((", "\\u0041"]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@pytest.mark.parametrize(("script", "expected"), rows(__file__, "tokens"))
def test_tokens(script: str, expected: list[list[str]]) -> None:
    found = ShellLexer(script, LineStarts(script).place).tokens()
    shown = [
        [one.kind.value, *([] if one.kind is TokenKind.END else [expression_of(one.excerpt.text)])] for one in found
    ]
    assert shown == expected


@given(script=texts)
def test_each_character_has_its_place(script: str) -> None:
    lines = LineStarts(script)
    for token in ShellLexer(script, lines.place).tokens():
        text = token.excerpt.text
        unknown = {at for found in MARK.finditer(text) for at in range(*found.span())}
        for at, character in enumerate(text):
            source = script[lines.index(*token.excerpt.place(at)) :]
            assert at in unknown or source.startswith((character, "\\")), (text, at)


@dataclass
class Counted(ShellLexer):
    steps: int = 0

    def _take(self, kind: str, found: re.Match[str]):  # type: ignore[no-untyped-def]
        self.steps += 1
        return super()._take(kind, found)


def steps_of(script: str) -> tuple[int, list[Token]]:
    lexer = Counted(script, LineStarts(script).place)
    tokens = list(lexer.tokens())
    return lexer.steps, tokens


@given(script=texts)
def test_each_step_takes_a_character_and_no_text_is_read_twice(script: str) -> None:
    steps, tokens = steps_of(script)
    assert steps <= len(script)
    assert sum(len(MARK.sub("", token.excerpt.text)) for token in tokens) <= len(script)


@pytest.mark.parametrize("piece", [*PIECES, "$(((", "${a", "<<E", "<<E ", "a'", '"$(', "`a", "(a)((", "$'\\'", "${${"])
def test_twice_the_text_needs_twice_the_steps(piece: str) -> None:
    once, _ = steps_of(piece * 2_000)
    twice, _ = steps_of(piece * 4_000)
    assert twice <= 2 * once + 4
