"""Webhooks of Git servers: a push to the followed branch starts a poll at once, a pull request or a comment a review.

A webhook only says that it is worth to poll, so that a replayed one is harmless. All that arrive during a poll cause
one other poll.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gitops_connect.model.bounded_json import parse_json
from gitops_connect.server.error_answers import JSONAnswer, problem
from gitops_connect.server.served import Served, served
from gitops_connect.settings.sections import RepositorySettings

LARGEST = 2**20
"""Bytes of a body."""
_LONGEST_NAME = 200
"""Characters of the name of an event or a reference that are shown."""


@dataclass(frozen=True, slots=True)
class Provider:
    """How a Git server signs its webhooks, and names the event."""

    is_authentic: Callable[[Headers, bytes, str], bool]
    event_header: str
    push_events: frozenset[str]
    review_events: frozenset[str]


def _signed(*names: str) -> Callable[[Headers, bytes, str], bool]:
    def check(headers: Headers, body: bytes, secret: str) -> bool:
        given = next((headers[name] for name in names if name in headers), "").removeprefix("sha256=")
        expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(given.encode(), expected.encode())

    return check


def _has_token(headers: Headers, _body: bytes, secret: str) -> bool:
    """GitLab sends the secret itself."""
    return hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), secret.encode())


_REVIEWS = frozenset({"pull_request", "issue_comment"})
_GITLAB_REVIEWS = frozenset({"Merge Request Hook", "Note Hook"})
PROVIDERS: Mapping[str, Provider] = {
    "github": Provider(_signed("x-hub-signature-256"), "x-github-event", frozenset({"push"}), _REVIEWS),
    "gitea": Provider(
        _signed("x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256"),
        "x-gitea-event",
        frozenset({"push"}),
        _REVIEWS | {"pull_request_comment", "pull_request_sync"},
    ),
    "gitlab": Provider(_has_token, "x-gitlab-event", frozenset({"Push Hook", "Tag Push Hook"}), _GITLAB_REVIEWS),
}


async def webhook(request: Request) -> Response:
    one, name = served(request), request.path_params["provider"]
    provider = PROVIDERS.get(name)
    if provider is None:
        raise HTTPException(404, f"there is no webhook for this Git server; there are {', '.join(PROVIDERS)}")
    if one.settings.server.webhook_secret is None:
        raise HTTPException(404, "webhooks are off: [server] webhook_secret is not set")
    body = await _body(request)
    if body is None:
        return _end(one, name, problem(413, f"the body has more than {LARGEST} bytes", {"Connection": "close"}))
    if not provider.is_authentic(request.headers, body, one.settings.server.webhook_secret.read()):
        return _end(one, name, problem(401, "the signature is missing or wrong"))
    if request.headers.get(provider.event_header, "") in provider.review_events:
        one.daemon.review_now()
        return _end(one, name, JSONAnswer({"poll": False, "reason": "open pull requests are reviewed"}, 202))
    reason = _why_not(request.headers, provider, body, one.settings.repository)
    if reason:
        return _end(one, name, JSONAnswer({"poll": False, "reason": reason}, 202))
    one.daemon.poll_now()
    return _end(one, name, JSONAnswer({"poll": True, "reason": "a push to what is followed"}, 202))


async def _body(request: Request) -> bytes | None:
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > LARGEST:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            return None
    return bytes(body)


def _why_not(headers: Headers, provider: Provider, body: bytes, repository: RepositorySettings) -> str:
    event = headers.get(provider.event_header, "")
    if event not in provider.push_events:
        return f"the event is {event[:_LONGEST_NAME]!r} and not a push"
    if repository.commit is not None:
        return "the settings follow a fixed commit"
    followed = f"refs/tags/{repository.tag}" if repository.tag is not None else f"refs/heads/{repository.branch}"
    ref = _payload(headers, body).get("ref")
    return "" if ref == followed else f"the push is to {str(ref)[:_LONGEST_NAME]!r}, and {followed!r} is followed"


def _payload(headers: Headers, body: bytes) -> Mapping[str, Any]:
    """The JSON object of the body, which GitHub may send as a form. Raises HTTPException (400)."""
    try:
        text = body.decode()
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            text = parse_qs(text).get("payload", [""])[0]
        value = parse_json(text)
    except ValueError as error:
        raise HTTPException(400, "the body is no JSON") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the body is no JSON object")
    return value


def _end(one: Served, provider: str, answer: Response) -> Response:
    word = {202: "accepted", 401: "unauthorized", 413: "too_large"}[answer.status_code]
    one.metrics.webhooks.labels(provider, word).inc()
    content = json.loads(bytes(answer.body))
    if answer.status_code == 202:
        one.webhook_log.accepted(provider, content["reason"])
    else:
        one.webhook_log.rejected(provider, content["detail"])
    return answer
