"""Git's error messages -> an error that names the repository, the problem, and what to do.

git has no error codes for this, only messages; it is run with LC_ALL=C, so that they are English. `git_errors.toml`
lists them with their causes. An unknown message counts as a temporary problem, because a retry does no harm.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.source.git_program import GitFailed, GitTimedOut

SourceError = SourceRefused | SourceUnavailable


@dataclass(frozen=True, slots=True)
class _Cause:
    """A cause of an error: what was found, and what to do. `may_pass`: a retry may help."""

    pattern: str
    found: str
    advice: str
    may_pass: bool = False


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
    if cause is None and failure.status < 0:
        return SourceUnavailable(
            f"{where}: git was ended by signal {-failure.status}; check the memory of this machine"
        )
    if cause is None:
        return SourceUnavailable(f"{where}: git failed: {words}")
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
