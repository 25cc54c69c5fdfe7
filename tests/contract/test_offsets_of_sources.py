"""The answers of Kafka's own sources to a change of their offsets, tested on the stand-in and on a real Connect."""

from __future__ import annotations

import pytest

from contract.under_test import REFUSED, Contract, entry
from gitops_connect.errors import OffsetsNotChanged

pytestmark = pytest.mark.slow

MIRROR = "org.apache.kafka.connect.mirror.Mirror{}Connector"
SOURCE = {"cluster": "from", "topic": "t", "partition": 0}


def test_a_file_source_looks_at_the_shape_and_changes_nothing_where_one_entry_is_wrong(contract: Contract) -> None:
    name = contract.stopped("file", contract.source())
    fine = entry({"filename": "/fine"}, {"position": 1})
    for partition, offset, words in REFUSED["file"]:
        with pytest.raises(OffsetsNotChanged) as caught:
            contract.client.alter_offsets(name, {**fine, **entry(partition, offset)})
        assert words in str(caught.value)
    assert contract.client.offsets(name) == {}
    never_read = {
        **entry({"filename": "/another"}, {"position": 1}),
        **entry({"filename": 3}, {"position": 2**63 - 1}),
        **entry({"filename": None, "more": 1}, {"position": 0, "more": "x"}),
    }
    contract.client.alter_offsets(name, never_read)
    assert contract.client.offsets(name) == never_read
    contract.client.alter_offsets(name, entry({"wrong": "key"}, None))
    assert contract.client.offsets(name) == never_read


def test_a_file_source_without_a_file_has_no_offsets_to_change(contract: Contract) -> None:
    config = contract.source()
    del config["file"]
    name = contract.stopped("stdin", config)
    text = "Offsets cannot be modified if the 'file' configuration is unspecified"
    with pytest.raises(OffsetsNotChanged, match=text):
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


@pytest.mark.parametrize("kind", ["Source", "Checkpoint", "Heartbeat"])
def test_a_mirror_looks_at_the_shape(contract: Contract, kind: str) -> None:
    name = contract.stopped("mirror", mirror(contract, kind))
    accepted, *wrong = REFUSED[kind]
    good = entry(*accepted[:2])
    contract.client.alter_offsets(name, good)
    for partition, offset, words in wrong:
        with pytest.raises(OffsetsNotChanged) as caught:
            contract.client.alter_offsets(name, entry(partition, offset))
        assert words in str(caught.value)
    contract.client.alter_offsets(name, {**good, **entry(wrong[0][0], None)})
    assert contract.client.offsets(name) == good


def test_a_mirror_takes_the_alias_of_another_cluster_and_an_offset_past_the_end(contract: Contract) -> None:
    name = contract.stopped("mirror", mirror(contract, "Source"))
    patch = {**entry({**SOURCE, "cluster": "WRONG"}, {"offset": 5}), **entry(SOURCE, {"offset": 10**12, "more": 1})}
    assert contract.client.alter_offsets(name, patch) == ""
    assert contract.client.offsets(name) == patch
