"""The REST API of a forge, which is an outsider: every request has limits, and every value of an answer is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests

from gitops_connect.bounded_http import AnswerTooLarge, BoundedSession, decode
from gitops_connect.errors import UsageError
from gitops_connect.forge.failures import FailedAnswer, Failures, UnexpectedAnswer
from gitops_connect.model.names import Revision
from gitops_connect.model.pull_requests import Comment
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeSettings

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_GRAPHQL = "/graphql"
_VERSION = re.compile("/v[0-9]$")
_URL = re.compile(r"https?://[!-~]+")
MOST = 10_000
"""Results of one list."""
_LARGEST_NUMBER = 2**63 - 1
"""What the ledger can store."""
LARGEST = 8 * 1024**2
"""Bytes of an answer: of 1,000,000 characters, which a comment on GitLab may have, each can take 4 bytes."""
_LONGEST = 300.0
"""Seconds that one list may take, all pages together."""
_LONGEST_WORDS = 64 * 1024
"""Bytes of an answer in which the forge's own message is looked for."""
_FEW = 5
"""Results in a page if a whole page is too large: the descriptions of pull requests are in it."""


@dataclass(frozen=True, slots=True)
class AnswerValue:
    """A value in an answer. The methods raise UnexpectedAnswer, with its place, if it is of another type."""

    value: Any
    place: str = "it"

    def __getitem__(self, name: str) -> AnswerValue:
        """A member of an object; null if it is missing."""
        if not isinstance(self.value, dict):
            raise self._unlike("an object")
        return AnswerValue(self.value.get(name), f"{self.place}.{name}")

    @property
    def is_null(self) -> bool:
        return self.value is None

    def items(self) -> Sequence[AnswerValue]:
        if not isinstance(self.value, list):
            raise self._unlike("a list")
        if len(self.value) > MOST:
            raise UnexpectedAnswer(f"{self.place} has more than {MOST:,} results")
        return [AnswerValue(one, f"{self.place}[{index}]") for index, one in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._unlike("a string")
        return self.value

    def number(self) -> int:
        if type(self.value) is not int or not 0 <= self.value <= _LARGEST_NUMBER:
            raise self._unlike("a number from 0 to 2^63 - 1")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._unlike("true or false")
        return self.value

    def commit(self) -> Revision:
        """It becomes a part of URLs, and an argument of Git."""
        if not isinstance(self.value, str) or not _COMMIT.fullmatch(self.value):
            raise self._unlike("a commit")
        return Revision(self.value)

    def url(self) -> str:
        """It becomes a link."""
        if not isinstance(self.value, str) or not _URL.fullmatch(self.value):
            raise self._unlike("an http(s) URL")
        return self.value

    def time(self) -> datetime:
        """With a time zone. Only compared: near the years 1 and 9999, no other time zone can be used."""
        try:
            found = datetime.fromisoformat(self.text())
        except ValueError:
            raise self._unlike("a time") from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def _unlike(self, expected: str) -> UnexpectedAnswer:
        shown = "null" if self.value is None else f"a value of type {type(self.value).__name__}"
        return UnexpectedAnswer(f"{self.place}: expected {expected}, found {shown}")


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


def _authorize(authorization: Authorization) -> Callable[[requests.PreparedRequest], requests.PreparedRequest]:
    """The `auth` of a request. As there is one, requests does not read ~/.netrc."""

    def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = authorization()
        return request

    return authorize


@dataclass(slots=True)
class ForgeApi:
    """Requests to one forge. The methods raise FailedAnswer, UnexpectedAnswer and the errors of requests.

    `base` is the URL before every path. `size` is the name of the parameter for the results in a page, with its most.
    """

    base: str
    settings: ForgeSettings
    failures: Failures
    authorization: Authorization
    size: tuple[str, int]
    _session: BoundedSession = field(init=False)

    def __post_init__(self) -> None:
        self._session = BoundedSession(self.settings.timeout, LARGEST)
        self._session.headers["User-Agent"] = "gitops-connect"

    def named(self, action: str) -> AbstractContextManager[None]:
        """Raise named errors for the failures in the block: "cannot ACTION"."""
        return self.failures.named(action)

    def close(self) -> None:
        self._session.close()

    def ask(self, method: str, path: str, content: object = None, **parameters: str) -> AnswerValue:
        return found_in(self.send(method, path, content, parameters))

    def query(self, query: str, **variables: str) -> AnswerValue:
        """The data that GraphQL answers, whose path has no version. Raises UnexpectedAnswer if there is none."""
        return self.ask("POST", _GRAPHQL, {"query": query, "variables": variables})["data"]

    def pages(self, path: str, **parameters: str) -> Sequence[AnswerValue]:
        """The results of all pages; smaller pages if one is too large. More than `MOST` results are an error."""
        name, most = self.size
        try:
            return [*self._pages(path, parameters, name, most)]
        except AnswerTooLarge:
            return [*self._pages(path, parameters, name, _FEW)]

    def _pages(self, path: str, parameters: Mapping[str, str], name: str, size: int) -> Iterator[AnswerValue]:
        """The addresses of pages are not used: behind a proxy, their host can be wrong."""
        until, page, found, is_last = self.failures.clock.monotonic() + _LONGEST, 1, 0, False
        while not is_last:
            number = {"page": str(page)} if page > 1 else {}
            response = self.send("GET", path, None, {**parameters, name: str(size), **number})
            results = found_in(response).items()
            found += len(results)
            is_last = "next" not in response.links
            if found > MOST or (not is_last and page * size >= MOST):
                raise UnexpectedAnswer(f"it has more than {MOST:,} results")
            if not is_last and self.failures.clock.monotonic() > until:
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
        base = _VERSION.sub("", self.base) if path == _GRAPHQL else self.base
        response = self._session.request(
            method,
            f"{base}{path}",
            params=parameters,
            json=content,
            auth=_authorize(authorization or self.authorization),
            verify=None if self.settings.ca_file is None else str(self.settings.ca_file),
        )
        if not 200 <= response.status_code < 300:
            raise FailedAnswer(response.status_code, response.headers, _words(response))
        return response


def found_in(response: requests.Response) -> AnswerValue:
    try:
        return AnswerValue(decode(response.content))
    except ValueError:
        raise UnexpectedAnswer("it is no JSON") from None


def is_authors_text(found: AnswerValue, editor: str, name: str, comment: Comment) -> bool:
    """Whether an answer of GraphQL says that the author of this comment has made the last edit. `name`: of an account.

    False if there is no such comment, or if it has another text meanwhile.
    """
    if found.is_null or found["author"].is_null or found[editor].is_null:
        return False
    names = {found["author"][name].text(), found[editor][name].text(), comment.author}
    return len(names) == 1 and found["body"].text().strip() == comment.body.strip()


def _words(response: requests.Response) -> str:
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
