"""The clone on this machine: a bare repository, created under another name and then renamed, so never incomplete."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source import objects
from gitops_connect.source.checkout import Target
from gitops_connect.source.directory_listing import Listing, PathKind, arrange, printable
from gitops_connect.source.git_program import GitFailed, Program, local_environment

FETCHED = "refs/gitops-connect/fetched"
_DAMAGED = "gitops-connect-damaged"
_WHOLE = "gitops-connect-whole"
_DEPTH = "gitops-connect-depth"


@dataclass(frozen=True, slots=True)
class Clone:
    """A bare repository in a directory. Only the holder of its lock writes to it. Methods raise GitFailed."""

    directory: Path
    program: Program

    @staticmethod
    def at(directory: Path, settings: RepositorySettings, held: tuple[int, ...] = ()) -> Clone:
        """The clone in that directory, which need not exist."""
        limits = settings.git_memory, settings.max_fetch
        return Clone(directory, Program(local_environment(directory), settings.timeout, held, *limits))

    @property
    def is_usable(self) -> bool:
        """False if the clone does not exist, or was found to be damaged."""
        return (self.directory / "HEAD").is_file() and not (self.directory / _DAMAGED).exists()

    def create(self, *, filtered: bool) -> None:
        """Create an empty clone, and remove what a killed process may have left in its directory."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.program.run("init", "--quiet", "--bare", "--template=", str(self.directory))
        if not filtered:
            (self.directory / _WHOLE).touch()

    def replace(self, other: Path) -> None:
        """Move this clone to the path of `other`, which is removed."""
        old = other.with_name(other.name + ".old")
        shutil.rmtree(old, ignore_errors=True)
        if other.exists():
            other.rename(old)
        self.directory.rename(other)
        shutil.rmtree(old, ignore_errors=True)

    def mark_damaged(self) -> None:
        """Mark the clone as damaged, so that the next fetch of any process clones again."""
        if self.directory.is_dir():
            (self.directory / _DAMAGED).touch()

    def clear_locks(self) -> None:
        """Remove the lock files of a killed git. The clone's own lock is held, so no other git uses the clone."""
        for pattern in (
            "*.lock",
            "refs/**/*.lock",
            "objects/info/**/*.lock",
            "objects/pack/*.lock",
            "objects/pack/tmp_*",
        ):
            for file in self.directory.glob(pattern):
                file.unlink(missing_ok=True)

    @property
    def is_filtered(self) -> bool:
        """Whether blobs are fetched on request only."""
        return not (self.directory / _WHOLE).exists()

    @property
    def is_shallow(self) -> bool:
        """Whether its history is incomplete."""
        return (self.directory / "shallow").is_file()

    @property
    def shallow_commits(self) -> frozenset[str]:
        """The commits whose parents are not in the clone."""
        return frozenset((self.directory / "shallow").read_text().split()) if self.is_shallow else frozenset()

    @property
    def depth(self) -> int:
        """How many commits of its references the clone has at least, as the last caller of `keep_depth` has said."""
        file = self.directory / _DEPTH
        return int(file.read_text()) if file.is_file() else 0

    def keep_depth(self, depth: int) -> None:
        """Record how many commits were fetched."""
        (self.directory / _DEPTH).write_text(str(depth))

    def commit(self, name: str) -> Revision | None:
        """The commit of a reference or an id, or None if it does not exist."""
        found = self._found("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return found[0] if found else None

    def _found(self, *arguments: str) -> list[Revision]:
        """The commits that git prints; none if git ends with 1, because there is no such commit."""
        try:
            return [Revision(line) for line in self.program.run(*arguments).decode().split()]
        except GitFailed as failure:
            if failure.status == 1:
                return []
            raise

    def keep(self, target: Target, revision: Revision) -> None:
        """Record the last good commit of a target."""
        self.program.run("update-ref", target.good_ref, revision)

    def date(self, revision: Revision) -> int:
        """The time of the commit, in seconds since 1970."""
        return int(self.program.run("log", "-1", "--format=%ct", revision))

    def author_and_subject(self, revision: Revision) -> tuple[str, str]:
        """The name of the commit's author, and the first line of its message, both printable."""
        author, _, subject = (
            self.program.run("log", "-1", "--format=%an%x00%s", revision).rstrip(b"\n").partition(b"\0")
        )
        return printable(author), printable(subject)

    def descends(self, revision: Revision, earlier: Revision) -> bool:
        """Whether `earlier` is in the history of `revision`, as far as the clone has this history."""
        base = self.program.run("rev-list", "--max-count=1", earlier, f"^{revision}")
        return not base

    def merge_bases(self, one: Revision, other: Revision) -> list[Revision]:
        """The best common ancestors of two commits, as far as the clone has their history."""
        return self._found("merge-base", "--all", one, other)

    def knows_history(self, one: Revision, other: Revision, bases: Sequence[Revision]) -> bool:
        """Whether more history cannot change the merge bases of two commits.

        That is certain if there is one base, and no commit between it and the two lacks its parents: everything that is
        not in the clone is then older than the base.
        """
        if not self.is_shallow:
            return True
        if len(bases) != 1:
            return False
        cut = self.shallow_commits
        between = self.program.run("rev-list", one, other, *(f"^{base}" for base in bases)).decode().split()
        return cut.isdisjoint(between)

    def kind(self, revision: Revision, path: str) -> str | None:
        """`blob`, `tree` or `commit` (a submodule), or None if the revision has nothing at that path."""
        listed = self.program.run("ls-tree", "-z", "--full-tree", revision, "--", path)
        return listed.split(b" ")[1].decode() if listed else None

    def blob_id(self, revision: Revision, path: str) -> str | None:
        """The id of a file, or None if the revision has no file at that path."""
        if self.kind(revision, path) != "blob":
            return None
        return self.program.run("rev-parse", f"{revision}:{path}").decode().strip()

    def directories(self, revision: Revision) -> list[str]:
        """The names of the directories at the revision's root."""
        listed = self.program.run("ls-tree", "-d", "-z", "--name-only", revision)
        return [name for name in listed.decode(errors="replace").split("\0") if name]

    def list(self, tree: str, where: str, fetch: Callable[[Sequence[str]], None]) -> tuple[Listing, set[str]]:
        """The files under a tree, and the ids of those whose content is not in the clone."""
        found = objects.walk(self.program, tree, where)
        absent = objects.missing(self.program, tree)
        link_ids = sorted({item.blob_id for item in found if item.kind is PathKind.LINK})
        fetch([blob_id for blob_id in link_ids if blob_id in absent])
        absent.difference_update(link_ids)
        leads = objects.links(self.program, link_ids)
        present = {item.blob_id for item in found if item.kind is PathKind.FILE} - absent
        sizes = objects.sizes(self.program, sorted(present))
        complete = (replace(item, size=sizes.get(item.blob_id), link=leads.get(item.blob_id, b"")) for item in found)
        return arrange(complete), absent
