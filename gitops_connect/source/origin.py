"""The remote repository of a Git work tree."""

from __future__ import annotations

from pathlib import Path

from gitops_connect.errors import GitopsConnectError
from gitops_connect.source.git_program import GitFailed, Program, local_environment
from gitops_connect.source.git_url import GitUrl, parse_address

_TIMEOUT = 10


def origin_of(tree: Path) -> GitUrl | None:
    """The URL of the remote `origin`, without credentials; None if there is none, or if it cannot be read."""
    environment = local_environment(tree)
    del environment["GIT_DIR"]  # so that Git reads no configuration of another user, who has made `.git` above us
    try:
        url = Program(environment, _TIMEOUT).run("-C", str(tree), "remote", "get-url", "origin")
        return parse_address(url.decode().strip())
    except (GitFailed, GitopsConnectError, UnicodeDecodeError):
        return None
