"""A plan for a pull request or a job summary, and the blocks of a Markdown document.

The summary comes first, then the steps in a fold, coloured by a diff fence. Inside such a fence the forges colour only
lines that start with `+`, `-` or `!`, so the other symbols become `!`.

Values from outside are only ever in code spans and in fenced code. Escaping would not be enough: GitHub looks for
mentions, issues, commits and emoji in the rendered text, which has no backslashes or entities any more, so that
`\\@name` notifies (github/markup issue 1168). It skips code.

`Markdown` is a type of its own, so that mypy rejects an f-string where a block is expected.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NewType
from urllib.parse import quote

from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import is_commit, short
from gitops_connect.report import offset_lines, words
from gitops_connect.report.offset_lines import Line, LineKind
from gitops_connect.report.plan_view import ConnectorView, PlanView, asides, exactly_once_support, view
from gitops_connect.report.printable import Sentence, escaped, shortened
from gitops_connect.report.summary import summary_line

Markdown = NewType("Markdown", str)
"""Lines of a document in which every value from outside is in code."""

_ITEM = "- "
_LONGEST_RUN = 8
_LONGER_RUNS = re.compile(rf"`{{{_LONGEST_RUN + 1},}}")
_RUNS = re.compile("`+")
_BACKTICK = r"\u0060"
_WEB = re.compile(r"https?://[^/?#]")
_URL_SYNTAX = ":/?#[]@!$&'*+,;=%~"
"""The characters of a URL that keep their meaning. The parentheses are not among them: one would end a link."""


def document(blocks: Iterable[Markdown]) -> str:
    """The blocks with an empty line between them, except between two lines of a list."""
    text, before = "", ""
    for block in blocks:
        in_list = before.startswith(_ITEM) and block.startswith(_ITEM)
        text += block if in_list or not before else f"\n{block}"
        before = block
    return text


def heading(words: str) -> Markdown:
    """A heading of the third level: of a part of the document. The words are a literal."""
    return Markdown(f"### {words}\n")


def bold(sentence: Sentence) -> Markdown:
    return Markdown(f"**{sentence.render(code)}**\n")


def paragraph(sentence: Sentence) -> Markdown:
    return Markdown(f"{sentence.render(code)}\n")


def linked_paragraph(label: Sentence, url: str) -> Markdown:
    return Markdown(f"{_link(label, url)}\n")


def bullet(sentence: Sentence, *, mark: str = "") -> Markdown:
    """A line of a list. `mark`: words of this project in front of the sentence, in bold."""
    return Markdown(f"{_ITEM}{f'**{mark}**: ' if mark else ''}{sentence.render(code)}\n")


def linked_bullet(label: Sentence, url: str, sentence: Sentence) -> Markdown:
    return Markdown(f"{_ITEM}{_link(label, url)}: {sentence.render(code)}\n")


def bullets(sentences: Sequence[Sentence]) -> Iterator[Markdown]:
    """A list, or nothing if there are no sentences."""
    if sentences:
        yield Markdown("".join(map(bullet, sentences)))


def folded_diff(title: Sentence, lines: Sequence[str], *, mark: str = "") -> Markdown:
    """Lines in a fence that is coloured as a diff, hidden under a title.

    The title is HTML, so it has no code spans, but elements of the name `code`. `mark`: words in front of it, in bold.
    """
    body = [_on_one_line(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, body), default=0) + 1)
    shown = Sentence(html.escape(title.words, quote=False), title.values).render(
        lambda value: f"<code>{html.escape(shortened(escaped(value)))}</code>"
    )
    return Markdown(
        "\n".join(
            (
                f"<details><summary>{f'<b>{html.escape(mark)}</b>: ' if mark else ''}{shown}</summary>\n",
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


def _link(label: Sentence, url: str) -> str:
    shown = label.render(code)
    if not _WEB.match(url):
        return shown
    return f"[{shown}]({quote(url, safe=_URL_SYNTAX, errors='replace')})"


def _on_one_line(value: str) -> str:
    """The value without line breaks, other control characters and very long runs of backticks.

    GitHub's parser takes no code span with more than 80 backticks at each end (`MAXBACKTICKS` in cmark's inlines.c),
    and counts those of a fence up to 255.
    """
    return _LONGER_RUNS.sub(lambda run: _BACKTICK * len(run.group()), escaped(value))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)


# Plans

_MEANINGS = {"+": "create", "-": "delete", "!": "any other change"}


def render(plans: Sequence[Plan], moves: int | None = offset_lines.MOST_MOVES, errors: int = 0) -> str:
    """All plans, with one summary. `moves` is as in `view`, `errors` the number of errors in the documents."""
    views = [view(plan, moves) for plan in plans]
    blocks = [bold(Sentence(summary_line(plans, errors))), *legend(views)]
    for one in views:
        blocks.extend(_plan(one))
    return "\n".join(blocks)


def legend(views: Sequence[PlanView]) -> Iterator[Markdown]:
    """The symbols that occur in the fences of these plans; nothing if there are none."""
    found = {_coloured(symbol) for one in views for symbol in one.symbols if symbol}
    known = [symbol for symbol in _MEANINGS if symbol in found]
    if known:
        words_of_all = ", ".join(f"{{}} {_MEANINGS[symbol]}" for symbol in known)
        yield paragraph(Sentence.of(f"Symbols: {words_of_all}", *known))


def connector_lines(connector: ConnectorView) -> Iterator[str]:
    return (_line(line, "  ") for line in connector.lines)


def stray_lines(shown: PlanView) -> tuple[Sentence, list[str]] | None:
    """The offset changes whose connector is not declared, with their title; None if there are none."""
    lines = shown.strays
    return (Sentence(lines[0].text.rstrip(":")), [_line(line, "") for line in lines[1:]]) if lines else None


def _line(line: Line, indent: str) -> str:
    """The symbol is the first character of the line, so that it colours the line. `indent` is that of remarks."""
    mark = _coloured(line.mark or " ")
    match line.kind:
        case LineKind.CONNECTOR:
            return f"{mark} {line.name}{f' ({line.note})' if line.note else ''}"
        case LineKind.STEP:
            return f"{mark}   {line.number} {line.name}: {line.text}"
        case LineKind.NEW_KEY | LineKind.KEY:
            return f"{mark}       {line.name}: {line.text}"
        case LineKind.EFFECT:
            return f"!       {line.text}"
        case LineKind.REMARK:
            return f"{mark} {indent}{line.text}"
        case LineKind.DETAIL:
            return f"{mark} {indent}    {line.text}"


def _coloured(symbol: str) -> str:
    return symbol if symbol in "+-" else " " if symbol in "=& " else "!"


def _plan(shown: PlanView) -> Iterator[Markdown]:
    plan = shown.plan
    yield paragraph(_heading(plan))
    if shown.connectors:
        body = [line for connector in shown.connectors for line in connector_lines(connector)]
        yield folded_diff(Sentence(words.plural(len(plan.steps), "step")), body)
    yield from bullets([*exactly_once_support(plan), *asides(plan)])
    if strays := stray_lines(shown):
        yield folded_diff(*strays)
    yield from map(paragraph, offset_lines.applied_sentence(plan.applied))


def _heading(plan: Plan) -> Sentence:
    version = str(plan.connect_version)
    if is_commit(plan.revision):
        words_of_commit = "Connect cluster {} (Kafka Connect {}) at commit {}"
        return Sentence.of(words_of_commit, plan.cluster, version, short(plan.revision))
    return Sentence.of("Connect cluster {} (Kafka Connect {}), planned from a directory", plan.cluster, version)
