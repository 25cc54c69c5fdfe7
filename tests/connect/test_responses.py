"""The error for each answer, and how often the request is repeated."""

from __future__ import annotations

import json

import pytest
from support.files.tables import rows

from gitops_connect.connect.responses import FEW, ONCE, PATIENT, Accepted, Answer, ConnectRequest, RefusedAnswer, read
from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    OutcomeUnknown,
    Unauthorized,
    Waiting,
)

READ = ConnectRequest("GET", "/connectors")
WRITE = ConnectRequest("PUT", "/connectors/x/stop", effect=True)
CHANGE = ConnectRequest("PATCH", "/connectors/x/offsets", effect=True, changes_offsets=True)
WORKER = "http://worker:8083"
TRIES = {"once": ONCE, "few": FEW, "patient": PATIENT}


def refusal(request: ConnectRequest, status: int, body: str, secrets: frozenset[str] = frozenset()) -> RefusedAnswer:
    reading = read(request, Answer(WORKER, status, body.encode(), "https://u:p@other/login"), secrets)
    assert isinstance(reading, RefusedAnswer)
    return reading


def of_connect(status: int, message: str | None) -> str:
    return json.dumps({"error_code": status, "message": message})


@pytest.mark.parametrize(("status", "message", "error", "tries"), rows(__file__, "any"))
def test_words_of_connect_mean_the_same_to_reads_and_writes(status: int, message: str, error: str, tries: str) -> None:
    for request in (READ, WRITE):
        found = refusal(request, status, of_connect(status, message))
        assert (type(found.error).__name__, found.tries) == (error, TRIES[tries])
        assert str(request) in str(found.error)
        assert WORKER in str(found.error)


@pytest.mark.parametrize(("status", "answer", "tries"), rows(__file__, "unknown"))
def test_what_may_have_happened_is_unknown_to_a_write_and_asked_again_by_a_read(
    status: int, answer: str | dict[str, str], tries: str
) -> None:
    body = answer if isinstance(answer, str) else of_connect(status, answer["message"])
    written = refusal(WRITE, status, body)
    assert (type(written.error), written.tries) == (OutcomeUnknown, ONCE)
    assert "the change may have been made anyway" in str(written.error)
    asked = refusal(READ, status, body)
    assert (type(asked.error), asked.tries) == (ConnectUnavailable, TRIES[tries])


@pytest.mark.parametrize("body", ["", "<html>Error 404 Not Found</html>", '{"detail": "Not Found"}', "[]"])
def test_a_404_that_is_not_connects_is_no_absent_connector(body: str) -> None:
    """A worker that is starting answers every request with such a 404, also a DELETE."""
    for request in (READ, WRITE):
        found = refusal(request, 404, body)
        assert (type(found.error), found.tries, found.elsewhere) == (ConnectUnavailable, FEW, True)


def test_an_answer_of_a_proxy_before_connect() -> None:
    assert type(refusal(READ, 401, "User cannot access the resource.").error) is Unauthorized
    assert type(refusal(READ, 403, "<html>").error) is Unauthorized
    assert type(refusal(READ, 400, "").error) is ConnectRefused
    assert isinstance(refusal(WRITE, 429, "slow down").error, ConnectUnavailable)


def test_a_redirection_is_named_and_not_followed() -> None:
    error = refusal(READ, 302, "").error
    assert type(error) is ConnectRefused
    assert "redirects to https://u:***@other/login; set that address in the settings" in str(error)


def test_success_with_and_without_a_body() -> None:
    assert read(READ, Answer(WORKER, 200, b'{"a": 1}')) == Accepted({"a": 1})
    assert read(WRITE, Answer(WORKER, 204, b"")) == Accepted(None)


def test_secrets_of_either_side_are_in_no_message() -> None:
    request = ConnectRequest("POST", "/connectors", {"x": "hunter2"}, effect=True, secrets=frozenset({"hunter2"}))
    text = "Invalid value hunter2 for configuration x; seen: Bearer t0ken; jdbc:pg://me:pw@db/x"
    shown = str(refusal(request, 400, of_connect(400, text), frozenset({"t0ken"})).error)
    assert "Invalid value *** for configuration x; seen: Bearer ***; jdbc:pg://me:***@db/x" in shown
    assert "hunter2" not in repr(request)


def test_what_only_developers_of_connect_need_is_left_out() -> None:
    java = "org.apache.kafka.connect.errors."
    found = "Failed to find any class that implements Connector and which name matches X"
    text = f"{java}BadRequestException: {java}ConnectException: {found}, available connectors are: …"
    assert str(refusal(READ, 500, of_connect(500, text)).error).startswith(f"GET /connectors: {found} (HTTP 500")


def test_endless_words_are_cut() -> None:
    assert len(str(refusal(READ, 400, of_connect(400, "x" * 100_000)).error)) < 2200


def test_every_refusal_that_is_tried_again_is_one_that_waiting_helps() -> None:
    for status in (200, 302, 400, 401, 404, 409, 429, 500, 503):
        for body in ("", "<html>", of_connect(status, "a rebalance is expected"), of_connect(status, "x")):
            reading = read(WRITE, Answer(WORKER, status, body.encode()))
            if isinstance(reading, RefusedAnswer) and reading.tries > 1:
                assert isinstance(reading.error, Waiting)
                assert not isinstance(reading.error, OutcomeUnknown)


@pytest.mark.parametrize(("status", "message", "error", "tries", "advice"), rows(__file__, "offsets"))
def test_what_a_change_of_offsets_is_answered(
    status: int, message: str | None, error: str, tries: str, advice: str
) -> None:
    found = refusal(CHANGE, status, of_connect(status, message))
    assert (type(found.error).__name__, found.tries) == (error, TRIES[tries])
    assert "PATCH /connectors/x/offsets" in str(found.error)
    assert advice in str(found.error)


@pytest.mark.parametrize("words", rows(__file__, "missing_acl"))
def test_what_a_missing_acl_is_answered_leads_to_the_log_and_to_the_list_of_acls(words: str) -> None:
    request = ConnectRequest("GET", "/connectors/x/offsets") if "retrieve" in words else CHANGE
    text = str(refusal(request, 500, of_connect(500, words)).error)
    assert "find the cause in the log of " in text
    assert "AuthorizationException there means a missing ACL (docs/reference/permissions.md)" in text


@pytest.mark.parametrize(
    "words", [one[1] for one in rows(__file__, "offsets") if one[2].startswith(("Group", "OffsetsNot"))]
)
def test_words_about_offsets_mean_nothing_to_other_requests(words: str) -> None:
    """A connector may be called `offsets`, so the request says what it changes, not its path."""
    delete = ConnectRequest("DELETE", "/connectors/offsets", effect=True)
    assert type(refusal(delete, 500, of_connect(500, words)).error) is OutcomeUnknown
