"""The address of the repository: a URL or path of the settings, checked for safety, and without credentials.

`GitUrl.url` may be shown, stored and passed to git. A user name and password in the configured URL are stored
separately, because git would write them into its files and into the command lines of its child processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from gitops_connect.errors import UsageError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::|::")
_SCP_LIKE = re.compile(r"(?P<host>[^/:]+):(?P<path>.*)", re.DOTALL)
_SETTING = "[repository] url"


class GitTransport(Enum):
    """The protocol by which git reaches the repository; the value is git's name for it in GIT_ALLOW_PROTOCOL."""

    HTTPS = "https"
    HTTP = "http"
    SSH = "ssh"
    GIT = "git"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class GitUrl:
    """A repository's address. `url` contains no credentials; for a local repository it is the absolute path."""

    url: str
    transport: GitTransport
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def origin(self) -> str:
        """Scheme, host and port: the only place to which the credentials may be sent."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def __str__(self) -> str:
        return self.url


def absolute_url(url: str, directory: Path) -> str:
    """The URL; a relative path becomes absolute, and starts from the given directory."""
    local = bool(url) and not url.startswith("-") and not _SCHEME.match(url) and not _HELPER.match(url)
    return str(directory.absolute() / _expand(url)) if local and not _SCP_LIKE.match(url) else url


def parse_address(url: str) -> GitUrl:
    """Parse a URL or a path. A relative path starts from the working directory.

    Raises UsageError, without any credentials of the URL, if git would read the URL as an option or as a program to
    run, for an unknown scheme, and for a URL with a query, which would be visible in the list of processes.
    """
    url = url.strip()
    _refuse_dangerous(url)
    scheme = _SCHEME.match(url)
    if scheme:
        return _parse_url(url, scheme[1].lower())
    scp_like = _SCP_LIKE.fullmatch(url)
    if scp_like:
        if scp_like["host"].lower() in {one.value for one in GitTransport} or "@" in scp_like["path"]:
            raise UsageError(f"{_SETTING}: expected a URL such as https://HOST/PATH, USER@HOST:PATH, or a path")
        _refuse_option(scp_like["host"].rpartition("@")[2])
        return GitUrl(url, GitTransport.SSH)
    return GitUrl(str(_expand(url).absolute()), GitTransport.FILE)


def _expand(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{_SETTING}: {path!r} begins with the name of a user that does not exist") from error


def _refuse_dangerous(url: str) -> None:
    if not url:
        raise UsageError(f"{_SETTING} is empty: expected the URL of a git server or the path of a repository")
    if url.startswith("-"):
        advice = f"write ./{url} if it is a path"
        raise UsageError(f"{_SETTING} begins with '-', so git would read it as an option; {advice}")
    if not url.isprintable():
        raise UsageError(f"{_SETTING} contains a line break or another control character")
    if _HELPER.match(url):
        name = url.partition("::")[0]
        raise UsageError(f"{_SETTING}: {name + '::'!r} names a helper program for git to run, which is not allowed")


def _parse_url(url: str, scheme: str) -> GitUrl:
    try:
        transport = GitTransport(scheme)
    except ValueError as error:
        known = ", ".join(option.value for option in GitTransport)
        raise UsageError(f"{_SETTING}: expected a path or one of {known}, found the scheme {scheme!r}") from error
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{_SETTING}: invalid {scheme} URL: the host or the port cannot be read") from error
    if transport is GitTransport.FILE:
        if parts.netloc not in ("", "localhost"):
            raise UsageError(f"{_SETTING}: a file URL must not name a host; write file:///PATH")
        return GitUrl(unquote(parts.path), GitTransport.FILE)
    if parts.query or parts.fragment:
        why = "because every user of this machine could see what follows; use password"
        raise UsageError(f"{_SETTING}: the URL must not contain '?' or '#', {why}")
    if not parts.hostname:
        raise UsageError(f"{_SETTING}: the {scheme} URL names no host")
    _refuse_option(parts.hostname)
    return _without_credentials(parts, transport)


def _without_credentials(parts: SplitResult, transport: GitTransport) -> GitUrl:
    userinfo, _, host = parts.netloc.rpartition("@")
    username = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    keep_user = transport is GitTransport.SSH and username is not None
    netloc = f"{userinfo.partition(':')[0]}@{host}" if keep_user else host
    return GitUrl(parts._replace(netloc=netloc).geturl(), transport, username, password)


def _refuse_option(host: str) -> None:
    if host.startswith("-"):
        raise UsageError(f"{_SETTING}: the host begins with '-', so ssh would read it as an option")
