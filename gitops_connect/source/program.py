"""The git program, run through GitPython: with a deadline, an environment of ours, and no way to ask a question.

GitPython's `kill_after_timeout` lists git's children with `pgrep` when time is up, and so misses what forks meanwhile
and what it cannot list. Here each git leads a session of its own: it is ended with everything that it started, and has
no terminal to ask on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from subprocess import PIPE, Popen, TimeoutExpired

from gitops_connect.errors import SourceRefused

# Without it, the import itself fails where git is not installed, and no error of ours could say so.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
import git

_KEPT = {"GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}
"""Where git's programs and the system's CA certificates are may be said by environment; all else is ours to say."""
_NO_GIT = "git cannot be started: install git 2.32 or later, and have it on the PATH"
_OLDEST = (2, 32)
"""The first that reads GIT_CONFIG_GLOBAL; an older one would read the user's configuration after all."""


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
    """How git is started: its environment, how long it may take (seconds), and a lock that it holds meanwhile."""

    environment: Mapping[str, str] = field(repr=False)
    timeout: float
    held: tuple[int, ...] = ()

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What git writes to its standard output. Raises GitFailed."""
        with self.started(*arguments) as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=self.timeout)
            except TimeoutExpired as error:
                raise GitTimedOut(arguments[0], -signal.SIGKILL, error.stderr or b"") from error
            if process.returncode:
                raise GitFailed(arguments[0], process.returncode, stderr)
            return stdout

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Popen[bytes]]:
        """A running git, which is ended, with all its children, when the block is left."""
        command = [*_forget_inherited(self.environment), git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git", *arguments]
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


def _end(process: Popen[bytes]) -> None:
    # The group's leader is not reaped before this, so that its number cannot belong to anybody else by now.
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            # What was not written yet has no reader any more.
            with suppress(BrokenPipeError):
                stream.close()
