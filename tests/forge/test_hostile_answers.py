"""A forge is an outsider: whatever it answers, each method returns a typed value or raises a named error."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import drops, endless, head, whole, worker
from support.files.tables import table
from support.loopback import HttpHandler, http_server

from forge.exchanges import GITEA_ANSWERS, HEAD, MERGED, exchanges
from forge.worlds import TOKEN, forge_of
from gitops_connect.errors import ForgeRefused, ForgeUnavailable, GitopsConnectError
from gitops_connect.forge.forge import Forge
from gitops_connect.forge.forge_api import MOST
from gitops_connect.model.pull_requests import Annotation, CommitState, CommitStatus, PullRequest
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow

VALUES: list[Any] = [*table(__file__, "values"), f"https://x.example/{'9' * 5000}"]
"""Instead of a whole answer, or of a value in it."""
BODIES = (b"", b"<html>", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"[1e999]", b"\x00")
"""Instead of a whole answer."""

_TESTS = (
    "user",
    "permissions of the account",
    "open",
    "is open",
    "merged",
    "parents",
    "comments",
    "changed comments",
    "statuses",
)


def answers(kind: ForgeKind) -> dict[str, Any]:
    """The answer of a forge to each request, as `METHOD PATH` without a query: those of the contract."""
    if kind is ForgeKind.GITEA:
        return GITEA_ANSWERS
    found: dict[str, Any] = {}
    for test in (*_TESTS, "permissions", "annotations"):
        for one in exchanges(kind, test):
            if one.status < 300:
                found.setdefault(one.request.partition("?")[0], one.answer)
    return found


def spoiled(answer: Any) -> Iterator[bytes]:
    """Bodies instead of an answer. Of a list, only the first result is spoiled."""
    if isinstance(answer, str):
        yield from (b"@@ -1 +" + b"9" * 5000 + b" @@", b"\xff", b"+++ \n@@ -0,0 +0,999999999 @@\n+")
        return
    yield from BODIES
    for one in _spoiled(answer):
        yield json.dumps(one).encode()


def _spoiled(answer: Any) -> Iterator[Any]:
    yield from VALUES
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield {other: one for other, one in answer.items() if other != name}
            yield from ({**answer, name: one} for one in _spoiled(value))
    elif isinstance(answer, list) and answer:
        yield from ([one] for one in _spoiled(answer[0]))


SHOWN = PullRequest(1, "", "", HEAD, "", "main", "", "", False, False)
ANNOTATIONS = [Annotation("orders.yaml", 1, "no such class", is_error=True)]
STATUS = CommitStatus("gitops-connect/plan", CommitState.SUCCESS, "1 change", "https://x.example/1")
METHODS: tuple[Callable[[Forge], Any], ...] = (
    lambda forge: forge.user(),
    lambda forge: forge.missing_permissions(),
    lambda forge: forge.open_pull_requests(),
    lambda forge: forge.is_open(1),
    lambda forge: forge.merged_as(MERGED),
    lambda forge: forge.first_parent(MERGED),
    lambda forge: forge.comments(1),
    lambda forge: forge.changed_comments(datetime(2026, 11, 21, 9, tzinfo=UTC)),
    lambda forge: forge.write_comment(1, "a plan", None),
    lambda forge: forge.write_comment(1, "a plan", 501),
    lambda forge: forge.set_status(HEAD, STATUS),
    lambda forge: forge.can_write("wendy"),
    lambda forge: forge.annotate(SHOWN, ANNOTATIONS),
)


class Answering:
    """A forge that answers each `METHOD PATH` with a body, and counts the requests."""

    def __init__(self, kind: ForgeKind) -> None:
        self.bodies: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.headers: dict[str, str] = {}
        self.before: Callable[[str], None] = lambda _query: None
        """Gets the query of each request before it is answered."""
        self._prefix = {ForgeKind.GITHUB: "", ForgeKind.GITLAB: "/api/v4", ForgeKind.GITEA: "/api/v1"}[kind]

    @contextmanager
    def running(self) -> Iterator[str]:
        with http_server(self._answer) as url:
            yield f"{url}{self._prefix}"

    def _answer(self, request: HttpHandler) -> None:
        request.body()
        parts = urlsplit(request.path)
        asked = f"{request.command} {parts.path.removeprefix(self._prefix)}"
        self.requests.append(asked)
        self.before(parts.query)
        body = self.bodies.get(asked)
        request.send(404 if body is None else 200, self.headers, body or b"")


def assert_typed(value: Any) -> None:
    """Values of our own types only, which the ledger, Git and a page can use."""
    if is_dataclass(value):
        for one in fields(value):
            assert_typed(getattr(value, one.name))
        if isinstance(value, PullRequest):
            assert re.fullmatch("[0-9a-f]{40}", value.head)
            assert value.url.startswith("http")
    elif isinstance(value, list | tuple):
        for one in value:
            assert_typed(one)
    elif isinstance(value, datetime):
        assert value.tzinfo is not None
    elif isinstance(value, str):
        value.encode()  # UTF-8
    else:
        assert value is None or value is True or value is False or 0 <= value < 2**63


def test_every_answer_is_a_typed_value_or_a_named_error(kind: ForgeKind) -> None:
    usual = {
        asked: answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        for asked, answer in answers(kind).items()
    }
    forge_server = Answering(kind)
    tried, errors = 0, list[str]()
    with forge_server.running() as url, closing(forge_of(kind, url, TOKEN)) as forge:
        for method in METHODS:
            forge_server.bodies, forge_server.requests = usual, []
            assert_typed(method(forge))
            for asked in dict.fromkeys(forge_server.requests):
                for body in spoiled(answers(kind)[asked]):
                    forge_server.bodies, tried = {**usual, asked: body}, tried + 1
                    try:
                        assert_typed(method(forge))
                    except GitopsConnectError as error:
                        errors.append(str(error))
    assert tried > 1000
    assert len(errors) > tried / 2
    assert not [one for one in errors if TOKEN in one]


def test_a_list_without_an_end_is_an_error(kind: ForgeKind) -> None:
    forge_server = Answering(kind)
    forge_server.headers = {"Link": '</next>; rel="next"'}
    forge_server.bodies = {asked: json.dumps(answer).encode() for asked, answer in answers(kind).items()}
    with forge_server.running() as url, closing(forge_of(kind, url, TOKEN)) as forge:
        for method in (lambda forge: forge.open_pull_requests(), lambda forge: forge.comments(1)):
            forge_server.requests = []
            with pytest.raises(ForgeRefused, match="more than 10,000 results"):
                method(forge)
            assert len(forge_server.requests) <= MOST / 50


def test_a_page_that_is_too_large_is_read_in_smaller_parts(kind: ForgeKind) -> None:
    """Anyone may open pull requests whose descriptions together are larger than the largest answer."""
    forge_server = Answering(kind)
    found = answers(kind)
    asked = next(one for one in found if one.endswith(("/pulls", "/merge_requests")))
    large = [{**found[asked][0], "description": "x" * 900_000} for _ in range(10)]
    small = json.dumps(large[:5]).encode()
    forge_server.bodies = {asked: json.dumps(large).encode()}

    def take_part(query: str) -> None:
        forge_server.bodies = {asked: small if query.endswith("=5") else forge_server.bodies[asked]}

    forge_server.before = take_part
    with forge_server.running() as url, closing(forge_of(kind, url, TOKEN)) as forge:
        assert len(forge.open_pull_requests()) == 5
    assert forge_server.requests == [asked, asked]


UNUSABLE: dict[str, tuple[Parts, type[GitopsConnectError], str]] = {
    "an endless body": (endless, ForgeRefused, "larger than 8,388,608 bytes"),
    "an endless error": (lambda: endless(500), ForgeRefused, "larger than 8,388,608 bytes"),
    "a bomb": (
        whole(gzip.compress(bytes(64 * 1024**2)), 200, "Content-Encoding: gzip"),
        ForgeRefused,
        "larger than 8,388,608 bytes",
    ),
    "a byte now and then": (lambda: drops(head(200)), ForgeUnavailable, "did not answer within"),
    "a header now and then": (lambda: drops(b"HTTP/1.1 200 OK\r\n", b"X: "), ForgeUnavailable, "did not answer within"),
    "headers without an end": (lambda: iter([head(200, *["X: 1"] * 1000)]), ForgeUnavailable, "no valid HTTP"),
    "a very long header": (lambda: iter([head(200, "X: " + "1" * 100_000)]), ForgeUnavailable, "no valid HTTP"),
    "a very long link": (whole(b"[]", 200, "Link: " + "<a>; rel=next, " * 4000), ForgeRefused, "results"),
    "a redirect to nowhere": (whole(b"", 302, "Location: http://["), ForgeRefused, r"redirects to http://\["),
    "a deep error": (whole(b"[" * 100_000, 500), ForgeUnavailable, "HTTP 500"),
    "an error of another type": (whole(b'{"message": [null]}', 422), ForgeRefused, "HTTP 422"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_answer_that_cannot_be_used_is_a_named_error(kind: ForgeKind, name: str) -> None:
    parts, error, words = UNUSABLE[name]
    pause, timeout = (0.02, 0.5) if "now and then" in name else (0.0, 20)  # a loaded machine is slow
    with worker(parts, pause=pause) as url, closing(forge_of(kind, url, TOKEN, timeout=timeout)) as forge:
        with pytest.raises(error, match=words) as raised:
            forge.open_pull_requests()
        assert type(raised.value) is error
        assert TOKEN not in str(raised.value)


def test_the_token_is_not_sent_to_another_host_and_no_cookie_is_kept(kind: ForgeKind) -> None:
    with StandIn() as other, StandIn() as forge_server:
        headers = {"Location": f"{other.url}/user", "Set-Cookie": "a=b; Path=/"}
        forge_server.answer(".*", ".*", 307, "", headers=headers, times=2)
        with closing(forge_of(kind, forge_server.url, TOKEN)) as forge:
            for _ in range(2):
                with pytest.raises(ForgeRefused, match="redirects to"):
                    forge.user()
        assert other.calls == []
        assert [("Authorization" in one.headers, "Cookie" in one.headers) for one in forge_server.calls] == [
            (True, False)
        ] * 2
