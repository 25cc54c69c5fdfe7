"""The records of the stand-in: topics with one partition each, and the connectors that write and read them.

Time passes with each read of a running connector: a file source sends the complete lines of its file, a number source
sends one more number, a sink reads all new records and commits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Pair = tuple[dict[str, Any] | None, dict[str, Any]]
TopicPartition = tuple[str, int]


@dataclass
class Stored:
    """What the broker stores, whatever happens to the connectors.

    `sources`: offsets by connector and by their partition as text. `groups`: the committed offsets of the existing
    consumer groups. `topics`: the records of each topic.
    """

    sources: dict[str, dict[str, Pair]] = field(default_factory=dict)
    groups: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    topics: dict[str, list[str]] = field(
        default_factory=lambda: {f"connect-{text}": [] for text in ("configs", "offsets", "status")}
    )

    def set_source(self, name: str, partition: dict[str, Any] | None, offset: dict[str, Any] | None) -> None:
        """Set the offset of a partition; None removes it."""
        offsets = self.sources.setdefault(name, {})
        key = json.dumps(partition, sort_keys=True)
        if offset is None:
            offsets.pop(key, None)
        else:
            offsets[key] = (partition, offset)

    def committed(self, group: str) -> list[Pair]:
        """The offsets of a consumer group, as Connect shows them."""
        return [
            ({"kafka_topic": topic, "kafka_partition": number}, {"kafka_offset": offset})
            for (topic, number), offset in self.groups.get(group, {}).items()
        ]

    def source(self, name: str, partition: dict[str, Any]) -> dict[str, Any]:
        found = self.sources.get(name, {}).get(json.dumps(partition, sort_keys=True))
        return found[1] if found else {}


def group_of(name: str, config: Mapping[str, str]) -> str:
    return config.get("consumer.override.group.id", f"connect-{name}")


def topics_of(stored: Stored, config: Mapping[str, str]) -> list[str]:
    if pattern := config.get("topics.regex"):
        return [topic for topic in stored.topics if re.fullmatch(pattern, topic)]
    return [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]


def first_poll(stored: Stored, name: str, config: Mapping[str, str]) -> str:
    """The trace with which a task fails at its first poll: a number source that resumes before `oldest`."""
    oldest = int(config.get("oldest", 0))
    for _, offset in stored.sources.get(name, {}).values() if oldest else ():
        if offset["position"] < oldest:
            text = f"number {offset['position']} is no longer there, the oldest is {oldest}"
            return (
                f"org.apache.kafka.connect.errors.ConnectException: {text}\n\tat org.example.fixtures.NumberTask.poll"
            )
    return ""


def move(stored: Stored, name: str, config: Mapping[str, str]) -> set[str]:
    """Let a running connector read or write what there is. Returns its topics that had new records."""
    kind = config["connector.class"].rpartition(".")[2].removesuffix("Connector")
    if kind.endswith("FileStreamSource"):
        return _read_lines(stored, name, config)
    if kind.endswith("NumberSource"):
        return _count(stored, name, config)
    if kind.endswith("Sink"):
        return _consume(stored, name, config)
    return set()


def _routed(config: Mapping[str, str]) -> str:
    """The topic of a source behind its transforms, of which Kafka's RegexRouter changes it."""
    topic = config["topic"]
    for name in filter(None, config.get("transforms", "").split(",")):
        own = f"transforms.{name.strip()}."
        if config[f"{own}type"].endswith("RegexRouter") and re.fullmatch(config[f"{own}regex"], topic):
            topic = config[f"{own}replacement"]
    return topic


def _read_lines(stored: Stored, name: str, config: Mapping[str, str]) -> set[str]:
    path = config.get("file")
    if path is None or not Path(path).is_file():
        return set()
    partition = {"filename": path}
    position = int(stored.source(name, partition).get("position", 0))
    content = Path(path).read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) <= position:
        return set()
    topic = _routed(config)
    stored.topics.setdefault(topic, []).extend(whole[position:].decode().splitlines())
    stored.set_source(name, partition, {"position": len(whole)})
    return {topic}


def _count(stored: Stored, name: str, config: Mapping[str, str]) -> set[str]:
    topic, used = _routed(config), set()
    for stream in config.get("streams", "a").split(","):
        partition = {"stream": stream.strip()}
        number = int(stored.source(name, partition).get("position", config.get("oldest", 0))) + 1
        if number <= int(config.get("until", 2**63 - 1)):
            stored.topics.setdefault(topic, []).append(f"{stream.strip()} {number}")
            stored.set_source(name, partition, {"position": number})
            used.add(topic)
    return used


def _consume(stored: Stored, name: str, config: Mapping[str, str]) -> set[str]:
    """Read all new records. If the offset is past the end, Connect's consumers start at the earliest record."""
    lines, used = [], set()
    for topic in topics_of(stored, config):
        records = stored.topics.setdefault(topic, [])
        group = group_of(name, config)
        first = stored.groups.get(group, {}).get((topic, 0), 0)
        first = first if first <= len(records) else 0
        fresh = records[first:]
        if fresh:
            used.add(topic)
            stored.groups.setdefault(group, {})[topic, 0] = len(records)
        numbered = config["connector.class"].endswith("RecordSink")
        lines += [f"0 {first + index} null {text}" if numbered else text for index, text in enumerate(fresh)]
    if lines and "file" in config:
        with Path(config["file"]).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    return used
