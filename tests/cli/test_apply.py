"""The approval before an apply, and interrupts during it, on a real terminal and with real signals."""

from __future__ import annotations

import math
import signal
from contextlib import closing

import pytest
from acceptance.workplace import Workplace, change
from standin.connect import StandIn
from support.terminal import Terminal

from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.sandbox_state import TopicTracking

RESET = "operation: reset\nacknowledge: [reset]"
FOR_EVER = 10**9
QUESTION = "Enter a value: "
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("answer", "code", "states"),
    [
        ("yes\n", 0, {"orders": "RUNNING"}),
        pytest.param(" yes \n", 0, {"orders": "RUNNING"}, marks=pytest.mark.thorough),
        ("y\n", 1, {}),
        pytest.param("YES\n", 1, {}, marks=pytest.mark.thorough),
        pytest.param("\n", 1, {}, marks=pytest.mark.thorough),
        ("\x04", 1, {}),  # Ctrl-D
        ("\x03", 130, {}),  # Ctrl-C
    ],
)
def test_only_yes_is_a_yes(at: Workplace, answer: str, code: int, states: dict[str, str]) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with Terminal(at, ["apply"]) as terminal:
        terminal.wait(QUESTION)
        assert at.name("orders") in terminal.seen, "the plan stands above the question"
        if answer == "\x03":
            terminal.send(signal.SIGINT)  # the terminal sends no signal, because it controls no process
        else:
            terminal.type(answer)
        assert terminal.code() == code
        assert "Only 'yes' will be accepted to approve." in terminal.seen
        assert ("Apply cancelled. Nothing was changed." in terminal.seen) == (code == 1)
    assert at.states() == states


def test_the_question_is_not_printed_to_stdout_and_not_asked_without_changes(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with Terminal(at, ["apply"], piped=True) as terminal:
        terminal.wait(QUESTION)
        terminal.type("yes\n")
        assert terminal.code() == 0
        assert b"Enter a value" not in terminal.out
        assert b"1 of 1 step applied" in terminal.out
    with Terminal(at, ["apply"]) as terminal:
        assert terminal.code() == 0
        assert QUESTION not in terminal.seen
        assert "No changes." in terminal.seen


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist; expected a saved plan or a directory with documents"),
        (b"\xff", "is not a plan saved by `gitops-connect plan --out`"),
        (b"kind: Connector\n", "is not a plan saved by `gitops-connect plan --out`"),
    ],
)
def test_an_argument_that_is_neither_a_plan_nor_a_directory_is_named(
    at: Workplace, content: bytes | None, message: str
) -> None:
    file = at.directory / "given"
    if content is not None:
        file.write_bytes(content)
    at.run("apply", str(file), "--yes").expect(64, out="", err=f"{file} {message}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_finishes_the_step_in_progress_and_names_the_remaining_steps(
    at: Workplace, standin: StandIn, number: int
) -> None:
    standin.cluster.version = "3.6.2"  # on which the creation of a stopped connector takes two steps
    standin.cluster.delay = FOR_EVER
    at.commit("orders.yaml", at.source("orders", "state: stopped"))
    with Terminal(at, ["apply", "--yes"], piped=True) as terminal:
        at.await_that(lambda: standin.count("POST"), bool)
        terminal.send(number)
        terminal.wait("interrupted: finishing the steps in progress; interrupt again to stop immediately")
        with standin.cluster.lock:
            standin.cluster.delay = 0
            standin.cluster.catch_up(math.inf)
        assert terminal.code() == 130
        out = terminal.out.decode()
    assert f"# {at.name('orders')}: stop skipped: interrupted" in out
    assert "Apply: 1 of 2 steps applied, 0 failed, 1 skipped." in out
    with closing(at.ledger()) as ledger:
        assert ledger.ownership(ClusterName("local")).keys() == {at.name("orders")}
        with ledger.lease(ClusterName("local"), SystemClock()):
            """The lease was released."""
    told = at.run("status").err
    assert "nothing applied yet" not in told
    assert f"1 of 2 steps were not applied; the first is of {at.name('orders')}" in told
    at.apply()
    assert "last attempted" not in at.run("status").err
    assert (standin.count("POST"), at.states()) == (1, {"orders": "STOPPED"})


def test_a_masked_value_of_a_connector_that_fails_with_it_is_not_sent_again(at: Workplace, standin: StandIn) -> None:
    """Connect does not show the value, so only the ledger knows that it was sent."""
    standin.cluster.masks_passwords = True
    works = {"source.cluster.bootstrap.servers": "127.0.0.1:1"}
    at.deploy("orders.yaml", at.mirror("orders", **works, **{"ssl.key.password": "one"}))
    at.commit("orders.yaml", at.mirror("orders", **{"ssl.key.password": "two"}))
    assert at.run("apply", "--yes").code == 1
    assert "configure" not in at.run("plan").out


@pytest.mark.parametrize(("status", "body"), [(204, ""), (200, ""), (200, {}), (200, {"message": None})])
def test_a_reset_is_read_back_whatever_the_answer(at: Workplace, standin: StandIn, status: int, body: object) -> None:
    """An answer without Connect's message may be that of a proxy. It does not say whether the reset was done."""
    at.deploy("orders.yaml", at.source("orders"))
    for effect, sent in ((False, 2), (True, 1)):
        standin.calls.clear()
        standin.cluster.stored.set_source(at.name("orders"), {"filename": "f"}, {"position": 1})
        standin.answer("DELETE", ".*/offsets", status, body, effect=effect)
        at.deploy("reset.yaml", change(f"reset-{sent}", at.name("orders"), RESET))
        assert (standin.count("DELETE", ".*/offsets"), at.offsets("orders")) == (sent, [])


def test_a_second_interrupt_names_the_connectors_that_are_left_stopped(at: Workplace, standin: StandIn) -> None:
    """One connector waits for its offsets, one for its stop. The third is declared stopped, so it is not named."""
    at.deploy("c.yaml", at.source("orders"), at.source("late"), at.source("closed"))
    resets = [change(f"reset-{stem}", at.name(stem), RESET) for stem in ("orders", "late")]
    at.commit("c.yaml", at.source("orders"), at.source("late"), at.source("closed", "state: stopped"), *resets)
    for stem in ("orders", "late"):
        standin.cluster.stored.set_source(at.name(stem), {"filename": "f"}, {"position": 1})
    standin.hang("DELETE", f"/connectors/{at.name('orders')}/offsets")
    standin.hang("PUT", f"/connectors/{at.name('late')}/stop")
    with Terminal(at, ["apply", "--yes"]) as terminal:
        at.await_that(lambda: standin.count("DELETE") and standin.count("PUT", ".*late.*/stop"), bool)
        terminal.send(signal.SIGINT)
        terminal.wait("interrupt again to stop immediately")
        terminal.send(signal.SIGINT)
        assert terminal.code() == -signal.SIGINT
    said = [line for line in terminal.seen.splitlines() if "is still stopped" in line]
    assert [line.split()[1] for line in said] == [at.name("late"), at.name("orders")]
    assert "run `gitops-connect apply` to finish its steps" in said[0]
    assert said[1].endswith(f"curl -X PUT {at.urls[0]}/connectors/{at.name('orders')}/resume")
    assert at.states()["orders"] == "STOPPED"
    at.apply()
    assert at.states() == {"orders": "RUNNING", "late": "RUNNING", "closed": "STOPPED"}


def test_progress_and_colour_are_for_terminals(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with Terminal(at, ["plan"]) as terminal:
        assert terminal.code() == 0
        assert "\x1b[32m+\x1b[0m" in terminal.seen
    with Terminal(at, ["plan"], environment={"NO_COLOR": "1"}) as terminal:
        assert terminal.code() == 0
        assert "\x1b[" not in terminal.seen
    standin.starting = True  # so that it takes more than a second
    with Terminal(at, ["plan", "-o", "json"], piped=True) as terminal:
        terminal.wait("Planning")
        terminal.wait("planning local")
        standin.starting = False
        assert terminal.code() == 0
        assert terminal.out.startswith(b"{")
    assert "planning local" not in at.run("plan").err


def test_a_long_apply_shows_its_progress_and_each_step_as_it_ends(at: Workplace, standin: StandIn) -> None:
    at.commit("orders.yaml", at.source("quick"), at.source("slow"))
    standin.refuse("POST", "/connectors", 409, "Cannot complete request: conflicting operation", times=FOR_EVER)
    with Terminal(at, ["apply", "--yes"]) as terminal:
        terminal.wait("Applying")
        terminal.wait("/2 steps")
        standin.faults.clear()
        assert terminal.code() == 0
        for stem in ("quick", "slow"):
            assert f"{at.name(stem)}: create" in terminal.seen
        assert "2 of 2 steps applied" in terminal.seen


def test_every_plan_that_a_guard_rejects_is_named_before_any_change(at: Workplace) -> None:
    with StandIn() as second:
        other = f'[clusters.second]\nurl = ["{second.url}"]\nprune = true\nmax_deletions = 0'
        at.settings(cluster="prune = true\nmax_deletions = 0", more=other)
        for cluster in ("local", "second"):
            at.commit(f"clusters/{cluster}/all.yaml", *(at.source(f"orders{number}") for number in range(3)))
        at.apply()
        for cluster in ("local", "second"):
            at.commit(f"clusters/{cluster}/all.yaml", at.source("orders0", "state: paused"))
        refused = at.run("apply", "--yes").expect(1)
        for cluster in ("local", "second"):
            assert f"cluster {cluster}: the plan is rejected, and nothing was changed" in refused.err
        assert set(at.states().values()) == {"RUNNING"}


def test_a_worker_without_topic_tracking_fails_the_step_and_says_which_setting_is_missing(
    at: Workplace, standin: StandIn
) -> None:
    standin.cluster.topic_tracking = TopicTracking.DISABLED
    at.commit("a.yaml", at.source("a", "topics: {allow: [a]}"), at.source("b", "state: absent\nresetTopics: {id: one}"))
    hint = "set topic.tracking.enable=true on all workers"
    at.run("plan").expect(0, out=["reset-topics", hint])
    at.run("apply", "--yes").expect(1, said=["Topic tracking is disabled", hint])
    assert at.states() == {"a": "RUNNING"}, "one connector does not stop another"
    at.run("plan").expect(0, out=["spec.topics is not checked", "reset-topics"])
    standin.cluster.topic_tracking = TopicTracking.NO_RESET
    at.run("apply", "--yes").expect(1, said="set topic.tracking.allow.reset=true on all workers")
    standin.cluster.topic_tracking = TopicTracking.ENABLED
    at.apply()
    at.run("plan").expect(0, out="match the configuration")
