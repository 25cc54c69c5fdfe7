"""The error for each answer, and how often the request is repeated."""

from __future__ import annotations

import json

import pytest

from gitops_connect.connect.responses import FEW, ONCE, PATIENT, Accepted, Answer, ConnectRequest, RefusedAnswer, read
from gitops_connect.errors import (
    AlreadyExists,
    ConnectRefused,
    ConnectUnavailable,
    GroupInUse,
    NotFound,
    NotStopped,
    OffsetsNotChanged,
    OffsetsNotSupported,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
    Unauthorized,
    Waiting,
)

READ = ConnectRequest("GET", "/connectors")
WRITE = ConnectRequest("PUT", "/connectors/x/stop", effect=True)
CHANGE = ConnectRequest("PATCH", "/connectors/x/offsets", effect=True, changes_offsets=True)
WORKER = "http://worker:8083"
TIMED_OUT = "Request timed out. The worker is currently flushing, which began at 2026-01-01T00:00:00Z"
REFUSED_FORWARD = "IO Error trying to forward REST request: java.net.ConnectException: Connection refused"
LOST_FORWARD = "IO Error trying to forward REST request: java.io.EOFException: HttpConnectionOverHTTP"


def refusal(request: ConnectRequest, status: int, body: str, secrets: frozenset[str] = frozenset()) -> RefusedAnswer:
    reading = read(request, Answer(WORKER, status, body.encode(), "https://u:p@other/login"), secrets)
    assert isinstance(reading, RefusedAnswer)
    return reading


def of_connect(status: int, message: str | None) -> str:
    return json.dumps({"error_code": status, "message": message})


@pytest.mark.parametrize(
    ("status", "message", "kind", "tries"),
    [
        (
            409,
            "Cannot complete request because of a conflicting operation (e.g. worker rebalance)",
            RebalanceInProgress,
            PATIENT,
        ),
        (
            409,
            "Cannot complete request momentarily due to stale configuration (…)",
            RebalanceInProgress,
            PATIENT,
        ),
        (409, "Cannot complete request momentarily due to no known leader URL, likely …", RebalanceInProgress, PATIENT),
        (500, "Request cannot be completed because a rebalance is expected", RebalanceInProgress, PATIENT),
        (409, "Connector x already exists", AlreadyExists, ONCE),
        (409, "something that no Kafka says", Rejected, ONCE),
        (500, REFUSED_FORWARD, ConnectUnavailable, PATIENT),
        (500, "Worker is shutting down", ConnectUnavailable, FEW),
        (503, "This worker is still starting up and has not been able to read a session key", ConnectUnavailable, FEW),
        (500, 'Unrecognized field "initial_state" (class org.apache…)', Rejected, ONCE),
        (500, "Failed to start connector: orders", Rejected, ONCE),
        (500, "Cannot deserialize value of type `java.lang.String` from Object value", Rejected, ONCE),
        (400, "Connector configuration is invalid and contains the following 1 error(s):", Rejected, ONCE),
        (400, "Invalid value Request timed out for configuration x: a rebalance is expected", Rejected, ONCE),
        (422, "no", Rejected, ONCE),
        (404, "Unknown connector x", NotFound, ONCE),
        (404, "HTTP 404 Not Found", ConnectRefused, ONCE),
        (405, "HTTP 405 Method Not Allowed", ConnectRefused, ONCE),
        (403, "Topic tracking is disabled.", Unauthorized, ONCE),
    ],
)
def test_words_of_connect_mean_the_same_to_reads_and_writes(
    status: int, message: str, kind: type[Exception], tries: int
) -> None:
    for request in (READ, WRITE):
        found = refusal(request, status, of_connect(status, message))
        assert (type(found.error), found.tries) == (kind, tries)
        assert str(request) in str(found.error)
        assert WORKER in str(found.error)


@pytest.mark.parametrize(
    ("status", "body", "tries"),
    [
        (500, of_connect(500, TIMED_OUT), ONCE),
        (500, of_connect(500, "Request timed out"), ONCE),
        (500, of_connect(500, LOST_FORWARD), FEW),
        (500, of_connect(500, "The template variable 'x' has no value"), FEW),
        (500, of_connect(500, None), FEW),
        (500, "<html>Error 500</html>", FEW),
        (502, "", FEW),
        (503, "upstream connect error", FEW),
        (200, "<html>please log in</html>", FEW),
        (200, '{"x": ', FEW),
    ],
)
def test_what_may_have_happened_is_unknown_to_a_write_and_asked_again_by_a_read(
    status: int, body: str, tries: int
) -> None:
    written = refusal(WRITE, status, body)
    assert (type(written.error), written.tries) == (OutcomeUnknown, ONCE)
    assert "the change may have been made anyway" in str(written.error)
    asked = refusal(READ, status, body)
    assert (type(asked.error), asked.tries) == (ConnectUnavailable, tries)


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


STOPPED_FIRST = "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for …"
IN_USE = (
    "Failed to alter consumer group offsets for connector x either because its tasks haven't stopped completely yet or "
    "the connector was resumed before the request to alter its offsets could be successfully completed."
)
UNSUPPORTED = "Failed to modify offsets for connector x because it doesn't support external modification of offsets"
READ_TO_END = "Timed out while trying to read to the end of the offsets topic prior to modifying offsets for source …"


@pytest.mark.parametrize(
    ("status", "message", "kind", "tries", "advice"),
    [
        (400, STOPPED_FIRST, NotStopped, ONCE, "stop it and wait until its tasks have ended"),
        (400, "Partitions / offsets need to be provided", Rejected, ONCE, ""),
        (500, IN_USE, GroupInUse, ONCE, "its consumer group has members"),
        (500, IN_USE.replace("alter", "reset"), GroupInUse, ONCE, "its consumer group has members"),
        (500, UNSUPPORTED, OffsetsNotSupported, ONCE, "a retry does not help"),
        (500, "Failed to alter consumer group offsets for connector x", OffsetsNotChanged, ONCE, "find the cause in"),
        (
            500,
            "Failed to list offsets prior to resetting offsets for sink …",
            OffsetsNotChanged,
            ONCE,
            "read the current offsets again",
        ),
        (500, "what a plugin throws", OffsetsNotChanged, ONCE, "read the current offsets again"),
        (500, None, OffsetsNotChanged, ONCE, "read the current offsets again"),
        (500, READ_TO_END, ConnectUnavailable, ONCE, "nothing was changed"),
        (500, "Failed to read to end of config topic before modifying …", ConnectUnavailable, ONCE, "nothing was"),
        (500, "Failed to perform zombie fencing for source …", ConnectUnavailable, ONCE, "find the cause in"),
        (500, "Request cannot be completed because a rebalance is expected", RebalanceInProgress, PATIENT, ""),
        (409, "Cannot complete request because of a conflicting operation", RebalanceInProgress, PATIENT, ""),
        (500, "Only the leader can process external offsets modification requests", RebalanceInProgress, PATIENT, ""),
        (500, "Worker is shutting down", ConnectUnavailable, FEW, ""),
        (500, REFUSED_FORWARD, ConnectUnavailable, PATIENT, ""),
        (500, TIMED_OUT, OutcomeUnknown, ONCE, "the change may have been made anyway"),
        (
            500,
            "Timed out while attempting to modify offsets for source connector x",
            OutcomeUnknown,
            ONCE,
            "the change may",
        ),
        (
            500,
            "Timed out while calling the 'alterOffsets' method for sink …",
            OutcomeUnknown,
            ONCE,
            "the change may have",
        ),
        (
            500,
            "Unexpectedly interrupted while attempting to modify offsets …",
            OutcomeUnknown,
            ONCE,
            "the change may have",
        ),
        (500, LOST_FORWARD, OutcomeUnknown, ONCE, "the change may have been made anyway"),
        (503, "something between", OutcomeUnknown, ONCE, "the change may have been made anyway"),
        (404, "Connector x not found", NotFound, ONCE, ""),
        (405, "HTTP 405 Method Not Allowed", ConnectRefused, ONCE, "check its Kafka version"),
    ],
)
def test_what_a_change_of_offsets_is_answered(
    status: int, message: str | None, kind: type[Exception], tries: int, advice: str
) -> None:
    found = refusal(CHANGE, status, of_connect(status, message))
    assert (type(found.error), found.tries) == (kind, tries)
    assert "PATCH /connectors/x/offsets" in str(found.error)
    assert advice in str(found.error)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (CHANGE, "Failed to alter consumer group offsets for connector x"),
        (CHANGE, "Failed to reset consumer group offsets for sink connector x"),
        (CHANGE, "Failed to modify offsets for source connector x"),
        (CHANGE, "Failed to perform zombie fencing for source connector prior to modifying offsets"),
        (
            ConnectRequest("GET", "/connectors/x/offsets"),
            "Failed to retrieve consumer group offsets for sink connector x",
        ),
    ],
)
def test_what_a_missing_acl_is_answered_leads_to_the_log_and_to_the_list_of_acls(
    request_: ConnectRequest, words: str
) -> None:
    """The answers are those of Connect 4.3.1, on a cluster where the ACL was missing; none of them names the reason."""
    text = str(refusal(request_, 500, of_connect(500, words)).error)
    assert "find the cause in the log of " in text
    assert "AuthorizationException there means a missing ACL (docs/reference/permissions.md)" in text


@pytest.mark.parametrize("words", [IN_USE, UNSUPPORTED, "what a plugin throws"])
def test_words_about_offsets_mean_nothing_to_other_requests(words: str) -> None:
    """A connector may be called `offsets`, so the request says what it changes, not its path."""
    delete = ConnectRequest("DELETE", "/connectors/offsets", effect=True)
    assert type(refusal(delete, 500, of_connect(500, words)).error) is OutcomeUnknown
