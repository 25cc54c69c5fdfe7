"""`offsets …` with too many offsets for one process. Commands that start Spark run in a new process."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from acceptance.workplace import Ran, Workplace, run_apart
from support.planner.offset_change_values import effect_at
from support.spark.services import without_class_archive

from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind
from gitops_connect.observe import MAX_HELD
from gitops_connect.offsets.formats.manifest_parser import MAX_SIZE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

MANY = 230_000
LOCAL = ClusterName("local")


def line(number: int, offset: int | None) -> str:
    value = "null" if offset is None else f'{{"offset":{offset}}}'
    return f'{{"partition":{{"cluster":"a","partition":0,"topic":"t{number}"}},"offset":{value}}}'


def lines(count: int, further: int = 0) -> list[str]:
    return [line(number, number + further) for number in range(count)]


def written(file: Path, content: list[str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{one}\n" for one in content))
    return file


@pytest.fixture
def declared(at: Workplace) -> Workplace:
    """A declared and stopped mirror `lines`."""
    at.deploy("lines.yaml", at.mirror("lines", "state: stopped"))
    return at


@pytest.fixture
def many_offsets(declared: Workplace) -> Workplace:
    """The mirror with more offsets than one process handles; the offset of topic `tN` is N."""
    body = json.loads(f'{{"offsets": [{",".join(lines(MANY))}]}}')
    declared.rest("PATCH", f"/connectors/{declared.name('lines')}/offsets", body)
    return declared


ON_SPARK = {"GITOPS_CONNECT_SPARK__MIN_SIZE": "0"}


def apart(at: Workplace, *arguments: str, **more: str) -> Ran:
    """Run a command in a new process: a process has one Spark session, which other tests may use."""
    cache = at.directory / "cache"
    if not cache.exists():
        without_class_archive(cache)
    environment = {**os.environ, "GITOPS_CONNECT_CACHE": str(cache), **more}
    return run_apart(at.command("offsets", *arguments), timeout=300, env=environment)


def violations(report: Path) -> list[dict[str, Any]]:
    from pyarrow import parquet  # noqa: PLC0415 - imported when it is used

    listed: list[dict[str, Any]] = parquet.read_table(report / "violations.parquet").to_pylist()
    return listed


# check


def test_what_is_too_large_is_checked_on_spark(declared: Workplace) -> None:
    at = declared
    content = lines(210_000)
    content[123_456] = line(123_456, -5)
    file = written(at.directory / "large.jsonl", [*content, line(7, 8)])
    assert file.stat().st_size > MAX_SIZE
    ran = apart(at, "check", at.name("lines"), str(file), "--offline", **ON_SPARK).expect(
        4,
        out=(
            "large.jsonl:123457:1: error: offset.offset is -5, expected 0 or more [manifest/negative]",
            "large.jsonl:210001:1: error: lines 8 and 210001 have the same partition",
            "210,001 entries, 210,000 partitions",
            "2 errors (1 manifest/conflict, 1 manifest/negative)",
            "not compared with the current offsets: offline",
        ),
    )
    assert "on Spark (local[*])" in ran.out.splitlines()[-1]
    (archive,) = (at.directory / "cache" / "spark").glob("*")
    assert archive.is_symlink(), "nothing is left behind"


def test_current_offsets_are_compared_and_reported_without_being_in_memory(many_offsets: Workplace) -> None:
    at = many_offsets
    moved = [line(0, 10), line(1, 1_001), line(50_000, 49_990), line(60_000, 5), line(MANY, 1), *lines(5)[2:]]
    file, report = written(at.directory / "few.jsonl", moved), at.directory / "report"
    ran = apart(at, "check", at.name("lines"), str(file), "--replace", "-o", "json", "--report", str(report)).expect(4)
    found = json.loads(ran.out)
    counts = {way: count for way, count in found["difference"]["counts"].items() if count}
    assert counts == {"new": 1, "skip": 2, "rewind": 2, "same": 3, "removed": MANY - 7}
    assert found["difference"]["distances"] == {"skip": 1_010, "rewind": 60_005}
    assert found["distribution"] == {"skip": [0, 1, 0, 1], "rewind": [0, 1, 0, 0, 1]}
    assert (found["spark"], found["entries"], found["errors"]) == (None, 8, 0)
    assert found["acknowledge"] == ["rewind", "skip", "tombstone"]
    assert violations(report) == []
    page = (report / "index.html").read_text()
    assert "Distances of rewinds" in page
    assert "59,995 records" in page
    assert "229,993" in page
    apart(at, "check", at.name("lines"), str(file), "--report", str(report)).expect(
        64, err=f"the directory {report} is not empty; choose another directory"
    )


def test_a_directory_of_all_formats_is_one_manifest(declared: Workplace) -> None:
    import pyarrow as pa  # noqa: PLC0415 - imported when it is used
    from pyarrow import parquet  # noqa: PLC0415 - imported when it is used

    at, directory = declared, declared.directory / "many"
    written(directory / "a.jsonl", [line(1, 1), line(2, -2)])
    header = "partition.cluster,partition.partition,partition.topic,offset.offset\n"
    (directory / "b.csv.gz").write_bytes(gzip.compress(f"{header}a,0,t3,3\na,0,t1,1\n".encode()))
    (directory / "deep").mkdir()
    (directory / "deep" / "c.json").write_text(f'{{"offsets": [\n{line(4, 4)},\n{line(5, -5)}]}}')
    rows = [{"partition": {"cluster": "a", "partition": 0, "topic": "t6"}, "offset": {"offset": 6}}]
    parquet.write_table(pa.Table.from_pylist(rows), directory / "d.parquet")
    written(directory / "_not.jsonl", ["no manifest"])
    (directory / "README.md").write_text("nor this")
    report = at.directory / "report"
    ran = apart(
        at, "check", at.name("lines"), str(directory), "--offline", "--report", str(report), "-o", "json"
    ).expect(4)
    found = json.loads(ran.out)
    names = [Path(one).relative_to(directory).as_posix() for one in found["files"]]
    assert names == ["a.jsonl", "b.csv.gz", "d.parquet", "deep/c.json"]
    assert (found["entries"], found["rules"]) == (7, {"manifest/duplicate": 1, "manifest/negative": 2})
    places = {(Path(one["file"]).name, one["line"], one["rule"]) for one in violations(report)}
    assert places == {
        ("a.jsonl", 2, "manifest/negative"),
        ("b.csv.gz", 3, "manifest/duplicate"),
        ("c.json", 3, "manifest/negative"),
    }
    column = line(5, -5).index('"offset"', line(5, -5).index('"offset"') + 1) + 1
    assert f"deep/c.json:3:{column}<" in (report / "index.html").read_text()


# get


@pytest.mark.parametrize("name", ["saved.jsonl", pytest.param("saved.json", marks=pytest.mark.thorough)])
def test_what_is_too_much_to_be_held_is_saved_as_it_comes(many_offsets: Workplace, name: str) -> None:
    at, file = many_offsets, many_offsets.directory / name
    at.run("offsets", "get", at.name("lines"), "--save", str(file)).expect(
        0, out="", err=f"Saved {MANY:,} offsets to {file}."
    )
    assert file.stat().st_size > MAX_HELD
    text = file.read_text()
    entries = json.loads(text)["offsets"] if name == "saved.json" else [json.loads(one) for one in text.splitlines()]
    assert entries == [json.loads(one) for one in lines(MANY)]
    assert not list(at.directory.glob(".*gitops*")), "nothing is left behind"
    assert at.run("offsets", "get", at.name("lines"), "--save", str(file)).code == 64


@pytest.mark.thorough
def test_a_table_of_too_many_has_the_first_and_the_way_to_all(many_offsets: Workplace) -> None:
    at = many_offsets
    ran = at.run("offsets", "get", at.name("lines")).expect(0)
    assert len(ran.out.splitlines()) == 13
    assert f"{MANY:,} offsets, " in ran.out
    assert "--save FILE.jsonl" in ran.out
    whole = at.run("offsets", "get", at.name("lines"), "-o", "json")
    assert len(json.loads(whole.out)["offsets"]) == MANY
    at.run("offsets", "get", at.name("lines"), "-o", "yaml").expect(64, out="", err="too many for YAML")


# history, undo and the ledger


@pytest.fixture
def large_change(many_offsets: Workplace) -> Callable[..., Workplace]:
    """Returns a function that records a large change `one` in the ledger, of which `sent` offsets were sent.

    The change moves the first `earlier` offsets forward by 100, and adds the others.
    """

    def make(sent: int, *, is_settled: bool, earlier: int = MANY) -> Workplace:
        at, now = many_offsets, datetime(2026, 11, 21, 12, tzinfo=UTC)
        offset_change = OffsetChange(
            OffsetChangeName("one"),
            ConnectorName(at.name("lines")),
            OffsetChangeKind.ALTER,
            Digest("d" * 64),
            Revision("c" * 40),
            is_large=True,
        )
        blocks = ("".join(f"{one}\n" for one in some).encode() for some in (lines(earlier), lines(MANY, 100)))
        before, declared = ([block] for block in blocks)
        ledger = at.ledger()
        ledger.offset_changes.begin_large(LOCAL, offset_change, before, declared, effect_at(now))
        ledger.offset_changes.sent(LOCAL, offset_change.name, sent)
        if is_settled:
            ledger.offset_changes.settle(LOCAL, offset_change.name, Digest("a" * 64), "", now)
        ledger.close()
        body = json.loads(f'{{"offsets": [{",".join(lines(MANY, 100)[:sent])}]}}')
        at.rest("PATCH", f"/connectors/{at.name('lines')}/offsets", body)
        return at

    return make


@pytest.mark.thorough
def test_undo_of_a_large_change_from_nothing_is_a_reset(large_change: Callable[..., Workplace]) -> None:
    at = large_change(1_000, is_settled=True, earlier=0)
    ran = at.run("offsets", "undo", "one").expect(0)
    spec = yaml.safe_load(ran.out)["spec"]
    assert (spec["operation"], spec["acknowledge"]) == ("reset", ["reset"])
    assert "manifest" not in spec
    assert "offsets" not in spec


@pytest.mark.thorough
def test_history_and_ledger_say_how_far_a_large_change_is(large_change: Callable[..., Workplace]) -> None:
    at = large_change(31_000, is_settled=False)
    assert "31,000 of 230,000 sent" in at.run("offsets", "history", at.name("lines")).out
    (value,) = json.loads(at.run("offsets", "history", at.name("lines"), "-o", "json").out)
    assert (value["entries"], value["sent"], value["state"]) == (MANY, 31_000, "in_progress")
    shown = at.run("ledger", "show", "one").out
    assert '{"cluster":"a","partition":0,"topic":"t0"} -> {"offset":100}' in shown
    assert shown.count(" -> ") == 40
    assert "and more: " in shown
    at.run("offsets", "undo", "one", "--out", str(at.directory / "undo.yaml")).expect(
        1, err="offset change one is in progress; run `gitops-connect apply` to finish it"
    )
