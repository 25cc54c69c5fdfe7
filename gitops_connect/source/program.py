"""The git program, run through GitPython: with a deadline, an environment of ours, and no way to ask a question.

GitPython's `kill_after_timeout` lists git's children with `pgrep` when time is up, and so misses what forks meanwhile
and what it cannot list. Here each git leads a session of its own: it is ended with everything that it started, and has
no terminal to ask on.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from subprocess import PIPE, Popen, TimeoutExpired
from typing import IO

from gitops_connect.errors import SourceRefused

# Without it, the import itself fails where git is not installed, and no error of ours could say so.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
import git

_KEPT = {"GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}
"""Where git's programs and the system's CA certificates are may be said by environment; all else is ours to say."""
_NO_GIT = "git cannot be started: install git 2.32 or later, and add it to the PATH"
_OLDEST = (2, 32)
"""The first that reads GIT_CONFIG_GLOBAL; an older one would read the user's configuration after all."""


MAX_OUTPUT = 256 * 1024**2
"""Bytes of a command's output that are kept: 100,000 files have 20 MiB of names."""
MAX_COMPLAINTS = 64 * 1024
"""Bytes of its error output that are kept; more is read and dropped."""
_CHUNK = 64 * 1024
_RECEIVED = re.compile(rb"packet: +\S+< ")
"""A line of GIT_TRACE_PACKET for what came from the server."""


class GitFailed(Exception):
    """git ended with an error; only this package sees this exception."""

    def __init__(self, command: str, status: int, stderr: bytes) -> None:
        self.status = status
        self.stderr = stderr.decode(errors="replace")
        super().__init__(f"git {command} ended with {status}")


class GitTimedOut(GitFailed):
    """git did not end in time, and was ended."""


@dataclass(frozen=True, slots=True)
class Program:
    """How git is started: its environment, how long it may take (seconds), and a lock that it holds meanwhile.

    Each of git's processes may have `memory` bytes, and write files of `disk` bytes: what a server sends is kept there.
    """

    environment: Mapping[str, str] = field(repr=False)
    timeout: float
    held: tuple[int, ...] = ()
    memory: int = 2 * 1024**3
    disk: int = 8 * 1024**3

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What git writes to its standard output. Raises GitFailed, also if that is more than `MAX_OUTPUT`."""
        return self.run_both(*arguments, stdin=stdin)[0]

    def speaks_git(self, *arguments: str) -> bool:
        """Whether the server that this command talks to answers in Git's protocol (GIT_TRACE_PACKET shows it).

        A web page without a line break is a list of no references to git, from a server of its oldest protocol.
        """
        environment = {**self.environment, "GIT_TRACE_PACKET": "1"}
        return _RECEIVED.search(replace(self, environment=environment).run_both(*arguments)[1]) is not None

    def run_both(self, *arguments: str, stdin: bytes = b"") -> tuple[bytes, bytes]:
        """What git writes to its standard output and to its standard error. Raises GitFailed."""
        # The process ends first, whatever happens: its readers wait for that.
        with ThreadPoolExecutor(3) as pool, self.started(*arguments) as process:
            begun = time.monotonic()
            output = pool.submit(_read, process.stdout, MAX_OUTPUT)
            complaints = pool.submit(_read, process.stderr, MAX_COMPLAINTS)
            pool.submit(_write, process.stdin, stdin)
            try:
                # To the end of its output first: a child that git has left behind may still hold it.
                complaints.result(self.timeout)
                output.result(begun + self.timeout - time.monotonic())
                process.wait(begun + self.timeout - time.monotonic())
            except (TimeoutError, TimeoutExpired) as error:
                _end_group(process)
                raise GitTimedOut(arguments[0], -signal.SIGKILL, complaints.result()) from error
            stdout, stderr = output.result(), complaints.result()
            if process.returncode:
                raise GitFailed(arguments[0], process.returncode, stderr)
            if len(stdout) > MAX_OUTPUT:
                raise GitFailed(arguments[0], 0, b"fatal: more output than is read")
            return stdout, stderr

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Popen[bytes]]:
        """A running git, which is ended, with all its children, when the block is left."""
        program = git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git"
        command = [*_forget_inherited(self.environment), *_limited(self.memory, self.disk), program, *arguments]
        try:
            process = git.Git("/").execute(
                command, istream=PIPE, as_process=True, env=self.environment, start_new_session=True, pass_fds=self.held
            )
        except (git.exc.GitCommandNotFound, OSError) as error:
            raise SourceRefused(_NO_GIT) from error
        popen = process.proc
        if popen is None:
            raise AssertionError("GitPython has just started it")
        try:
            yield popen
        finally:
            _end(popen)


def git_version() -> str:
    """As in 2.39.5. Raises SourceRefused where git is missing, or too old to keep from the user's configuration."""
    try:
        found = git.Git("/").version_info
    except (git.exc.CommandError, OSError) as error:
        raise SourceRefused(_NO_GIT) from error
    version = ".".join(map(str, found))
    if found[:2] < _OLDEST:
        raise SourceRefused(f"git {version} is too old: install git 2.32 or later")
    return version


def _forget_inherited(ours: Mapping[str, str]) -> list[str]:
    """GIT_DIR and its like are set where we run inside a git hook, and would point git at another repository."""
    inherited = sorted(name for name in os.environ if name.startswith("GIT_") and name not in {*_KEPT, *ours})
    return ["env", *(word for name in inherited for word in ("-u", name))] if inherited else []


def _limited(memory: int, disk: int) -> list[str]:
    """A shell that sets the limits (POSIX: KiB of memory, blocks of 512 bytes) and becomes git; macOS limits no memory.

    git ends itself if a file becomes too large only where SIGXFSZ is ignored: its default leaves a core behind.
    """
    script = 'ulimit -v "$0" 2>/dev/null; ulimit -f "$1"; trap "" XFSZ; shift; exec "$@"'
    return ["sh", "-c", script, str(memory // 1024), str(disk // 512)]


def _read(stream: IO[bytes] | None, most: int) -> bytes:
    """All of it, kept up to one byte more than `most`: a server can have git print without end."""
    kept = bytearray()
    while stream is not None and (chunk := stream.read1(_CHUNK)):  # type: ignore[attr-defined]
        kept += chunk[: most + 1 - len(kept)]
    return bytes(kept)


def _write(stream: IO[bytes] | None, content: bytes) -> None:
    with suppress(BrokenPipeError):  # git has ended, and says why
        if stream is not None:
            stream.write(content)
            stream.close()


def _end_group(process: Popen[bytes]) -> None:
    """Kill it, with everything that it started."""
    # The group's leader is not reaped before this, so that its number cannot belong to anybody else by now.
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    process.wait()


def _end(process: Popen[bytes]) -> None:
    _end_group(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            # What was not written yet has no reader any more.
            with suppress(BrokenPipeError):
                stream.close()
