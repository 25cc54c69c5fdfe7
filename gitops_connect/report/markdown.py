"""A plan for a pull request or a job summary: the summary first, the steps in a fold, coloured by a diff fence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_connect.model.plans import Plan
from gitops_connect.model.revisions import is_commit, short
from gitops_connect.report import offset_lines, symbols, words
from gitops_connect.report.diff_lines import connector_lines, legend, stray_lines
from gitops_connect.report.markdown_blocks import Markdown, bold, bullets, folded_diff, paragraph
from gitops_connect.report.sentence import Sentence
from gitops_connect.report.summary import summary_line
from gitops_connect.report.text import asides


def render(plans: Sequence[Plan], moves: int | None = offset_lines.MOST_MOVES, errors: int = 0) -> str:
    """All plans, with one summary. `moves`: so many partitions of each offset change are shown; None: all.

    `errors` is the number of errors in the documents.
    """
    blocks = [bold(Sentence(summary_line(plans, errors))), *map(paragraph, legend(symbols.used(plans, moves)))]
    for plan in plans:
        blocks.extend(_plan(plan, moves))
    return "\n".join(blocks)


def _plan(plan: Plan, moves: int | None) -> Iterator[Markdown]:
    yield paragraph(_heading(plan))
    if plan.connectors:
        body = [line for connector in plan.connectors for line in connector_lines(connector, moves)]
        yield folded_diff(Sentence(words.plural(len(plan.steps), "step")), body)
    yield from bullets(list(asides(plan)))
    if strays := stray_lines(plan, moves):
        yield folded_diff(*strays)
    yield from map(paragraph, offset_lines.applied_sentence(plan.applied))


def _heading(plan: Plan) -> Sentence:
    version = str(plan.connect_version)
    if is_commit(plan.revision):
        words_of_commit = "Connect cluster {} (Kafka Connect {}) at commit {}"
        return Sentence.of(words_of_commit, plan.cluster, version, short(plan.revision))
    return Sentence.of("Connect cluster {} (Kafka Connect {}), planned from a directory", plan.cluster, version)
