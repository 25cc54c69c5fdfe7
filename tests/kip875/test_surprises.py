"""What the worker does with offsets without reporting it clearly: why a change is checked before and after."""

from __future__ import annotations

import pytest

from gitops_connect.errors import GroupInUse, OffsetsNotChanged
from gitops_connect.model.desired import TargetState
from kip875.workbench import ALL, LAST, Kind, Workbench, await_that, sink_offsets

pytestmark = pytest.mark.e2e

FOREIGN = "connect-status"
"""An existing topic that no sink here reads."""


def test_cannot_alter_or_reset_the_offsets_of_a_sink_whose_group_has_members(bench: Workbench) -> None:
    """Two sinks share a group: while one runs, the offsets of the stopped one cannot be changed."""
    group = {"consumer.override.group.id": bench.named("group")}
    active = bench.subject(Kind.SINK, **group)
    stopped = bench.subject(Kind.SINK, TargetState.STOPPED, **group)
    bench.await_offsets(stopped.name, stopped.offsets(LAST))
    with pytest.raises(GroupInUse, match="Failed to alter consumer group offsets"):
        bench.client.alter_offsets(stopped.name, stopped.offsets(3))
    with pytest.raises(GroupInUse, match="Failed to reset consumer group offsets"):
        bench.client.reset_offsets(stopped.name)
    bench.stop(active.name)
    bench.alter(stopped.name, stopped.offsets(3))
    assert bench.offsets(active.name) == stopped.offsets(3)


def test_an_alteration_that_fails_may_be_half_done(bench: Workbench) -> None:
    """A partition that does not exist makes the request fail, but the existing partitions have been altered."""
    subject = bench.subject(Kind.SINK, TargetState.STOPPED)
    bench.alter(subject.name, subject.offsets(3))
    with pytest.raises(OffsetsNotChanged, match="Failed to alter consumer group offsets for connector"):
        bench.client.alter_offsets(subject.name, {**subject.offsets(7), **sink_offsets("no-such-topic", 1)})
    assert bench.offsets(subject.name) == subject.offsets(7)


def test_a_sink_that_is_moved_past_the_end_starts_from_the_beginning(bench: Workbench) -> None:
    """Its consumer finds the offset out of range; Connect's consumers then start at the earliest offset."""
    subject = bench.subject(Kind.SINK, TargetState.STOPPED)
    assert bench.numbers is not None
    bench.alter(subject.name, sink_offsets(bench.numbers.topic, 1_000_000))
    assert bench.offsets(subject.name) == sink_offsets(bench.numbers.topic, 1_000_000)
    bench.resume(subject.name)
    await_that(subject.seen, lambda seen: seen == ALL)


def test_a_sink_takes_offsets_of_a_topic_that_it_does_not_read(bench: Workbench) -> None:
    subject = bench.subject(Kind.SINK, TargetState.STOPPED)
    bench.alter(subject.name, sink_offsets(FOREIGN, 0))
    assert bench.offsets(subject.name) == sink_offsets(FOREIGN, 0)
