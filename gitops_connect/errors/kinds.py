"""The two kinds of errors: those for which a retry can help, and all others."""

from __future__ import annotations


class GitopsConnectError(Exception):
    """The base class of all errors that are not bugs."""


class Waiting(GitopsConnectError):
    """A temporary error: the same call may succeed later."""


class Stalled(GitopsConnectError):
    """A permanent error: a new commit or an administrator must fix the cause."""
