"""Sinks: their offsets are those of a consumer group, whatever their class. Some store a position of their own, too."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from gitops_connect.families.family import Config, ConnectorClass
from gitops_connect.families.field_kinds import NUMBER, SMALL, TEXT
from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.offset_keys import SEED_ADDED, ListKey, OffsetKeys, Start, ValueKey
from gitops_connect.families.resume import FORWARD, NEW, REMOVED, REWIND, UNKNOWN_CLASS, ResumeRules
from gitops_connect.families.shapes import Demand, Shape, ShapeFields
from gitops_connect.families.ties import Ties, TopicFilter, translate
from gitops_connect.model.client_servers import CONSUMER_SERVERS
from gitops_connect.model.offsets import PartitionText
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.units import Unit

RECORDS = Unit("records", "record", "records", "records")


def topics_read(config: Config) -> Ties:
    """The topics of a sink, as in `SinkConnectorConfig`: a list with commas, else a pattern for a whole topic name.

    Nothing is fixed if there is neither, or if the value is stored elsewhere (a `${provider:...}` reference).
    """
    names, pattern = config.get("topics", ""), config.get("topics.regex", "")
    if is_reference(names) or is_reference(pattern) or not (names.strip() or pattern.strip()):
        return Ties()
    if names.strip():
        return Ties((TopicFilter("topics", names, frozenset(name.strip() for name in names.split(","))),))
    return Ties((TopicFilter("topics.regex", pattern, None, translate(pattern)),))


_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The names that Kafka allows (`Topic.validate`): without a slash, so that `orders/3` is unambiguous."""


def partition_label(partition: PartitionText) -> str:
    """`orders/3` for a partition of a Kafka topic, as sinks have; else its canonical JSON."""
    match json.loads(partition):
        case {"kafka_topic": str(topic), "kafka_partition": int(number), **more}:
            if not more and not isinstance(number, bool) and number >= 0 and _TOPIC.fullmatch(topic):
                return f"{topic}/{number}"
        case _:
            pass
    return partition


SINK = Shape(
    "a sink",
    (ShapeFields({"kafka_topic": TEXT, "kafka_partition": SMALL}),),
    ShapeFields({"kafka_offset": NUMBER}),
    ("kafka_offset",),
    unit=RECORDS,
    measured=("kafka_offset",),
    reads=topics_read,
    lenient=True,
    demand=Demand.TYPES,
    log=LogFields(
        "kafka_topic",
        "kafka_partition",
        "kafka_offset",
        servers=(CONSUMER_SERVERS,),
        isolation=("consumer.override.isolation.level",),
    ),
)
"""`SinkUtils.parseSinkConnectorOffsets`. It also accepts numbers in quotes, but returns them without quotes."""

SINK_RULES = (
    replace(
        REWIND.needs("the topic must still have the records; otherwise `auto.offset.reset` decides"), without_log=True
    ),
    replace(
        (FORWARD | NEW).risk(
            "if the offset is past the end of the partition, `auto.offset.reset` decides: by default, the whole"
            " partition is consumed again"
        ),
        without_log=True,
    ),
    REMOVED.effect(
        "the connector consumes the partition from the position that `auto.offset.reset` names; the default is the"
        " first record"
    ),
)
"""Of a connector that resumes at the offsets of its consumer group."""
_OTHER = ResumeRules(
    "the offsets of the consumer group; the class may also store a position of its own",
    SINK_RULES,
    unchecked=UNKNOWN_CLASS,
)
"""`WorkerSinkTask`: with `SinkTaskContext.offset`, a class can move to a position that it stores itself."""
PLAIN = ResumeRules("the offsets of the consumer group", SINK_RULES)
"""Sinks that store no position: they call `SinkTaskContext.offset` only to repeat records after an error, or never."""

CONSUMER_GROUP = ValueKey(
    ("consumer.override.group.id",),
    "the consumer group changes from {before} to {after}: without committed offsets the connector {start}",
    default="connect-{name}",
    hint="to continue from the current offsets, run `{save}` first, declare"
    " state: stopped with the new group, and set these offsets with an OffsetChange in the next commit",
)
"""`SinkUtils.consumerGroupId`; the override counts (`Worker.baseConsumerConfigs`)."""
_STARTS = "without committed offsets there the connector {start}"
CONSUMER_CLUSTER = ValueKey(
    ("consumer.override.bootstrap.servers",),
    f"the Kafka cluster of the consumer group changes from {{before}} to {{after}}: {_STARTS}",
    f"the consumer group is in the Kafka cluster {{after}} from now on, not in that of the workers: {_STARTS}",
    f"the consumer group is in the Kafka cluster of the workers from now on, not in {{before}}: {_STARTS}",
    hint=CONSUMER_GROUP.hint.replace("new group", "new Kafka cluster"),
)
"""The client that reads the records and commits their offsets (`WorkerSinkTask`)."""
_KEYS = OffsetKeys(
    Start(
        "starts at the first record of each partition",
        "consumer.override.auto.offset.reset",
        {
            "earliest": "starts at the first record of each partition",
            "latest": "skips all existing records",
            "none": "fails",
        },
        "starts as consumer.override.auto.offset.reset {value} specifies",
    ),
    (
        CONSUMER_GROUP,
        CONSUMER_CLUSTER,
        ListKey(("topics",), "topics"),
        ValueKey(
            ("topics.regex",),
            "topics that match only {after} are read from now on; without offsets for them the connector {start}",
            hint=SEED_ADDED,
        ),
    ),
)
"""`Worker.baseConsumerConfigs`, `SinkUtils.consumerGroupId`; the worker's `consumer.auto.offset.reset` counts too."""


ANY_SINK = ConnectorClass(SINK, _OTHER, _KEYS)
"""A sink whose source nobody has read."""


def known_sink(resume: ResumeRules = PLAIN, keys: tuple[ValueKey, ...] = (), own_position: str = "") -> ConnectorClass:
    """A sink whose source was read. `keys` are config keys that select its offsets besides those of every sink.

    `own_position` is the position that the class stores itself, as in `after the last file in HDFS`.
    """
    return ConnectorClass(SINK, resume, replace(_KEYS, start=_start(own_position), keys=(*_KEYS.keys, *keys)))


def _start(own_position: str) -> Start:
    start = _KEYS.start
    if not own_position:
        return start
    own = f"continues {own_position}, and without one "
    by_value = {value: own + says for value, says in start.by_value.items()}
    return Start(own + start.says, start.key, by_value, own + start.other)


def is_sink(config: Config) -> bool:
    """Every sink has one of two keys (`SinkConnectorConfig`).

    A source may have such a key too: a class whose name ends like a source is not a sink.
    """
    if config.get("connector.class", "").endswith(("SourceConnector", "Source")):
        return False
    return bool(config.get("topics", "").strip() or config.get("topics.regex", "").strip())
