"""A manifest whose lines all belong to another alias, file, server or topic is checked as fast as a valid one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from support.files.manifests import FILE_SOURCE, MIRROR, SINK, UNREAD, entry, mirrored, offsets, read, sunk
from support.spark.large_engine import DEBEZIUM, PATTERN_SINK, Case, assert_alike, filed, in_process, jsonl

from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.formats.manifest_parser import LinesRead, read_lines

pytestmark = pytest.mark.slow

Make = Callable[[int, int], dict[str, Any]]
MANY = 60
MADE: Mapping[str, tuple[Mapping[str, str], Make, str]] = {
    "alias": (MIRROR, lambda n, at: mirrored(n, at, cluster="elsewhere"), "manifest/alias"),
    "file": (FILE_SOURCE, lambda n, at: read("/data/others.txt", at), "manifest/file"),
    "server": (DEBEZIUM, lambda n, at: entry({"server": "b"}, {"lsn": at, "ts_usec": 5}), "manifest/server"),
    "topic": (SINK, lambda n, at: sunk("others", n, at), "manifest/topic"),
}
KINDS = [OffsetChangeKind.ALTER, pytest.param(OffsetChangeKind.REPLACE, marks=pytest.mark.thorough)]
ONE_PARTITION = ("file", "server")
SPLIT_SIZE = 300
"""In bytes; small, so that there are several splits and several blocks."""


def _refuse(text: str) -> LinesRead:
    raise AssertionError(f"checked individually: {text[:200]}")


def _lines(name: str) -> Iterable[dict[str, Any]]:
    return (MADE[name][1](number, number + 5) for number in range(1 if name in ONE_PARTITION else MANY))


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("acknowledged", [frozenset(), UNREAD], ids=["not acknowledged", "acknowledged"])
@pytest.mark.parametrize("current", [None, 0, 2, 1], ids=["not known", "nothing", "half", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_checked_individually(
    name: str, acknowledged: Any, current: int | None, kind: OffsetChangeKind, tmp_path: Path
) -> None:
    config, make, rule = MADE[name]
    numbers = range(0, MANY if current else 0, current or 1)
    existing = None if current is None else offsets(*(make(number, number) for number in numbers))
    case = Case(jsonl(_lines(name)), config, existing, kind, acknowledged)
    (verdict,) = in_process(
        [filed(case, tmp_path / "m")], split_size=SPLIT_SIZE, violations=tmp_path / "offenders", reader=_refuse
    )
    expected = assert_alike(case, verdict)
    violations = (
        parquet.read_table(tmp_path / "offenders" / "violations.parquet").to_pylist() if expected.counts else []
    )
    assert [row["rule"] for row in violations] == [rule] * expected.counts.get(rule, 0)
    if name not in ONE_PARTITION and current == 2:
        assert expected.counts[rule] == MANY // 2, "current offsets may be set again"


OWN: Mapping[str, tuple[Mapping[str, str], Make, str]] = {
    "file": (FILE_SOURCE, lambda n, at: read(f"/data/others-{n}.txt", at), "manifest/file"),
    "alias": (MIRROR, lambda n, at: mirrored(n, at, cluster=f"c{n}"), "manifest/alias"),
    "topic": (SINK, lambda n, at: sunk(f"others-{n}", n, at), "manifest/topic"),
    "topic by a pattern": (PATTERN_SINK, lambda n, at: sunk(f"others-{n}", n, at), "manifest/topic"),
    "a string in the partition": (MIRROR, lambda n, at: mirrored(f"{n}", at), "manifest/type"),
    "a string in the offset": (MIRROR, lambda n, at: mirrored(n, f"{at}"), "manifest/type"),
    "strings of a sink": (SINK, lambda n, at: sunk("orders", f"{n}", f"{at}"), "manifest/type"),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("current", [None, "others", "half", "all"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("acknowledged", [frozenset(), UNREAD], ids=["not acknowledged", "acknowledged"])
def test_lines_with_individual_values(
    name: str, current: str | None, kind: OffsetChangeKind, acknowledged: Any, tmp_path: Path
) -> None:
    """These lines are counted on the fast path; those that are named get messages with their own values."""
    config, make, rule = OWN[name]
    lines = [make(number, number + 5) for number in range(MANY)]
    sound = {**lines[0], "offset": dict.fromkeys(lines[0]["offset"], 7)}
    for half in ("partition", "offset"):
        sound[half] = {key: 1 if key.endswith(("partition", "offset")) else text for key, text in sound[half].items()}
    current_offsets = {None: None, "others": [sound], "half": [sound, *lines[::2]], "all": [sound, *lines]}[current]
    existing = None if current_offsets is None else offsets(*current_offsets)
    case = Case(jsonl([*lines, lines[3]]), config, existing, kind, acknowledged)
    reader = read_lines if current in ("half", "all") else _refuse
    manifest = filed(case, tmp_path / "m")
    (verdict,) = in_process([manifest], split_size=SPLIT_SIZE, reader=reader)
    expected = assert_alike(case, verdict)
    assert current in ("half", "all") or expected.counts[rule] >= MANY
    in_process([manifest], split_size=SPLIT_SIZE, violations=tmp_path / "offenders")
    violations = parquet.read_table(tmp_path / "offenders" / "violations.parquet").to_pylist()
    assert len(violations) == sum(expected.counts.values())
    assert {
        (one.rule, one.location.line, one.summary) for one in expected.diagnostics if " more of " not in one.summary
    } <= {(row["rule"], row["line"], row["message"]) for row in violations}


def test_repeats_and_nulls_among_them_are_reported_as_usual(tmp_path: Path) -> None:
    several = [*_lines("alias")]
    nulls = [{**one, "offset": None} for one in several[:9]]
    case = Case(jsonl([*several[9:], *nulls, several[20], mirrored(3)]), MIRROR, offsets(*several[:3]))
    (verdict,) = in_process([filed(case, tmp_path / "m")], reader=_refuse)
    expected = assert_alike(case, verdict)
    assert expected.counts == {"manifest/alias": MANY - 9 + 1, "manifest/nothing-to-remove": 6, "manifest/duplicate": 1}
