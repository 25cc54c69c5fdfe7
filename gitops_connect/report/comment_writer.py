"""The parts of all comments on pull requests: the hidden first line, the commands, and sections that can be cut.

Secrets are masked in every value before it is rendered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from urllib.parse import quote

from gitops_connect.model.canonical import digest
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.masking import mask
from gitops_connect.model.names import ClusterName, Digest, Revision
from gitops_connect.model.plans import ConnectorPlan, destructive_effects
from gitops_connect.model.pull_requests import Comment, CommentOptions, PullRequestPlan
from gitops_connect.model.reviewed_plans import DestructiveKind
from gitops_connect.report import words
from gitops_connect.report.markdown import (
    Markdown,
    bold,
    bullet,
    connector_lines,
    document,
    folded_diff,
    linked_bullet,
    linked_paragraph,
    paragraph,
)
from gitops_connect.report.plan_view import ConnectorView, extent
from gitops_connect.report.printable import Sentence, one_line, shortened


class CommentKind(Enum):
    """What a comment is for. There is at most one comment of each kind in a pull request."""

    REVIEW = "review"
    """What merging would do. Replaced after each push."""
    BLOCKED = "blocked"
    """Why the merged commit is not applied."""
    HELP = "help"
    """The commands."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The hidden first line of each comment that gitops-connect writes: by it, a comment is found again and replaced.

    It has the kind of the comment, the pull request and its head commit, and the digest of the plan if there is one.
    Everyone who may comment can write such a line. So a marker counts only in a comment of gitops-connect's own
    account.
    """

    kind: CommentKind
    pull_request: int
    commit: Revision | None = None
    digest: Digest | None = None

    @property
    def line(self) -> Markdown:
        """The line, which readers do not see. Raises ValueError for a commit or digest that is not in hexadecimal."""
        commit = f" commit={self.commit}" if self.commit is not None else ""
        digest = f" digest={self.digest}" if self.digest is not None else ""
        line = f"<!-- gitops-connect {self.kind.value} pull-request={self.pull_request}{commit}{digest} -->"
        if _LINE.fullmatch(line) is None:
            raise ValueError(f"not a commit or not a digest: {self!r}")
        return Markdown(f"{line}\n")


_KINDS = "|".join(kind.value for kind in CommentKind)
_LINE = re.compile(
    rf"<!-- gitops-connect (?P<kind>{_KINDS}) pull-request=(?P<number>[1-9][0-9]{{0,17}})"
    r"(?: commit=(?P<commit>[0-9a-f]{40}|[0-9a-f]{64}))?(?: digest=(?P<digest>[0-9a-f]{64}))? -->"
)
_LONGEST = 256


def find_marker(body: str) -> Marker | None:
    """The marker in the first line of a comment; None if the line is anything else. The author is not known here."""
    line = body[:_LONGEST].partition("\n")[0].removesuffix("\r")
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    commit, digest = found["commit"], found["digest"]
    return Marker(
        CommentKind(found["kind"]),
        int(found["number"]),
        Revision(commit) if commit else None,
        Digest(digest) if digest else None,
    )


PLAN = "gitops-connect plan"
APPROVE = "gitops-connect approve"
REVOKE = "gitops-connect revoke"
HELP = "gitops-connect help"


_ANSWER = re.compile(
    r"<!-- gitops-connect answer comment=(?P<id>[1-9][0-9]{0,17}|0)(?: text=(?P<text>[0-9a-f]{64}))? -->"
)


@dataclass(frozen=True, slots=True)
class AnsweredCommand:
    """A comment with a text that was answered. `text`: its digest; None if an earlier version has answered it."""

    comment: int
    text: Digest | None

    @staticmethod
    def of(command: Comment) -> AnsweredCommand:
        return AnsweredCommand(command.id, digest(command.body.strip()))


def answer_comment(command: Comment, answer: Sentence) -> str:
    """The answer to a command in a comment. Its hidden first line names it, so that each text has one answer."""
    marker = Markdown(f"<!-- gitops-connect answer comment={command.id} text={AnsweredCommand.of(command).text} -->\n")
    said = Sentence.of("{} by {}", shortened(command.body.strip()), command.author)
    return document([marker, paragraph(Sentence.joined([said, answer], ". "))])


def answered_command(body: str) -> AnsweredCommand | None:
    """The command that is answered; None for all other comments. The author is not known here."""
    found = _ANSWER.fullmatch(body[:_LONGEST].partition("\n")[0].removesuffix("\r"))
    return (
        None if found is None else AnsweredCommand(int(found["id"]), Digest(found["text"]) if found["text"] else None)
    )


def released_comment() -> str:
    """What is left of the comment about a blocked change once it is applied or withdrawn."""
    return document([bold(Sentence("Released: nothing of this pull request is blocked any more, and it is applied."))])


def outdated_comment() -> str:
    """What is left of a comment whose plan has changed: without a marker, it is no longer replaced."""
    return document([bold(Sentence("Outdated: the plan has changed. A newer comment shows the plan of now."))])


def help_comment(pull_request: int) -> str:
    """The commands, and who may use them."""
    return document(
        [
            Marker(CommentKind.HELP, pull_request).line,
            bold(Sentence("Commands of gitops-connect")),
            paragraph(
                Sentence(
                    "Write a command as a comment of one line. Only people with write access can use it. If a comment"
                    " was edited, it counts only if the forge says that its author has edited it. Otherwise, write a"
                    " new one."
                )
            ),
            bullet(Sentence.of("{}: plans the pull request again, and updates the comment with the plan.", PLAN)),
            bullet(
                Sentence.of(
                    "{}: approves the plan with this digest, and no other plan. The comment that shows a plan contains"
                    " its digest.",
                    f"{APPROVE} DIGEST",
                )
            ),
            bullet(Sentence.of("{}: takes back the approval of this plan, whoever gave it.", f"{REVOKE} DIGEST")),
            bullet(Sentence.of("{}: shows these commands.", HELP)),
        ]
    )


def command_lines(digest: Digest | None) -> Iterator[Markdown]:
    """The commands in short. `digest` is the one to approve; None if there is nothing to approve."""
    yield paragraph(Sentence("Commands, as a comment from someone with write access:"))
    yield bullet(Sentence.of("{}: plan again", PLAN))
    if digest is not None:
        yield bullet(Sentence.of("{}: approve exactly this plan, if it is blocked", f"{APPROVE} {digest}"))
    yield bullet(Sentence.of("{}: explain the commands", HELP))


@dataclass(frozen=True, slots=True)
class Item:
    """A block that is never cut. `brief` is shown if there is no room for `whole`; None: nothing is shown then."""

    whole: Markdown
    brief: Markdown | None = None


@dataclass(frozen=True, slots=True)
class CommentSection:
    """Items of one kind under a heading. `more` is the line for a number of items that are left out."""

    heading: Markdown
    items: tuple[Item, ...]
    more: Callable[[int], Markdown]


def cut(sections: Sequence[CommentSection], room: int) -> Iterator[Markdown]:
    """The blocks of all sections that have items, with a line feed after each, in at most `room` characters.

    Whole items in the middle are left out if the blocks would take more. First, every item with a brief form gets it.
    Then the items get their whole form, as long as there is room: an item that is too long does not prevent the later
    ones.
    """
    filled = [section for section in sections if section.items]
    items = [item for section in filled for item in section.items]
    room -= sum(_size(one.heading) + _size(one.more(len(one.items))) for one in filled)
    shown: list[Markdown | None] = [None] * len(items)
    for forms in ([item.brief for item in items], [item.whole for item in items]):
        for number, form in enumerate(forms):
            size = _size(form) - _size(shown[number])
            if form is not None and size <= room:
                shown[number] = form
                room -= size
    rest = iter(shown)
    for section in filled:
        blocks = [block for block in islice(rest, len(section.items)) if block is not None]
        left_out = len(section.items) - len(blocks)
        yield from (section.heading, *blocks, *([section.more(left_out)] if left_out else []))


def _size(block: Markdown | None) -> int:
    return 0 if block is None else len(block) + 1


WORDS = tuple(kind.value for kind in DestructiveKind)
"""The words in the order of their severity."""


def destructive_words(connector: ConnectorPlan) -> tuple[str, ...]:
    """What is destructive in the steps of a connector, the worst first; empty if nothing is, or if they only show."""
    effects = destructive_effects(connector) if connector.applicable else ()
    return tuple(dict.fromkeys(one.kind.value for one in effects))


def severity(found: tuple[str, ...]) -> int:
    """A number to sort by: the worst first, and nothing destructive last."""
    return WORDS.index(found[0]) if found else len(WORDS)


_WHOLE_PLAN = Sentence("The whole plan")


@dataclass(frozen=True, slots=True)
class CommentWriter:
    options: CommentOptions
    secrets: frozenset[str]

    @staticmethod
    def of(reviewed: PullRequestPlan, options: CommentOptions) -> CommentWriter:
        """The writer for one pull request. Some values are on one line before their secrets are masked."""
        return CommentWriter(options, reviewed.secrets | {one_line(secret) for secret in reviewed.secrets})

    def write(
        self, marker: Marker, head: Sequence[Markdown], sections: Sequence[CommentSection], tail: Sequence[Markdown]
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
        kind = "missing acknowledgement" if item.rule == "offsets/unacknowledged" else item.severity.value
        said = Sentence.of(f"{kind}: {{}} ({{}})", item.summary, item.rule)
        if item.hint:
            said = Sentence.joined([said, Sentence.of("hint: {}", item.hint)], "; ")
        file, line = item.location.file, item.location.line
        is_in_repository = "://" not in file and ".." not in file.split("/")
        url = f"{self.options.files}{quote(file, errors='replace')}#L{line}" if is_in_repository else ""
        return self.linked(Sentence.of("{}", f"{file}:{line}"), url, said)

    def connector(self, shown: ConnectorView, cluster: ClusterName | None) -> Item:
        """The plan of one connector, folded. `cluster` is None if its name is clear."""
        connector = shown.connector
        steps = extent(connector)
        what = f"{steps}, shown but not applied" if connector.steps and not connector.applicable else steps
        title = Sentence.of(f"{{}} ({what})", connector.name)
        if cluster is not None:
            title = Sentence.of(f"{{}} on {{}} ({what})", connector.name, cluster)
        mark = ", ".join(destructive_words(connector))
        whole = self.diff(title, connector_lines(shown), mark)
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
