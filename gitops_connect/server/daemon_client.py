"""A client of the server of a running daemon. It needs only `requests`, and not the packages of the server."""

from __future__ import annotations

from typing import Any

import requests

from gitops_connect.bounded_http import BoundedSession, decode
from gitops_connect.errors import DaemonUnavailable, UsageError
from gitops_connect.server.listen_address import address_of
from gitops_connect.settings.sections import ServerSettings, is_http_url

TIMEOUT = 30.0
"""Seconds until one request is given up."""
_LARGEST = 64 * 1024**2
"""Bytes of an answer: the plan of a pull request can be large."""


class DaemonClient:
    """Requests to one daemon. The methods raise DaemonUnavailable or UsageError."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url.rstrip("/")
        self._session = BoundedSession(TIMEOUT, _LARGEST)
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.trust_env = False  # neither a proxy nor ~/.netrc gets the token

    def reconcile(self, cluster: str | None) -> int:
        """Request a reconciliation of the cluster (None: of all clusters). Returns the number of the request."""
        number: int = self._send("POST", "/reconcile", cluster)["request"]
        return number

    def progress(self, number: int, cluster: str | None) -> dict[str, Any]:
        return self._send("GET", f"/reconcile/{number}", cluster)

    def review(self) -> None:
        self._send("POST", "/pull-requests/review")

    def pull_requests(self) -> dict[str, Any]:
        return self._send("GET", "/pull-requests")

    def pull_request(self, number: int) -> dict[str, Any]:
        return self._send("GET", f"/pull-requests/{number}")

    def pull_request_plan(self, number: int) -> dict[str, Any]:
        return self._send("GET", f"/pull-requests/{number}/plan")

    def close(self) -> None:
        self._session.close()

    def _send(self, method: str, path: str, cluster: str | None = None) -> dict[str, Any]:
        params = {} if cluster is None else {"cluster": cluster}
        try:
            answer = self._session.request(method, f"{self._url}/api/v1{path}", params=params)
        except requests.RequestException as error:
            raise DaemonUnavailable(
                f"no daemon answers at {self._url}: {_reason(error)}; start `gitops-connect run` with [server] listen"
            ) from error
        return self._content(answer)

    def _content(self, answer: requests.Response) -> dict[str, Any]:
        try:
            content = decode(answer.content)
        except ValueError:
            content = None
        if not isinstance(content, dict) or (answer.status_code >= 300 and "detail" not in content):
            raise UsageError(f"{self._url} is no daemon of gitops-connect: it answered {answer.status_code}")
        if answer.status_code >= 300:
            detail = str(content["detail"])[:1000]
            kind = DaemonUnavailable if answer.status_code >= 500 else UsageError
            raise kind(f"the daemon at {self._url} rejected the request ({answer.status_code}): {detail}")
        return content


def daemon_url(settings: ServerSettings, server: str | None) -> str:
    """The URL of the daemon: the one that is given, or that of the settings. Raises UsageError if there is none."""
    if server and not is_http_url(server):
        raise UsageError("--server: expected an address such as http://127.0.0.1:8080")
    if server or settings.public_url:
        return server or settings.public_url or ""
    if settings.listen is None:
        raise UsageError("no daemon is configured; set [server] listen or public_url, or use --server URL")
    return address_of(settings.listen).url


def _reason(error: requests.RequestException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
