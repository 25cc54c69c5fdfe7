"""What is declared first, when the program is killed, and afterwards; and the state that must be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from standin.cluster import Cluster
from standin.connect import Call, Reply, StandIn

from death.trials import LOCAL, Trial
from gitops_connect.model.offset_changes import OffsetChangeState
from gitops_connect.model.offsets import Offsets, offset_text, offsets_digest, partition_text

CLEAR = "onDelete/lines"
ELSEWHERE = {"filename": "/elsewhere"}
CYCLES = 4
"""Enough reconciliations to finish the change that was killed, and to apply the current documents."""


class Recorder(StandIn):
    """A worker that records each request with an effect, and the offsets before each change of them.

    With `leaves_topics`, a deletion does not reset the active topics.
    """

    leaves_topics = False

    def __init__(self) -> None:
        super().__init__(Cluster())
        self.done: list[tuple[str, str, Any]] = []
        self.before: list[Offsets] = []

    def carry_out(self, call: Call) -> Reply:
        before = self.offsets()
        reply = super().carry_out(call)
        if call.method != "GET" and reply.status < 300:
            verb = call.path.rpartition("/")[2]
            self.done.append((call.method, verb, call.body))
            if verb == "offsets":
                self.before.append(before)
            if call.method == "DELETE" and verb == "lines" and self.leaves_topics:
                self.cluster.keep_active_topics("lines", "left")
        return reply

    def offsets(self) -> Offsets:
        pairs = self.cluster.stored.sources.get("lines", {}).values()
        return {partition_text(partition or {}): offset_text(offset) for partition, offset in pairs}

    def state(self) -> str | None:
        connector = self.cluster.connectors.get("lines")
        return connector.reported.state if connector and connector.reported else None

    def look(self) -> None:
        """Let time pass for the connector: if it runs, it reads on."""
        with self.cluster.lock:
            self.cluster.pass_time("lines")

    def sent(self) -> list[int]:
        """The lines that the connector has read, in their order."""
        return [int(line) for line in self.cluster.stored.topics.get("lines", [])]

    def begin_anew(self) -> None:
        self.cluster = Cluster()
        self.done.clear()
        self.before.clear()


Documents = Callable[[Trial], list[str]]


@dataclass(frozen=True)
class Story:
    """The documents at first, and those with which the program is killed.

    The other fields are the expected end: the applied offset changes in the order of their effects, and the line at
    which the connector resumes after them.
    """

    first: Documents
    then: Documents
    settled: tuple[str, ...] = ()
    goes_on: int | None = None
    more: str = ""


def running(*changes: tuple[Any, ...], spec: str = "", **config: str) -> Documents:
    return lambda trial: [trial.connector(spec, **config), *(trial.change(*change) for change in changes)]


def seeded(spec: str = "") -> Documents:
    return lambda trial: [trial.connector(f"initialOffsets: {{offsets: [{_flow(trial.entry(2))}]}}\n{spec}")]


def _flow(entry: dict[str, Any]) -> str:
    return str(entry).replace("'", '"')


BACK = ("back", "alter", 2, "rewind")
STOPPED = "state: stopped"
Each = Callable[[Story], Iterator[tuple[Trial, bool]]]


def finish(trial: Trial, worker: Recorder, story: Story) -> None:
    """Reconcile until the plan is empty. Meanwhile the connector reads on whenever it runs."""
    trial.declare(*story.then(trial))
    for _ in range(CYCLES):
        worker.look()
        trial.grow()
        worker.look()
        assert trial.cycle()
        assert not [step for step in trial.result.get("steps", ()) if step[2] != "applied"], trial.result
        if not trial.result["planned"]:
            break
    worker.look()


def require_once(worker: Recorder, place: str) -> None:
    """Check that offsets are not changed again once the connector was started after the first change."""
    verbs = [verb for method, verb, _ in worker.done]
    first = verbs.index("offsets")
    started = [index for index, verb in enumerate(verbs) if index > first and verb in ("resume", "pause")]
    if started:
        assert "offsets" not in verbs[started[0] :], f"{place}: {verbs}"


def require_settled(trial: Trial, worker: Recorder, story: Story, place: str) -> None:
    """Check that the ledger has each offset change as applied, and the actual offsets before the first one."""
    records = trial.records()
    assert [name for name in records if records[name].state is OffsetChangeState.SETTLED] == sorted(story.settled), (
        place
    )
    assert len(records) == len(story.settled), place
    assert trial.ledger().offset_changes.snapshot(LOCAL, story.settled[0]) == worker.before[0], place
    assert records[story.settled[0]].before == offsets_digest(worker.before[0])


def require_position(trial: Trial, worker: Recorder, story: Story, place: str) -> None:
    """Check that the connector has read each line after the changes exactly once."""
    assert story.goes_on is not None
    assert worker.offsets().items() >= trial.at(trial.lines).items(), place
    sent, again = worker.sent(), list(range(story.goes_on, trial.lines))
    assert sent[-len(again) :] == again, f"{place}: {sent}"
    earlier = sent[: -len(again)]
    assert earlier == list(range(len(earlier))), f"{place}: {sent}"
