"""A large change on a real worker whose process or Spark is killed: it resumes, and ends with the right offsets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acceptance.large_place import COMMAND_TIMEOUT, FROM, MANY, LargePlace, lines, place, worker
from acceptance.workplace import Ran

from death.large_command import javas
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

__all__ = ["place", "worker"]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.thorough, pytest.mark.timeout(900)]

KILLED = -9


@pytest.fixture
def at(place: LargePlace) -> LargePlace:
    """A running connector, and a change `first` of its offsets that is not yet applied."""
    place.deploy("many.yaml", place.runner())
    place.manifest("first.jsonl", lines(1))
    place.commit("first.yaml", place.change("first", FROM.format("first.jsonl")))
    return place


def apply(at: LargePlace, **fate: Any) -> Ran:
    """The result of an `apply` with this fault."""
    settings = str(at.directory / "gitops-connect.toml")
    done = subprocess.run(
        [sys.executable, "-m", "death.large_command", json.dumps(fate), "--config", settings, "apply", "--yes"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_TIMEOUT,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_after_a_kill_at_any_step_the_change_continues_where_it_was(at: LargePlace) -> None:
    assert apply(at, who="self", method="begin_large", nth=1).code == KILLED
    assert at.record("first") is None
    assert not at.current_offsets()
    assert at.states() == {"many": "STOPPED"}

    killed = _killed_while_it_sends(at)
    record = at.record("first")
    assert record["state"] == "in_progress"
    assert killed <= record["sent"] < MANY
    assert record["sent"] <= len(at.current_offsets())

    ran = apply(at, who="self", method="settle", nth=1)
    assert ran.code == KILLED
    assert "(in progress)" in ran.out
    marked = _marked(ran)
    assert marked == sorted(marked)
    assert record["sent"] < marked[0] < marked[-1] == MANY
    assert at.record("first")["state"] == "in_progress"
    assert at.states() == {"many": "STOPPED"}

    ended = apply(at)
    assert ended.code == 0, ended
    assert "(in progress)" in ended.out
    assert not _marked(ended), "all of it was accepted before"
    _require_done(at)


def _killed_while_it_sends(at: LargePlace) -> int:
    """Kill `apply` while it sends. Returns how many offsets had certainly been accepted."""
    with at.begun("apply", "--yes") as process:
        assert process.stderr is not None
        sent = next(found for one in process.stderr if (found := _sent(one)))
        (java,) = javas(process.pid)
        process.kill()
        assert process.wait() == KILLED
    at.await_that(lambda: Path(f"/proc/{java}").exists(), lambda there: not there)
    return sent


def test_without_spark_nothing_is_begun_or_recorded_as_applied(at: LargePlace) -> None:
    lost = apply(at, who="java", method="check", nth=1)
    _require_named(lost)
    assert at.states() == {"many": "RUNNING"}
    assert not at.current_offsets()
    assert at.record("first") is None

    unseen = apply(at, who="java", method="difference", nth=1)
    _require_named(unseen)
    assert (
        f"{MANY:,} of {MANY:,} offsets are set: the connector stays stopped, and the next reconciliation continues"
        in unseen.err
    )
    assert at.states() == {"many": "STOPPED"}
    assert at.record("first")["state"] == "in_progress"
    ended = apply(at)
    assert ended.code == 0, ended
    assert not _marked(ended)
    _require_done(at)

    at.manifest("second.jsonl", lines(2))
    at.commit("second.yaml", at.change("second", f"{FROM.format('second.jsonl')}\nacknowledge: [skip]"))
    stopped = apply(at, who="java", method="review", nth=1)
    _require_named(stopped)
    assert at.current_offsets() == lines(1)
    assert at.states() == {"many": "RUNNING"}
    assert at.record("second")["state"] == "failed"


def test_a_worker_that_is_killed_between_chunks_gets_the_rest_after_its_restart(
    worker: Sandbox, at: LargePlace
) -> None:
    with at.begun("apply", "--yes") as process:
        assert process.stderr is not None
        sent = next(found for one in process.stderr if (found := _sent(one)))
        worker.kill_worker(1)
        assert sent < MANY
        Sandbox.up(SandboxOptions(directory=worker.directory))
        said = process.stderr.read()
        assert process.wait() == 0, said
    assert f"first: {MANY:,} of {MANY:,} offsets sent" in said
    _require_done(at)


def test_a_deletion_with_very_many_offsets_is_finished(place: LargePlace) -> None:
    spec = "onDelete: {offsets: reset}\nstate: "
    place.deploy("many.yaml", place.runner(spec=f"{spec}stopped"))
    place.await_states(many="STOPPED")
    place.fill("many", lines(1))
    place.commit("many.yaml", place.runner(spec=f"{spec}absent"))
    assert apply(place, who="self", method="reset_offsets", nth=1).code == KILLED
    assert place.current_offsets() == lines(1)
    record = place.record(f"onDelete/{place.name('many')}")
    assert (record["state"], record["entries"]) == ("in_progress", 0), "saved in pieces, as all of a large one"
    assert apply(place, who="self", method="delete", nth=1).code == KILLED
    assert not place.current_offsets()
    assert place.states() == {"many": "STOPPED"}
    assert "interrupted and is finished first" in place.applied().out
    assert place.states() == {}
    place.commit("many.yaml", place.runner(spec=f"{spec}stopped"))
    assert "earlier connector" not in place.applied().err


def _require_named(ran: Ran) -> None:
    assert ran.code == 1, ran
    assert "because Spark failed: its Java process has ended" in ran.err


def _require_done(at: LargePlace) -> None:
    record = at.record("first")
    assert (record["state"], record["entries"], record["sent"]) == ("applied", MANY, MANY)
    assert at.current_offsets() == lines(1)
    assert at.states() == {"many": "RUNNING"}
    assert "No changes." in at.applied().out


def _marked(ran: Ran) -> list[int]:
    """The total of accepted offsets after each chunk of this process."""
    return [int(one.removeprefix("marked ")) for one in ran.err.splitlines() if one.startswith("marked ")]


def _sent(line: str) -> int | None:
    found = re.match(r"first: ([\d,]+) of [\d,]+ offsets sent", line)
    return int(found[1].replace(",", "")) if found else None
