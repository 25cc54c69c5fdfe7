"""A client of the server of a running daemon. It needs only `requests`, and not the packages of the server."""

from __future__ import annotations

from typing import Any

import requests

from gitops_connect.errors import DaemonUnavailable, UsageError

TIMEOUT = 30.0
"""Seconds until one request is given up."""


class DaemonClient:
    """Requests to one daemon. The methods raise DaemonUnavailable or UsageError."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.trust_env = False  # neither a proxy nor ~/.netrc gets the token

    def reconcile(self, cluster: str | None) -> int:
        """Request a reconciliation of the cluster (None: of all clusters). Returns the number of the request."""
        number: int = self._send("POST", "/reconcile", cluster)["request"]
        return number

    def progress(self, number: int, cluster: str | None) -> dict[str, Any]:
        """The answer of `/api/v1/reconcile/{number}`."""
        return self._send("GET", f"/reconcile/{number}", cluster)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _send(self, method: str, path: str, cluster: str | None) -> dict[str, Any]:
        params = {} if cluster is None else {"cluster": cluster}
        try:
            answer = self._session.request(
                method, f"{self._url}/api/v1{path}", params=params, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise DaemonUnavailable(
                f"no daemon answers at {self._url}: {_reason(error)}; start `gitops-connect run` with [server] listen"
            ) from error
        return self._content(answer)

    def _content(self, answer: requests.Response) -> dict[str, Any]:
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict) or (answer.status_code >= 300 and "detail" not in content):
            raise UsageError(f"{self._url} is no daemon of gitops-connect: it answered {answer.status_code}")
        if answer.status_code >= 300:
            detail = str(content["detail"])[:1000]
            kind = DaemonUnavailable if answer.status_code >= 500 else UsageError
            raise kind(f"the daemon at {self._url} rejected the request ({answer.status_code}): {detail}")
        return content


def _reason(error: requests.RequestException) -> str:
    """The reason of the operating system, without the wrappings of the libraries."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
