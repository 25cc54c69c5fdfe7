"""The Git server: finds the current commit of a target, and fetches what the clone lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitops_connect.errors import SourceRefused
from gitops_connect.model.names import Revision
from gitops_connect.source.checkout import Target, TargetKind
from gitops_connect.source.clone import FETCHED, Clone
from gitops_connect.source.git_program import GitFailed, GitTimedOut, Program

_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--update-shallow")
_FILTER = "--filter=blob:none"
ABSENT = "couldn't find remote ref"
NOT_BY_ID = re.compile(rf"unadvertised object|not our ref|not advertised|{ABSENT}")
_SLACK = 24 * 3600
"""Seconds by which the clocks of two committers may differ, so that a child can be older than its parent."""
_MOST_NAMES = 5


class NotById(Exception):
    """The server sends no objects by their id, so that blobs cannot be fetched on request."""


@dataclass(frozen=True, slots=True)
class Remote:
    """The server, reached with `program` (which has the credentials), and the clone that is filled."""

    program: Program
    clone: Clone
    where: str

    def resolve(self, target: Target) -> Revision:
        """The current commit of a branch or tag: one small request. Raises GitFailed, SourceRefused."""
        found = self.find(target)
        if found is None:
            raise SourceRefused(f"{self.where}: {self._absence(target)}")
        return found

    def find(self, target: Target) -> Revision | None:
        """The current commit of a branch or tag, or None if the server has none of this name. Raises GitFailed."""
        peeled = f"{target.wanted}^{{}}"
        references = self._references(target.wanted, peeled)
        found = references.get(peeled) or references.get(target.wanted)
        return None if found is None else Revision(found)

    def fetch(self, target: Target, known: Revision | None) -> tuple[Revision, bool]:
        """Fetch a commit, with its history since `known` if the result says True. Raises GitFailed, SourceRefused."""
        if target.kind is TargetKind.COMMIT:
            self._fetch_commit(target.name)
            return Revision(target.name), True
        since = [f"--shallow-since={self.clone.date(known) - _SLACK}"] if known else []
        try:
            complete = self._fetch_shallow(f"+{target.wanted}:{FETCHED}", since)
        except GitFailed as failure:
            if ABSENT in failure.stderr:
                self.resolve(target)
            raise
        revision = self.clone.commit(FETCHED)
        if revision is None:
            raise SourceRefused(f"{self.where}: {target} does not point to a commit; choose one that does")
        return revision, complete

    def fetch_blobs(self, blob_ids: Sequence[str]) -> None:
        """Fetch these blobs with one request. Raises GitFailed, and NotById if the server does not support that."""
        if not blob_ids:
            return
        request = "".join(f"{blob_id}\n" for blob_id in blob_ids).encode()
        try:
            # There is nothing to negotiate about blobs: all requested ones are missing.
            noop = ("-c", "fetch.negotiationAlgorithm=noop")
            self.program.run(*noop, *_FETCH, "--no-auto-maintenance", _FILTER, "--stdin", "origin", stdin=request)
        except GitFailed as failure:
            if NOT_BY_ID.search(failure.stderr):
                raise NotById from failure
            raise

    def fetch_everything(self) -> None:
        """Fetch all branches and tags, with their history. Raises GitFailed."""
        whole = ["--depth=2147483647"] if self.clone.is_shallow else []
        filters = [_FILTER] if self.clone.is_filtered else []
        refspecs = [f"+refs/{kind}/*:refs/gitops-connect/all/{kind}/*" for kind in ("heads", "tags")]
        self.program.run(*_FETCH, *whole, *filters, "origin", *refspecs)

    def fetch_references(self, references: Mapping[str, str], depth: int | None) -> None:
        """Fetch references of the server to references of the clone, each with the last `depth` commits.

        With None, the clone keeps the history that it has, and gets what is new. A server that cannot limit the history
        sends all of it. Raises GitFailed.
        """
        refspecs = [f"+{theirs}:{ours}" for theirs, ours in references.items()]
        filters = [_FILTER] if self.clone.is_filtered else []
        limit = [f"--depth={depth}"] if depth else []
        self._fetch_first([[*limit, *filters], filters], *refspecs)

    def merge(self, target: Revision, head: Revision) -> tuple[str, tuple[bytes, ...]]:
        """The tree of merging two commits, and the paths in which they conflict. Git fetches the blobs that it lacks.

        Raises GitFailed, and NotById if the server sends no blobs by their ids.
        """
        lazy = {name: value for name, value in self.program.environment.items() if name != "GIT_NO_LAZY_FETCH"}
        program = replace(self.program, environment=lazy)
        try:
            output = program.run("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", target, head)
        except GitFailed as failure:
            if NOT_BY_ID.search(failure.stderr):
                raise NotById from failure
            if failure.status != 1:
                raise
            output = failure.stdout
        tree, *conflicts = output.rstrip(b"\0").split(b"\0")
        return tree.decode(), tuple(conflicts)

    def _fetch_shallow(self, refspec: str, since: list[str]) -> bool:
        """Fetch as little as the server supports: since a date, else without history, else everything."""
        filters = [_FILTER] if self.clone.is_filtered else []
        attempts = [[*since, *filters]] if since else []
        return self._fetch_first([*attempts, ["--depth=1", *filters], []], refspec)

    def _fetch_first(self, attempts: Sequence[Sequence[str]], *refspecs: str) -> bool:
        """Fetch with the first options whose limit of history the server supports. The value is False without it."""
        complete = True
        for options in attempts[:-1]:
            try:
                self.program.run(*_FETCH, *options, "origin", *refspecs)
            except GitFailed as failure:
                if isinstance(failure, GitTimedOut) or "shallow" not in failure.stderr:
                    raise
                complete = complete and "does not support" not in failure.stderr
            else:
                return complete
        self.program.run(*_FETCH, *attempts[-1], "origin", *refspecs)
        return complete

    def _fetch_commit(self, commit: str) -> None:
        try:
            self._fetch_shallow(commit, [])
        except GitFailed as failure:
            if not NOT_BY_ID.search(failure.stderr):
                raise
            self.fetch_everything()
        if self.clone.commit(commit) is None:
            what = f"no branch or tag contains commit {commit}"
            raise SourceRefused(f"{self.where}: {what}: check [repository] commit, or push a branch or tag with it")

    def _references(self, *patterns: str) -> dict[str, str]:
        lines = self.program.run("ls-remote", "--quiet", "origin", *patterns).decode(errors="replace").splitlines()
        return {name: value for value, _, name in (line.partition("\t") for line in lines)}

    def _absence(self, target: Target) -> str:
        """Why there is no such branch or tag, with the existing names."""
        references = self._references()
        if not references and not self.program.speaks_git("ls-remote", "--quiet", "origin"):
            return "the address does not belong to a Git server: check [repository] url"
        if not references:
            return f"the repository is empty: push a commit to {target}"
        kind, other = ("heads", "tags") if target.kind is TargetKind.BRANCH else ("tags", "heads")
        if f"refs/{other}/{target.name}" in references:
            right = "tag" if other == "tags" else "branch"
            return f"the repository has no {target}, but it has a {right} of that name: set [repository] {right}"
        prefix = f"refs/{kind}/"
        names = sorted(name[len(prefix) :] for name in references if name.startswith(prefix) and "^" not in name)
        shown = difflib.get_close_matches(target.name, names, n=1) or names[:_MOST_NAMES]
        quoted = ", ".join(repr(name) for name in shown)
        there = f"it has {quoted}" if quoted else "it has none"
        return f"the repository has no {target}; {there}: check [repository] {target.kind.value}"
