"""The clone on this machine: a bare repository, created under another name and then renamed, so never incomplete."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from typing import IO

from gitops_connect.model.names import Revision
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.checkout import Target
from gitops_connect.source.directory_listing import FoundFile, Listing, PathKind, arrange, bounded, printable
from gitops_connect.source.git_program import GitFailed, Program, local_environment

FETCHED = "refs/gitops-connect/fetched"
_DAMAGED = "gitops-connect-damaged"
_WHOLE = "gitops-connect-whole"
_DEPTH = "gitops-connect-depth"
_LEFT_OVERS = ("*.lock", "refs/**/*.lock", "objects/info/**/*.lock", "objects/pack/*.lock", "objects/**/tmp_*")


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

    def clear_leftovers(self) -> None:
        """Remove the lock files of a killed git, and what it has written in part.

        The clone's own lock is held, so no other git uses the clone.
        """
        for pattern in _LEFT_OVERS:
            for file in self.directory.glob(pattern):
                file.unlink(missing_ok=True)

    @property
    def is_filtered(self) -> bool:
        return not (self.directory / _WHOLE).exists()

    @property
    def is_shallow(self) -> bool:
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
        self.program.run("update-ref", target.good_ref, revision)

    def date(self, revision: Revision) -> int:
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
        if self.kind(revision, path) != "blob":
            return None
        return self.program.run("rev-parse", f"{revision}:{path}").decode().strip()

    def directories(self, revision: Revision) -> list[str]:
        listed = self.program.run("ls-tree", "-d", "-z", "--name-only", revision)
        return [name for name in listed.decode(errors="replace").split("\0") if name]

    def list(self, tree: str, where: str, fetch: Callable[[Sequence[str]], None]) -> tuple[Listing, set[str]]:
        """The files under a tree, and the ids of those whose content is not in the clone."""
        found, absent = walk(self.program, tree, where), missing(self.program, tree)
        link_ids = sorted({item.blob_id for item in found if item.kind is PathKind.LINK})
        fetch([blob_id for blob_id in link_ids if blob_id in absent])
        absent.difference_update(link_ids)
        links = dict(zip(link_ids, read_blobs(self.program, link_ids, _LONGEST_LINK), strict=True))
        size_of = sizes(self.program, sorted({item.blob_id for item in found if item.kind is PathKind.FILE} - absent))
        complete = (replace(item, size=size_of.get(item.blob_id), link=links.get(item.blob_id, b"")) for item in found)
        return arrange(complete), absent


# Blobs and trees of git's object database: without a work tree, and many blobs with one process.

_WINDOW = 512
"""So many ids certainly fit into a pipe, so that neither side waits for the other: 512 ids of 41 bytes."""
_CHUNK = 1 << 20
_LIST_MISSING = ("rev-list", "--objects", "--no-object-names", "--missing=print")
_LONGEST_LINK = 4096
_KINDS = {b"040": PathKind.DIRECTORY, b"100": PathKind.FILE, b"120": PathKind.LINK, b"160": PathKind.SUBMODULE}


def read_blobs(program: Program, blob_ids: Sequence[str], at_most: int | None = None) -> Iterator[bytes]:
    """The content of each blob, at most its first `at_most` bytes. Raises GitFailed if one is missing or damaged."""
    if not blob_ids:
        return
    with program.started("cat-file", "--batch") as process:
        stdin, stdout = _pipes(process)
        for start in range(0, len(blob_ids), _WINDOW):
            window = blob_ids[start : start + _WINDOW]
            _ask(stdin, window)
            for blob_id in window:
                yield _answer(stdout, blob_id, at_most)


def stream_blob(program: Program, blob_id: str) -> Iterator[bytes]:
    """The content in chunks, of any size. Raises GitFailed if the blob is missing, or (at its end) damaged."""
    with program.started("cat-file", "--batch") as process:
        stdin, stdout = _pipes(process)
        _ask(stdin, [blob_id])
        yield from _chunks(stdout, blob_id)


def sizes(program: Program, blob_ids: Sequence[str]) -> dict[str, int]:
    """The size of each blob in bytes. Raises GitFailed if one is missing."""
    request = "".join(f"{blob_id}\n" for blob_id in blob_ids).encode()
    answer = program.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=request) if blob_ids else b""
    found = {}
    for line in answer.decode().splitlines():
        blob_id, _, size = line.partition(" ")
        if not size.isdigit():
            raise GitFailed("cat-file", 0, f"error: blob {line}".encode())
        found[blob_id] = int(size)
    return found


def missing(program: Program, tree: str) -> set[str]:
    """The objects under this tree that are not in the clone, because they were not fetched yet."""
    return _missing(program.run(*_LIST_MISSING, tree))


def missing_versions(program: Program, commits: Sequence[str], path: str) -> set[str]:
    """The versions of one file, as of these commits, that are not in the clone."""
    request = "".join(f"{commit}\n" for commit in commits).encode()
    return _missing(
        program.run("--literal-pathspecs", *_LIST_MISSING, "--no-walk", "--stdin", "--", path, stdin=request)
    )


def _missing(listed: bytes) -> set[str]:
    return {line[1:] for line in listed.decode().splitlines() if line.startswith("?")}


def walk(program: Program, tree: str, where: str) -> list[FoundFile]:
    """All paths under this tree, without sizes and link targets. Raises SourceRefused if there are too many."""
    with program.started("ls-tree", "-r", "-t", "-z", tree) as process:
        with closing(_records(_pipes(process)[1])) as records:
            found = list(bounded(map(_parse, records), where))
        if process.wait():
            raise GitFailed("ls-tree", process.returncode, process.stderr.read() if process.stderr else b"")
        return found


def _parse(record: bytes) -> FoundFile:
    about, _, path = record.partition(b"\t")
    mode, _, blob_id = about.split(b" ")
    return FoundFile(path, _KINDS.get(mode[:3], PathKind.SPECIAL), blob_id.decode())


def _records(stream: IO[bytes]) -> Generator[bytes, None, None]:
    """Records separated by NUL, while they arrive: a tree that describes endless files is not read to its end."""
    rest = b""
    while chunk := stream.read(_CHUNK >> 4):
        *records, rest = (rest + chunk).split(b"\0")
        yield from records


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("git is always started with pipes")
    return process.stdin, process.stdout


def _ask(stdin: IO[bytes], blob_ids: Sequence[str]) -> None:
    try:
        stdin.write("".join(f"{blob_id}\n" for blob_id in blob_ids).encode())
        stdin.flush()
    except BrokenPipeError as error:
        raise GitFailed("cat-file", 0, b"error: it ended before everything was read") from error


def _answer(stdout: IO[bytes], blob_id: str, at_most: int | None) -> bytes:
    chunks = _chunks(stdout, blob_id)
    if at_most is None:
        return b"".join(chunks)
    kept = bytearray()
    for chunk in chunks:
        kept += chunk[: at_most - len(kept)]
    return bytes(kept)


def _chunks(stdout: IO[bytes], blob_id: str) -> Iterator[bytes]:
    """The content of the blob that is answered next, checked at its end."""
    header = stdout.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise GitFailed("cat-file", 0, f"error: blob {blob_id} is missing or cannot be read".encode())
    left = int(header[2])
    digest = hashlib.sha1(b"blob %d\0" % left, usedforsecurity=False)
    while left > 0 and (chunk := stdout.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
        yield chunk
    stdout.read(1)  # the line feed after it
    if digest.hexdigest() != blob_id:
        raise GitFailed("cat-file", 0, f"error: blob {blob_id} is damaged".encode())
