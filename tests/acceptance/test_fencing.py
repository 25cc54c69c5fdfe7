"""A worker that hangs, and writes nothing more when it continues: its exactly-once tasks were fenced meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster.kafka_records import committed_records

from acceptance.test_offsets import LOCAL, Lines
from acceptance.workplace import Workplace
from gitops_connect.runtime import fence
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.settings.settings_file import load_settings

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]
SETTINGS = """
[clusters.local.worker]
group_id = "connect-sandbox"
[clusters.local.kafka]
bootstrap_servers = ["{}"]
"""
FENCED = (
    "before its offsets are read and changed, the producers of the transactional id connect-sandbox-{}-0 are fenced"
)


class TwoWorkers:
    """Sources on two workers. The first worker leads the group; `frozen` are the sources whose task the second runs."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox = sandbox
        directory.mkdir()
        self.place = Workplace(directory, sandbox.worker_urls[:1])
        self.place.settings(more=SETTINGS.format(sandbox.bootstrap))
        sources = [Lines(self.place, f"lines{number}") for number in range(4)]
        self.place.commit("lines.yaml", *(one.document() for one in sources))
        self.place.run("apply", "--yes")  # two workers may rebalance longer than it waits
        for one in sources:
            one.await_position(len(one.file.read_text()))
        self.worker = sandbox.state().workers[1]
        self.frozen = [one for one in sources if self.runs_on_the_second(one)]
        self.log = next(sandbox.directory.rglob("worker-2.log"))

    def runs_on_the_second(self, source: Lines) -> bool:
        (task,) = self.place.rest("GET", f"/connectors/{self.name(source)}/status")["tasks"]
        return self.worker.address == f"http://{task['worker_id']}"

    def name(self, source: Lines) -> str:
        return self.place.name(source.stem)

    def send(self, number: signal.Signals) -> None:
        assert self.worker.process is not None
        os.kill(self.worker.process.pid, number)

    def written(self, source: Lines) -> tuple[int, int | None]:
        """The number of committed records, and the position."""
        return len(committed_records(self.sandbox.bootstrap, self.name(source))), source.position()

    def stop(self, source: Lines) -> None:
        self.place.by_hand("stop", source.stem)
        self.place.await_that(lambda: self.place.states()[source.stem], lambda state: state == "STOPPED")

    def await_end(self, *sources: Lines) -> None:
        """Wait until each task has tried to write, and has failed for this reason."""
        for source in sources:
            ended = f"ExactlyOnceWorkerSourceTask{{id={self.name(source)}-0}} Task threw an uncaught"
            self.place.await_that(self.log.read_text, lambda text, ended=ended: ended in text)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[TwoWorkers]:
    options = SandboxOptions(directory=tmp_path / "sandbox", workers=1, heap=512, tied=True)
    with Sandbox.up(options) as sandbox:
        sandbox.start_worker()
        two = TwoWorkers(sandbox, tmp_path / "place")
        yield two
        two.place.session.close()


def test_a_worker_that_was_frozen_writes_neither_records_nor_offsets(workers: TwoWorkers) -> None:
    """Without the fence, the source that nobody changes writes its new lines, and moves its offset."""
    place, (only_fenced, changed, *_) = workers.place, workers.frozen
    workers.send(signal.SIGSTOP)
    for one in (only_fenced, changed):
        with one.file.open("a") as out:
            out.write("more\n" * 50)
    workers.stop(only_fenced)
    before = workers.written(only_fenced)
    settings = load_settings(place.directory / "gitops-connect.toml", {})
    fence(settings, LOCAL, [f"connect-sandbox-{workers.name(only_fenced)}-0"])

    place.commit("change.yaml", changed.alter("again", 4, "acknowledge: [rewind]"))
    place.commit("lines.yaml", *(one.document("state: stopped") for one in (only_fenced, changed)))
    place.run("plan").expect(out=FENCED.format(workers.name(changed)))
    records = len(committed_records(workers.sandbox.bootstrap, workers.name(changed)))
    place.apply()
    assert workers.written(changed) == (records, 4)

    workers.send(signal.SIGCONT)
    workers.await_end(only_fenced, changed)
    assert workers.written(only_fenced) == before
    assert workers.written(changed) == (records, 4)
