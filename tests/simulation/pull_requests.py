"""What people do with pull requests, and what may be in effect because of that.

A change is a file with its text, or without one if it is removed. The acknowledgements of an offset change are not part
of it: reviewers see its effects, and a comment that says that it is blocked shows none.

A change counts as reviewed if a comment of gitops-connect has named it while its pull request was open, and if the pull
request was merged afterwards, or people with write access have approved the digest of the comment. What a comment says
is read from its text, as people read it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitops_connect.daemon.state import Snapshot
from gitops_connect.model.differences import Direction
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.pull_requests import Comment, CommitState
from gitops_connect.model.reviewed_plans import ReviewMode
from gitops_connect.report.comment_writer import AnsweredCommand, CommentKind, Marker, answered_command, find_marker
from gitops_connect.report.plan_json import PlanOrigin, render
from gitops_connect.review.reviews import PLAN
from gitops_connect.server.values import cluster_value, pull_request_value
from gitops_connect.settings.sections import ForgeSettings
from simulation.coverage import Feature
from simulation.declared import BROKEN_DOCUMENT
from simulation.forge import FORK_AUTHOR, OURS, WRITERS, Files, SimulatedForge
from simulation.timeline import START

if TYPE_CHECKING:
    from simulation.day import Day
    from simulation.declared import Declared
    from simulation.world import World

Change = tuple[str, str | None]
"""The path of a file, and its new text; None if it is removed."""
_GRACE = 120.0
"""Seconds in which a reconciliation that began before a revocation may still begin what was approved."""
_CHANGED = "destructive changes that were not shown before"
_BEFORE = "### Already on the branch"
_SECRET = re.compile(r"SECRET_\d+")
_CONNECTOR = re.compile(r"connector: (\w+)")
_CHANGE_NAME = re.compile(r"\bc\d{3}\b")
_BLOCKED_CHANGE = re.compile(r"offset change (c\d{3}) \(\w+\) is blocked(?!: blocked by missing review)")
_ACKNOWLEDGE = re.compile(r"^  acknowledge: .*\n", re.MULTILINE)


class ReviewedChanges:
    """What people have seen and approved, as the comments on the forge show it."""

    def __init__(self, world: World, forge: SimulatedForge, settings: ForgeSettings) -> None:
        self._world, self._forge, self._settings, self._fail = world, forge, settings, world.fail
        self._shown = defaultdict[int, set[Change]](set)  # by each open pull request, for the first time
        self._asked: dict[tuple[int, str], set[Change]] = {}  # by the digest of a comment
        self._people = defaultdict[tuple[int, str], set[str]](set)
        self._revoked: dict[tuple[int, str], float] = {}
        self._merged: set[Change] = set()
        self.versions: set[tuple[str, str]] = set()
        """The configs of connectors that were in effect before, or were approved."""
        forge.on_write, world.accounts.on_begin, world.before_effect = self._written, self.begins, self.sends

    def _written(self, number: int, body: str) -> None:
        marker = find_marker(body)
        if marker is None or marker.digest is None or marker.commit is None:
            return
        if number in self._forge.forks:
            self._fail(f"pull request {number} from a fork is planned")
        files: dict[str, str | None] = {**self._forge.repository.files}
        if marker.kind is CommentKind.REVIEW:
            own = self._forge.versions[marker.commit]
            is_corrected = any(BROKEN_DOCUMENT.search(files.get(path) or "") for path in own)
            files |= own
            named = _named(body.partition(_BEFORE)[0], files)
            # A connector that the pull request changes is shown whole, with what the branch changes of it.
            changed = own.keys() | {_connector(one) for one in own.items()}
            found = {one for one in named if one[0] in own or _connector(one) in changed}
            # As long as it is broken, a document may declare connectors that seem to be removed: they are kept.
            found |= {one for one in named if is_corrected and one[1] is None}
        else:
            found = _named(body, files)
        self._asked.setdefault((number, marker.digest), set()).update(found)
        if marker.kind is CommentKind.REVIEW and _CHANGED not in body and self._is_open(number):
            self._shown[number] |= found

    def _is_open(self, number: int) -> bool:
        return any(one.number == number for one in self._forge.open)

    def merged(self, number: int) -> None:
        if self._settings.review is ReviewMode.REVIEWED:
            self._merged |= self._shown[number]

    def approved(self, number: int, digest: str, who: str) -> None:
        if (number, digest) in self._asked:
            self._people[number, digest].add(who)

    def revoked(self, number: int, digest: str, _: str) -> None:
        self._revoked[number, digest] = self._forge.timeline.now

    def _reviewed(self) -> Iterator[Change]:
        """What was shown before its merge, or what enough people have approved."""
        yield from self._merged
        now = self._forge.timeline.now
        for key, people in self._people.items():
            if len(people) >= self._settings.approvals and now < self._revoked.get(key, now) + _GRACE:
                yield from self._asked[key]

    def begins(self, offset_change: OffsetChange, before: Offsets) -> None:
        """An offset change begins. If there are no offsets, it changes none. Initial offsets are part of a creation."""
        if offset_change.kind is OffsetChangeKind.SEED:
            return
        path, text = f"{offset_change.connector}.yaml", None
        if offset_change.kind is not OffsetChangeKind.CLEAR:
            path = f"changes/{offset_change.name}.yaml"
            text = self._forge.repository.at(offset_change.revision).get(path)
        if before and not self._is_harmless(offset_change):
            self._require((path, _content(text)), f"{offset_change.name} begins")

    def _is_harmless(self, offset_change: OffsetChange) -> bool:
        """Whether it needed no review when it was planned: it changed nothing, or only added partitions."""
        plans = (replica.view.plan for replica in self._world.living)
        planned = (one for plan in plans if plan is not None for one in plan.offset_changes)
        found = (one.difference for one in planned if one.name == offset_change.name and not one.may_move)
        only = {Direction.NEW, Direction.SAME} if self._settings.review is ReviewMode.REVIEWED else {Direction.SAME}
        return any(one is not None and {*+Counter(one.counts)} <= only for one in found)

    def sends(self, verb: str, name: str, *arguments: Any) -> None:
        """A request with an effect is sent."""
        if verb == "delete":
            path = f"{name}.yaml"
            if not any(one == path and "state: absent" in (text or "state: absent") for one, text in self._reviewed()):
                self._fail(f"{name} is deleted, and nobody has reviewed it")
        elif verb in ("create", "configure") and self._settings.review is ReviewMode.MANUAL:
            version = name, arguments[0]["version"]
            path, declared = f"{name}.yaml", f'"version": "{version[1]}"'
            if version not in self.versions:
                if not any(
                    (one == path and declared in (text or "")) or (verb == "create" and _connector((one, text)) == path)
                    for one, text in self._reviewed()
                ):
                    self._fail(f"{name} gets version {version[1]}, and nobody has approved it")
                self.versions.add(version)

    def _require(self, change: Change, what: str) -> None:
        if change not in self._reviewed():
            self._fail(f"{what}, and nobody has reviewed it")


def _named(text: str, files: Files) -> set[Change]:
    """The changes that a comment names: offset changes, and connectors in the title of their steps."""
    found = {f"changes/{name}.yaml" for name in {*_CHANGE_NAME.findall(text)} - {*_BLOCKED_CHANGE.findall(text)}}
    found |= {f"{name}.yaml" for name in re.findall(r"<code>(\w+)</code>", text)}
    return {(path, _content(files.get(path))) for path in found}


def _content(text: str | None) -> str | None:
    """What a document changes."""
    return None if text is None else _ACKNOWLEDGE.sub("", text)


def _connector(change: Change) -> str:
    """The path of the connector whose offsets a document changes."""
    found = re.search(r"connector: (\w+)", change[1] or "")
    return f"{found[1]}.yaml" if found is not None else ""


class PullRequests:
    """The pull requests of a day."""

    def __init__(self, day: Day, forge: SimulatedForge, settings: ForgeSettings) -> None:
        self.day, self.forge, self.settings = day, forge, settings
        self.reviewed = ReviewedChanges(day.world, forge, settings)
        self.declared: dict[int, dict[str, Declared]] = {}
        """The connectors as each pull request declares them."""
        self.never_merged: set[int] = set()
        self._secrets = 0
        self._authors: dict[int, str] = {}  # of merged pull requests

    def _note(self, text: str) -> None:
        self.day.world.note(text)

    def _tell(self) -> None:
        """Webhooks may get lost."""
        self.day.world.promises.met(Feature.REVIEW)
        for replica in self.day.world.living:
            if self.day.random.random() < 0.7:
                replica.daemon.review_now()

    def _any(self) -> int | None:
        return self.day.random.choice(self.forge.open).number if self.forge.open else None

    def _changes(self, name: str) -> tuple[dict[str, Declared], Files]:
        """Something that a pull request may change."""
        day = self.day
        one = replace(day.declared[name])
        what = day.random.choice(("config", *["removal"] * 12, *["offset change"] * 10, "state", "secret"))
        if what == "offset change":
            return {}, dict([day.offset_change(name)])
        match what:
            case "config":
                one.version, one.fails = one.version + 1, day.random.random() < 0.2
            case "removal":
                one.is_there = not one.is_there
            case "state":
                one.state = day.random.choice(("running", "paused", "stopped"))
            case "secret":
                self._secrets += 1
                one.version, one.secret = one.version + 1, self._secrets
        return {name: one}, {f"{name}.yaml": one.document}

    def propose(self, name: str) -> None:
        self._open(name, self.day.random.choice(WRITERS), hostile=0.1)

    def fork(self, name: str) -> None:
        self._open(name, FORK_AUTHOR, hostile=0.6)

    def _open(self, name: str, author: str, hostile: float) -> None:
        declared, changes = self._changes(name)
        number = len(self.forge.branches) + 1
        if self.day.random.random() < hostile:
            declared, changes = {}, self._stealing(name, number)
            self.never_merged.add(number)
        self.forge.propose(author, changes, is_fork=author == FORK_AUTHOR)
        self.declared[number] = declared
        self._note(f"pull request {number} by {author} changes {', '.join(changes)}")
        self._tell()

    def _stealing(self, name: str, number: int) -> Files:
        """Someone proposes to read secrets of others, also for a connector of someone else."""
        random = self.day.random
        victim, known = random.choice((name, "foreign")), self.day.declared[name]
        one = replace(known, name=victim, version=90 + number, is_there=True, secret=0)
        reference = random.choice((f"env: SECRET_9{number:02}", f"file: /run/secrets/{number}"))
        text = one.text.replace('"version":', '"key": "${file:/run/secrets:key}", "version":')
        return {f"{victim}.yaml": f"{text}  secrets: {{password: {{{reference}}}}}\n"}

    def push(self, name: str) -> None:
        """Something else, or another content of an offset change that was reviewed already."""
        if (number := self._any()) is None:
            return
        declared, changes = self._changes(name)
        force = self.day.random.random() < 0.4
        shown = [(path, text) for path, text in self.forge.branches[number].changes.items() if text and "/" in path]
        if shown and self.day.random.random() < 0.9:
            path, text = shown[0]
            if (found := _CONNECTOR.search(text)) is not None and self.day.random.random() < 0.8:
                name = found[1]
            declared, changes, force = {}, dict([self.day.offset_change(name, path)]), False
        self.declared[number] = declared if force else {**self.declared[number], **declared}
        self.forge.push(number, changes, force=force)
        self._note(f"a push{' with force' if force else ''} to pull request {number} changes {', '.join(changes)}")
        self._tell()

    def approve(self, _: str) -> None:
        """Someone writes or edits a comment with a command, who may do so or not, about a plan of now or of earlier."""
        random, known = self.day.random, [*self._digests()]
        if not known:
            return
        number, digest = random.choice((known[-1], random.choice(known)))
        verb = random.choice((*["approve"] * 9, "revoke"))
        who = random.choice((*WRITERS * 4, FORK_AUTHOR))
        command = f"gitops-connect {verb} {digest}"
        self._note(f"{who} comments {verb} {digest[:7]} on pull request {number}")
        how = random.choice((*["write"] * 9, "edit", "edit of another"))
        comment = self.forge.say(number, who, command if how == "write" else "nice")
        if how != "write":
            editor = who if how == "edit" else random.choice(WRITERS)
            self._note(f"{editor} has edited it")
            self.forge.edit(number, comment, command, editor)
        if self._may(number, who, verb) and (how == "write" or editor == who):
            (self.reviewed.approved if verb == "approve" else self.reviewed.revoked)(number, digest, who)
        self._tell()

    def _digests(self) -> Iterator[tuple[int, str]]:
        """The digests in comments of gitops-connect, also in those about blocked changes, the last one last."""
        for number in sorted(self.forge.comments_of):
            markers = _own_markers(self.forge.comments(number))
            yield from ((number, one.digest) for one in markers if one.digest is not None)

    def _may(self, number: int, who: str, verb: str) -> bool:
        if who not in WRITERS:
            return False
        is_author = who in (self.forge.authors[number], *self._authors.values())
        return verb == "revoke" or self.settings.author_may_approve or not is_author

    def command(self, _: str) -> None:
        """A comment that approves nothing, or a comment of gitops-connect that people delete or edit."""
        random = self.day.random
        number = random.choice([*self.forge.branches] or [0])
        own = [one for one in self.forge.comments(number) if one.author == OURS]
        what = random.choice(("plan", "help", "nonsense", "delete", "edit"))
        if what in ("delete", "edit"):
            if own:
                one = random.choice(own)
                self._note(f"someone does {what} comment {one.id} of pull request {number}")
                if what == "delete":
                    self.forge.delete_comment(number, one.id)
                else:
                    self.forge.edit(number, one.id, f"{one.body}\nedited", "bob")
        elif number:
            who = random.choice((*WRITERS, "eve"))
            self._note(f"{who} comments {what} on pull request {number}")
            self.forge.say(number, who, f"gitops-connect {what}")
        self._tell()

    def merge(self, _: str) -> None:
        """Some people wait for the check, and some do not."""
        random, number = self.day.random, self._any()
        if number is None:
            return
        state = self.forge.status(self.forge.of(number).head, PLAN)
        waits = random.random() < 0.3 and state is not CommitState.SUCCESS
        if waits or number in self.never_merged or self.forge.conflicts(number):
            self._note(f"pull request {number} cannot be merged")
            return
        how = random.choice(("merge commit", "squash", "rebase"))
        self._note(f"pull request {number} is merged by a {how}")
        self._authors[number] = self.forge.authors[number]
        self.reviewed.merged(number)
        self.day.world.secrets.merged |= set(_SECRET.findall(repr(self.forge.branches[number].changes)))
        self.forge.merge(number, how, random.choice((0.0, 0.0, 4.0, 15.0)))
        self.day.declared |= self.declared[number]
        self.day.world.promises.committed(self.day.world.repository.revision, self.day.declared)
        self._tell()

    def close(self, _: str) -> None:
        if (number := self._any()) is not None:
            self._note(f"pull request {number} is closed")
            self.forge.close_pull_request(number)
            self.forge.branches[number].is_deleted = True

    # What must be true.

    def check(self) -> None:
        """After each event."""
        for number in self.forge.branches:
            kinds = Counter(one.kind for one in _own_markers(self.forge.comments(number)))
            is_alone = len(self.day.world.replicas) == 1  # one that was frozen may write a second comment
            assert not is_alone or kinds.total() == len(kinds), f"pull request {number} has the comments {kinds}"
            comments = self.forge.comments(number)
            own = sum(one.author == OURS for one in comments)
            heads = sum(commit.startswith(f"{number:03}") for commit in self.forge.versions)
            most = 3 + heads + 2 * (len(comments) - own)
            assert own <= most, f"{own} comments on pull request {number}, more than {most}"

    def require_clean(self, snapshot: Snapshot) -> None:
        """No output of a replica has a secret."""
        views, pulls = snapshot.clusters.values(), snapshot.pull_requests
        plans = [view.plan for view in views if view.plan is not None]
        for shown in (plans, *(one.plan.plans for one in pulls)):
            if shown:
                origin = PlanOrigin(START, shown[0].revision)
                self.forge.require_clean(render(shown, snapshot.repository.diagnostics, origin))
        for value in (*map(cluster_value, views), *map(pull_request_value, pulls)):
            self.forge.require_clean(value)

    def unfinished(self) -> list[str]:
        """What the reviews have not done yet, once faults have ceased. A comment that someone deleted was written."""
        found = []
        for one in self.forge.open:
            comments = self.forge.comments_of.get(one.number, [])
            markers = [marker for marker in _own_markers(comments) if marker.kind is CommentKind.REVIEW]
            state = self.forge.status(one.head, PLAN)
            if not self.forge.branches[one.number].is_deleted and (
                one.head not in [marker.commit for marker in markers] or state is None
            ):
                found.append(f"pull request {one.number} is not planned: {markers}, {state}")
            answered = {answered_command(each.body) for each in comments if each.author == OURS}
            commands = [each for each in comments if each.author != OURS and each.body.startswith("gitops-connect ")]
            if not self.forge.branches[one.number].is_deleted and {*map(AnsweredCommand.of, commands)} - answered:
                found.append(f"commands on pull request {one.number} are not answered: {commands}")
        return found

    def digests(self, without: Set[int]) -> dict[int, str | None]:
        """The digest in the last comment with a plan, of all open pull requests that have one, `without` some."""
        return {
            one.number: marker.digest
            for one in self.forge.open
            for marker in _own_markers(self.forge.comments(one.number))
            if marker.kind is CommentKind.REVIEW and one.number not in without
        }


def _own_markers(comments: Iterable[Comment]) -> list[Marker]:
    found = (find_marker(one.body) for one in comments if one.author == OURS)
    return [one for one in found if one is not None]


ACTIONS: Mapping[str, Callable[[PullRequests, str], None]] = {
    "review": PullRequests.propose,
    "approval": PullRequests.approve,
    "push to a pull request": PullRequests.push,
    "merge": PullRequests.merge,
    "fork": PullRequests.fork,
    "command": PullRequests.command,
    "closing": PullRequests.close,
}
