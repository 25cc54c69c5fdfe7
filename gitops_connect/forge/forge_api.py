"""The REST API of a forge, which is an outsider: every request and every answer has limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import requests
from requests.auth import AuthBase

from gitops_connect.bounded_http import AnswerTooLarge, BoundedSession, decode
from gitops_connect.errors import UsageError
from gitops_connect.forge.answers import MOST, AnswerValue, UnexpectedAnswer
from gitops_connect.forge.failures import FailedAnswer, Failures
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeSettings

LARGEST = 8 * 1024**2
"""Bytes of an answer: of 1,000,000 characters, which a comment on GitLab may have, each can take 4 bytes."""
_LONGEST = 300.0
"""Seconds that one list may take, all pages together."""
_LONGEST_WORDS = 64 * 1024
"""Bytes of an answer in which the forge's own message is looked for."""
_FEW = 5
"""Results in a page if a whole page is too large: the descriptions of pull requests are in it."""

Authorization = Callable[[], str]
"""Returns the value of the header `Authorization` for one request. Raises UsageError."""


def bearer(credential: Credential) -> Authorization:
    """Sends an access token, which is read for each request."""
    return lambda: f"Bearer {read_token(credential)}"


def read_token(credential: Credential) -> str:
    """The token. Raises UsageError if it is missing, or cannot be sent in a header."""
    token = credential.read().strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(
            "[forge] token: the value cannot be sent: it is empty, or has a character that tokens never have"
        )
    return token


class _Auth(AuthBase):
    """As there is an `auth`, requests does not read ~/.netrc."""

    def __init__(self, authorization: Authorization) -> None:
        self._authorization = authorization

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.headers["Authorization"] = self._authorization()
        return r


class ForgeApi:
    """Requests to one forge. The methods raise FailedAnswer, UnexpectedAnswer and the errors of requests.

    `base` is the URL before every path. `size` is the name of the parameter for the results in a page, with its most.
    """

    def __init__(
        self,
        base: str,
        settings: ForgeSettings,
        failures: Failures,
        authorization: Authorization,
        size: tuple[str, int],
    ) -> None:
        self._base = base
        self._failures = failures
        self._authorization = authorization
        self._size = size
        self._verify = None if settings.ca_file is None else str(settings.ca_file)
        self._session = BoundedSession(settings.timeout, LARGEST)
        self._session.headers["User-Agent"] = "gitops-connect"

    def named(self, action: str) -> AbstractContextManager[None]:
        """Raise named errors for the failures in the block: "cannot ACTION"."""
        return self._failures.named(action)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def ask(self, method: str, path: str, content: object = None, **parameters: str) -> AnswerValue:
        """The JSON of an answer."""
        return found_in(self.send(method, path, content, parameters))

    def pages(self, path: str, **parameters: str) -> Sequence[AnswerValue]:
        """The results of all pages; smaller pages if one is too large. More than `MOST` results are an error."""
        name, most = self._size
        try:
            return [*self._pages(path, parameters, name, most)]
        except AnswerTooLarge:
            return [*self._pages(path, parameters, name, _FEW)]

    def _pages(self, path: str, parameters: Mapping[str, str], name: str, size: int) -> Iterator[AnswerValue]:
        """The addresses of pages are not used: behind a proxy, their host can be wrong."""
        until, page, found, is_last = self._failures.clock.monotonic() + _LONGEST, 1, 0, False
        while not is_last:
            number = {"page": str(page)} if page > 1 else {}
            response = self.send("GET", path, None, {**parameters, name: str(size), **number})
            results = found_in(response).items()
            found += len(results)
            is_last = "next" not in response.links
            if found > MOST or (not is_last and page * size >= MOST):
                raise UnexpectedAnswer(f"it has more than {MOST:,} results")
            if not is_last and self._failures.clock.monotonic() > until:
                raise requests.ReadTimeout
            yield from results
            page += 1

    def send(
        self,
        method: str,
        path: str,
        content: object = None,
        parameters: Mapping[str, str] | None = None,
        authorization: Authorization | None = None,
    ) -> requests.Response:
        """The answer, if it is a success."""
        response = self._session.request(
            method,
            f"{self._base}{path}",
            params=parameters,
            json=content,
            auth=_Auth(authorization or self._authorization),
            verify=self._verify,
        )
        if not 200 <= response.status_code < 300:
            raise FailedAnswer(response.status_code, response.headers, _words(response))
        return response


def found_in(response: requests.Response) -> AnswerValue:
    """The JSON of an answer."""
    try:
        return AnswerValue(decode(response.content))
    except ValueError:
        raise UnexpectedAnswer("it is no JSON") from None


def _words(response: requests.Response) -> str:
    """What the forge says about the failure."""
    if response.is_redirect:
        return f"redirects to {response.headers['Location']}; set that address in [forge] url, or correct repository"
    if len(response.content) > _LONGEST_WORDS:
        return response.reason or ""
    try:
        body = decode(response.content)
    except ValueError:
        return response.reason or ""
    found = body if isinstance(body, dict) else {}
    words = found.get("message") or found.get("error_description") or found.get("error") or response.reason
    return words if isinstance(words, str) else response.content.decode(errors="replace")
