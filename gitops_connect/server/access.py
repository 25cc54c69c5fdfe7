"""Who may read and who may change: tokens, host names, and the headers that protect a browser.

Reading is open, or needs `read_token`. A change needs `token` in the header `Authorization: Bearer`. A browser never
adds this header by itself, so that no other site can cause a change (CSRF).
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gitops_connect.errors import GitopsConnectError
from gitops_connect.server.error_answers import problem
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ServerSettings

OPEN_PATHS = ("/healthz", "/readyz", "/static/", "/webhooks/")
"""Paths that need no token: probes, files without data, and webhooks, which have a signature."""
_LONGEST_PATH = 4000
"""Characters, fewer than the digits of the longest number that Python reads."""
_CHALLENGE = 'Basic realm="gitops-connect", charset="UTF-8"'
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Access:
    """Decides about requests by the settings. The tokens are read at each use, so a rotated file needs no restart."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        public = urlsplit(settings.public_url or "").hostname
        self._hosts = frozenset(host.lower() for host in ("localhost", *settings.hosts, *([public] if public else [])))

    def may_change(self, headers: Headers) -> bool:
        """Whether the header `Authorization` has the token for changes."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _is_one_of(given.strip(), [self._settings.token])

    def may_read(self, headers: Headers) -> bool:
        """Whether no token is required, or the header `Authorization` has one, as bearer token or as password."""
        if self._settings.read_token is None:
            return True
        return _is_one_of(_given(headers), [self._settings.read_token, self._settings.token])

    def trusts_host(self, headers: Headers) -> bool:
        """False if reading is open, and the host name may be one that an attacker directs to this server.

        A page of the attacker could otherwise read the answers in a browser that reaches the server (DNS rebinding).
        """
        if self._settings.read_token is not None:
            return True
        try:
            host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        except ValueError:
            return False
        return host in self._hosts or _is_ip(host)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _given(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip()
        case "basic":
            try:
                return base64.b64decode(value, validate=True).decode().partition(":")[2]
            except ValueError:  # no base64, also with characters that are not ASCII; no UTF-8
                return ""
        case _:
            return ""


def _is_one_of(given: str, credentials: Iterable[Credential | None]) -> bool:
    """Compare in constant time, with every credential."""
    found = False
    for one in credentials:
        expected = one.read() if one is not None else ""
        found |= hmac.compare_digest(given.encode(), expected.encode()) and bool(expected)
    return found


class Gate:
    """ASGI middleware: rejects requests without permission to read, and adds the headers that protect a browser."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = _url_rejection(scope) or self._rejection(scope)
        await (answer or self._app)(scope, receive, protected)

    def _rejection(self, scope: Scope) -> ASGIApp | None:
        path, headers = scope["path"], Headers(scope=scope)
        if path in OPEN_PATHS or path.startswith(tuple(one for one in OPEN_PATHS if one.endswith("/"))):
            return None
        if not self._access.trusts_host(headers):
            return problem(
                421,
                "this host name is not accepted, because reading needs no token; add the name to [server] hosts, or"
                " set read_token",
            )
        try:
            if self._access.may_read(headers):
                return None
        except GitopsConnectError:
            return problem(503, "the token of the server cannot be read; see [server] read_token and token")
        return problem(401, "a token is required to read", {"WWW-Authenticate": _CHALLENGE})


def _url_rejection(scope: Scope) -> ASGIApp | None:
    if len(scope["path"]) > _LONGEST_PATH:
        return problem(414, f"the path has more than {_LONGEST_PATH} characters")
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:  # PostgreSQL accepts no such text
        return problem(400, "the URL has a zero character (%00)")
    return None
