"""The declared connectors, the changes to them, and what must be true at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from soak.cluster import SoakCluster

LINES = 200
"""Lines of the file that each source reads."""
STATES = ("running", "running", "paused", "stopped")
BY_HAND = ("pause", "resume", "stop", "config")


@dataclass
class Source:
    """A source that reads a file into a topic of its own, exactly once, and its rewinds to the first line."""

    name: str
    file: Path
    state: str = "running"
    batch: int = 1000
    rewinds: int = 0

    @property
    def size(self) -> int:
        """The position after the last line, in bytes."""
        return self.file.stat().st_size

    def config(self) -> dict[str, str]:
        """The desired config without the class."""
        return {
            "tasks.max": "1",
            "file": str(self.file),
            "topic": self.name,
            "batch.size": str(self.batch),
            "exactly.once.support": "required",
        }

    def documents(self) -> str:
        """The connector, and one offset change for each rewind."""
        plugin = "org.apache.kafka.connect.file.FileStreamSourceConnector"
        connector = _document("Connector", self.name, {"class": plugin, "state": self.state, "config": self.config()})
        rewind = {
            "connector": self.name,
            "operation": "alter",
            "offsets": [{"partition": {"filename": str(self.file)}, "offset": {"position": 0}}],
            "acknowledge": ["rewind"],
            "reason": "soak",
        }
        rewinds = (_document("OffsetChange", f"{self.name}-{number}", rewind) for number in range(self.rewinds))
        return "\n---\n".join([connector, *rewinds])


def _document(kind: str, name: str, spec: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "gitops-connect/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})


class Connectors:
    """All sources, and the random changes to them. Each change is written to the working copy and pushed."""

    def __init__(self, cluster: SoakCluster, directory: Path, count: int) -> None:
        self.sources = [Source(f"soak-{number}", directory / f"lines-{number}.txt") for number in range(count)]
        self._cluster = cluster
        for source in self.sources:
            source.file.write_text("".join(f"{number}\n" for number in range(LINES)))
            self._write(source)
        cluster.push("declare the connectors")

    def change(self, random: Random) -> str:
        """Commit one random change. Returns what it is."""
        source = random.choice(self.sources)
        kind = random.choice(("state", "config", "rewind"))
        if kind == "rewind" and self._may_rewind(source):
            source.rewinds += 1
            text = f"{source.name}: rewind {source.rewinds}"
        elif kind == "state":
            source.state = random.choice(STATES)
            text = f"{source.name}: state {source.state}"
        else:
            source.batch += 1
            text = f"{source.name}: batch.size {source.batch}"
        self._write(source)
        self._push(text)
        return text

    def by_hand(self, random: Random) -> str:
        """Change a connector with the REST API, as someone would who does not know of the repository."""
        source, kind = random.choice(self.sources), random.choice(BY_HAND)
        if not self._all_rewinds_applied(source):
            return ""  # someone who resumes a connector during an offset change makes its outcome unknown
        if kind == "config":
            config = {**source.config(), "connector.class": "FileStreamSource", "batch.size": "7"}
            done = self._cluster.connect("PUT", f"/connectors/{source.name}/config", config)
        else:
            done = self._cluster.connect("PUT", f"/connectors/{source.name}/{kind}")
        return f"{source.name}: {kind} by hand" if done is not None else ""

    def run_all(self) -> None:
        for source in self.sources:
            source.state = "running"
            self._write(source)
        self._push("run all")

    def in_sync(self) -> bool:
        """Whether the daemon has applied the last commit, and reports every connector as in sync and healthy."""
        status = self._cluster.api("status")
        if status is None:
            return False
        (one,) = status["clusters"]
        agreed = one["attention"] == 0 and one["connectors"] == len(self.sources)
        return agreed and not one["error"] and one["applied"] == self._cluster.git("rev-parse", "HEAD")

    def problems(self) -> list[str]:
        """What is not as declared, read from Connect and from Kafka without gitops-connect; empty if all is."""
        return [problem for source in self.sources for problem in self._problems(source)]

    def _problems(self, source: Source) -> list[str]:
        expected = {**source.config(), "name": source.name}
        found = self._cluster.connect("GET", f"/connectors/{source.name}/config") or {}
        status = self._cluster.connect("GET", f"/connectors/{source.name}/status") or {}
        states = [status.get("connector", {}).get("state"), *(task["state"] for task in status.get("tasks", []))]
        problems = []
        if {key: value for key, value in found.items() if key != "connector.class"} != expected:
            problems.append(f"{source.name}: the config is {found}, expected {expected}")
        if states != ["RUNNING", "RUNNING"]:
            problems.append(f"{source.name}: {states}")
        records = self._cluster.records(source.name)
        if records != [str(number) for _ in range(source.rewinds + 1) for number in range(LINES)]:
            problems.append(f"{source.name}: {len(records)} records, expected {LINES} * (1 + {source.rewinds} rewinds)")
        return problems

    def is_read(self, source: Source) -> bool:
        """Whether the source is at the end of its file."""
        answer = self._cluster.connect("GET", f"/connectors/{source.name}/offsets") or {}
        return [one["offset"] for one in answer.get("offsets", [])] == [{"position": source.size}]

    def _may_rewind(self, source: Source) -> bool:
        """Only after the last rewind was applied and read to its end, so that the number of records is known."""
        return self._all_rewinds_applied(source) and self.is_read(source)

    def _all_rewinds_applied(self, source: Source) -> bool:
        answer = self._cluster.api(f"operations?connector={source.name}&state=applied&limit=1000")
        return answer is not None and answer["total"] == source.rewinds

    def _write(self, source: Source) -> None:
        (self._cluster.repository / f"{source.name}.yaml").write_text(source.documents())

    def _push(self, text: str) -> None:
        if self._cluster.git("status", "--porcelain"):
            self._cluster.push(text)
