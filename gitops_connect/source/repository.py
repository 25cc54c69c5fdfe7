"""A Git repository as a source: one clone on this machine, updated by fetches, and read without a work tree.

Polling is the common case and costs one small request: objects are fetched only if the branch has moved. Errors of git
are classified here: into problems of the server, and damage to the clone, which is then cloned again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.model.documents import Entry
from gitops_connect.model.names import Revision
from gitops_connect.safe_files import FULL, locked_file, without_space
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import Checkout, History, HistoryOf, TargetKind, parse_directory, parse_target
from gitops_connect.source.clone import Clone, read_blobs, stream_blob
from gitops_connect.source.directory_listing import printable
from gitops_connect.source.git_program import (
    GitFailed,
    GitTimedOut,
    Program,
    SourceError,
    explain,
    git_version,
    read_password,
    recognise,
    remote_environment,
)
from gitops_connect.source.git_url import GitTransport, parse_address
from gitops_connect.source.remote import NotById, Remote

_PAUSE = 0.05


class Repository:
    """A `Source`: the repository of the settings, in a clone that processes share. One at a time writes to it."""

    def __init__(self, settings: RepositorySettings, directory: Path, history_of: HistoryOf | None = None) -> None:
        """Raises UsageError if a setting is invalid. Nothing is read, and no request is sent."""
        self._history_of = history_of
        self._settings = settings
        self._directory = directory.absolute()
        self._address = parse_address(settings.url)
        self._target = parse_target(settings)
        self._path = parse_directory(settings.path)
        self._where = f"repository {self._address}"
        self._current: Checkout | None = None
        self._git_is_fit = False

    def fetch(self) -> Checkout:
        """The current revision of the branch, tag or commit; the same value as before if nothing has changed.

        Raises SourceUnavailable if a retry may help, SourceRefused if it does not help, UsageError if a credential is
        missing. `last_good` is then unchanged.
        """
        if not self._git_is_fit:
            git_version()
            self._git_is_fit = True
        self._check_path()
        with self._locked() as held:
            try:
                return self._fetch(held)
            except GitFailed as failure:
                raise self._explain(failure) from failure

    @property
    def last_good(self) -> Checkout | None:
        """The last revision that this or an earlier process has fetched completely; None if there is none."""
        clone = self._clone()
        if self._current is None and clone.is_usable:
            try:
                revision = clone.commit(self._target.good_ref)
                self._current = self._checkout(clone, revision, self._fetch_blobs) if revision else None
            except (GitFailed, SourceRefused, SourceUnavailable, UsageError):
                return None
        return self._current

    def close(self) -> None:
        """Forget what was read. No process, file or connection is open between two calls."""
        self._current = None

    def _fetch(self, held: int) -> Checkout:
        clone = self._clone(held)
        if not clone.is_usable:
            return self._clone_again(held, None)
        clone.clear_leftovers()
        try:
            return self._update(clone)
        except NotById:
            return self._clone_again(held, None, filtered=False)
        except GitFailed as failure:
            if not _is_damage(failure):
                clone.clear_leftovers()  # on a full disk, nobody could write until the next fetch
                raise
            return self._clone_again(held, self._explain(failure))

    def _update(self, clone: Clone) -> Checkout:
        remote = self._remote(clone)
        known = self._current.revision if self._current else clone.commit(self._target.good_ref)
        # A commit never changes once it is in the clone.
        tip = known if self._target.kind is TargetKind.COMMIT else remote.resolve(self._target)
        if tip is not None and tip == known:
            if self._current is None or self._current.revision != tip:
                self._current = self._checkout(clone, tip, remote.fetch_blobs)
            return self._current
        revision, complete = remote.fetch(self._target, known)
        checkout = self._adopt(clone, revision, remote)
        rewritten = known is not None and complete and not clone.descends(revision, known)
        return replace(checkout, rewritten=known) if rewritten else checkout

    def _clone_again(self, held: int, damage: SourceError | None, *, filtered: bool = True) -> Checkout:
        """Clone under another name, then replace the existing clone, if any. `damage` is the error of that clone."""
        new_clone = Clone.at(self._directory.with_name(self._directory.name + ".partial"), self._settings, (held,))
        try:
            revision = self._clone_into(new_clone, filtered=filtered)
            new_clone.replace(self._directory)
        except GitFailed as failure:
            shutil.rmtree(new_clone.directory, ignore_errors=True)
            raise _again(self._explain(failure), damage) from failure
        except SourceRefused as error:
            raise _again(error, damage) from error
        finally:
            shutil.rmtree(new_clone.directory, ignore_errors=True)
        clone = self._clone(held)
        try:
            return self._adopt(clone, revision, self._remote(clone))
        except NotById:
            return self._clone_again(held, damage, filtered=False)

    def _clone_into(self, new_clone: Clone, *, filtered: bool) -> Revision:
        new_clone.create(filtered=filtered)
        remote = self._remote(new_clone)
        revision, _ = remote.fetch(self._target, None)
        return revision

    def _adopt(self, clone: Clone, revision: Revision, remote: Remote) -> Checkout:
        """Read the new revision's tree, and only then record the revision as good."""
        self._current = self._checkout(clone, revision, remote.fetch_blobs)
        clone.keep(self._target, revision)
        return self._current

    def _checkout(
        self, clone: Clone, revision: Revision, fetch: Callable[[Sequence[str]], None], tree: str = ""
    ) -> Checkout:
        """The files of a commit; with `tree`, the files of this tree instead of those of the commit."""
        listing, absent = clone.list(self._tree(clone, Revision(tree) if tree else revision), self._where, fetch)
        reader, history = CloneReader(self, absent), self._history(clone, revision)
        about = clone.author_and_subject(revision)
        return Checkout(revision, listing.entries, listing.diagnostics, reader, None, *about, history)

    def _history(self, clone: Clone, revision: Revision) -> History | None:
        return None if self._history_of is None else self._history_of([revision], "")

    def _tree(self, clone: Clone, revision: Revision) -> str:
        if not self._path:
            return f"{revision}^{{tree}}"
        kind = clone.kind(revision, self._path)
        if kind == "tree":
            return f"{revision}:{self._path}"
        found = "that path is not a directory" if kind else f"its root contains {_names(clone.directories(revision))}"
        what = f"revision {revision[:12]} has no directory {self._path!r}; {found}"
        raise SourceRefused(f"{self._where}: {what}: check [repository] path")

    @contextmanager
    def reading(self, wanted: Sequence[str], absent: set[str]) -> Iterator[Program]:
        """Read these blobs with the program. Those that are `absent` are fetched first, and removed from `absent`."""
        lacking = sorted(absent.intersection(wanted))
        with self._detecting_damage():
            self._fetch_blobs(lacking)
            absent.difference_update(lacking)
            yield self._clone().program

    @contextmanager
    def _detecting_damage(self) -> Iterator[None]:
        """Mark the clone as damaged, and raise SourceUnavailable, if git cannot read it."""
        try:
            yield
        except GitFailed as failure:
            self._clone().mark_damaged()
            what = f"the clone in {self._directory} is damaged and will be cloned again at the next fetch"
            raise SourceUnavailable(f"{self._where}: {what} ({failure.stderr.strip()})") from failure

    def _fetch_blobs(self, blob_ids: Sequence[str]) -> None:
        if not blob_ids:
            return
        with self._locked() as held:
            try:
                self._remote(self._clone(held)).fetch_blobs(blob_ids)
            except NotById:
                self._clone_again(held, None, filtered=False)
            except GitFailed as failure:
                if _is_damage(failure):
                    raise
                self._clone(held).clear_leftovers()
                raise self._explain(failure) from failure

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with locked(self._directory.with_name(self._directory.name + ".lock"), self._settings.timeout) as held:
            try:
                yield held
            except OSError as error:
                what = f"{self._where}: cannot write a clone to {self._directory}: {error.strerror}"
                advice = "check the disk, or set GITOPS_CONNECT_CACHE to another directory"
                if error.errno in FULL:
                    raise without_space(SourceUnavailable, f"{what}: {advice}", self._directory.parent) from error
                raise SourceUnavailable(f"{what}: {advice}") from error

    def _clone(self, held: int | None = None) -> Clone:
        return Clone.at(self._directory, self._settings, () if held is None else (held,))

    def _remote(self, clone: Clone) -> Remote:
        environment = remote_environment(clone.directory, self._address, self._settings)
        return Remote(replace(clone.program, environment=environment), clone, self._where)

    def _explain(self, failure: GitFailed) -> SourceError:
        error, cause = explain(self._where, failure, read_password(self._address, self._settings)), recognise(failure)
        if cause is not None and cause.is_full_disk:
            return without_space(SourceUnavailable, str(error), self._directory.parent)
        return error

    def _check_path(self) -> None:
        """Check the path here, because git reports a missing path as a server without this repository."""
        if self._address.transport is GitTransport.FILE and not os.path.lexists(self._address.url):
            raise SourceRefused(f"{self._where}: the path does not exist: check [repository] url")


@dataclass(frozen=True, slots=True)
class CloneReader:
    repository: Repository
    absent: set[str]

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        wanted = [entry.blob_id for entry in entries]
        with self.repository.reading(wanted, self.absent) as program:
            yield from read_blobs(program, wanted, at_most)

    def stream(self, entry: Entry) -> Iterator[bytes]:
        with self.repository.reading([entry.blob_id], self.absent) as program:
            yield from stream_blob(program, entry.blob_id)


def _is_damage(failure: GitFailed) -> bool:
    """Whether neither the server nor the network is the cause, so that a new clone can fix the problem."""
    return recognise(failure) is None and not isinstance(failure, GitTimedOut)


def _again(error: SourceError, damage: SourceError | None) -> SourceError:
    if damage is None or str(damage) == str(error) or error.full_disk:
        return error
    return type(error)(f"{error}; the clone is damaged, and could not be cloned again ({damage})")


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(printable(name.encode())) for name in names[:5])
    return f"the directories {shown}" if shown else "no directories"


@contextmanager
def locked(file: Path, timeout: float) -> Iterator[int]:
    """Hold the lock; the value is the file descriptor for child processes to inherit. Waits `timeout` seconds at most.

    Raises SourceUnavailable if another process still has the lock then, or if the disk is full, SourceRefused if the
    file cannot be created for another reason.
    """
    deadline = time.monotonic() + timeout

    def wait() -> None:
        if time.monotonic() >= deadline:
            what = f"another process has used the clone next to {file} for {timeout:g} s"
            raise SourceUnavailable(f"{what}: wait until it ends, or set GITOPS_CONNECT_CACHE to another directory")
        time.sleep(_PAUSE)

    with ExitStack() as held:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = held.enter_context(locked_file(file, wait=wait))
        except OSError as error:
            what = f"cannot write a clone to {file.parent}: {error.strerror}"
            if error.errno in FULL:
                raise without_space(SourceUnavailable, what, file.parent) from error
            raise SourceRefused(f"{what}; set GITOPS_CONNECT_CACHE to a writable directory") from error
        yield descriptor
