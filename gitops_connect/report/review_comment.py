"""The comments on a pull request: what merging would do and what prevents it, and why the merged commit is blocked.

The most important things are first. If a comment would be longer than the forge allows, whole connectors and problems
are left out in the middle, and counted. Destructive changes are left out last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import Plan
from gitops_connect.model.pull_requests import CommentOptions, NotPlanned, PullRequestPlan
from gitops_connect.model.reviewed_plans import UnreviewedChange
from gitops_connect.model.revisions import short
from gitops_connect.report import offset_lines, words
from gitops_connect.report.comment_writer import (
    APPROVE,
    CommentKind,
    CommentSection,
    CommentWriter,
    Item,
    Marker,
    command_lines,
    destructive_words,
    severity,
)
from gitops_connect.report.markdown import Markdown, bold, heading, legend, paragraph, stray_lines
from gitops_connect.report.plan_view import PlanView, exactly_once_support, suspended_cluster, view, view_connector
from gitops_connect.report.printable import Sentence
from gitops_connect.report.problems import summary_line
from gitops_connect.report.summary import headline
from gitops_connect.report.words import unhealthy_lines

_NEXT = {
    NotPlanned.FORK: "A pull request from a fork is never planned: a plan shows current configs and offsets. To plan"
    " these documents, someone with write access reviews them, pushes them to a branch of this repository, and opens a"
    " pull request.",
    NotPlanned.CONFLICT: "Resolve the conflict and push: then the pull request is planned.",
    NotPlanned.INTERNAL_ERROR: "The daemon's log contains an event `bug` with the cause. Please report it as an issue."
    " The pull request is planned again at the next review.",
}
_FILES = 5
"""How many files with a conflict are named."""
_BLOCKED = "What is blocked is not applied after a merge. Fix it and push: then the pull request is planned again."
_MERGE = (
    "Merge the pull request to apply this plan. After the merge, gitops-connect plans again. If the new plan makes"
    " other destructive changes, it is blocked until someone with write access approves it."
)
_CHANGED = (
    "The plan has destructive changes that were not shown before. Someone with write access has to approve it, with the"
    " command below, before the pull request is merged. Or push a change."
)
_UNREAD = "A cluster without a plan is not reviewed. After the cause is fixed, plan the pull request again."
_NOTHING = "Merging the pull request changes nothing on the clusters."


def review_comment(reviewed: PullRequestPlan, options: CommentOptions) -> str:
    """The comment that is replaced after each push."""
    views = tuple(view(plan, offset_lines.MOST_MOVES) for plan in reviewed.plans)
    return _Review(reviewed, views, CommentWriter.of(reviewed, options)).render()


@dataclass(frozen=True, slots=True)
class _Review:
    reviewed: PullRequestPlan
    views: tuple[PlanView, ...]
    writer: CommentWriter

    def render(self) -> str:
        one = self.reviewed
        marker = Marker(CommentKind.REVIEW, one.number, one.head, one.digest)
        head = [bold(self.writer.masked(self._headline())), *legend(self.views)]
        blocked = tuple(self._blocked())
        return self.writer.write(
            marker, head, list(self._sections(blocked)), list(self._tail(is_blocked=bool(blocked)))
        )

    def _headline(self) -> Sentence:
        one = self.reviewed
        match one.not_planned:
            case NotPlanned.FORK:
                why = "the pull request comes from a fork. Its documents were only validated"
                return Sentence(f"Not planned: {why}: {summary_line(one.diagnostics)}.")
            case NotPlanned.CONFLICT:
                more = f" and {len(one.conflicts) - _FILES} more" if len(one.conflicts) > _FILES else ""
                where = f" in {{}}{more}" if one.conflicts else ""
                values = (one.target, one.conflicts[:_FILES]) if one.conflicts else (one.target,)
                return Sentence.of(f"Not planned: the pull request conflicts with the branch {{}}{where}.", *values)
            case NotPlanned.INTERNAL_ERROR:
                return Sentence("Not planned: gitops-connect failed with an internal error.")
            case None:
                said = headline(one.own_plans, len(one.diagnostics.errors))
                unread = words.plural(len(one.unread), "cluster")
                return Sentence(f"{said.words} {unread} could not be planned.", said.values) if one.unread else said

    def _sections(self, blocked: tuple[Item, ...]) -> Iterator[CommentSection]:
        writer = self.writer
        found = [
            (destructive_words(each.connector), each, view.plan) for view in self.views for each in view.connectors
        ]
        found.sort(key=lambda one: severity(one[0]))
        pending = self.reviewed.pending
        items = [
            ((plan.cluster, each.connector.name) in pending, marks, writer.connector(each, self._of(plan)))
            for marks, each, plan in found
        ]
        destructive = tuple(item for is_pending, marks, item in items if marks and not is_pending)
        others = tuple(item for is_pending, marks, item in items if not (marks or is_pending))
        before = tuple(item for is_pending, _, item in items if is_pending)
        yield CommentSection(heading("Blocked"), blocked, writer.more("problem"))
        yield CommentSection(heading("Destructive changes"), destructive, writer.more("connector"))
        yield CommentSection(heading("Warnings"), tuple(self._warnings()), writer.more("warning"))
        yield CommentSection(heading("Other changes" if destructive else "Changes"), others, writer.more("connector"))
        title = "Already on the branch, not applied yet, not part of this pull request"
        yield CommentSection(heading(title), before, writer.more("connector"))

    def _blocked(self) -> Iterator[Item]:
        for cluster, reason in self.reviewed.unread.items():
            yield self.writer.fact(Sentence.of("cluster {} could not be planned: {}", cluster, reason))
        for plan in self.reviewed.plans:
            for refusal in plan.refusals:
                yield self._fact(plan, Sentence.of("the plan is rejected: {}", refusal))
        for problem in self.reviewed.diagnostics.errors:
            yield self.writer.problem(problem)
        for one in self.views:
            if strays := stray_lines(one):
                yield Item(self.writer.diff(*strays))

    def _warnings(self) -> Iterator[Item]:
        for other in self.reviewed.others:
            said = "also changes offsets of {}. After one of the two is merged, the other is planned again"
            yield self.writer.linked(
                Sentence(f"pull request {other.number}"), other.url, Sentence.of(said, other.connectors)
            )
        for plan in self.reviewed.plans:
            for sentence in _facts(plan):
                yield self._fact(plan, sentence)
        for problem in self.reviewed.diagnostics.warnings:
            yield self.writer.problem(problem)

    def _fact(self, plan: Plan, sentence: Sentence) -> Item:
        cluster = self._of(plan)
        if cluster is None:
            return self.writer.fact(sentence)
        return self.writer.fact(Sentence.joined([Sentence.of("cluster {}", cluster), sentence], ": "))

    def _of(self, plan: Plan) -> ClusterName | None:
        return plan.cluster if len(self.reviewed.plans) + len(self.reviewed.unread) > 1 else None

    def _tail(self, *, is_blocked: bool) -> Iterator[Markdown]:
        one = self.reviewed
        yield heading("Next")
        yield paragraph(Sentence(self._next(is_blocked=is_blocked)))
        yield from map(paragraph, map(self.writer.masked, self._reviewed()))
        if one.plans:
            yield from self.writer.whole_plan()
        if one.not_planned is not NotPlanned.FORK:
            yield from command_lines(one.digest if any(not plan.is_empty for plan in one.own_plans) else None)

    def _next(self, *, is_blocked: bool) -> str:
        one = self.reviewed
        if one.not_planned is not None:
            return _NEXT[one.not_planned]
        if one.unread:
            return _UNREAD
        if is_blocked:
            return _BLOCKED
        if one.is_changed:
            return _CHANGED
        return _NOTHING if all(plan.is_empty for plan in one.own_plans) else _MERGE

    def _reviewed(self) -> Iterator[Sentence]:
        one = self.reviewed
        if not one.plans:
            yield Sentence.of("Reviewed: commit {}", short(one.head))
            return
        versions = [Sentence.of("{} (Kafka Connect {})", plan.cluster, str(plan.connect_version)) for plan in one.plans]
        merged = Sentence.of(
            "Reviewed: commit {} merged into {}, for the Connect clusters", short(one.head), one.target
        )
        yield Sentence.joined([merged, Sentence.joined(versions, ", ")])
        if one.digest is not None:
            yield Sentence.of("Digest of the plan: {}", one.digest)
        if any(plan.untrusted for plan in one.plans):
            yield Sentence(
                "No secret was read. Configs were checked against the plugins' definitions. Connect validates them"
                " after the merge"
            )


def _facts(plan: Plan) -> Iterator[Sentence]:
    yield from suspended_cluster(plan)
    yield from exactly_once_support(plan)
    for warning in plan.warnings:
        yield Sentence.of("{}", warning)
    for step in plan.steps:
        for effect in step.offset_effects:
            yield Sentence.of("{}: {}", step.connector, effect.message)
    yield from unhealthy_lines(plan.unhealthy)


def blocked_comment(merged: PullRequestPlan, changes: Sequence[UnreviewedChange], options: CommentOptions) -> str:
    """The comment on a merged pull request whose plan makes destructive changes that nobody reviewed.

    It shows the difference from the reviewed plan, and how to continue. `merged.head` is the merged commit.
    """
    writer = CommentWriter.of(merged, options)
    count = words.plural(len(changes), "destructive change")
    head = [
        bold(Sentence(f"Blocked: the plan after the merge makes {count} that nobody reviewed.")),
        paragraph(Sentence.of("Lines with {} are in the reviewed plan, lines with {} in the plan now.", "-", "+")),
    ]
    keys = {(one.cluster, one.connector) for one in changes}
    planned = (
        writer.connector(view_connector(connector, offset_lines.MOST_MOVES), plan.cluster)
        for plan in merged.plans
        for connector in plan.connectors
        if (plan.cluster, connector.name) in keys
    )
    sections = [
        CommentSection(
            heading("Not reviewed"), tuple(_difference(writer, one) for one in changes), writer.more("connector")
        ),
        CommentSection(heading("Plan of these connectors now"), tuple(planned), writer.more("connector")),
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
