"""Odd files with the rules and lines that both engines must report."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import zstandard
from support.files.manifests import MIRROR, OTHER, entry, mirrored, offsets
from support.files.tables import table
from support.planted.planted import NOT_PLANTED
from support.spark.large_engine import (
    PACK,
    Case,
    by_small,
    checked_in_each_way,
    filed,
    in_process,
    jsonl,
    said_by_large,
)

from gitops_connect.model.manifests import LargeFile
from gitops_connect.offsets.spark import input_splits
from gitops_connect.offsets.spark.input_splits import InputSplit, _plain

pytestmark = pytest.mark.slow
PACKED = [pytest.param(suffix, marks=pytest.mark.thorough) for suffix in (".gz", ".zst")]

Verdict = list[tuple[str, int]]
"""Rules without their prefix, and their lines."""
WELL = jsonl([mirrored(8000), mirrored(8001)])
"""Two valid entries before an odd line, so that the odd line is line 3."""


def line(offset: bytes = b"1", partition: bytes = b"1", topic: bytes = b'"a"') -> bytes:
    half = b'{"cluster":"source","partition":' + partition + b',"topic":' + topic + b"}"
    return b'{"partition":' + half + b',"offset":{"offset":' + offset + b"}}\n"


def among(*lines: bytes) -> bytes:
    return WELL + b"".join(lines) + jsonl([mirrored(8002)])


def nested(levels: int) -> bytes:
    return b'{"partition":' + b"[" * levels + b"]" * levels + b',"offset":null}\n'


def from_table(row: Any) -> tuple[bytes, Verdict]:
    if "text" in row:
        content = row["text"].replace("<LINE>", line().decode().rstrip()).encode("latin-1") + b"\n"
    else:
        content = b"".join(
            line(**{name: one.encode("latin-1") for name, one in given.items()}) for given in row["lines"]
        )
    return content, [(rule, at) for rule, at in row["violations"]]


ODD: dict[str, tuple[bytes, Verdict]] = {
    **{name: from_table(row) for name, row in table(__file__, "odd").items()},
    "400 digits": (line(b"9" * 400), [("range", 3)]),
    "401 digits": (line(b"9" * 401), [("number", 3)]),
    "5000 digits": (line(b"9" * 5000), [("number", 3)]),
    "a text of 1 MB": (line(topic=b'"' + b"x" * 1_000_000 + b'"') * 2, [("duplicate", 4)]),
    "two texts of 1 MB": (b"".join(line(topic=b'"' + b"x" * 1_000_000 + one + b'"') for one in (b"a", b"b")), []),
    "a key of 1 MB": (line().replace(b'"topic"', b'"' + b"x" * 1_000_000 + b'"'), [("shape", 3), ("shape", 3)]),
    "a hundred fields": (jsonl([mirrored(1, **{f"f{n:03}": n for n in range(97)})]), [("shape", 3)] * 20),
    "49 levels, and the entry": (nested(49), [("type", 3)]),
    "50 levels, and the entry": (nested(50), [("syntax", 3)]),
    "100,000 levels": (nested(100_000), [("syntax", 3)]),
}


EQUAL = table(__file__, "equal")


def both(case: Case, directory: Path) -> list[Any]:
    (verdict,) = in_process([filed(case, directory / "m")])
    several = [by_small(case), said_by_large(verdict)]
    assert not {*several[0].diagnostics} ^ {*several[1].diagnostics}
    return several


def found(said: Any) -> Verdict:
    return sorted((one.rule.removeprefix("manifest/"), one.location.line) for one in said.diagnostics)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_an_odd_line_among_others(name: str, suffix: str, tmp_path: Path) -> None:
    content, expected = ODD[name]
    checked_in_each_way(among(content), f"m.jsonl{suffix}")
    for said in both(Case(among(content), MIRROR, name=f"m.jsonl{suffix}"), tmp_path):
        rest = [(rule, at) for rule, at in found(said) if at > 1]
        assert rest == sorted(expected)


@pytest.mark.parametrize("current", [None, offsets(entry({"a\x1b": 1}, {"b\0": 1}))])
def test_a_message_has_no_control_characters(current: Any, tmp_path: Path) -> None:
    """Field names come from the file, and messages go to terminals and logs."""
    odd = mirrored(1, **{"\0zone": 1, "\x1b[31m": 2, "\u202e": 3, "x" * 500: 4})
    odd["offset"] |= {"\x07": 1, "\r": 1}
    free = entry({"a\x1b": "1"}, {"b\0": "1"})
    for number, case in enumerate((Case(jsonl([odd]), MIRROR, current), Case(jsonl([free]), OTHER, current))):
        for said in both(case, tmp_path / str(number)):
            assert len(said.diagnostics) == (6 if number == 0 else 2 * (current is not None))
            assert all(one.summary.isprintable() and len(one.summary) < 200 for one in said.diagnostics)


@pytest.mark.parametrize("name", EQUAL)
def test_which_partitions_are_the_same(name: str, tmp_path: Path) -> None:
    row = EQUAL[name]
    content = "".join(f'{{"partition":{{"a":{one}}},"offset":{{"b":{other}}}}}\n' for one, other in row["values"])
    for said in both(Case(content.encode(), OTHER), tmp_path):
        assert found(said) == sorted((rule, at) for rule, at in row["violations"])


def test_a_null_is_not_a_missing_field(tmp_path: Path) -> None:
    for said in both(Case(jsonl([entry({"a": None}, {"b": 1}), entry({}, {"b": 1})]), OTHER), tmp_path):
        assert found(said) == []


def test_a_hundred_fields_are_as_good_as_one(tmp_path: Path) -> None:
    values = [entry({f"f{n:03}": n for n in range(100)} | {"last": last}, {"b": 1}) for last in (1, 2, 1)]
    for said in both(Case(jsonl(values), OTHER), tmp_path):
        assert found(said) == [("duplicate", 3)]


WHOLE = table(__file__, "whole")


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_none(name: str, tmp_path: Path) -> None:
    row = {"packed": "", "encoding": "utf-8", **WHOLE[name]}
    rule, content = row["rule"], row["text"].replace("<WELL>", WELL.decode()).encode(row["encoding"])
    for said in both(Case(PACK[row["packed"]](content), MIRROR, name=row["file"], packed=True), tmp_path):
        assert found(said) == [(rule, 1)]
        assert (said.errors, dict(said.counts)) == (1, {f"manifest/{rule}": 1})


def test_every_rule_of_a_whole_file_is_here() -> None:
    elsewhere = {rule for rule, why in NOT_PLANTED.items() if "test_oddities.py" not in why}
    assert {row["rule"] for row in WHOLE.values()} | {"too-large"} >= NOT_PLANTED.keys() - elsewhere


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("count", [1000, 150_000])
def test_cut_off_in_the_middle_of_a_frame(suffix: str, count: int, tmp_path: Path) -> None:
    """The frame has one block or many. Faults in the complete blocks at its start are not reported."""
    content = jsonl([mirrored(0, -1), *(mirrored(number) for number in range(1, count))])
    packed = PACK[suffix](content)
    for said in both(Case(packed[: len(packed) // 2], MIRROR, name=f"m.jsonl{suffix}", packed=True), tmp_path):
        assert [one.rule for one in said.diagnostics] == ["manifest/compression"]
        assert "ends in the middle of the compressed content" in said.diagnostics[0].summary


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + WELL, WELL.rstrip(b"\n"), WELL.replace(b"\n", b"\r\n"), WELL[: WELL.find(b"\n")]],
    ids=["mark", "no line feed at the end", "CRLF", "one entry without a line feed"],
)
def test_what_is_odd_and_well(content: bytes, tmp_path: Path) -> None:
    checked_in_each_way(content, "m.jsonl")
    for said in both(Case(content, MIRROR, {}), tmp_path):
        assert (found(said), sum(said.moves.values())) == ([], content.count(b"partition") // 2)


def test_one_line_a_million_times(tmp_path: Path) -> None:
    """The most lines that the small engine accepts, and then a million."""
    for count, engines in ((100_000, both), (1_000_000, _large)):
        for said in engines(Case(line() * count, MIRROR), tmp_path / str(count)):
            assert dict(said.counts) == {"manifest/duplicate": count - 1}
            assert found(said) == [("duplicate", 1), *(("duplicate", at) for at in range(2, 22))]
            assert f"{count - 21:,} more of this rule, {count - 1:,} in total" in [
                one.summary for one in said.diagnostics
            ]


def _large(case: Case, directory: Path) -> list[Any]:
    (verdict,) = in_process([filed(case, directory / "m")])
    return [said_by_large(verdict)]


LONG = """
import json, resource, sys
from pathlib import Path
from support.spark.large_engine import in_process
from support.files.manifests import MIRROR, context_of
from gitops_connect.model.diagnostics import Location
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.model.manifests import LargeFile
from gitops_connect.model.offset_changes import OffsetChangeKind
def check(path):
    context, files = context_of(MIRROR), (LargeFile(path, path),)
    return in_process([LargeManifest(Location(path), files, context, OffsetChangeKind.ALTER)])[0]
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
check(sys.argv[1])
before = peak()
verdict = check(sys.argv[2])
found = [(one.rule, one.location.line, one.summary) for one in verdict.diagnostics]
print(json.dumps([found, dict(verdict.counts), peak() - before]))
"""


@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_a_line_of_200_mb(suffix: str, tmp_path: Path) -> None:
    """The only error names the line; its bytes are not kept in memory."""
    normal, long = tmp_path / "normal.jsonl", tmp_path / f"long.jsonl{suffix}"
    normal.write_bytes(jsonl(mirrored(number) for number in range(300_000)))
    digits = (str(number * 1_000_003).encode() + b"1" * 260 for number in range(700_000))  # compressed to about a tenth
    _write(long, chain([WELL + line(b"-1") + line()[:-5]], digits, [b"}}\n", line(b"-1")]))
    where = {"cwd": Path(__file__).parents[2], "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", LONG, str(normal), str(long)], check=False, **where)
    assert done.returncode == 0, done.stderr
    found, counts, grown = json.loads(done.stdout)
    assert found == [["manifest/too-large", 4, "the offset manifest is too large: a line of more than 16 MiB"]]
    assert counts == {"manifest/too-large": 1}
    assert grown < 120, "MiB, beside what a file takes that is well"


def _write(path: Path, parts: Iterable[bytes]) -> None:
    opened: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".zst": zstandard.open}
    with opened.get(path.suffix, open)(path, "wb") as stream:
        for part in parts:
            stream.write(part)


@pytest.mark.parametrize("place", [0, 1])
def test_a_line_that_is_too_long_is_a_fault_wherever_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(input_splits, "MAX_LINE", 20)
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"\n" * place + b"x" * 21 + b"\n" + b"y" * 20 + b"\n")
    large = LargeFile("a.jsonl", str(file))
    assert [block.fault is None for block in _plain(InputSplit(0, False, large, 10), 10)] == [False]
    split = InputSplit(0, False, large, 10, place + 21)
    assert [block.text for block in _plain(split, place + 30)] == [b"y" * 20 + b"\n"]
