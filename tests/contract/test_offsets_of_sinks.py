"""The behaviour of a sink's offsets, which are those of its consumer group."""

from __future__ import annotations

from typing import Any

import pytest

from contract.under_test import OTHER, REFUSED, TOPIC, Contract, entry, sink_entry
from gitops_connect.errors import GroupInUse, OffsetsNotChanged, Rejected

pytestmark = pytest.mark.slow

DONE = (200, "The offsets for this connector have been altered successfully")


def test_offsets_of_a_sink_that_never_ran(contract: Contract) -> None:
    """Also of a topic that it does not read, and past the end."""
    name = contract.stopped("seed", contract.sink(topics=TOPIC))
    assert contract.client.offsets(name) == {}
    assert contract.client.alter_offsets(name, sink_entry(TOPIC, 1)) == ""
    contract.client.alter_offsets(name, sink_entry(OTHER, 2**63 - 1))
    assert contract.client.offsets(name) == {**sink_entry(TOPIC, 1), **sink_entry(OTHER, 2**63 - 1)}
    for _ in range(2):
        contract.client.alter_offsets(name, sink_entry(TOPIC, None))
        assert contract.client.offsets(name) == sink_entry(OTHER, 2**63 - 1)
    for _ in range(2):
        assert contract.client.reset_offsets(name) == ""
        assert contract.client.offsets(name) == {}


def test_nothing_can_be_taken_away_where_there_is_no_group(contract: Contract) -> None:
    """A tombstone needs a consumer group; a sink that never ran or that was reset has none."""
    name = contract.stopped("dead", contract.sink(topics=TOPIC))
    for _ in range(2):
        with pytest.raises(OffsetsNotChanged, match="Failed to alter consumer group offsets for connector"):
            contract.client.alter_offsets(name, sink_entry(TOPIC, None))
        contract.client.reset_offsets(name)
        contract.client.alter_offsets(name, sink_entry(TOPIC, 1))
        contract.client.reset_offsets(name)


@pytest.mark.parametrize(("partition", "offset", "words"), REFUSED["sink"])
def test_what_connect_refuses_by_itself(contract: Contract, partition: Any, offset: Any, words: str) -> None:
    name = contract.stopped("bad", contract.sink())
    base = {"kafka_topic": TOPIC, "kafka_partition": 0}
    whole = {"topic": "x"} if partition is None else {**base, **partition}
    with pytest.raises(Rejected) as caught:
        contract.client.alter_offsets(name, {**sink_entry(OTHER, 1), **entry(whole, offset)})
    assert words in str(caught.value)
    assert contract.client.offsets(name) == {}


def test_no_partition_and_a_negative_offset_change_nothing(contract: Contract) -> None:
    name = contract.stopped("bad", contract.sink())
    text = "The partition for a sink connector offset cannot be null or missing"
    assert contract.patch(name, (None, {"kafka_offset": 1})) == (400, text)
    with pytest.raises(OffsetsNotChanged, match=f"Failed to modify offsets for sink connector {name}"):
        contract.client.alter_offsets(name, {**sink_entry(OTHER, 1), **sink_entry(TOPIC, -1)})
    assert contract.client.offsets(name) == {}


def test_what_the_broker_refuses_is_not_changed_and_the_rest_is(contract: Contract) -> None:
    """Connect answers 500, but the other entries of the request take effect: offsets are set and removed."""
    name = contract.stopped("half", contract.sink(topics=TOPIC))
    contract.client.alter_offsets(name, {**sink_entry(TOPIC, 0), **sink_entry(OTHER, 0)})
    for bad in (
        sink_entry("no-such-topic-at-all", 1),
        sink_entry(TOPIC, 1, number=7),
        sink_entry(TOPIC, 1, number=-1),
        sink_entry("bad topic!", 1),
        sink_entry("no-such-topic-at-all", None),
        sink_entry(TOPIC, None, number=7),
    ):
        text = f"Failed to alter consumer group offsets for connector {name} "
        with pytest.raises(OffsetsNotChanged) as caught:
            contract.client.alter_offsets(name, {**bad, **sink_entry(TOPIC, 1), **sink_entry(OTHER, None)})
        assert text in str(caught.value)
        assert "find the cause in the log of the worker" in str(caught.value)
        assert contract.client.offsets(name) == sink_entry(TOPIC, 1)
        contract.client.alter_offsets(name, {**sink_entry(TOPIC, 0), **sink_entry(OTHER, 0)})


def test_texts_are_taken_for_numbers_and_what_is_not_known_is_dropped(contract: Contract) -> None:
    name = contract.stopped("texts", contract.sink(topics=TOPIC))
    plain = {"kafka_topic": TOPIC, "kafka_partition": 0}
    assert (
        contract.patch(name, ({**plain, "kafka_partition": "0", "more": 1}, {"kafka_offset": "1", "more": 2})) == DONE
    )
    assert contract.client.offsets(name) == sink_entry(TOPIC, 1)
    for last in (2, 0):
        assert contract.patch(name, (plain, {"kafka_offset": 1}), (plain, {"kafka_offset": last})) == DONE
        assert contract.client.offsets(name) == sink_entry(TOPIC, last)
    text = {**plain, "kafka_partition": "0"}
    assert contract.patch(name, (text, {"kafka_offset": 1}), (plain, {"kafka_offset": 2})) == DONE
    assert contract.client.offsets(name) == sink_entry(TOPIC, 2)


def test_records_are_skipped_and_come_again(contract: Contract) -> None:
    """Past the end, the consumer finds the offset out of range, and starts at the earliest record: it is a rewind."""
    topic = contract.topic("r0", "r1", "r2")
    name = contract.create("skip", contract.records(topic))
    contract.consumed(name, "r0", "r1", "r2")
    assert contract.client.offsets(name) == sink_entry(topic, 3)
    contract.client.alter_offsets(name, sink_entry(topic, 2))
    contract.run(name)
    contract.consumed(name, "r2")
    for begin_anew in (
        lambda: contract.client.reset_offsets(name),
        lambda: contract.client.alter_offsets(name, sink_entry(topic, 1000)),
    ):
        begin_anew()
        contract.run(name)
        contract.consumed(name, "r0", "r1", "r2")
        assert contract.client.offsets(name) == sink_entry(topic, 3)


def test_a_group_with_another_member_is_in_use(contract: Contract) -> None:
    topic = contract.topic("r0", "r1")
    name = contract.stopped("mine", contract.sink(topics=topic))
    contract.client.alter_offsets(name, {**sink_entry(topic, 1), **sink_entry(OTHER, 0)})
    group = {"consumer.override.group.id": f"connect-{name}"}
    theirs = contract.running("theirs", contract.records(topic, **group))
    file = contract.directory / "records.txt"
    contract.await_that(lambda: contract.client.connectors() and file.exists(), bool)
    words = "its consumer group has members; stop the other consumers"
    for patch in (sink_entry(topic, 0), sink_entry(topic, None), sink_entry(OTHER, 1)):
        with pytest.raises(GroupInUse, match=words):
            contract.client.alter_offsets(name, patch)
    with pytest.raises(GroupInUse, match=words):
        contract.client.reset_offsets(name)
    contract.client.alter_offsets(name, sink_entry(OTHER, None))
    assert contract.client.offsets(name).keys() == sink_entry(topic, 0).keys()
    contract.stop(theirs)
    assert contract.client.offsets(name) == contract.client.offsets(theirs) == sink_entry(topic, 2)
    contract.client.alter_offsets(name, sink_entry(topic, 0))
    contract.client.reset_offsets(theirs)
    assert contract.client.offsets(name) == {}


def test_offsets_of_a_deleted_sink_wait_for_its_name(contract: Contract) -> None:
    topic = contract.topic("r0", "r1")
    config = contract.records(topic)
    name = contract.stopped("again", config)
    contract.client.alter_offsets(name, sink_entry(topic, 1))
    contract.client.delete(name)
    contract.await_that(lambda: name in contract.client.names(), lambda there: not there)
    contract.client.create(name, config)
    contract.consumed(name, "r1")
