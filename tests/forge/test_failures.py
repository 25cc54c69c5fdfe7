"""Every failure of a forge is a named error, which says what was asked and what to do, without the token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.cluster.manual_clock import START

from forge.http_answers import Asked, HttpAnswer, answering
from forge.worlds import TOKEN, forge_of
from gitops_connect.errors import ForgeNotFound, ForgeRefused, ForgeUnavailable, GitopsConnectError, UsageError
from gitops_connect.forge.forge import Forge
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind

RESET = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)
LIMIT = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(RESET.timestamp()))}
LAST, SOON = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), START + timedelta(seconds=60)
SECOND = timedelta(seconds=1)
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


class Server:
    """Answers every request with `status`, `headers` and `body`, and counts the requests."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.headers: dict[str, str] = {}
        self.body: object = {}
        self.requests: list[str] = []

    def answer(self, asked: Asked) -> HttpAnswer:
        self.requests.append(asked.target)
        return self.status, self.headers, self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@pytest.fixture(params=ForgeKind, ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> ForgeKind:
    found: ForgeKind = request.param
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    with answering(found.answer) as found.url:
        yield found


@pytest.fixture
def forge(kind: ForgeKind, server: Server) -> Iterator[Forge]:
    found = forge_of(kind, server.url, TOKEN)
    yield found
    found.close()


CASES: tuple[tuple[int, dict[str, str], str, type[GitopsConnectError], str, datetime | None], ...] = (
    (401, {}, "Bad credentials", ForgeRefused, "the token is wrong, expired or revoked", None),
    (403, {}, "Resource not accessible", ForgeRefused, "the token lacks a permission", None),
    (404, {}, "Not Found", ForgeNotFound, "check [forge] url and repository", None),
    (409, {}, "Conflict", ForgeUnavailable, "HTTP 409: Conflict", None),
    (422, {}, "Validation Failed", ForgeRefused, "HTTP 422: Validation Failed", None),
    (503, {}, "Unavailable", ForgeUnavailable, "HTTP 503: Unavailable", None),
    (403, LIMIT, "API rate limit exceeded", ForgeUnavailable, "until 2026-11-21 11:00:00 UTC", RESET),
    (429, LIMIT, "Too many requests", ForgeUnavailable, "until 2026-11-21 11:00:00 UTC", RESET),
    (403, {}, SECONDARY, ForgeUnavailable, "until 2026-11-21 10:01:00 UTC", START + timedelta(seconds=60)),
    (429, {"Retry-After": "90"}, "Slow", ForgeUnavailable, "until 2026-11-21 10:01:30", START + timedelta(seconds=90)),
    (429, {"Retry-After": "Sat, 21 Nov 2026 11:00:00 GMT"}, "Slow", ForgeUnavailable, "11:00:00 UTC", RESET),
    (429, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, "Slow", ForgeUnavailable, "until 9999-12-31", LAST),
    (429, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 -1200"}, "Slow", ForgeUnavailable, "until 2026", SOON),
    (
        429,
        {"Retry-After": "99999999999"},
        "Slow",
        ForgeUnavailable,
        "until 5195",
        START + timedelta(seconds=99999999999),
    ),
    (429, {"Retry-After": "0"}, "Slow", ForgeUnavailable, "until 2026-11-21 10:01:00", SOON),
    (403, {**LIMIT, "X-RateLimit-Reset": "1"}, "Limit", ForgeUnavailable, "until 2026-11-21 10:01:00", SOON),
    (429, {"Retry-After": "soon"}, "Slow", ForgeUnavailable, "10:01:00 UTC", START + timedelta(seconds=60)),
)


def test_each_answer_is_one_request_and_one_named_error(kind: ForgeKind, server: Server, forge: Forge) -> None:
    name = {ForgeKind.GITHUB: "GitHub", ForgeKind.GITLAB: "GitLab", ForgeKind.GITEA: "Gitea"}[kind]
    for status, headers, words, error, text, retry_at in CASES:
        server.status, server.headers, server.requests = status, headers, []
        server.body = {"message": f"{words} {TOKEN} {'-' * 440} {TOKEN}"}
        with pytest.raises(error) as raised:
            forge.open_pull_requests()
        message = str(raised.value)
        assert type(raised.value) is error, message
        assert message.startswith(f"{name} {server.url}, repository platform/connectors: cannot list the open "), (
            message
        )
        assert text in message
        assert words in message
        assert TOKEN[:8] not in message
        assert getattr(raised.value, "retry_at", None) == retry_at, message
        assert len(server.requests) == 1


def test_an_answer_that_is_not_of_the_forge(server: Server, forge: Forge) -> None:
    server.body = b"<html>Please log in</html>"
    with pytest.raises(ForgeRefused, match="the answer is not that of"):
        forge.open_pull_requests()
    server.status, server.headers = 302, {"Location": "https://login.example.org/"}
    with pytest.raises(ForgeRefused):
        forge.open_pull_requests()
    assert len(server.requests) == 2


def test_a_forge_that_cannot_be_reached(kind: ForgeKind) -> None:
    forge = forge_of(kind, f"http://127.0.0.1:{choose_port((), ())}", TOKEN)
    with pytest.raises(ForgeUnavailable, match="cannot be reached: Connection refused"):
        forge.open_pull_requests()
    forge = forge_of(kind, f"https://127.0.0.1:{choose_port((), ())}", TOKEN)
    with pytest.raises(ForgeUnavailable, match="cannot be reached: Connection refused"):
        forge.open_pull_requests()


def test_tls_that_fails(kind: ForgeKind, server: Server, tmp_path: Path) -> None:
    url = server.url.replace("http:", "https:")
    for ca_file, error, words in (
        (None, ForgeRefused, "the TLS handshake failed: .*check \\[forge\\] ca_file and url"),
        (tmp_path / "missing.pem", UsageError, "\\[forge\\] ca_file: the file cannot be used: .*missing.pem"),
    ):
        with closing(forge_of(kind, url, TOKEN, ca_file=ca_file)) as forge, pytest.raises(error, match=words):
            forge.open_pull_requests()


def test_a_token_is_read_for_each_request(kind: ForgeKind, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    forge = forge_of(kind, server.url, Credential(file=file))
    server.body = []
    forge.open_pull_requests()
    file.write_text("not\nvalid")
    with pytest.raises(UsageError, match="cannot be sent") as raised:
        forge.open_pull_requests()
    assert "valid" not in str(raised.value)
    forge.close()


def test_a_private_key_that_is_none(server: Server) -> None:
    key = Credential(value="no-key-but-a-secret")
    forge = forge_of(ForgeKind.GITHUB, server.url, None, app_id=1, installation_id=2, private_key=key)
    for ask in (forge.user, forge.open_pull_requests):
        with pytest.raises(UsageError, match="expected the private key of a GitHub app") as raised:
            ask()
        assert "secret" not in str(raised.value)
    forge.close()
