"""What `offsets get --watch` reads and prints, whatever the cluster does in between."""

from __future__ import annotations

import json
from itertools import islice

from support.cluster.manual_clock import START, ManualClock
from support.planner.situations import CLASS, current_offsets

from gitops_connect.errors import ConnectUnavailable
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.offsets import Offsets, patch_between
from gitops_connect.offset_changes.offset_watch import watch
from gitops_connect.plan.offset_review import find_difference
from gitops_connect.report.watched_offsets import MOST_PARTITIONS, watched_lines, watched_values

SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": "t"}


def test_an_outage_is_said_once_and_the_next_rate_covers_its_time() -> None:
    gone = ConnectUnavailable("no worker answers")
    answers = iter([current_offsets(a=1), gone, gone, current_offsets(a=2), gone, current_offsets(a=3)])
    clock, notes = ManualClock(), list[str]()

    def read() -> Offsets:
        if isinstance(found := next(answers), Exception):
            raise found
        return found

    found = [(seconds, [*offsets.values()]) for _, seconds, offsets in islice(watch(read, 5, clock, notes.append), 3)]
    assert found == [(0, ['{"position":1}']), (15, ['{"position":2}']), (10, ['{"position":3}'])]
    assert notes == ["no worker answers; trying again", "the cluster answers again"] * 2


def lines(before: Offsets, after: Offsets, **config: str) -> list[str]:
    moved = find_difference(before, patch_between(before, after), BUILT_IN.shape(config or {"connector.class": CLASS}))
    values = [json.loads(line) for line in watched_values(moved, START, 4)]
    assert len(values) == len(moved.moves), "programs get all"
    assert [one["distance"] for one in values] == [
        -one.distance if one.distance and one.direction.value == "rewind" else one.distance for one in moved.moves
    ]
    return [line.removeprefix("2026-11-21 10:00:00 UTC  ") for line in watched_lines(moved, START, 4)]


def test_only_what_has_changed_is_printed_with_its_distance_and_rate() -> None:
    before, after = current_offsets(a=10, b=5, c=7, d=1), current_offsets(a=8, b=5, c=8, e=3)
    assert lines(before, after) == [
        '{"filename":"a"}: {"position":10} -> {"position":8}  -2 bytes of the file (0.5/s)\n',
        '{"filename":"d"}: {"position":1} -> (none)\n',
        '{"filename":"c"}: {"position":7} -> {"position":8}  +1 byte of the file (0.2/s)\n',
        '{"filename":"e"}: (none) -> {"position":3}\n',
    ]
    assert lines(after, after) == []
    assert lines(before, after, **{"connector.class": "unknown.Source"})[0].endswith('-> {"position":8}\n')
    topics = [{'{"kafka_partition":3,"kafka_topic":"t"}': f'{{"kafka_offset":{at}}}'} for at in (5, 10**400)]
    assert lines(topics[0], topics[1], **SINK)[0].startswith("t/3: 5 -> 1000"), "numbers may be huge"  # type: ignore[arg-type]


def test_the_output_of_many_partitions_is_bounded() -> None:
    before, after = (current_offsets(**{f"f{number}": at for number in range(60)}) for at in (1, 2))
    found = lines(before, after)
    assert found[MOST_PARTITIONS:] == ["… and 10 more partitions\n"]
