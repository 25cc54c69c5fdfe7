"""The blocks of a Markdown document. Values from outside are only ever in code spans and in fenced code.

Escaping would not be enough. GitHub looks for mentions, issues, commits and emoji in the rendered text, which has no
backslashes or entities any more: `\\@name` notifies (github/markup issue 1168). It skips code.

`Markdown` is a type of its own, so that mypy rejects an f-string where a block is expected.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import NewType

from gitops_connect.report.printable import escaped
from gitops_connect.report.sentence import Sentence

Markdown = NewType("Markdown", str)
"""Lines of a document in which every value from outside is in code."""

_LONGEST_RUN = 8
_LONGER_RUNS = re.compile(rf"`{{{_LONGEST_RUN + 1},}}")
_RUNS = re.compile("`+")
_BACKTICK = r"\u0060"


def bold(sentence: Sentence) -> Markdown:
    """A paragraph in bold."""
    return Markdown(f"**{sentence.render(code)}**\n")


def paragraph(sentence: Sentence) -> Markdown:
    """A paragraph."""
    return Markdown(f"{sentence.render(code)}\n")


def bullets(sentences: Sequence[Sentence]) -> Iterator[Markdown]:
    """A list, or nothing if there are no sentences."""
    if sentences:
        yield Markdown("".join(f"- {sentence.render(code)}\n" for sentence in sentences))


def folded_diff(title: str, lines: Sequence[str]) -> Markdown:
    """Lines in a fence that is coloured as a diff, hidden under a title. The title is HTML, so it has no code span."""
    body = [_on_one_line(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, body), default=0) + 1)
    return Markdown(
        "\n".join(
            (
                f"<details><summary>{html.escape(title, quote=False)}</summary>\n",
                f"{fence}diff",
                *body,
                f"{fence}\n",
                "</details>\n",
            )
        )
    )


def code(value: str) -> str:
    """A code span that shows the value, whatever is in it."""
    shown = _on_one_line(value)
    ticks = "`" * (_longest_run(shown) + 1)
    # CommonMark removes one space from each end of a code span. A span cannot be empty.
    pad = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def _on_one_line(value: str) -> str:
    """The value without line breaks, other control characters and very long runs of backticks.

    GitHub's parser takes no code span with more than 80 backticks at each end (`MAXBACKTICKS` in cmark's inlines.c),
    and counts those of a fence up to 255.
    """
    return _LONGER_RUNS.sub(lambda run: _BACKTICK * len(run.group()), escaped(value))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)
