"""A `KafkaMirrorMaker2` of Strimzi mirrors records between two real brokers, and its source connector is rewound."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from acceptance.workplace import Workplace, change, run_apart
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(300)]

TOPIC = "orders"
RECORDS = [f"order {number}" for number in range(50)]
LAST = len(RECORDS) - 1
KEPT = 30
"""The rewind makes the connector read from this record on."""


def resource(name: str, **values: str) -> str:
    """A `KafkaMirrorMaker2` from `mirrors/`, with these values."""
    return Template((Path(__file__).parent / "mirrors" / f"{name}.yaml").read_text()).substitute(values)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Sandbox]:
    """The second broker, without a worker. The worker of the shared sandbox reads from it."""
    with Sandbox.up(SandboxOptions(directory=tmp_path / "source", workers=0, tied=True)) as started:
        yield started


def run_sandbox(sandbox: Sandbox, *arguments: str, given: str = "") -> list[str]:
    command = [sys.executable, "-m", "gitops_connect.cli.main", "sandbox", *arguments, "--dir", str(sandbox.directory)]
    return run_apart(command, input=given).expect(0).out.splitlines()


class Mirrors:
    """A resource with one mirror from the broker `source` to the broker of the shared sandbox."""

    def __init__(self, place: Workplace, source: Sandbox, target: Sandbox) -> None:
        self.place, self.broker, self.target = place, source, target
        self.source_alias, self.target_alias = place.name("src"), place.name("dst")
        self.mirror = f"{self.source_alias}->{self.target_alias}"
        self.connector = f"{self.mirror}.MirrorSourceConnector"

    def resource(self, api: str) -> str:
        return resource(
            api,
            source=self.source_alias,
            target=self.target_alias,
            source_servers=self.broker.bootstrap,
            target_servers=self.target.bootstrap,
            topic=TOPIC,
        )

    def annotated(self, action: str = "", state: str = "state: running") -> str:
        """The resource with the ConfigMaps of its source connector, and annotations that request an action."""
        name = f'strimzi.io/mirrormaker-connector: "{self.connector}"'
        annotations = f"annotations: {{strimzi.io/connector-offsets: {action}, {name}}}, " if action else ""
        maps = "listOffsets: {toConfigMap: {name: found}}\n      alterOffsets: {fromConfigMap: {name: found}}"
        text = self.resource("v1").replace("metadata: {", f"metadata: {{{annotations}")
        return text.replace("      tasksMax: 1\n", f"      tasksMax: 1\n      {state}\n      {maps}\n", 1)

    def deploy(self, text: str) -> None:
        """Commit the resource, and apply it. Without groups, its connector for checkpoints has no tasks."""
        self.place.commit("mirrors.yaml", text)
        self.place.run("apply", "--yes").expect(6, said="MirrorCheckpointConnector: create not confirmed yet")

    def produce(self) -> None:
        run_sandbox(self.broker, "produce", TOPIC, given="".join(f"{record}\n" for record in RECORDS))

    def mirrored(self) -> list[str]:
        """The records in the target cluster, after the connector has stored the offset of the last one it can read."""
        self.place.await_that(self.offsets, lambda found: [one["offset"]["offset"] for one in found] == [LAST])
        consumer = Consumer({"bootstrap.servers": self.target.bootstrap, "group.id": "-", "enable.partition.eof": True})
        consumer.assign([TopicPartition(f"{self.source_alias}.{TOPIC}", 0, OFFSET_BEGINNING)])
        records = []
        while (record := consumer.poll(60)) is not None and record.error() is None:
            records.append(record.value().decode())
        consumer.close()
        assert record is not None
        assert record.error().code() == KafkaError._PARTITION_EOF
        return records

    def offsets(self) -> Any:
        return self.place.rest("GET", f"/connectors/{quote(self.connector, safe='')}/offsets")["offsets"]

    def offset(self) -> int:
        (entry,) = self.offsets()
        assert entry["partition"] == {"cluster": self.source_alias, "partition": 0, "topic": TOPIC}
        found: int = entry["offset"]["offset"]
        return found

    def rewind(self, target: str = "") -> str:
        """A change to the record `KEPT`, by its offset or by a target."""
        if target:
            return change("rewind", self.connector, f"operation: alter\nacknowledge: [rewind]\nto: {target}")
        partition = f"{{cluster: {self.source_alias}, topic: {TOPIC}, partition: 0}}"
        offsets = f"[{{partition: {partition}, offset: {{offset: {KEPT - 1}}}}}]"
        return change("rewind", self.connector, f"operation: alter\nacknowledge: [rewind]\noffsets: {offsets}")

    def require_sync(self) -> None:
        """A plan is empty, and the one after it."""
        for _ in range(2):
            self.place.run("plan").expect(0, out="No changes.")

    def remove(self) -> None:
        for name in self.place.rest("GET", "/connectors"):
            if name.startswith(f"{self.mirror}."):
                self.place.rest("DELETE", f"/connectors/{quote(name, safe='')}")


@pytest.fixture
def mirrors(real: Workplace, source: Sandbox, sandbox: Sandbox) -> Iterator[Mirrors]:
    made = Mirrors(real, source, sandbox)
    yield made
    made.remove()


@pytest.mark.parametrize(("api", "target"), [("v1", f"{{shift: -{len(RECORDS) - KEPT}}}"), ("v1beta2", "")])
def test_records_are_mirrored_and_only_the_rewound_ones_come_again(mirrors: Mirrors, api: str, target: str) -> None:
    place = mirrors.place
    kafka = f'[clusters.local.kafka_clusters.source]\nbootstrap_servers = ["{mirrors.broker.bootstrap}"]'
    place.settings(cluster='strimzi = ["my-mirrors"]', more=kafka)
    mirrors.produce()

    mirrors.deploy(mirrors.resource(api))
    names = {name for name in place.rest("GET", "/connectors") if name.startswith(mirrors.mirror)}
    assert names == {mirrors.connector, f"{mirrors.mirror}.MirrorCheckpointConnector"}
    assert mirrors.mirrored() == RECORDS
    mirrors.require_sync()

    place.deploy("rewind.yaml", mirrors.rewind(target))
    assert mirrors.mirrored() == [*RECORDS, *RECORDS[KEPT:]]
    mirrors.require_sync()


def test_annotations_list_offsets_and_rewind_with_them(mirrors: Mirrors) -> None:
    """Proposal 083: list, edit the ConfigMap, stop and alter in one commit, then run again."""
    place, entry = mirrors.place, f"{mirrors.connector.replace('->', '--')}.json"
    place.settings(cluster='strimzi = ["my-mirrors"]', more='[strimzi]\noutput = "repository/offsets"')
    mirrors.produce()
    mirrors.deploy(mirrors.annotated())
    assert mirrors.mirrored() == RECORDS
    before = mirrors.offset()

    place.deploy("mirrors.yaml", mirrors.annotated("list"))
    listed = (place.repository / "offsets" / "kafka" / "found.yaml").read_text()
    assert f"  {entry}: |\n" in listed
    rewound = listed.replace(f'"offset": {before}\n', f'"offset": {KEPT - 1}\n')
    assert rewound != listed
    place.write("offsets/kafka/found.yaml", rewound)
    place.deploy("mirrors.yaml", mirrors.annotated("alter", "state: stopped"))
    assert mirrors.offset() == KEPT - 1
    mirrors.require_sync()

    place.deploy("mirrors.yaml", mirrors.annotated("alter"))
    assert mirrors.mirrored() == [*RECORDS, *RECORDS[KEPT:]]
    place.deploy("mirrors.yaml", mirrors.annotated("reset", "state: stopped"))
    assert mirrors.offsets() == []
    mirrors.require_sync()


def test_what_strimzi_has_created_is_in_sync(real: Workplace) -> None:
    """The connector on the cluster is as the operator writes it: with its placeholder, and options in its order."""
    place = real
    place.settings(cluster='strimzi = ["my-mirrors"]', more="[strimzi]\nworkers = true")
    source, target = place.name("src"), place.name("dst")
    place.commit("mirrors.yaml", resource("secured", source=source, target=target))
    config = yaml.safe_load(resource("secured.config", source=source, target=target))
    path = f"/connectors/{quote(config['name'], safe='')}"
    place.rest("POST", "/connectors", {"name": config["name"], "config": config, "initial_state": "STOPPED"})
    try:
        ran = place.run("plan").expect(0)
        assert "sasl.jaas.config" not in ran.out
        place.apply()
        before = place.rest("GET", f"{path}/config")
        assert before == config
        ran = place.run("plan").expect(out="No changes.")
        assert "warning" not in ran.out + ran.err
    finally:
        place.rest("DELETE", path)
