"""The file of all violations: those that the verdict names, and those that it only counts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.files.manifests import MIRROR, mirrored, offsets
from support.spark.large_engine import Case, filed, in_process, jsonl, line_of, on_spark

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import LargeFile, LargeVerdict, LineFault
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.rules.small import SHOWN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SPOILED = {
    "negative": lambda n: jsonl([mirrored(n, -1)]),
    "range": lambda n: jsonl([mirrored(n, 2**63)]),
    "alias": lambda n: jsonl([mirrored(n, cluster="elsewhere")]),
    "shape": lambda n: jsonl([mirrored(n, unheard=1)]),
    "no-offset": lambda n: jsonl([{"partition": mirrored(n)["partition"]}]),
    "entry": lambda n: b"%d\n" % n,
    "number": lambda n: (
        b'{"partition":{"cluster":"source","partition":%d,"topic":"o"},"offset":{"offset":1e999}}\n' % n
    ),
    "syntax": lambda n: b' {"partition":%d\n' % n,
    "nothing-to-remove": lambda n: jsonl([{**mirrored(n), "offset": None}]),
    "unknown-field": lambda n: jsonl([{**mirrored(n), "note": 1}]),
    "duplicate": lambda n: jsonl([mirrored(0)]),
    "conflict": lambda n: line_of(mirrored(0, n + 9), (", ", ": ")).encode() + b"\n",
}


def violation_rows(directory: Path) -> list[Any]:
    assert [path.name for path in directory.iterdir()] == ["violations.parquet"], "nothing else is left"
    return [tuple(row.values()) for row in pq.read_table(directory / "violations.parquet").to_pylist()]


def named(verdict: LargeVerdict) -> list[Any]:
    return [
        (one.rule, one.severity.value, one.location.file, one.location.line, one.location.column, one.summary)
        for one in verdict.diagnostics
    ]


def test_all_planted_faults_are_reported_on_spark(spark: Any, tmp_path: Path) -> None:
    rnd = random.Random(5)  # noqa: S311 - the same each time
    lines = [jsonl([mirrored(n)]) for n in range(200_000)]
    chosen = {n: rnd.choice(sorted(SPOILED)) for n in rnd.sample(range(1, len(lines)), 50_000)}
    for n, rule in chosen.items():
        lines[n] = SPOILED[rule](n)
    case = Case(b"".join(lines), MIRROR, offsets(*(mirrored(-n) for n in range(1, 4))))
    (verdict,) = on_spark(spark, [filed(case, tmp_path / "m")], violations=tmp_path / "offenders")
    found = violation_rows(tmp_path / "offenders")
    expected = Counter((f"manifest/{rule}", n + 1) for n, rule in chosen.items())
    assert Counter((row[0], row[3]) for row in found) == expected
    assert {row for row in named(verdict) if "more of this rule" not in row[5]} <= set(found)


def test_of_an_unreadable_manifest_only_that_error_is_reported(tmp_path: Path) -> None:
    whole = Case(jsonl([mirrored(1, -1), mirrored(1, 2)]), MIRROR, name="m.jsonl.gz").stored
    broken = filed(Case(whole[:-4], MIRROR, name="m.jsonl.gz", packed=True), tmp_path / "broken")
    empty = filed(Case(b"", MIRROR, name="empty.jsonl"), tmp_path / "empty")
    verdicts = in_process([broken, empty], violations=tmp_path / "offenders")
    rows = violation_rows(tmp_path / "offenders")
    assert sorted(rows) == sorted(row for verdict in verdicts for row in named(verdict))
    assert [row[0] for row in rows] == ["manifest/compression", "manifest/empty"]


def test_lines_of_a_rewritten_file_are_reported_as_in_the_original(tmp_path: Path) -> None:
    """The verdict and the file have the lines and columns of the original file, also of text that is no entry.

    In YAML, the verdict points at the entry, as the file does. In JSON, the verdict points at the field.
    """
    places = [(10, 3), (10, 50), (13, 7), (500_000, 70_000)]
    values = [mirrored(1, -1), mirrored(2), mirrored(2), mirrored(4, -1)]
    lines, spots = tmp_path / "m.lines.jsonl", tmp_path / "m.places"
    lines.write_bytes(jsonl(values))
    spots.write_bytes(b"".join(n.to_bytes(4, "little") for place in places for n in place))
    faults = (LineFault("manifest/syntax", "an odd thing", 12, 4), LineFault("manifest/number", "1e999", 14, 2))
    context = Case(b"", MIRROR).context

    def rewritten(name: str) -> LargeManifest:
        files = (LargeFile(name, str(lines), str(spots), faults),)
        return LargeManifest(Location(name), files, context, Case(b"").kind)

    manifest = rewritten("m.yaml")
    for split_size in (1, 10**6):
        (verdict,) = in_process([manifest], split_size=split_size, violations=tmp_path / "offenders")
        found = [(row[0].removeprefix("manifest/"), *row[3:5]) for row in named(verdict)]
        assert found == [
            ("negative", 10, 3),
            ("syntax", 12, 4),
            ("duplicate", 13, 7),
            ("number", 14, 2),
            ("negative", 500_000, 70_000),
        ]
        assert "lines 10 and 13" in next(one.summary for one in verdict.diagnostics if "duplicate" in one.rule)
        assert sorted(violation_rows(tmp_path / "offenders")) == sorted(named(verdict))
        assert (verdict.errors, verdict.counts["manifest/syntax"]) == (5, 1)
    (in_json,) = in_process([rewritten("m.json")])
    at_field = jsonl(values[:1]).index(b'"offset":-1')
    assert ("manifest/negative", 10, 3 + at_field) in {(row[0], *row[3:5]) for row in named(in_json)}


def test_many_faults_of_a_rewritten_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(jsonl([mirrored(1)]))
    faults = tuple(LineFault("manifest/syntax", "an odd thing", n) for n in range(1, 51))
    manifest = LargeManifest(
        Location("m.json"), (LargeFile("m.json", str(path), None, faults),), Case(b"", MIRROR).context, Case(b"").kind
    )
    (verdict,) = in_process([manifest], violations=tmp_path / "offenders")
    assert verdict.counts == {"manifest/syntax": 50}
    assert len(verdict.diagnostics) == SHOWN + 1
    assert "30 more of this rule, 50 in total" in {one.summary for one in verdict.diagnostics}
    assert len(violation_rows(tmp_path / "offenders")) == 50
