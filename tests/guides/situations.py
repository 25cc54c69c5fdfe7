"""What exists before a reader starts each how-to guide, and what happens while they follow it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import requests
from death.gate import Gate

from gitops_connect.sandbox.cluster import Sandbox
from guides.reader import Reader

DEADLINE = 60.0
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MANY_OFFSETS = {"mirror-orders"}
"""Connect cannot remove so many offsets in one request. Its guide has a cluster of its own."""
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
"""A converter that fails if a record is not JSON."""


REPOSITORY = '[repository]\nurl = "."\npath = "connectors"\n'
SHORT = 'min_running = "0.2s"\n'
"""Connectors have to run for 0.2s only."""


def _settings(url: str) -> str:
    return f'{REPOSITORY}[clusters.local]\nurl = ["{url}"]\n{SHORT}'


@dataclass(frozen=True)
class Place:
    """A reader's directory, which is a Git repository, and the sandbox that the reader uses."""

    reader: Reader
    sandbox: Sandbox
    another_cluster: Callable[[], str]
    """Starts a second sandbox, and returns the URL of its Connect."""

    @property
    def directory(self) -> Path:
        return self.reader.home

    def settings(self, more: str = "") -> None:
        """Write settings with this directory as the repository, and with the cluster `local`."""
        self.write("gitops-connect.toml", _settings(self.reader.address) + more)
        (self.directory / ".gitignore").write_text("*\n!connectors\n!connectors/**\n")
        for one in ("data", "secrets"):
            (self.directory / one).mkdir()
        (self.directory / ".sandbox").symlink_to(self.sandbox.directory)
        self.shell("git init --quiet --initial-branch=main")
        self.commit()

    def connector(self, name: str, plugin: str, config: Mapping[str, str]) -> None:
        lines = "".join(f"    {key}: {value}\n" for key, value in config.items())
        self.write(
            f"connectors/clusters/local/{name}.yaml",
            f"apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {{name: {name}}}\n"
            f"spec:\n  class: {plugin}\n  config:\n{lines}",
        )

    def file_source(self, name: str, stem: str, lines: str) -> None:
        """A connector that reads the lines of a file into a topic that no sink reads."""
        file = self.directory / "data" / f"{stem}.txt"
        file.write_text(lines)
        self.connector(name, FILE_SOURCE, {"file": str(file), "topic": f"{stem}-lines"})

    def file_sink(self, name: str, topic: str, **config: str) -> None:
        """A connector that writes the records of a topic into a file."""
        file = self.directory / "data" / f"{topic}-copy.txt"
        self.connector(name, FILE_SINK, {"file": str(file), "topics": topic, **config})

    def rewind(self, file: str, name: str, connector: str, position: int) -> None:
        """Declare an offset change after which a source reads its file again from this byte."""
        partition = {"filename": str(self.directory / "data" / f"{connector.removesuffix('-source')}.txt")}
        self.offset_change(file, name, connector, partition, {"position": position})

    def offset_change(
        self, file: str, name: str, connector: str, partition: Mapping[str, Any], offset: Mapping[str, int]
    ) -> None:
        self.write(
            f"connectors/clusters/local/{file}.yaml",
            f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {name}}}\n"
            f"spec:\n  connector: {connector}\n  operation: alter\n  acknowledge: [rewind]\n"
            f"  offsets: [{json.dumps({'partition': partition, 'offset': offset})}]\n",
        )

    def interrupted(self, file: str, name: str, connector: str) -> None:
        """An offset change whose `apply` was killed after the worker received the request, and before it answered."""
        self.rewind(file, name, connector, position=8)
        self.commit()
        apply = ["gitops-connect", "--config", "interrupted.toml", "apply", "--yes"]
        killed = Event()
        with Gate(self.reader.address, killed.set) as gate:
            self.write("interrupted.toml", _settings(gate.url))
            with subprocess.Popen(
                apply, cwd=self.directory, env=self.reader.environment, stdout=subprocess.DEVNULL
            ) as process:
                assert killed.wait(DEADLINE)
                process.kill()

    def write(self, name: str, text: str) -> None:
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self) -> None:
        self.shell("git add . && git commit --quiet --allow-empty --message prepared")

    def shell(self, commands: str, text: str = "") -> None:
        """Run commands that the reader ran before they opened the guide."""
        done = subprocess.run(
            ["bash", "-ec", commands],
            cwd=self.directory,
            env=self.reader.environment,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done

    def apply(self) -> None:
        self.commit()
        self.shell("gitops-connect apply --yes")

    def produce(self, topic: str, *records: str) -> None:
        self.shell(
            f"gitops-connect sandbox produce {topic} --dir '{self.sandbox.directory}'", "\n".join(records) + "\n"
        )

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, self.sandbox.worker_urls[0] + path, json=body, timeout=60)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def await_offset(self, connector: str, offset: int) -> None:
        """Wait until the connector has exactly this one offset."""
        self.await_that(lambda: self._offsets(connector) == [offset])

    def _offsets(self, connector: str) -> list[int]:
        entries = self.rest("GET", f"/connectors/{connector}/offsets")["offsets"]
        return [number for entry in entries for number in entry["offset"].values()]

    def await_that(self, happened: Callable[[], bool]) -> None:
        until = time.monotonic() + DEADLINE
        while not happened():
            assert time.monotonic() < until, "never happened"
            time.sleep(0.1)

    def clean(self) -> None:
        """Remove all connectors and their offsets for the next reader."""
        for name in self.rest("GET", "/connectors"):
            self.rest("PUT", f"/connectors/{name}/stop")
            self.await_that(lambda name=name: not self.rest("GET", f"/connectors/{name}/status")["tasks"])  # type: ignore[misc]
            if name not in MANY_OFFSETS:
                self.rest("DELETE", f"/connectors/{name}/offsets")
            self.rest("DELETE", f"/connectors/{name}")


def back_up_and_restore_the_ledger(at: Place) -> None:
    at.settings()
    at.file_source("parcels-source", "parcels", "first\nsecond\nthird\n")
    at.apply()
    at.await_offset("parcels-source", 19)
    at.rewind("first", "2026-11-22-read-again", "parcels-source", position=6)
    at.apply()
    at.await_offset("parcels-source", 19)


def another_change(at: Place) -> None:
    at.rewind("later", "2026-11-23-read-again", "parcels-source", position=13)
    at.apply()


def ledger_lost(at: Place) -> None:
    at.shell("rm state.db state.db.key")


def protect_connectors_from_deletion(at: Place) -> None:
    at.settings()
    for name in ("audit", "orders", "payments-in", "shipments"):
        at.file_source(name, name, "")
    at.apply()


def check_a_very_large_manifest(at: Place) -> None:
    at.settings()
    clusters = {"source.cluster.alias": "east", "target.cluster.alias": "west"}
    brokers = dict.fromkeys(
        ("source.cluster.bootstrap.servers", "target.cluster.bootstrap.servers"), at.sandbox.bootstrap
    )
    at.connector("mirror-orders", MIRROR, {**clusters, **brokers, "topics": "orders-[1-4]"})
    at.apply()
    for file in range(1, 5):
        partitions = ({"cluster": "east", "partition": number, "topic": f"orders-{file}"} for number in range(60_000))
        lines = (json.dumps({"partition": one, "offset": {"offset": 100}}) for one in partitions)
        at.write(f"connectors/offsets/orders-{file}.jsonl", "\n".join(lines))


def recover_a_failed_offset_change(at: Place) -> None:
    at.settings()
    at.file_source("orders-source", "orders", "order 1\norder 2\n")
    at.file_source("parcels-source", "parcels", "parcel 1\nparcel 2\n")
    at.apply()
    at.await_offset("orders-source", 16)
    at.await_offset("parcels-source", 18)
    at.interrupted("orders-again", "2026-11-22-read-orders-again", "orders-source")


def parcels_interrupted(at: Place) -> None:
    at.interrupted("parcels-again", "2026-11-22-read-parcels-again", "parcels-source")


def ledger_lost_with_changes(at: Place) -> None:
    at.rewind("parcels-again", "2026-11-22-read-parcels-again", "parcels-source", position=9)
    ledger_lost(at)
    at.apply()


def reset_a_source(at: Place) -> None:
    at.settings()
    at.file_source("inventory-source", "inventory", "hammer\nnails\nsaw\n")
    at.apply()
    at.await_offset("inventory-source", 17)


def rotate_a_secret(at: Place) -> None:
    at.settings(f'[secrets]\nfiles = ["{at.directory}/secrets"]\n')
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="old";'
    at.write("secrets/east-login", login)
    at.file_source("parcels-source", "parcels", "first\n")
    at.apply()
    at.await_offset("parcels-source", 6)


def seed_a_migrated_connector(at: Place) -> None:
    at.settings()
    clusters = {"old": at.reader.address, "new": at.another_cluster()}
    tables = "".join(f'[clusters.{name}]\nurl = ["{url}"]\n{SHORT}' for name, url in clusters.items())
    at.write("gitops-connect.toml", REPOSITORY + tables)
    at.file_source("orders", "orders", "order 1: two books\n")
    at.shell("mv connectors/clusters/local connectors/clusters/old")
    at.apply()
    at.await_offset("orders", 19)


def skip_a_poison_pill(at: Place) -> None:
    at.settings()
    at.produce("orders", '{"order": 1}', '{"order": 2}')
    at.file_sink("orders-sink", "orders", **JSON)
    at.apply()
    at.await_offset("orders-sink", 2)
    at.produce("orders", "order 3", '{"order": 4}')
    at.await_that(lambda: at.rest("GET", "/connectors/orders-sink/status")["tasks"][0]["state"] == "FAILED")


def rewind_a_sink(at: Place) -> None:
    at.settings()
    at.produce("payments", *(f"payment {number}" for number in range(5)))
    at.file_sink("payments-sink", "payments")
    at.apply()
    at.await_offset("payments-sink", 5)


def undo_an_offset_change(at: Place) -> None:
    at.settings()
    at.produce("shipments", "shipment 1", "shipment 2")
    at.file_sink("shipments-sink", "shipments")
    at.apply()
    at.await_offset("shipments-sink", 2)
    partition = {"kafka_topic": "shipments", "kafka_partition": 0}
    at.offset_change("skip", "2026-11-22-skip-shipments", "shipments-sink", partition, {"kafka_offset": 4})
    at.rest("PUT", "/connectors/shipments-sink/stop")
    at.produce("shipments", "shipment 3", "shipment 4", "shipment 5")
    at.apply()
    at.await_offset("shipments-sink", 5)


def take_over_existing_connectors(at: Place) -> None:
    at.settings()
    sink = {
        "connector.class": FILE_SINK,
        "tasks.max": "1",
        "topics": "orders",
        "file": str(at.directory / "data" / "orders-copy.txt"),
        "vault.password": "hunter2",
    }
    source = {"connector.class": FILE_SOURCE, "topic": "imports", "file": str(at.directory / "data" / "imports.txt")}
    at.rest("PUT", "/connectors/orders-sink/config", sink)
    at.rest("PUT", "/connectors/legacy-import/config", source)


def move_from_strimzi(at: Place) -> None:
    at.settings()
    config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "topic": "orders-lines"}
    file = str(at.directory / "data" / "orders.txt")
    at.rest("PUT", "/connectors/orders-source/config", {**config, "file": file})


def one_connector(at: Place) -> None:
    at.settings()
    at.file_source("orders", "orders", "")
    at.apply()


NOTHING = (
    *("add-a-connector-family", "look-at-the-status-page", "monitor-with-prometheus-and-grafana"),
    *("move-from-another-tool", "run-in-kubernetes", "run-several-replicas", "review-plans-in-pull-requests"),
    *("review-plans-on-gitea", "review-plans-on-github", "review-plans-on-gitlab", "trigger-by-webhook"),
    "try-a-connector-in-the-sandbox",
)
"""The guides that start their own sandbox, or none of whose commands can run here."""
SITUATIONS: Mapping[str, Callable[[Place], None]] = {
    **dict.fromkeys(NOTHING, lambda at: None),
    "back-up-and-restore-the-ledger": back_up_and_restore_the_ledger,
    "check-a-very-large-manifest": check_a_very_large_manifest,
    "move-from-strimzi": move_from_strimzi,
    "protect-connectors-from-deletion": protect_connectors_from_deletion,
    "recover-a-failed-offset-change": recover_a_failed_offset_change,
    "reset-a-source": reset_a_source,
    "rewind-a-sink": rewind_a_sink,
    "rotate-a-secret": rotate_a_secret,
    "run-as-a-daemon": one_connector,
    "run-in-ci": one_connector,
    "seed-a-migrated-connector": seed_a_migrated_connector,
    "skip-a-poison-pill": skip_a_poison_pill,
    "take-over-existing-connectors": take_over_existing_connectors,
    "troubleshooting": one_connector,
    "undo-an-offset-change": undo_an_offset_change,
    "upgrade": one_connector,
}
"""What to prepare for each guide, by its name."""
EVENTS: Mapping[str, Callable[[Place], None]] = {
    "the connector is applied": Place.apply,
    "another change is applied": another_change,
    "the change of parcels is interrupted": parcels_interrupted,
    "the ledger is lost": ledger_lost,
    "the ledger is lost, and nothing says what was applied": ledger_lost_with_changes,
}
"""What happens in the middle of a guide, by the text of the comment on the page."""
