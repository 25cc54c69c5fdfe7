"""No value from outside changes the structure of a report; in Markdown, none is outside of code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report.test_plans import every_offset_change, everything
from support.files.tables import rows

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.differences import Move
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.plans import HeapEstimate, Plan
from gitops_connect.model.units import OTHER, Unit
from gitops_connect.plan.planner import plan
from gitops_connect.report import markdown
from gitops_connect.report.markdown import bold, bullets, code, folded_diff, paragraph
from gitops_connect.report.printable import Sentence, escaped
from gitops_connect.report.text import TextReport

pytestmark = pytest.mark.slow

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""CommonMark with GitHub's tables and strikethrough. Its autolinks can only be in text outside of code."""

HOSTILE = [*rows(__file__, "hostile"), "\x00\x1b[2J\u2028\u202e\ud800"]
CHARACTERS = st.characters(exclude_characters="`") | st.sampled_from("`@#|<>&*_[]()!~$\\:/.\n\r\t {}-+=")
values = (
    st.sampled_from(HOSTILE) | st.text(CHARACTERS, min_size=1, max_size=30) | st.text("` \\", min_size=1, max_size=9)
)


def with_everything() -> tuple[Plan, ...]:
    """Plans that have every kind of line which the report can have."""
    one, other = plan(everything()), plan(every_offset_change())
    changes = tuple(replace(change, heap=HeapEstimate(1, "1 byte"), reason="why") for change in other.strays)
    return replace(one, warnings=("a share of deletions",)), replace(other, strays=changes)


PLANS = with_everything()


def is_ours(value: object) -> bool:
    """The words of a unit are from outside only if a schema of the repository names the unit."""
    return isinstance(value, Unit) and value.limit != OTHER


def with_values(value: Any, text: Callable[[str], str]) -> Any:
    """The same value with every string in it replaced. Empty strings stay empty."""
    match value:
        case str():
            return text(value) if value and value != OTHER else value
        case Move():
            current, declared = (
                one and OffsetText(json.dumps({"position": text(one)}, ensure_ascii=False))
                for one in (value.current, value.declared)
            )
            partition = PartitionText(json.dumps({"filename": text(value.partition)}, ensure_ascii=False))
            return replace(value, partition=partition, current=current, declared=declared)
        case tuple() | frozenset():
            return type(value)(with_values(item, text) for item in value)
        case Mapping():
            return {with_values(key, text): with_values(item, text) for key, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type) and not is_ours(value):
            return replace(value, **{one.name: with_values(getattr(value, one.name), text) for one in fields(value)})
        case _:
            return value


def tokens(document: str) -> Iterator[Token]:
    for token in PARSER.parse(document):
        yield token
        yield from token.children or ()


def outside(document: str) -> list[tuple[str, ...]]:
    """Everything outside of code: the kind of each token, with its text, HTML, link or info string."""
    in_code = {"inline", "code_inline", "fence"}
    return [
        (one.type, one.tag, one.info, str(one.attrs), "" if one.type in in_code else one.content)
        for one in tokens(document)
    ]


def inside(document: str) -> str:
    """Everything that is in code."""
    return "\n".join(one.content for one in tokens(document) if one.type in {"code_inline", "fence"})


EXPECTED = outside(markdown.render(PLANS))


@given(values, st.booleans())
def test_outside_of_code_a_report_is_the_same_whatever_the_values_are(value: str, in_front: bool) -> None:
    hostile = with_values(PLANS, lambda text: f"{value}{text}" if in_front else f"{text}{value}")
    assert all(value in made.cluster for made in hostile)
    shown = markdown.render(hostile)
    assert outside(shown) == EXPECTED
    names = {
        *(name for made in hostile for name in (made.cluster, *made.adopted, *made.unmanaged)),
        *(one.name for made in hostile for one in (*made.connectors, *made.unhealthy)),
        *(one.name for made in hostile for one in made.strays),
    }
    in_code = inside(shown)
    assert not [name for name in names if escaped(name) not in in_code]


@given(values, st.booleans(), st.sampled_from(Result))
def test_no_value_drives_a_terminal_or_starts_a_line(value: str, applied: bool, result: Result) -> None:
    """Neither in a plan nor in what `apply` prints."""
    report, hostile = TextReport(coloured=False, applied=applied), with_values(PLANS, lambda text: f"{text}{value}")
    shown = report.plans(hostile)
    assert shown.replace("\n", "").isprintable()
    assert shown.count("\n") == report.plans(PLANS).count("\n")
    outcomes = tuple(StepOutcome(step, result, value) for made in hostile for step in made.steps)
    lines = [report.step(outcome) for outcome in outcomes]
    assert [line for line in lines if not line.isprintable()] == []
    assert lines
    shown = report.outcome(
        [ReconciliationOutcome(PLANS[0].cluster, PLANS[0].revision, PLANS[0], Diagnostics(), outcomes)]
    )
    assert shown.replace("\n", "").isprintable()


@given(values)
def test_a_code_span_shows_its_value(value: str) -> None:
    for document in (paragraph(Sentence.of("a {} b", value)), f"| a |\n|---|\n\n{code(value)}"):
        spans = [one.content for one in tokens(document) if one.type == "code_inline"]
        assert [span.strip(" ") for span in spans] == [escaped(value).strip(" ")]
        if value.strip(" "):
            assert spans == [escaped(value)]


def test_the_words_and_lists_of_a_sentence() -> None:
    sentence = Sentence.of("{} and {}", "a", ("b", "c"))
    assert paragraph(sentence) == "`a` and `b`, `c`\n"
    assert bold(sentence) == "**`a` and `b`, `c`**\n"
    assert list(bullets([sentence, Sentence("nothing else")])) == ["- `a` and `b`, `c`\n- nothing else\n"]
    assert list(bullets([])) == []
    assert code("") == "`  `"


@pytest.mark.parametrize("count", [9, 80, 81, 255, 1000])
def test_github_s_parser_takes_every_code_span_and_fence(count: int) -> None:
    """It accepts at most 80 backticks at each end of a code span, and counts the backticks of a fence up to 255."""
    ticks = "`" * count
    for document in (code(ticks), folded_diff(Sentence("lines"), [f"  {ticks}"])):
        assert "`" * 10 not in document
        assert r"\u0060" * count in inside(document)


@pytest.mark.parametrize("start", ["", " ", "   ", "! ", "+ a "])
def test_no_line_closes_a_fence(start: str) -> None:
    lines = [f"{start}{'`' * count}" for count in range(1, 9)]
    (fence,) = [one for one in tokens(folded_diff(Sentence("<b>"), lines)) if one.type == "fence"]
    assert (fence.info, fence.content.splitlines()) == ("diff", lines)
    assert "<summary>&lt;b&gt;</summary>" in folded_diff(Sentence("<b>"), lines)
