"""A reconciliation without changes costs next to nothing: its requests, reads and writes are counted.

The counts are the same for ten connectors and for a thousand. A change follows, so that a counter that never counts
makes the test fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from acceptance.workplace import SOURCE, Workplace
from standin.connect import StandIn
from support.cluster.memory_journal import reconcile_options
from support.ledger.ledger_places import writes

from gitops_connect.declare import Caches, declare
from gitops_connect.model.documents import Entry
from gitops_connect.model.names import ClusterName
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.model.plans import Action
from gitops_connect.reconcile import reconcile
from gitops_connect.runtime import Runtime, open_runtime, open_source
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.checkout import Checkout, ContentReader, Source

pytestmark = pytest.mark.slow

LOCAL = ClusterName("local")
DOCUMENTS_A_FILE = 10


@dataclass
class CountingReader:
    """Passes reads on, and records their paths."""

    reader: ContentReader
    read_paths: list[str]

    def read(self, entries: Sequence[Entry], at_most: int | None) -> Iterator[bytes]:
        self.read_paths += [entry.path for entry in entries]
        return self.reader.read(entries, at_most)


@dataclass
class CountingSource:
    """A source that records every file that is read, and so every file that is parsed."""

    source: Source
    read_paths: list[str] = field(default_factory=list)

    def fetch(self) -> Checkout:
        checkout = self.source.fetch()
        return replace(checkout, reader=CountingReader(checkout.reader, self.read_paths))

    @property
    def last_good(self) -> Checkout | None:
        return self.source.last_good

    def close(self) -> None:
        self.source.close()


@dataclass
class Counted:
    """A `Runtime`, and everything around it that can be counted."""

    at: Workplace
    standin: StandIn
    runtime: Runtime
    source: CountingSource
    git_log: Path
    memory: Caches = field(default_factory=Caches)
    written: list[str] = field(default_factory=list)
    """The writes to the ledger, except for the lease: every reconciliation takes and releases it."""

    def cycle(self) -> ReconciliationOutcome:
        """Run one reconciliation, with all counters reset."""
        self.standin.calls.clear()
        self.source.read_paths.clear()
        self.git_log.write_text("")
        with writes() as written:
            declared = declare(self.source, [LOCAL], self.memory)
            outcome = reconcile(self.runtime, declared, LOCAL, reconcile_options())
        self.written = [one for one in written if not one.endswith(" leases")]
        return outcome

    def git(self) -> list[str]:
        """The git commands of the last reconciliation, without their arguments."""
        return [next(word for word in line.split() if word.islower()) for line in self.git_log.read_text().splitlines()]


@pytest.fixture
def git_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of every git command, written by a `git` that precedes the real one on the PATH."""
    log, real = tmp_path / "git.log", shutil.which("git")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return log


@pytest.fixture(params=[10, 1000])
def counted(request: pytest.FixtureRequest, tmp_path: Path, git_log: Path) -> Iterator[Counted]:
    with StandIn() as standin:
        at = Workplace(tmp_path, (standin.url,))
        for start in range(0, request.param, DOCUMENTS_A_FILE):
            numbers = range(start, start + DOCUMENTS_A_FILE)
            at.write(f"{start}.yaml", *(at.source(f"orders{number}") for number in numbers))
        put_in_place(standin, at, request.param)
        at.commit("last.yaml", at.source("last"))
        settings = load_settings(at.directory / "gitops-connect.toml", {})
        with closing(open_runtime(settings)) as runtime, closing(open_source(settings, None)) as source:
            yield Counted(at, standin, runtime, CountingSource(source), git_log)
        at.session.close()


def put_in_place(standin: StandIn, at: Workplace, count: int) -> None:
    """Create all connectors except for the last one."""
    file = str(at.directory / "in.txt")
    for number in range(count):
        config = {"connector.class": SOURCE, "tasks.max": "1", "file": file, "topic": "lines"}
        standin.cluster.create(at.name(f"orders{number}"), config, None)


def test_nothing_is_read_written_or_asked_for_but_once(counted: Counted) -> None:
    first = counted.cycle()
    assert [step.connector for step in first.plan.steps if step.action is not Action.ADOPT] == [counted.at.name("last")]
    assert len(first.plan.adopted) == len(first.plan.steps) - 1
    assert not first.failed

    assert counted.cycle().plan.is_empty
    assert [call.path for call in counted.standin.calls] == ["/", "/connectors?expand=status&expand=info"]
    assert counted.source.read_paths == []
    assert counted.written == []
    assert counted.git() == ["ls-remote"]

    counted.at.commit("last.yaml", counted.at.source("last", **{"batch.size": "7"}))
    assert len(counted.cycle().plan.steps) == 1
    assert counted.source.read_paths == ["last.yaml"], "only what changed"
    assert {"fetch", "cat-file"} <= set(counted.git())
    assert {"INSERT ownership", "INSERT revisions"} <= set(counted.written)
