"""A web server in this process that answers with exchanges in a fixed order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.loopback import HttpHandler, http_server

from forge.descriptions import Description
from gitops_connect.settings.sections import ForgeKind


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as `METHOD PATH?QUERY` with its body, and the answer. `answer` is completed from the description.

    `has_next`: the answer has a link to a next page. `headers` are those of an answer that is an error.
    """

    request: str
    answer: Any = None
    status: int = 200
    body: Any = None
    has_next: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class FakeForge:
    """The server. `played` answers with the given exchanges and checks that all were requested."""

    def __init__(self, kind: ForgeKind, description: Description) -> None:
        self._description = description
        self._prefix = "/api/v4" if kind is ForgeKind.GITLAB else ""
        self._expected: list[Exchange] = []
        self.problems: list[str] = []
        self.authorizations: list[str] = []
        """The credentials of each request."""
        self.url = ""

    @contextmanager
    def played(self, exchanges: Sequence[Exchange]) -> Iterator[None]:
        self._expected, self.problems = [*exchanges], []
        try:
            yield
        finally:
            assert not self.problems, self.problems
        assert not self._expected, f"these requests are missing: {self._expected}"

    @contextmanager
    def running(self) -> Iterator[FakeForge]:
        with http_server(self._checked) as url:
            self.url = url + self._prefix
            yield self

    def _checked(self, request: HttpHandler) -> None:
        """A problem fails the test, and is answered with 500."""
        self.authorizations.append(request.headers["Authorization"])
        content = request.body()
        body = json.loads(content) if content else None
        try:
            request.send(*self._answer(request.command, request.path, body))
        except (AssertionError, LookupError) as error:
            self.problems.append(f"{request.command} {request.path} {body}: {error!r}")
            request.send(500, {}, b"{}")

    def _answer(self, method: str, target: str, body: Any) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        path = parts.path.removeprefix(self._prefix)
        is_described = not path.endswith("/graphql")  # the descriptions are of the REST APIs
        if is_described:
            self._description.check_request(method, path, query, body)
        exchange = self._expected.pop(0)
        expected = urlsplit(exchange.request.partition(" ")[2])
        assert (method, path) == (exchange.request.partition(" ")[0], expected.path), exchange.request
        assert query == dict(parse_qsl(expected.query)), exchange.request
        assert body == exchange.body, exchange.body
        headers = {"Content-Type": "application/json", **exchange.headers}
        if exchange.has_next:
            following = "&".join(f"{name}={value}" for name, value in {**query, "page": "2"}.items())
            headers["Link"] = f'<{self.url}{path}?{following}>; rel="next"'
        answer = exchange.answer
        if is_described:
            answer = self._description.answer(method, path, exchange.status, answer)
        return exchange.status, headers, b"" if answer is None else json.dumps(answer).encode()
