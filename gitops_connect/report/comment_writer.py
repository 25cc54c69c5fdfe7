"""The parts of which all comments on pull requests consist. Secrets are masked in every value before it is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.report import offset_lines, words
from gitops_connect.report.cutting import Item, Section, cut
from gitops_connect.report.destructive import destructive_words
from gitops_connect.report.diff_lines import connector_lines
from gitops_connect.report.markdown_blocks import (
    Markdown,
    bullet,
    document,
    folded_diff,
    linked_bullet,
    linked_paragraph,
)
from gitops_connect.report.printable import one_line, shortened
from gitops_connect.report.pull_request_plan import CommentOptions, PullRequestPlan
from gitops_connect.report.review_marker import Marker
from gitops_connect.report.sentence import Sentence

_WHOLE_PLAN = Sentence("The whole plan")
_UNACKNOWLEDGED = "offsets/unacknowledged"


@dataclass(frozen=True, slots=True)
class CommentWriter:
    """Renders the parts of one comment."""

    options: CommentOptions
    secrets: frozenset[str]

    @staticmethod
    def of(reviewed: PullRequestPlan, options: CommentOptions) -> CommentWriter:
        """The writer for one pull request. Some values are on one line before their secrets are masked."""
        return CommentWriter(options, reviewed.secrets | {one_line(secret) for secret in reviewed.secrets})

    def write(
        self, marker: Marker, head: Sequence[Markdown], sections: Sequence[Section], tail: Sequence[Markdown]
    ) -> str:
        """The whole comment: the head and the tail are complete, and the sections are cut to the limit."""
        first = [marker.line, *head]
        room = self.options.longest - sum(len(block) + 1 for block in (*first, *tail))
        return document([*first, *cut(sections, room), *tail])

    def masked(self, sentence: Sentence) -> Sentence:
        """The sentence with short values that contain no secret and no line break."""
        return sentence.with_values(lambda value: shortened(one_line(mask(value, self.secrets))))

    def diff(self, title: Sentence, lines: Iterable[str], mark: str = "") -> Markdown:
        """Lines in a fence, without secrets."""
        return folded_diff(self.masked(title), [mask(line, self.secrets) for line in lines], mark=mark)

    def fact(self, sentence: Sentence) -> Item:
        """A sentence as a line of a list."""
        return Item(bullet(self.masked(sentence)))

    def linked(self, label: Sentence, url: str, sentence: Sentence) -> Item:
        """A line of a list that starts with a link."""
        return Item(linked_bullet(self.masked(label), mask(url, self.secrets), self.masked(sentence)))

    def problem(self, item: Diagnostic) -> Item:
        """A problem of the documents, with a link to its line."""
        kind = "missing acknowledgement" if item.rule == _UNACKNOWLEDGED else item.severity.value
        said = Sentence.of(f"{kind}: {{}} ({{}})", item.summary, item.rule)
        if item.hint:
            said = Sentence.joined([said, Sentence.of("hint: {}", item.hint)], "; ")
        label = Sentence.of("{}", f"{item.location.file}:{item.location.line}")
        return self.linked(label, self._line_url(item.location), said)

    def connector(self, connector: ConnectorPlan, cluster: ClusterName | None) -> Item:
        """The plan of one connector, folded. `cluster` is None if its name is clear."""
        steps = words.plural(len(connector.steps), "step") if connector.steps else offset_lines.extent(connector)
        extent = f"{steps}, shown but not applied" if connector.steps and not connector.applicable else steps
        title = Sentence.of(f"{{}} ({extent})", connector.name)
        if cluster is not None:
            title = Sentence.of(f"{{}} on {{}} ({extent})", connector.name, cluster)
        mark = ", ".join(destructive_words(connector))
        whole = self.diff(title, connector_lines(connector, offset_lines.MOST_MOVES), mark)
        return Item(whole, bullet(self.masked(title), mark=mark)) if mark else Item(whole)

    def more(self, noun: str) -> Callable[[int], Markdown]:
        """The line for a number of items that are left out, with a link to the whole plan."""

        def line(count: int) -> Markdown:
            left_out = f"{words.plural(count, f'more {noun}')} not shown here"
            page = self.options.status_page
            if page is None:
                return bullet(Sentence(f"{left_out}, because the comment would be too long"))
            return self.linked(_WHOLE_PLAN, page, Sentence(left_out)).whole

        return line

    def whole_plan(self) -> Iterator[Markdown]:
        """A link to the whole plan; nothing if there is no status page."""
        if self.options.status_page is not None:
            yield linked_paragraph(_WHOLE_PLAN, mask(self.options.status_page, self.secrets))

    def _line_url(self, location: Location) -> str:
        """The URL of a line; empty if the location is not a file of the repository."""
        if "://" in location.file or ".." in location.file.split("/"):
            return ""
        return f"{self.options.files}{quote(location.file, errors='replace')}#L{location.line}"
