"""Why users change offsets (KIP-875, Motivation): to skip an unreadable record, and to read lost records again."""

from __future__ import annotations

import pytest

from gitops_connect.model.offsets import offset_text, partition_text
from kip875.workbench import FILE_SINK, FILE_SOURCE, Workbench, await_that, lines, sink_offsets

pytestmark = pytest.mark.e2e


def test_a_poison_pill_is_skipped_and_the_records_after_it_arrive(bench: Workbench) -> None:
    given, arrived, topic = bench.directory / "given.txt", bench.directory / "arrived.txt", bench.named("poisoned")
    given.write_text('{"n": 1}\n{"n": 2}\n')
    bench.create("source", {"connector.class": FILE_SOURCE, "file": str(given), "topic": topic})
    json_only = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "none",
    }
    sink = {"connector.class": FILE_SINK, "file": str(arrived), "topics": topic, **json_only}
    name = bench.create("sink", sink)
    await_that(lambda: lines(arrived), lambda found: found == ["{n=1}", "{n=2}"])

    with given.open("a") as more:
        more.write('this is no JSON\n{"n": 4}\n{"n": 5}\n')
    bench.await_state(name, "RUNNING", ["FAILED"])
    bench.stop(name)
    bench.alter(name, sink_offsets(topic, where(bench, topic, "this is no JSON") + 1))
    bench.resume(name)
    await_that(lambda: lines(arrived), lambda found: found == ["{n=1}", "{n=2}", "{n=4}", "{n=5}"])
    assert bench.states(name) == ("RUNNING", ["RUNNING"])


def where(bench: Workbench, topic: str, value: str) -> int:
    """The offset of that record. The task that fails on it does not report it; a sink that accepts any text does."""
    file = bench.directory / "recorded.txt"
    bench.record(topic, file)
    found = await_that(lambda: [line for line in lines(file) if line.endswith(f" {value}")], bool)
    return int(found[0].split()[1])


def test_a_file_is_read_again_from_the_line_that_was_named(bench: Workbench) -> None:
    given, arrived, topic = bench.directory / "given.txt", bench.directory / "arrived.txt", bench.named("lines")
    text = "one\ntwo\nthree\n"
    given.write_text(text)
    name = bench.create("source", {"connector.class": FILE_SOURCE, "file": str(given), "topic": topic})
    bench.create("sink", {"connector.class": FILE_SINK, "file": str(arrived), "topics": topic})
    await_that(lambda: lines(arrived), lambda found: found == ["one", "two", "three"])
    file = partition_text({"filename": str(given)})
    bench.await_offsets(name, {file: offset_text({"position": len(text)})})

    bench.stop(name)
    bench.alter(name, {file: offset_text({"position": text.index("two")})})
    bench.resume(name)
    await_that(lambda: lines(arrived), lambda found: found == ["one", "two", "three", "two", "three"])
    bench.await_offsets(name, {file: offset_text({"position": len(text)})})
