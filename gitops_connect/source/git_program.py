"""The git program, run through GitPython: with a deadline, a controlled environment, and no terminal for questions.

GitPython's `kill_after_timeout` lists git's children with `pgrep` at the timeout. It misses processes that are forked
meanwhile, and those that it cannot list. Here each git leads a session of its own: it is ended with everything that it
started, and has no terminal to ask on.

It reads no configuration of the user and the system, and runs no hooks. Credentials are passed in the environment: only
its own user can read it, while everybody can read arguments, and configuration files remain on the disk. git runs a
helper if a server requires credentials. The helper of gitops-connect prints them from the environment. It is configured
for one scheme, host and port, so that a redirect to another server gets nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import time
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import IO, NamedTuple
from urllib.parse import quote

from gitops_connect.errors import SourceRefused, SourceUnavailable, UsageError
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.git_url import GitTransport, GitUrl

# Without this variable, the import itself fails if git is not installed, before gitops-connect can report it.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
import git

_KEPT = {"GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}
"""The paths of git's programs and of the CA certificates may be inherited; all other GIT_ variables are set here."""
_NO_GIT = "git cannot be started: install git 2.32 or later, and add it to the PATH"
_OLDEST = (2, 32)
"""The first version that reads GIT_CONFIG_GLOBAL; an older one would read the user's configuration."""
MAX_OUTPUT = 32 * 1024**2
"""Bytes of a command's output that are kept: 100,000 files and directories have 8 MiB of ids. As text, it is larger."""
MAX_COMPLAINTS = 64 * 1024
"""Bytes of its error output that are kept; the rest is read and dropped."""
_CHUNK = 64 * 1024
_RECEIVED = re.compile(rb"packet: +\S+< ")
"""A line of GIT_TRACE_PACKET about data from the server."""
_HELPER = (
    "!f() { test \"$1\" = get || exit 0; printf 'username=%s\\npassword=%s\\n'"
    ' "$GITOPS_CONNECT_GIT_USERNAME" "$GITOPS_CONNECT_GIT_PASSWORD"; }; f'
)
_ANY_USER = "git"
"""The user name for a server that requires a token and accepts any user name."""

_OPTIONS = tomllib.loads(files("gitops_connect.source").joinpath("git_options.toml").read_text(encoding="utf-8"))
_QUIET: Mapping[str, str] = _OPTIONS["environment"]
_SAFE: Mapping[str, str] = _OPTIONS["configuration"]


class GitFailed(Exception):
    """git ended with an error. No other package sees this exception."""

    def __init__(self, command: str, status: int, stderr: bytes, stdout: bytes = b"") -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr.decode(errors="replace")
        super().__init__(f"git {command} ended with {status}")


class GitTimedOut(GitFailed):
    """git did not end within the timeout, and was killed."""


@dataclass(frozen=True, slots=True)
class Program:
    """How git is started: its environment, its timeout in seconds, and the file descriptors of locks that it inherits.

    Each of git's processes may use `memory` bytes, and write files of `disk` bytes, in which it stores what a server
    sends. `umask` is that of git; -1 is the one of this process.
    """

    environment: Mapping[str, str] = field(repr=False)
    timeout: float
    held: tuple[int, ...] = ()
    memory: int = 384 * 1024**2
    disk: int = 8 * 1024**3
    umask: int = -1

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """git's standard output. Raises GitFailed, also if the output is larger than `MAX_OUTPUT`."""
        return self.run_both(*arguments, stdin=stdin)[0]

    def speaks_git(self, *arguments: str) -> bool:
        """Whether the server speaks Git's protocol (GIT_TRACE_PACKET): git takes a web page for an empty list."""
        environment = {**self.environment, "GIT_TRACE_PACKET": "1"}
        return _RECEIVED.search(replace(self, environment=environment).run_both(*arguments)[1]) is not None

    def run_both(self, *arguments: str, stdin: bytes = b"") -> tuple[bytes, bytes]:
        """git's standard output and standard error. Raises GitFailed."""
        # The process ends first in any case: its readers wait for that.
        with ThreadPoolExecutor(3) as pool, self.started(*arguments) as process:
            begun = time.monotonic()
            output = pool.submit(_read, process.stdout, MAX_OUTPUT)
            complaints = pool.submit(_read, process.stderr, MAX_COMPLAINTS)
            pool.submit(_write, process.stdin, stdin)
            try:
                # Wait for the end of its output first: a child process that git has left may still have it open.
                complaints.result(self.timeout)
                output.result(begun + self.timeout - time.monotonic())
                process.wait(begun + self.timeout - time.monotonic())
            except (TimeoutError, TimeoutExpired) as error:
                _end_group(process)
                raise GitTimedOut(arguments[0], -signal.SIGKILL, complaints.result()) from error
            stdout, stderr = output.result(), complaints.result()
            if process.returncode:
                raise GitFailed(arguments[0], process.returncode, stderr, stdout)
            if len(stdout) > MAX_OUTPUT:
                raise GitFailed(arguments[0], 0, b"fatal: more output than is read")
            return stdout, stderr

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Popen[bytes]]:
        """A running git, which is killed with all its children at the end of the block."""
        program = git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git"
        command = [*_forget_inherited(self.environment), *_limited(self.memory, self.disk), program, *arguments]
        try:
            process = git.Git("/").execute(
                command,
                istream=PIPE,
                as_process=True,
                env=self.environment,
                start_new_session=True,
                pass_fds=self.held,
                umask=self.umask,
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
    """The version, as in 2.39.5. Raises SourceRefused if git is missing, or cannot ignore the user's configuration."""
    return require_git(_OLDEST)


def require_git(oldest: tuple[int, int], purpose: str = "") -> str:
    """The version, as in 2.39.5. Raises SourceRefused if git is missing or older than what `purpose` needs."""
    try:
        found = git.Git("/").version_info
    except (git.exc.CommandError, OSError) as error:
        raise SourceRefused(_NO_GIT) from error
    version = ".".join(map(str, found))
    if found[:2] < oldest:
        too_old = f"too old to {purpose}" if purpose else "too old"
        raise SourceRefused(f"git {version} is {too_old}: install git {oldest[0]}.{oldest[1]} or later")
    return version


def _forget_inherited(ours: Mapping[str, str]) -> list[str]:
    """Unset GIT_DIR and similar variables. Git hooks set them, and they would make git use another repository."""
    inherited = sorted(name for name in os.environ if name.startswith("GIT_") and name not in {*_KEPT, *ours})
    return ["env", *(word for name in inherited for word in ("-u", name))] if inherited else []


def _limited(memory: int, disk: int) -> list[str]:
    """A shell that sets the limits and then becomes git. macOS does not limit memory.

    POSIX counts memory in KiB, and file sizes in blocks of 512 bytes. If SIGXFSZ is ignored, git ends itself when a
    file becomes too large; by default the signal would leave a core dump.
    """
    script = 'ulimit -v "$0" 2>/dev/null; ulimit -f "$1"; trap "" XFSZ; shift; exec "$@"'
    return ["sh", "-c", script, str(memory // 1024), str(disk // 512)]


def _read(stream: IO[bytes] | None, most: int) -> bytes:
    """Read the whole stream, and keep at most one byte more than `most`: a server can make git print without end."""
    kept = bytearray()
    while stream is not None and (chunk := stream.read1(_CHUNK)):  # type: ignore[attr-defined]
        kept += chunk[: most + 1 - len(kept)]
    return bytes(kept)


def _write(stream: IO[bytes] | None, content: bytes) -> None:
    with suppress(BrokenPipeError):  # git has ended, and reports why
        if stream is not None:
            stream.write(content)
            stream.close()


def _end_group(process: Popen[bytes]) -> None:
    # The leader of the group is not reaped before this, so its number cannot belong to another process yet.
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
            # Data that was not written yet has no reader any more.
            with suppress(BrokenPipeError):
                stream.close()


def local_environment(directory: Path) -> dict[str, str]:
    """The environment for commands on the clone alone: git can reach no server."""
    return {**_QUIET, "GIT_DIR": str(directory), "GIT_ALLOW_PROTOCOL": "", **_configuration(_SAFE)}


def remote_environment(directory: Path, address: GitUrl, settings: RepositorySettings) -> dict[str, str]:
    """The environment for commands on the server, `origin`. Raises UsageError if a credential or file is missing."""
    configuration = {**_SAFE, "remote.origin.url": address.url}
    # From HTTP, a redirect to HTTPS is followed, and gets no credentials.
    allowed = "http:https" if address.transport is GitTransport.HTTP else address.transport.value
    environment = {**_QUIET, "GIT_DIR": str(directory), "GIT_ALLOW_PROTOCOL": allowed}
    match address.transport:
        case GitTransport.HTTP | GitTransport.HTTPS:
            # For ~/.netrc: its passwords must not be sent to this server.
            environment["HOME"] = "/dev/null"
            # A git whose parent was killed ends by itself if the server stops sending.
            configuration |= {"http.lowSpeedLimit": "1", "http.lowSpeedTime": str(max(1, int(settings.timeout)))}
            if settings.ca_file is not None:
                environment["GIT_SSL_CAINFO"] = _existing(settings.ca_file, "ca_file")
            secret = read_password(address, settings)
            if secret is not None:
                username = settings.username or address.username or _ANY_USER
                environment |= {"GITOPS_CONNECT_GIT_USERNAME": username, "GITOPS_CONNECT_GIT_PASSWORD": secret}
                configuration[f"credential.{address.origin}.helper"] = _HELPER
        case GitTransport.SSH:
            environment |= {"GIT_SSH_COMMAND": _ssh(settings), "GIT_SSH_VARIANT": "ssh"}
        case GitTransport.GIT | GitTransport.FILE:
            pass
    return environment | _configuration(configuration)


def read_password(address: GitUrl, settings: RepositorySettings) -> str | None:
    """The password of the settings, else that of the URL. Raises UsageError if it is not one line."""
    secret = settings.password.read() if settings.password else address.password
    if secret is not None and ("\n" in secret or "\0" in secret):
        raise UsageError("[repository] password contains a line break, expected one line")
    return secret


def _configuration(values: Mapping[str, str]) -> dict[str, str]:
    """Configuration for one command, by environment (git-config(1), GIT_CONFIG_COUNT)."""
    environment = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (key, value) in enumerate(values.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _ssh(settings: RepositorySettings) -> str:
    seconds = max(1, int(settings.timeout))
    words = ["ssh", "-oBatchMode=yes", "-oStrictHostKeyChecking=yes", f"-oConnectTimeout={seconds}"]
    words += [f"-oServerAliveInterval={seconds}", "-oServerAliveCountMax=1"]
    # ssh_config(5) expands %h and similar tokens in file names.
    if settings.ssh_key is not None:
        file = _existing(settings.ssh_key, "ssh_key").replace("%", "%%")
        words += ["-i", file, "-oIdentitiesOnly=yes"]
    if settings.known_hosts is not None:
        file = _existing(settings.known_hosts, "known_hosts").replace("%", "%%")
        words += [f'-oUserKnownHostsFile="{file}"', "-oGlobalKnownHostsFile=/dev/null"]
    return shlex.join(words)


def _existing(file: Path, setting: str) -> str:
    if not file.is_file():
        raise UsageError(f"[repository] {setting}: the file {file} does not exist")
    return str(file.absolute())


# Git's error messages -> an error that names the repository, the problem, and what to do.
#
# git has no error codes for this, only messages; it is run with LC_ALL=C, so that they are English. `git_errors.toml`
# lists them with their causes. An unknown message counts as a temporary problem, because a retry does no harm.

SourceError = SourceRefused | SourceUnavailable


class _Cause(NamedTuple):
    """A cause of an error: what was found, and what to do. `may_pass`: a retry may help.

    `is_full_disk`: it helps as soon as the disk of the clone has more space.
    """

    pattern: str
    found: str
    advice: str
    may_pass: bool = False
    is_full_disk: bool = False


@cache
def _causes() -> tuple[_Cause, ...]:
    text = files("gitops_connect.source").joinpath("git_errors.toml").read_text(encoding="utf-8")
    return tuple(_Cause("|".join(one.pop("patterns")), **one) for one in tomllib.loads(text)["cause"])


def explain(where: str, failure: GitFailed, secret: str | None = None) -> SourceError:
    """The error to raise; the secret is not in its message, even if git or the server repeats it."""
    if isinstance(failure, GitTimedOut):
        advice = "git was stopped; check the server, or raise [repository] timeout"
        return SourceUnavailable(f"{where}: no answer within [repository] timeout: {advice}")
    cause = recognise(failure)
    words = _own_words(failure.stderr, cause, secret)
    if cause is None:
        signalled = f"git was ended by signal {-failure.status}; check the memory of this machine"
        return SourceUnavailable(f"{where}: {signalled if failure.status < 0 else f'git failed: {words}'}")
    error = SourceUnavailable if cause.may_pass else SourceRefused
    return error(f"{where}: {cause.found}: {cause.advice} (git: {words})")


def recognise(failure: GitFailed) -> _Cause | None:
    """The first cause whose pattern is in git's error output."""
    return next((cause for cause in _causes() if re.search(cause.pattern, failure.stderr)), None)


def _own_words(stderr: str, cause: _Cause | None, secret: str | None) -> str:
    """The most informative line, without control characters: a server can send any text."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(cause.pattern if cause else r"^(?:fatal|error):", line)]
    text = (telling or lines or ["nothing"])[-1]
    for spelling in {secret, quote(secret, safe="")} if secret else ():
        text = text.replace(spelling, "***")
    return "".join(character if character.isprintable() else "?" for character in text)[:300]
