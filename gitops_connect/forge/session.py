"""HTTP with the access token of the settings, read for each request. Used by Gitea, and below the client of GitLab."""

from __future__ import annotations

from typing import Any

import requests
from requests.auth import AuthBase

from gitops_connect.errors import UsageError
from gitops_connect.forge.failures import FailedAnswer
from gitops_connect.settings.credential_sources import Credential


def read_token(credential: Credential) -> str:
    """The token. Raises UsageError if it is missing, or cannot be sent in a header."""
    token = credential.read().strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(
            "[forge] token: the value cannot be sent: it is empty, or has a character that tokens never have"
        )
    return token


class _TokenAuth(AuthBase):
    def __init__(self, token: Credential) -> None:
        self._token = token

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.headers["Authorization"] = f"Bearer {read_token(self._token)}"
        return r


class ForgeSession(requests.Session):
    """Sends requests with the token. Follows no redirect, and raises FailedAnswer for each answer but a success."""

    def __init__(self, token: Credential) -> None:
        super().__init__()
        # As there is an `auth`, requests does not read ~/.netrc.
        self.auth = _TokenAuth(token)

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **options: Any) -> requests.Response:
        """Called for every request, by our own code and by the client of GitLab."""
        options["allow_redirects"] = False
        response = super().request(method, url, *args, **options)
        if not response.ok or response.is_redirect:
            raise FailedAnswer(response.status_code, response.headers, _words(response))
        return response


def _words(response: requests.Response) -> str:
    """What the forge says about the failure."""
    if response.is_redirect:
        return f"redirects to {response.headers['Location']}; set that address in [forge] url"
    try:
        body = response.json()
    except requests.JSONDecodeError:
        return response.reason or ""
    found = body if isinstance(body, dict) else {}
    return str(found.get("message") or found.get("error_description") or found.get("error") or response.reason)
