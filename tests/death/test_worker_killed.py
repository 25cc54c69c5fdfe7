"""A worker that is killed while it changes offsets: only a real worker can show what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from acceptance.test_offsets import change
from acceptance.workplace import Workplace

from death.gate import gate
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.sandbox.cluster import Sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]
MANY = 100_000
END = 50
NUMBERS = "org.example.fixtures.MovableNumberSource"
LOCAL = ClusterName("local")


@pytest.fixture
def killed(sandbox: Sandbox) -> Event:
    """Set when the worker was killed."""
    return Event()


@pytest.fixture
def real(sandbox: Sandbox, tmp_path: Path, killed: Event) -> Iterator[Workplace]:
    """A workplace with a gate that kills the worker as soon as it has forwarded the first change of offsets."""

    def kill() -> None:
        if not killed.is_set():
            killed.set()
            sandbox.kill_worker(1)

    with gate(sandbox.worker_urls[0], kill) as url:
        workplace = Workplace(tmp_path, (url,))
        workplace.settings('settle_timeout = "15s"')
        yield workplace
        for name in workplace.rest("GET", "/connectors"):
            if name.endswith(workplace.suffix):
                # 100,000 offsets would slow down the worker, and so the tests after this one.
                workplace.rest("PUT", f"/connectors/{name}/stop")
                workplace.await_that(workplace.states, lambda found: set(found.values()) == {"STOPPED"})
                workplace.rest("DELETE", f"/connectors/{name}/offsets")
        workplace.clean()


def entry(stream: str, position: int) -> dict[str, Any]:
    return {"partition": {"stream": stream}, "offset": {"position": position}}


def test_a_worker_killed_in_the_middle_of_a_change(sandbox: Sandbox, real: Workplace, killed: Event) -> None:
    at = real
    at.deploy("numbers.yaml", at.document("numbers", NUMBERS, "", {"topic": at.name("numbers"), "until": str(END)}))
    at.await_that(lambda: at.offsets("numbers"), lambda found: found == [entry("a", END)])

    many = [entry("a", 4), *(entry(f"s{number}", number) for number in range(MANY))]
    (at.repository / "many.jsonl").write_text("".join(json.dumps(one) + "\n" for one in many))
    spec = "operation: alter\nmanifest: {path: many.jsonl}\nacknowledge: [rewind]"
    at.commit("c.yaml", change("many", at.name("numbers"), spec))
    ran = at.run("apply", "--yes")
    assert killed.is_set(), ran
    unread, skipped = "the offsets after the request could not be read", "skipped: the step alter before it failed"
    ran.expect(1, err=unread, out=skipped)
    ledger = at.ledger().offset_changes
    assert ledger.records(LOCAL)[OffsetChangeName("many")].state is OffsetChangeState.OPEN

    sandbox.start_worker()
    at.await_states(numbers="STOPPED")
    finished = at.apply()
    assert "(in progress)" in finished.out
    assert ledger.records(LOCAL)[OffsetChangeName("many")].state is OffsetChangeState.SETTLED
    assert ledger.snapshot(LOCAL, OffsetChangeName("many")) == {
        partition_text({"stream": "a"}): offset_text({"position": END})
    }
    at.await_states(numbers="RUNNING")
    at.await_that(lambda: entry("a", END) in at.offsets("numbers"), bool)
    others = [one["offset"]["position"] for one in at.offsets("numbers") if one["partition"]["stream"] != "a"]
    assert sorted(others) == list(range(MANY))
    assert "No changes." in at.apply().out
