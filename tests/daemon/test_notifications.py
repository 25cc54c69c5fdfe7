"""Which events are sent to people, how often, and what they say; and real requests of apprise to a webhook."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import pytest
from acceptance.workplace import SINK, Workplace
from daemon.test_restarts import FastClock
from standin.connect import StandIn
from standin.faults import Parts
from standin.raw_answers import drops, endless, head, worker
from support.cluster.manual_clock import ManualClock
from support.daemon_log import InThread
from support.files.tables import rows
from support.loopback import in_thread

from gitops_connect.daemon.notifications import (
    Notification,
    NotificationHandler,
    Outbox,
    notifying,
    sender,
)
from gitops_connect.errors import UsageError
from gitops_connect.model.clock import Duration
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import NotificationSettings

FAILED = {"cluster": "local", "connector": "orders", "message": "task 0 is FAILED"}


def outbox(clock: ManualClock, link: str = "", **settings: Any) -> Outbox:
    return Outbox(NotificationSettings(**settings), clock, link)


def sent(of: Outbox) -> list[Notification]:
    """What is sent now."""
    found = []
    while isinstance(one := of.next(), Notification):
        found.append(one)
    return found


def told(of: Outbox) -> list[str]:
    return [one.title.removeprefix("gitops-connect: ") for one in sent(of)]


def finished(of: Outbox, revision: object = "abc") -> None:
    of.add("reconciliation_finished", logging.INFO, {"cluster": "local", "revision": revision, "applied": 1})


def test_a_notification_names_the_connector_the_cause_and_the_page() -> None:
    of = outbox(ManualClock(), "https://status.example")
    of.add("config_rolled_back", logging.ERROR, {**FAILED, "revision": "abc", "keys": ["file", "topics"]})
    assert sent(of) == [
        Notification(
            "gitops-connect: config rolled back: orders on local",
            "message: task 0 is FAILED\nrevision: abc\nkeys: file, topics\nhttps://status.example",
            logging.ERROR,
        )
    ]


@pytest.mark.parametrize(("event", "fields", "settings", "is_sent"), rows(__file__, "sent"))
def test_what_is_sent_by_default_and_by_pattern(
    event: str, fields: dict[str, Any], settings: dict[str, Any], is_sent: bool
) -> None:
    of = outbox(ManualClock(), **settings)
    of.add(event, logging.INFO, fields)
    assert bool(sent(of)) is is_sent


def test_the_same_message_is_sent_again_only_after_some_time() -> None:
    clock = ManualClock()
    of = outbox(clock, repeat_after=Duration(60))
    counts = []
    for message in ("no", "no", "another"):
        of.add("step_failed", logging.ERROR, {**FAILED, "message": message})
        counts.append(len(sent(of)))
    clock.sleep(60)
    of.add("step_failed", logging.ERROR, {**FAILED, "message": "no"})
    assert [*counts, len(sent(of))] == [1, 0, 1, 1]


def test_ordinary_messages_never_use_up_what_alarms_may() -> None:
    """The automatic restarts of a day, each with an ordinary message, and then the connector is given up."""
    clock = ManualClock()
    of = outbox(clock)
    for number in range(100):
        finished(of, number)
        sent(of)
    of.add("connector_given_up", logging.ERROR, FAILED)
    assert told(of) == ["connector given up: orders on local"]


def test_an_hour_has_at_most_so_many_and_each_waits_for_a_part_of_it_at_most() -> None:
    for most in (1, 2, 3, 30):
        clock, times = ManualClock(), list[float]()
        of = outbox(clock, max_per_hour=most)
        while clock.seconds < 4 * 3600:
            of.add("step_failed", logging.ERROR, {**FAILED, "message": f"at {clock.seconds}"})
            times += [clock.seconds] * len(sent(of))
            clock.sleep(60)
        for start in times:
            assert sum(start <= one < start + 3600 for one in times) <= most
        assert max(later - earlier for earlier, later in pairwise(times)) <= 2 * 3600 / most + 60


def test_alarms_that_wait_are_sent_together_and_each_is_named_once() -> None:
    clock = ManualClock()
    of = outbox(clock, "https://status.example", max_per_hour=2)
    names = [f"c{number}" for number in range(800)]
    of.add("drift_corrected", logging.WARNING, FAILED)
    assert len(sent(of)) == 1
    for name in names:
        of.add("drift_corrected", logging.WARNING, {**FAILED, "connector": name})
        of.add("connector_given_up", logging.ERROR, {**FAILED, "connector": name, "hint": "fix it"})
    wait = of.next()
    assert isinstance(wait, float)
    clock.sleep(wait)
    (first,) = sent(of)
    assert (first.title, first.level) == ("gitops-connect: connector given up: 800 events", logging.ERROR)
    lines = first.body.splitlines()
    assert lines[0] == "c0 on local: message: task 0 is FAILED; hint: fix it"
    assert lines[10] == "also: " + ", ".join(f"{name} on local" for name in names[10:510])
    assert lines[11:] == ["290 more are in the log", "https://status.example"]
    clock.sleep(3600)
    assert told(of) == ["drift corrected: 800 events"]
    clock.sleep(7200)
    assert told(of) == []


def test_what_waits_is_sent_at_the_end() -> None:
    got: list[str] = []
    handler = NotificationHandler(outbox(ManualClock(), max_per_hour=1), lambda one: not got.append(one.body))
    logger = logging.getLogger("gitops_connect")
    logger.addHandler(handler)
    for number in range(3):
        logger.error("step_failed", extra={"fields": {**FAILED, "message": f"number {number}"}})
    logger.removeHandler(handler)
    handler.end()
    assert [sum(f"number {number}" in body for body in got) for number in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(("failure", "end", "subject"), rows(__file__, "ends"))
def test_the_end_of_a_failure_is_told_to_whom_the_failure_was_told(
    failure: str, end: str, subject: dict[str, str]
) -> None:
    of = outbox(ManualClock(), events=(failure,))
    for _ in range(2):
        of.add(end, logging.INFO, subject)
        assert told(of) == [], "nothing was told"
        of.add(failure, logging.ERROR, {**subject, "message": "no"})
        of.add(failure, logging.ERROR, {**subject, "message": "no"})
        assert len(sent(of)) == 1
        of.add(end, logging.INFO, {**subject, "connector": "other", "action": "other"})
        assert told(of) == []
        of.add(end, logging.INFO, subject)
        assert [title.partition(":")[0] for title in told(of)] == [end.replace("_", " ")]


def test_ends_have_the_budget_of_alarms_and_come_after_their_failures() -> None:
    clock = ManualClock()
    of = outbox(clock, max_per_hour=4)
    for number in range(10):
        finished(of, number)
    of.add("connector_given_up", logging.ERROR, FAILED)
    of.add("connector_recovered", logging.INFO, FAILED)
    assert told(of)[:2] == ["connector given up: orders on local", "connector recovered: orders on local"]


def test_a_failure_that_begins_again_replaces_its_end_that_waits() -> None:
    clock = ManualClock()
    of = outbox(clock, max_per_hour=1)
    of.add("connector_given_up", logging.ERROR, FAILED)
    assert told(of) == ["connector given up: orders on local"]
    of.add("connector_recovered", logging.INFO, FAILED)
    of.add("connector_given_up", logging.ERROR, {**FAILED, "connector": "more"})
    of.add("connector_given_up", logging.ERROR, FAILED)
    clock.sleep(4 * 3600)
    assert told(of) == ["connector given up: 2 events"]
    clock.sleep(4 * 3600)
    assert told(of) == []


def test_a_service_that_hangs_delays_nothing_and_one_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    release, results = threading.Event(), iter([OSError("down"), False, True, True])
    bodies = []

    def send(notification: Notification) -> bool:
        release.wait(10)
        bodies.append(notification.body.splitlines())
        result = next(results)
        if isinstance(result, OSError):
            raise result
        return result

    handler = NotificationHandler(outbox(ManualClock()), send)
    logger = logging.getLogger("gitops_connect")
    logger.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, "gitops_connect"):
            for event in ("step_failed", "connector_given_up", "config_rolled_back", "repository_unreachable"):
                logger.error(event, extra={"fields": FAILED})
            release.set()
            handler.end()
    finally:
        logger.removeHandler(handler)
    failed = [record for record in caplog.records if record.getMessage() == "notification_failed"]
    assert [record.__dict__["fields"].get("reason") for record in failed] == [
        "OSError",
        "the service did not accept it",
    ]
    titles = [record.__dict__["fields"]["message"] for record in failed]
    assert [body[1:] for body in bodies] == [
        [],
        [f"not delivered before (1): {titles[0]}"],
        [f"not delivered before (2): {titles[0]}; {titles[1]}"],
        [],
    ]


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
def test_a_notification_is_delivered_if_all_services_accept_it() -> None:
    notification = Notification("title", "body", logging.ERROR)
    with service() as (url, got):
        assert sender(NotificationSettings({"team": Credential(value=url)}))(notification)
        nobody = NotificationSettings({"team": Credential(value=url), "other": Credential(value="json://127.0.0.1:1")})
        assert not sender(nobody)(notification)
    assert [(one["title"], one["type"]) for one in got] == [("title", "failure")] * 2


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # imported by apprise
def test_a_connector_that_is_given_up_and_recovers_reaches_a_webhook(at: Workplace, standin: StandIn) -> None:
    """The ordinary message of each restart leaves room for both."""
    name = at.name("orders")
    at.commit("orders.yaml", at.source("orders", "autoRestart: {maxRestarts: 3}"))
    with service() as (url, got):
        settings = NotificationSettings({"team": Credential(value=url)}, max_per_hour=4)
        with (
            notifying(settings, ManualClock(), ""),
            InThread(at, lambda runtime: replace(runtime, clock=FastClock())) as daemon,
        ):
            daemon.wait("reconciliation_finished", applied=1)
            standin.cluster.fail(name, "java.lang.Boom: no")
            daemon.wait("connector_given_up", connector=name)
            standin.cluster.connectors[name].failure = ""
            at.rest("POST", f"/connectors/{name}/restart")
            daemon.wait("connector_recovered", connector=name)
            at.await_that(lambda: [one["title"] for one in got], lambda titles: "recovered" in str(titles))
            titles = [one["title"].removeprefix("gitops-connect: ") for one in got]
    alarms = [one for one in titles if not one.startswith("reconciliation finished")]
    assert alarms == [f"connector given up: {name} on local", f"connector recovered: {name} on local"]
    assert len(titles) <= 4


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
