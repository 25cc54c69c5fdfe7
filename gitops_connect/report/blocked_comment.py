"""The comment on a merged pull request whose plan is blocked: it makes destructive changes that nobody reviewed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitops_connect.model.reviewed_plans import UnreviewedChange
from gitops_connect.model.revisions import short
from gitops_connect.report import words
from gitops_connect.report.comment_writer import CommentWriter
from gitops_connect.report.cutting import Item, Section
from gitops_connect.report.markdown_blocks import Markdown, bold, heading, paragraph
from gitops_connect.report.pull_request_plan import CommentOptions, PullRequestPlan
from gitops_connect.report.review_commands import APPROVE
from gitops_connect.report.review_marker import CommentKind, Marker
from gitops_connect.report.sentence import Sentence


def blocked_comment(merged: PullRequestPlan, changes: Sequence[UnreviewedChange], options: CommentOptions) -> str:
    """The difference from the reviewed plan, and how to continue. `merged.head` is the merged commit."""
    writer = CommentWriter.of(merged, options)
    count = words.plural(len(changes), "destructive change")
    head = [
        bold(Sentence(f"Blocked: the plan after the merge makes {count} that nobody reviewed.")),
        paragraph(Sentence.of("Lines with {} are in the reviewed plan, lines with {} in the plan now.", "-", "+")),
    ]
    keys = {(one.cluster, one.connector) for one in changes}
    planned = (
        writer.connector(connector, plan.cluster)
        for plan in merged.plans
        for connector in plan.connectors
        if (plan.cluster, connector.name) in keys
    )
    sections = [
        Section(heading("Not reviewed"), tuple(_difference(writer, one) for one in changes), writer.more("connector")),
        Section(heading("Plan of these connectors now"), tuple(planned), writer.more("connector")),
    ]
    marker = Marker(CommentKind.BLOCKED, merged.number, merged.head, merged.digest)
    return writer.write(marker, head, sections, list(_tail(merged, writer)))


def _difference(writer: CommentWriter, change: UnreviewedChange) -> Item:
    title = Sentence.of("{} on {}", change.connector, change.cluster)
    lines = [f"- {line}" for line in change.reviewed or ("nothing",)]
    lines += [f"+ {line}" for line in change.planned]
    return Item(writer.diff(title, lines), writer.fact(title).whole)


def _tail(merged: PullRequestPlan, writer: CommentWriter) -> Iterator[Markdown]:
    yield heading("Next")
    how = "To apply this plan, someone with write access writes the comment {}."
    if merged.digest is not None:
        yield paragraph(Sentence.of(how, f"{APPROVE} {merged.digest}"))
    other = "To do something else, push a new commit to {}. Merged commit: {}"
    yield paragraph(writer.masked(Sentence.of(other, merged.target, short(merged.head))))
    yield from writer.whole_plan()
