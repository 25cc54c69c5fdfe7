"""Files of other tools become documents that a cluster accepts: after `apply`, the next plan has no steps."""

from __future__ import annotations

import json

import pytest
from exchange.writers import WRITERS

from acceptance.workplace import SOURCE, Workplace

HOSTILE = {"x.lines": " a\r\n\tb\n", "x.reference": "$${a} %{b} it's \\", "x.unicode": "\U0001f600 ä", "x.empty": ""}
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    "metadata: {{name: {0}, labels: {{strimzi.io/cluster: other}}}}\n"
    "spec:\n  class: {1}\n  tasksMax: 1\n  state: paused\n  config: {{topic: lines, file: {2}}}\n"
)


@pytest.mark.timeout(300)
def test_files_of_each_format_are_applied_once(at: Workplace) -> None:
    old, file = at.directory / "old", str(at.directory / "in.txt")
    old.mkdir()
    names = {at.name(f"converted-{number}"): path for number, path in enumerate(WRITERS)}
    for name, path in names.items():
        config = {"connector.class": SOURCE, "topic": "lines", "file": file, **HOSTILE}
        (old / f"{name}.{path.partition('.')[2]}").write_bytes(WRITERS[path](name, config))
    (old / "strimzi.yaml").write_text(STRIMZI.format(at.name("strimzi"), SOURCE, file))
    at.run("convert", str(old), "--cluster", "local", "--out", str(at.repository)).expect(0)
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "converted")
    assert at.run("validate").code == 0
    at.run("apply", "--yes").expect(0)
    (cluster,) = json.loads(at.run("plan", "-o", "json").out)["clusters"]
    assert cluster["resource_changes"] == []
    for name in names:
        stored = at.rest("GET", f"/connectors/{name}/config")
        assert {key: stored[key] for key in HOSTILE} == HOSTILE, name
