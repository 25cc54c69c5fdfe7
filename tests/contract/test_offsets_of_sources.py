"""The answers of Kafka's own sources to a change of their offsets, tested on the stand-in and on a real Connect."""

from __future__ import annotations

from typing import Any

import pytest

from contract.under_test import Contract, entry
from gitops_connect.errors import OffsetsNotChanged

pytestmark = pytest.mark.slow

MIRROR = "org.apache.kafka.connect.mirror.Mirror{}Connector"
SOURCE = {"cluster": "from", "topic": "t", "partition": 0}
CHECKPOINT = {"group": "g", "topic": "t", "partition": 0}
HEARTBEAT = {"sourceClusterAlias": "from", "targetClusterAlias": "to"}


def test_a_file_source_looks_at_the_shape_and_changes_nothing_where_one_entry_is_wrong(contract: Contract) -> None:
    name = contract.stopped("file", contract.source())
    file = {"filename": "/some/file"}
    long = "The value for the 'position' key in the offset is expected to be a Long value"
    for partition, offset, words in (
        (file, {"position": "5"}, long),
        (file, {"position": 1.0}, long),
        (file, {"position": None}, long),
        (file, {"position": True}, long),
        (file, {"position": -1}, "The value for the 'position' key in the offset should be a non-negative value"),
        (file, {}, "Offset objects should either be null or contain the key 'position'"),
        (file, {"offset": 1}, "Offset objects should either be null or contain the key 'position'"),
        ({"file": "x"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        ({}, {"position": 1}, "Partition objects should contain the key 'filename'"),
    ):
        with pytest.raises(OffsetsNotChanged) as caught:
            contract.client.alter_offsets(
                name, {**entry({"filename": "/fine"}, {"position": 1}), **entry(partition, offset)}
            )
        assert words in str(caught.value)
    assert contract.client.offsets(name) == {}


def test_a_file_source_takes_what_it_will_never_read(contract: Contract) -> None:
    name = contract.stopped("file", contract.source())
    patch = {
        **entry({"filename": "/another"}, {"position": 1}),
        **entry({"filename": 3}, {"position": 2**63 - 1}),
        **entry({"filename": None, "more": 1}, {"position": 0, "more": "x"}),
    }
    contract.client.alter_offsets(name, patch)
    assert contract.client.offsets(name) == patch
    contract.client.alter_offsets(name, entry({"wrong": "key"}, None))
    assert contract.client.offsets(name) == patch


def test_a_file_source_without_a_file_has_no_offsets_to_change(contract: Contract) -> None:
    config = contract.source()
    del config["file"]
    name = contract.stopped("stdin", config)
    with pytest.raises(
        OffsetsNotChanged, match="Offsets cannot be modified if the 'file' configuration is unspecified"
    ):
        contract.client.alter_offsets(name, entry({"filename": "x"}, {"position": 1}))
    with pytest.raises(OffsetsNotChanged, match="Offsets cannot be modified"):
        contract.client.reset_offsets(name)


def test_lines_of_a_source_that_is_rewound_come_again(contract: Contract) -> None:
    file = contract.directory / "rewound.txt"
    file.write_text("one\ntwo\nhalf")
    config = contract.source(file=str(file), topic=contract.name("topic"))
    name = contract.create("rewound", config)
    end, partition = entry({"filename": str(file)}, {"position": 8}), {"filename": str(file)}
    contract.await_offsets(name, end)
    contract.stop(name)
    contract.client.alter_offsets(name, entry(partition, {"position": 4}))
    contract.run(name)
    contract.await_offsets(name, end)
    reader = contract.create("reader", contract.records(config["topic"]))
    contract.consumed(reader, "one", "two", "two")


def mirror(contract: Contract, kind: str) -> dict[str, str]:
    return {**contract.mirror(), "connector.class": MIRROR.format(kind)}


MISSING, INTEGER, TEXT = (
    "is missing the '{}' key, which is required",
    "which must be an integer",
    "which must be a string",
)
NEGATIVE, ONLY_ZERO = "which cannot be negative", "the only accepted value is 0"


@pytest.mark.parametrize(
    ("kind", "partition", "offset", "wrong"),
    [
        (
            "Source",
            SOURCE,
            {"offset": 5},
            [
                ({"cluster": "from", "topic": "t"}, {"offset": 5}, MISSING.format("partition")),
                ({"topic": "t", "partition": 0}, {"offset": 5}, MISSING.format("cluster")),
                (
                    {**SOURCE, "partition": "zero"},
                    {"offset": 5},
                    f"invalid value zero for the 'partition' key, {INTEGER}",
                ),
                ({**SOURCE, "partition": 2**31}, {"offset": 5}, INTEGER),
                ({**SOURCE, "partition": -1}, {"offset": 5}, NEGATIVE),
                ({**SOURCE, "cluster": None}, {"offset": 5}, TEXT),
                (SOURCE, {"offset": -1}, NEGATIVE),
                (SOURCE, {"offset": "5"}, INTEGER),
                (SOURCE, {"position": 5}, MISSING.format("offset")),
            ],
        ),
        (
            "Checkpoint",
            CHECKPOINT,
            {"offset": 0},
            [
                ({"topic": "t", "partition": 0}, {"offset": 0}, MISSING.format("group")),
                ({**CHECKPOINT, "group": 3}, {"offset": 0}, TEXT),
                ({**CHECKPOINT, "partition": "0"}, {"offset": 0}, INTEGER),
                (CHECKPOINT, {"offset": 1}, ONLY_ZERO),
                (CHECKPOINT, {"offset": "0"}, INTEGER),
                (CHECKPOINT, {}, MISSING.format("offset")),
            ],
        ),
        (
            "Heartbeat",
            HEARTBEAT,
            {"offset": 0},
            [
                ({"sourceClusterAlias": "from"}, {"offset": 0}, MISSING.format("targetClusterAlias")),
                ({**HEARTBEAT, "targetClusterAlias": 3}, {"offset": 0}, TEXT),
                (HEARTBEAT, {"offset": 1}, ONLY_ZERO),
            ],
        ),
    ],
)
def test_a_mirror_looks_at_the_shape(
    contract: Contract, kind: str, partition: dict[str, Any], offset: dict[str, Any], wrong: list[Any]
) -> None:
    name = contract.stopped("mirror", mirror(contract, kind))
    good = entry(partition, offset)
    contract.client.alter_offsets(name, good)
    for bad_partition, bad_offset, words in wrong:
        with pytest.raises(OffsetsNotChanged) as caught:
            contract.client.alter_offsets(name, entry(bad_partition, bad_offset))
        assert words in str(caught.value)
    contract.client.alter_offsets(name, {**good, **entry(wrong[0][0], None)})
    assert contract.client.offsets(name) == good


def test_a_mirror_takes_the_alias_of_another_cluster_and_an_offset_past_the_end(contract: Contract) -> None:
    name = contract.stopped("mirror", mirror(contract, "Source"))
    patch = {**entry({**SOURCE, "cluster": "WRONG"}, {"offset": 5}), **entry(SOURCE, {"offset": 10**12, "more": 1})}
    assert contract.client.alter_offsets(name, patch) == ""
    assert contract.client.offsets(name) == patch
