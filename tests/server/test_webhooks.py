"""Webhooks: signed, unsigned, replayed, for another branch, and very large."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient
from support.files.tables import rows, table
from support.server.made_up import World

from gitops_connect.server.webhooks import LARGEST
from gitops_connect.settings.credential_sources import Credential

pytestmark = pytest.mark.slow

SECRET = "0123456789abcdef-webhook"
PUSH = {"ref": "refs/heads/main", "after": "a" * 40}
EVENTS: dict[str, list[str]] = table(__file__, "events")


def signature(provider: str, body: bytes, secret: str = SECRET) -> str:
    if provider == "gitlab":
        return secret
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return f"sha256={digest}" if provider == "github" else digest


def deliver(client: TestClient, provider: str, payload: Any = PUSH, **headers: str | None) -> Any:
    """A webhook as the Git server sends it; a header that is None is left out."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    event_header, event, signed = EVENTS[provider]
    every = {event_header: event, signed: signature(provider, body), "Content-Type": "application/json"}
    every |= {name.replace("_", "-"): text for name, text in headers.items()}  # type: ignore[dict-item]
    sent = {name: text for name, text in every.items() if text is not None}
    return client.post(f"/webhooks/{provider}", content=body, headers=sent)


@pytest.fixture
def client(serve: Any) -> TestClient:
    found: TestClient = serve(webhook_secret=Credential(value=SECRET), read_token=Credential(value="r" * 16))
    return found


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    with caplog.at_level(logging.INFO, "gitops_connect"):
        yield lambda: [(record.msg, record.fields) for record in caplog.records if hasattr(record, "fields")]


@pytest.mark.parametrize("provider", EVENTS)
def test_a_signed_push_starts_a_poll_and_a_replay_another(
    provider: str, client: TestClient, made: World, log: Any
) -> None:
    for count in (1, 2):
        answer = deliver(client, provider)
        assert (answer.status_code, answer.json()["poll"]) == (202, True)
        assert made.daemon.polls == count
    assert [event for event, _ in log()] == ["webhook_received"] * 2


def test_a_pull_request_and_a_comment_start_a_review(client: TestClient, made: World) -> None:
    for count, (provider, event) in enumerate(rows(__file__, "reviews"), 1):
        answer = deliver(client, provider, {"action": "opened"}, **{EVENTS[provider][0]: event})
        assert (answer.status_code, answer.json()["poll"]) == (202, False)
        assert (made.daemon.reviews, made.daemon.polls) == (count, 0)


@pytest.mark.parametrize("provider", EVENTS)
def test_a_wrong_signature_is_rejected(provider: str, client: TestClient, made: World, log: Any) -> None:
    header = EVENTS[provider][2]
    body = json.dumps(PUSH).encode()
    for wrong in (None, "", "sha256=", "ü", signature(provider, body, "another"), signature(provider, b"other") + "x"):
        answer = client.post(f"/webhooks/{provider}", content=body, headers={header: wrong.encode()} if wrong else {})
        assert answer.status_code == 401
    assert made.daemon.polls == 0
    assert [event for event, _ in log()] == ["webhook_rejected"], "a flood of them is one line a minute"
    made.clock.sleep(61)
    deliver(client, provider, **{header: "wrong"})
    assert log()[-1][1]["not_logged"] == 5


def test_other_events_start_no_poll(client: TestClient, made: World) -> None:
    long: list[Any] = [
        ({"ref": ["x"] * 1000}, {}, "the push is to"),
        (PUSH, {"X-GitHub-Event": b"\xc2\x9b" * 5000}, "the event is '"),
        ({"ref": "\u202e\x9b" * 5000}, {}, r"the push is to '\u202e\x9b"),
    ]
    for payload, headers, reason in (*rows(__file__, "others"), *long):
        answer = deliver(client, "github", payload, **headers)
        assert (answer.status_code, answer.json()["poll"]) == (202, False)
        assert answer.json()["reason"].startswith(reason)
        assert answer.json()["reason"].isprintable()
        assert len(answer.content) < 2000
    assert made.daemon.polls == 0


def test_github_may_send_a_form(client: TestClient, made: World) -> None:
    body = urlencode({"payload": json.dumps(PUSH)}).encode()
    assert deliver(client, "github", body, Content_Type="application/x-www-form-urlencoded").json()["poll"] is True
    assert made.daemon.polls == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_a_signed_body_that_is_no_push_is_a_problem(client: TestClient, body: bytes) -> None:
    assert deliver(client, "gitea", body).status_code == 400


def test_a_body_of_50_mb_is_cut_off(client: TestClient, made: World) -> None:
    chunks = (b"x" * 2**20 for _ in range(50))
    assert client.post("/webhooks/github", content=chunks).status_code == 413
    announced = client.post("/webhooks/github", content=b"x", headers={"Content-Length": str(LARGEST + 1)})
    assert announced.status_code == 413
    for odd in (b"\xb2", b"9" * 5000):  # h11 rejects them, and other servers may not
        assert deliver(client, "gitlab", b"{}", Content_Length=odd).status_code in (202, 413)
    assert deliver(client, "github", {**PUSH, "more": "x" * (LARGEST - 200)}).status_code == 202
    assert made.daemon.polls == 1


def test_webhooks_are_off_without_a_secret(serve: Any) -> None:
    client = serve()
    assert deliver(client, "github").status_code == 404
    assert client.get("/webhooks/github").status_code == 405
    assert deliver(serve(webhook_secret=Credential(value=SECRET)), "github").status_code == 202
    answer = client.post("/webhooks/bitbucket")
    assert answer.json()["detail"] == "there is no webhook for this Git server; there are github, gitea, gitlab"
