"""Which events are sent to people, how often, and what they say; and real requests of apprise to a webhook."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from acceptance.workplace import SINK, Workplace
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import drops, endless, head, worker
from support.cluster.manual_clock import ManualClock
from support.daemon_log import InThread
from support.files.tables import rows
from support.loopback import in_thread

from gitops_connect.daemon.notifications import (
    Notification,
    NotificationFilter,
    NotificationHandler,
    notifying,
    sender,
)
from gitops_connect.errors import UsageError
from gitops_connect.model.clock import Duration
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import NotificationSettings

FAILED = {"cluster": "local", "connector": "orders", "message": "task 0 is FAILED"}


def chosen(clock: ManualClock, link: str = "", **settings: Any) -> NotificationFilter:
    return NotificationFilter(NotificationSettings(**settings), clock, link)


def test_a_notification_names_the_connector_the_cause_and_the_page() -> None:
    found = chosen(ManualClock(), "https://status.example").notification(
        "config_rolled_back", logging.ERROR, {**FAILED, "revision": "abc", "keys": ["file", "topics"]}
    )
    assert found == Notification(
        "gitops-connect: config rolled back: orders on local",
        "message: task 0 is FAILED\nrevision: abc\nkeys: file, topics\nhttps://status.example",
        logging.ERROR,
    )


@pytest.mark.parametrize(("event", "fields", "settings", "is_sent"), rows(__file__, "sent"))
def test_what_is_sent_by_default_and_by_pattern(
    event: str, fields: dict[str, Any], settings: dict[str, Any], is_sent: bool
) -> None:
    assert (chosen(ManualClock(), **settings).notification(event, logging.INFO, fields) is not None) is is_sent


def test_the_same_message_is_sent_again_only_after_some_time() -> None:
    clock = ManualClock()
    found = chosen(clock, repeat_after=Duration(60))
    sent = [found.notification("step_failed", logging.ERROR, FAILED)]
    sent += [found.notification("step_failed", logging.ERROR, FAILED)]
    sent += [found.notification("step_failed", logging.ERROR, {**FAILED, "message": "another"})]
    clock.sleep(60)
    sent += [found.notification("step_failed", logging.ERROR, FAILED)]
    assert [one is not None for one in sent] == [True, False, True, True]


def test_too_many_are_left_out_and_counted() -> None:
    clock = ManualClock()
    found = chosen(clock, max_per_hour=2)

    def fail(number: int) -> Notification | None:
        return found.notification("step_failed", logging.ERROR, {**FAILED, "message": f"number {number}"})

    assert [fail(number) is not None for number in range(5)] == [True, True, False, False, False]
    clock.sleep(3600)
    later = fail(5)
    assert later is not None
    assert "3 earlier notifications were left out" in later.body


def test_a_service_that_hangs_delays_nothing_and_one_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    release, results = threading.Event(), iter([OSError("down"), False, True])

    def send(_notification: Notification) -> bool:
        release.wait(10)
        result = next(results)
        if isinstance(result, OSError):
            raise result
        return result

    handler = NotificationHandler(chosen(ManualClock()), send)
    logger = logging.getLogger("gitops_connect")
    logger.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, "gitops_connect"):
            for number in range(3):
                logger.error("step_failed", extra={"fields": {**FAILED, "message": f"number {number}"}})
            release.set()
            handler.end()
    finally:
        logger.removeHandler(handler)
    failed = [record for record in caplog.records if record.getMessage() == "notification_failed"]
    assert [record.__dict__["fields"].get("reason") for record in failed] == ["OSError", None]


@contextmanager
def service() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A webhook on this machine, as a URL of apprise, and the requests that it got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"json://127.0.0.1:{server.server_address[1]}/hook", got


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # imported by apprise
def test_drift_that_the_daemon_corrects_reaches_a_webhook(at: Workplace, standin: StandIn) -> None:
    with service() as (url, got):
        settings = NotificationSettings({"team": Credential(value=url)})
        at.commit(
            "sink.yaml", at.document("sink", SINK, "", {"file": str(at.directory / "out.txt"), "topics": "lines"})
        )
        with notifying(settings, ManualClock(), ""), InThread(at) as daemon:
            daemon.wait("reconciliation_finished", applied=1)
            config = at.rest("GET", f"/connectors/{at.name('sink')}/config")
            at.rest("PUT", f"/connectors/{at.name('sink')}/config", {**config, "topics": "others"})
            daemon.wait("drift_corrected", connector=at.name("sink"))
            at.await_that(lambda: [one["title"] for one in got], lambda titles: any("drift" in one for one in titles))
    (drift,) = [one for one in got if "drift corrected" in one["title"]]
    assert drift["title"] == f"gitops-connect: drift corrected: {at.name('sink')} on local"
    assert "configure (1 key differs)" in drift["message"]
    assert (drift["type"], got[0]["title"]) == ("warning", "gitops-connect: reconciliation finished: local")


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # imported by apprise
def test_a_url_that_no_service_has_is_an_error_that_does_not_quote_it() -> None:
    settings = NotificationSettings({"team": Credential(value="secret-nonsense")})
    with pytest.raises(UsageError, match=r"\[notifications.targets\] team: this is not a URL") as caught:
        sender(settings)
    assert "nonsense" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # imported by apprise
@pytest.mark.parametrize(("answer", "pause", "seconds"), [(endless, 0, 60), (lambda: drops(head()), 0.1, 5)])
def test_a_service_that_answers_without_an_end_is_given_up(answer: Parts, pause: float, seconds: int) -> None:
    """The process that sends ends at its limit of memory, or of time."""
    with worker(answer, pause) as url:
        send = sender(NotificationSettings({"team": Credential(value=url.replace("http", "json"))}), seconds)
        assert not send(Notification("title", "body", logging.INFO))
