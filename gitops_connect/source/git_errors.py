"""Git's error messages -> an error that names the repository, the problem, and what to do.

git has no error codes for this, only messages; it is run with LC_ALL=C, so that they are English. An unknown message
counts as a temporary problem, because a retry does no harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.source.program import GitFailed, GitTimedOut

SourceError = SourceRefused | SourceUnavailable


@dataclass(frozen=True, slots=True)
class _Cause:
    pattern: str
    error: type[SourceRefused] | type[SourceUnavailable]
    found: str
    advice: str


_CHECK_KEY = "check [repository] ssh_key, and that the server knows the key"
_CHECK_LOGIN = "check [repository] username and password (a token must be allowed to read the repository)"
_CAUSES = (
    _Cause(
        r"could not read (?:Username|Password)|terminal prompts disabled",
        SourceRefused,
        "the server requires a user name and a password",
        "set [repository] username and password",
    ),
    _Cause(
        r"Authentication failed|error: 401", SourceRefused, "the server rejects the credentials (401)", _CHECK_LOGIN
    ),
    _Cause(r"error: 403", SourceRefused, "the server forbids reading this repository (403)", _CHECK_LOGIN),
    _Cause(
        r"error: 404|Repository not found|repository .* not found|does not appear to be a git repository"
        r"|repository not exported|access denied or repository",
        SourceRefused,
        "the repository does not exist, or these credentials may not read it",
        "check [repository] url; for a directory without a repository, run `gitops-connect plan DIRECTORY`",
    ),
    _Cause(
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|No \S+ host key is known",
        SourceRefused,
        "the server's host key is unknown, or differs from the known one",
        "add the right key (`ssh-keyscan HOST` prints the offered ones) to the file of [repository] known_hosts",
    ),
    _Cause(r"Permission denied \(|Load key .*: ", SourceRefused, "the server rejects the SSH key", _CHECK_KEY),
    _Cause(
        r"certificate verify locations|error adding trust anchors|error setting certificate",
        SourceRefused,
        "the CA certificates cannot be read",
        "check that [repository] ca_file is a PEM file",
    ),
    _Cause(
        r"SSL certificate problem|certificate verification failed|certificate subject name|no alternative certificate",
        SourceRefused,
        "the server's certificate is not trusted",
        "set [repository] ca_file to the CA that signed it, or fix the certificate",
    ),
    _Cause(
        r"dubious ownership",
        SourceRefused,
        "the repository belongs to another user, so git does not open it",
        "run gitops-connect as its owner, change the owner (chown -R), or use ssh or https",
    ),
    _Cause(
        r"transport '\S*' not allowed|unable to update url base from redirection",
        SourceRefused,
        "the server redirects to an address of another kind, which git does not follow",
        "set [repository] url to the final address",
    ),
    _Cause(
        r"info/refs not valid",
        SourceRefused,
        "the address does not belong to a Git server",
        "check [repository] url",
    ),
    _Cause(
        r"[Oo]ut of memory|malloc failed|mmap failed|Cannot allocate memory|unable to create thread",
        SourceRefused,
        "git needs more memory than its limit",
        "check the server and the repository, or raise [repository] git_memory",
    ),
    _Cause(
        r"more output than is read",
        SourceRefused,
        "git printed more output than the limit",
        "check the server and the repository",
    ),
    _Cause(
        r"mismatched algorithms",
        SourceRefused,
        "the repository has SHA-256 object names, which are not supported",
        "use a repository with SHA-1 object names",
    ),
    _Cause(
        r"File too large",
        SourceRefused,
        "the server sends more data than the limit",
        "check the server and the repository, or raise [repository] max_fetch",
    ),
    _Cause(
        r"No space left on device|Disk quota exceeded",
        SourceUnavailable,
        "the disk that holds the clone is full",
        "free some space, or set GITOPS_CONNECT_CACHE to a directory on another disk",
    ),
    _Cause(
        r"Could not resolve host|Name or service not known|Temporary failure in name resolution",
        SourceUnavailable,
        "the host name cannot be resolved",
        "check the name in [repository] url, and DNS",
    ),
    _Cause(
        r"Failed to connect|Couldn't connect|Connection refused|[Tt]imed out|Network is unreachable|No route to host"
        r"|Operation too slow",
        SourceUnavailable,
        "the server cannot be reached",
        "check that it runs, and check the network and the proxy",
    ),
    _Cause(
        r"error: (?:5\d\d|429|408)",
        SourceUnavailable,
        "the server reports an error of its own",
        "check the server, or wait",
    ),
    _Cause(
        r"hung up|early EOF|Empty reply|Connection reset|RPC failed|disconnect|kex_exchange|transfer closed"
        r"|Connection closed|expected flush|invalid index-pack output|bad line length",
        SourceUnavailable,
        "the connection was lost during the transfer",
        "check the server's log, or wait",
    ),
)


def explain(where: str, failure: GitFailed, secret: str | None = None) -> SourceError:
    """The error to raise; the secret is not in its message, even if git or the server repeats it."""
    if isinstance(failure, GitTimedOut):
        advice = "git was stopped; check the server, or raise [repository] timeout"
        return SourceUnavailable(f"{where}: no answer within [repository] timeout: {advice}")
    cause = recognise(failure)
    words = _own_words(failure.stderr, cause, secret)
    if cause is None and failure.status < 0:
        return SourceUnavailable(
            f"{where}: git was ended by signal {-failure.status}; check the memory of this machine"
        )
    if cause is None:
        return SourceUnavailable(f"{where}: git failed: {words}")
    return cause.error(f"{where}: {cause.found}: {cause.advice} (git: {words})")


def recognise(failure: GitFailed) -> _Cause | None:
    """The first cause whose pattern is in git's error output."""
    return next((cause for cause in _CAUSES if re.search(cause.pattern, failure.stderr)), None)


def _own_words(stderr: str, cause: _Cause | None, secret: str | None) -> str:
    """The most informative line, without control characters: a server can send any text."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(cause.pattern if cause else r"^(?:fatal|error):", line)]
    text = (telling or lines or ["nothing"])[-1]
    for spelling in {secret, quote(secret, safe="")} if secret else ():
        text = text.replace(spelling, "***")
    return "".join(character if character.isprintable() else "?" for character in text)[:300]
