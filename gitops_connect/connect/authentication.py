"""The credentials for a Connect cluster: request headers with the administrator's credentials, read at each use."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gitops_connect.errors import UsageError
from gitops_connect.model.masking import mask
from gitops_connect.settings.hosts import is_http_url
from gitops_connect.settings.sections import ClusterSettings

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""`token` of RFC 9110, section 5.6.2."""
_OWN_HEADERS = {"connection", "content-length", "content-type", "host", "te", "transfer-encoding", "upgrade"}
"""Headers that define how the request itself is sent: with a wrong one, both sides wait for each other."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Headers to send, and every string in them that no message may show."""

    headers: dict[str, bytes] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def check_addresses(settings: ClusterSettings) -> tuple[str, ...]:
    """The workers' addresses without a slash at their end. Raises UsageError if one is not plain http(s)."""
    return tuple(_address(url, f"[clusters.{settings.name}] url") for url in settings.url)


def _address(url: str, where: str) -> str:
    if not is_http_url(url):
        raise UsageError(
            f"{where}: expected an address such as https://connect.example:8083, found {mask(_shown(url))!r}"
        )
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise UsageError(
            f"{where}: remove the user name, which would be visible in logs, and set username and password instead"
        )
    if parts.query or parts.fragment:
        raise UsageError(f"{where}: {mask(_shown(url))!r} has a query or a fragment; remove it")
    return url.rstrip("/")


def _shown(url: str) -> str:
    """The URL without the parts that may contain a token."""
    return re.split(r"[?#]", url)[0]


def check_authentication(settings: ClusterSettings) -> None:
    """Raise UsageError if two settings would both set the Authorization header, or if a required setting is missing."""
    where = f"[clusters.{settings.name}]"
    named = [
        name
        for name, given in (
            ("username", settings.username is not None),
            ("token", settings.token is not None),
            ("headers.Authorization", any(header.lower() == "authorization" for header in settings.headers)),
        )
        if given
    ]
    if len(named) > 1:
        raise UsageError(f"{where}: {' and '.join(named)} cannot be combined; keep one of them")
    for name in settings.headers:
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise UsageError(f"{where} headers: {name!r} cannot be set; remove it")
    if settings.password is not None and settings.username is None:
        raise UsageError(f"{where}: password is set, but username is not")
    if settings.client_key is not None and settings.client_certificate is None:
        raise UsageError(f"{where}: client_key is set, but client_certificate is not")


def identify(settings: ClusterSettings) -> Identity:
    """Read the credentials. Raises UsageError if one is missing, or not valid in a header."""
    headers: dict[str, bytes] = {}
    secrets: set[str] = set()
    for name, credential in settings.headers.items():
        value = credential.read()
        secrets.add(value)
        headers[name] = _header(value, f"[clusters.{settings.name}] headers.{name}")
    if settings.token is not None:
        token = settings.token.read()
        secrets.add(token)
        headers["Authorization"] = b"Bearer " + _header(token, f"[clusters.{settings.name}] token")
    if settings.username is not None:
        password = settings.password.read() if settings.password is not None else ""
        pair = base64.b64encode(f"{settings.username}:{password}".encode())
        secrets |= {password, pair.decode()}
        headers["Authorization"] = b"Basic " + pair
    return Identity(headers, frozenset(secrets))


def _header(value: str, where: str) -> bytes:
    """The value is checked here, because the HTTP library would show the value in its own error message."""
    if not value.strip() or any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise UsageError(
            f"{where}: the value cannot be sent: it is empty, or contains a line break or control character"
        )
    return value.strip().encode()
