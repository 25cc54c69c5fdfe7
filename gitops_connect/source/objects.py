"""Reads blobs and trees from git's object database: without a work tree, and many blobs with one process."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from subprocess import Popen
from typing import IO

from gitops_connect.source.directory_listing import FoundFile, PathKind, bounded
from gitops_connect.source.git_program import GitFailed, Program

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


def links(program: Program, blob_ids: Sequence[str]) -> dict[str, bytes]:
    """The targets of these symbolic links."""
    return dict(zip(blob_ids, read_blobs(program, blob_ids, _LONGEST_LINK), strict=True))


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
