"""The connector fails after a change was applied: what `apply` reports, and how to recover."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acceptance.test_offsets_of_plugins import Numbers
from acceptance.workplace import Workplace

_FAILED = "FAILED: task 0 is FAILED: org.apache.kafka.connect.errors.ConnectException: number {} is no longer there"


class AgingNumbers(Numbers):
    """Its task fails at the first poll if it resumes before `oldest`."""

    def __init__(self, place: Workplace) -> None:
        super().__init__(place, "Movable")
        place.settings('min_running = "1.5s"')

    def commit(self, spec: str = "", **config: str) -> None:
        super().commit(spec, **{"oldest": "10", "interval.ms": "300", **config})

    def tasks(self) -> list[str]:
        status: dict[str, Any] = self.place.rest("GET", f"/connectors/{self.place.name('numbers')}/status")
        return [task["state"] for task in status["tasks"]]


@pytest.fixture
def numbers(at: Workplace) -> AgingNumbers:
    return AgingNumbers(at)


def test_an_offset_change_that_kills_the_task_is_a_failure_and_its_undo_leads_back(
    at: Workplace, numbers: AgingNumbers
) -> None:
    numbers.run()
    numbers.move()
    at.run("apply", "--yes").expect(
        1,
        out="2 of 3 steps applied, 1 failed",
        err=(f"resume {_FAILED.format(5)}", "to restore the offsets, run: gitops-connect offsets undo back"),
    )
    assert (numbers.position(), numbers.tasks()) == (5, ["FAILED"])

    again = at.run("apply", "--yes")
    assert "1 rewind" not in again.out, "what was applied is not applied again"
    assert numbers.position() == 5

    at.undo("back")
    at.apply()
    assert (numbers.position(), numbers.tasks()) == (20, ["RUNNING"])


@pytest.mark.on_kafka
def test_a_new_connector_whose_initial_offsets_kill_its_task_is_ours_and_its_undo_leads_back(
    at: Workplace, numbers: AgingNumbers
) -> None:
    entry = {"partition": {"stream": "a"}, "offset": {"position": 5}}
    numbers.commit(f"initialOffsets: {{offsets: {json.dumps([entry])}}}")
    ran = at.run("apply", "--yes").expect(1, err=f"resume {_FAILED.format(5)}")
    seed = f"initialOffsets/{at.name('numbers')}"
    assert f"gitops-connect offsets undo {seed}; fix its config in the repository, and apply again" in ran.err
    assert "adopt" not in at.run("plan").out

    at.undo(seed)
    at.apply()
    assert numbers.tasks() == ["RUNNING"]
