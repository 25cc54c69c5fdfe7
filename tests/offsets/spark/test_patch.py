"""The offsets to send are those that the small engine and the plan would send, in the same lines and order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.files.manifests import FILE_SOURCE, MIRROR, OTHER, SINK, entry, mirrored, offsets, read, sunk
from support.spark.large_engine import (
    Case,
    InProcess,
    by_small,
    filed,
    in_process,
    jsonl,
    line_of,
    on_spark,
    patch_by_small,
    sent,
)

from gitops_connect.errors import SparkFailed
from gitops_connect.model.differences import Direction, Move
from gitops_connect.model.manifests import LargeFile
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.spark.check import Results, prepare
from gitops_connect.offsets.spark.input_splits import SPLIT_SIZE
from gitops_connect.offsets.spark.job_files import job_directories
from gitops_connect.offsets.spark.patch_files import PatchJob

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KINDS = [OffsetChangeKind.ALTER, OffsetChangeKind.SEED, OffsetChangeKind.REPLACE]
MAKE = {
    "mirror": (MIRROR, mirrored),
    "sink": (SINK, lambda n, at: sunk("orders" if n % 2 else "invoices", n, at)),
    "file": (FILE_SOURCE, lambda n, at: read(FILE_SOURCE["file"] if not n else f"/data/{n}", at)),
    "other": (OTHER, lambda n, at: entry({"shard": n, "name": "ü\U0001f600"}, {"seq": at, "epoch": "x"})),
    "unknown": (None, lambda n, at: entry({"table": n}, {"id": at})),
}


def left_alike(cases: list[Case], split_size: int = SPLIT_SIZE, tasks: int = 2) -> list[list[str] | None]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        manifests = [filed(case, directory / str(number)) for number, case in enumerate(cases)]
        verdicts = in_process(manifests, 3, split_size, ready=directory / "ready", engine=InProcess(tasks))
        found = [sent(verdict) for verdict in verdicts]
        named = {file for verdict in verdicts if verdict.patch for file in verdict.patch.files}
        assert {str(path) for path in (directory / "ready").iterdir()} == named, "nothing else is left"
        assert found == [patch_by_small(case) for case in cases], cases
        assert [one.distribution for one in verdicts] == [decades(by_small(case).largest) for case in cases], cases
        return found


def decades(moves: Sequence[Move]) -> dict[Direction, tuple[int, ...]]:
    found: dict[Direction, list[int]] = {}
    for move in moves:
        if move.distance:
            numbers = found.setdefault(move.direction, [])
            decade = len(str(move.distance))
            numbers += [0] * (decade - len(numbers))
            numbers[decade - 1] += 1
    return {direction: tuple(numbers) for direction, numbers in found.items()}


def written(value: Any, rnd: random.Random) -> str:
    """The entry in a random one of the forms in which people write entries."""
    if rnd.random() < 0.2:
        value = dict(reversed(value.items()))
    if rnd.random() < 0.1:
        value = {**value, "note": "of no use"}
    return line_of(value, rnd.choice([(",", ":"), (",", ":"), (", ", ": ")]), ascii_only=rnd.random() < 0.2)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Most of these cases have no error."""
    name, kind = draw(st.sampled_from(sorted(MAKE))), draw(st.sampled_from(KINDS))
    config, make = MAKE[name]
    rnd = draw(st.randoms(use_true_random=False))
    numbers = draw(st.lists(st.integers(0, 60), unique=rnd.random() < 0.9, max_size=40))
    if name == "file":
        numbers = numbers[:1] and [0]
    current = [
        make(n, rnd.randrange(3)) for n in rnd.sample(range(61), rnd.choice([0, 5, 30])) if name != "file" or not n
    ]
    lines = []
    for n in numbers:
        value = make(n, rnd.randrange(3))
        if kind is OffsetChangeKind.ALTER and rnd.random() < 0.3:
            value["offset"] = None
        lines.append(written(value, rnd) + rnd.choice(["", "", "", "\r", "\n", "\n \t\r", " "]))
    content = (rnd.choice(["", "", "\ufeff"]) + "\n".join(lines) + rnd.choice(["", "\n"])).encode()
    existing = rnd.choice([offsets(*current), offsets(*current), offsets(*current), None])
    return Case(content, config, existing, kind, name=f"m.jsonl{draw(st.sampled_from(['', '', '.gz', '.zst']))}")


@settings(max_examples=max(40, settings().max_examples // 2))
@given(st.lists(cases(), min_size=1, max_size=4), st.sampled_from([SPLIT_SIZE, 1, 60, 300]), st.integers(1, 5))
def test_what_is_left_is_what_the_plan_sends(several: list[Case], split_size: int, tasks: int) -> None:
    left_alike(several, split_size, tasks)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("name", MAKE)
def test_of_each_kind_something_is_left(name: str, kind: OffsetChangeKind) -> None:
    """Without offsets to send, the property above would be true but prove nothing."""
    config, make = MAKE[name]
    values = [make(n, n % 3) for n in range(0 if name == "file" else 1, 1 if name == "file" else 90)]
    current = offsets(*(make(n, 1) for n in ([] if name == "file" else range(40, 120))))
    if kind is OffsetChangeKind.ALTER:
        values += [] if name == "file" else [{**make(n, 1), "offset": None} for n in (90, 100, 119, 120, 200)]
    (found,) = left_alike([Case(jsonl(values), config, current, kind)], split_size=200)
    assert found is not None
    expected = len(values) if name == "file" else {"alter": 89 + 3, "seed": 89, "replace": 89 - 17 + 30}[kind.value]
    assert len(found) == expected


def test_a_task_that_is_run_twice_does_no_harm(tmp_path: Path) -> None:
    """A task that is ended in the middle leaves no files."""
    current = offsets(*(mirrored(n, n % 4) for n in range(0, 900, 2)))
    case = Case(jsonl(mirrored(n, n % 3) for n in range(500)), MIRROR, current, OffsetChangeKind.REPLACE)

    class Twice(InProcess):
        def compare(self, job: Any) -> Any:
            assert [*super().compare(job)]
            return super().compare(job)

        def write(self, patch_job: Any) -> Any:
            ended = patch_job.write(self._ids(len(patch_job.splits)))
            next(ended)
            ended.close()
            assert [*super().write(patch_job)]
            return super().write(patch_job)

    (verdict,) = in_process([filed(case, tmp_path / "m")], 3, 2000, ready=tmp_path / "ready", engine=Twice())
    assert sent(verdict) == patch_by_small(case)
    assert verdict.patch is not None
    assert {str(path) for path in (tmp_path / "ready").iterdir()} == set(verdict.patch.files)


def test_of_repeats_the_first_is_sent(tmp_path: Path) -> None:
    """Repeats are an error, so such a manifest is not sent; but the prepared lines do not depend on this."""
    values = [mirrored(n % 7, 5) for n in range(40)]
    current = offsets(mirrored(1), mirrored(3, 4))
    manifest = filed(Case(jsonl(values), MIRROR, current), tmp_path / "m")
    job = replace(prepare([manifest], 2, 200), directories=job_directories(tmp_path / "ready", None))
    engine = InProcess()
    results = Results([manifest], job, engine.compare(job))
    rows = sorted(engine.write(PatchJob(job, {0: results.each[0].deletions})))
    assert sum(row[1] for row in rows) == 7
    files = sorted((tmp_path / "ready").glob("*.jsonl"))
    assert b"".join(file.read_bytes() for file in files) == jsonl(mirrored(n, 5) for n in range(7))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_the_same_is_left_of_parquet(kind: OffsetChangeKind, tmp_path: Path) -> None:
    """The row groups are in several input splits, and a string must be escaped."""
    values = [mirrored(n, n % 3, topic='a"b' if n == 77 else "orders") for n in range(300)]
    if kind is OffsetChangeKind.ALTER:
        values[70]["offset"] = values[90]["offset"] = None
    case = Case(jsonl(values), MIRROR, offsets(*(mirrored(n, 1) for n in range(60, 400))), kind)
    (expected,) = left_alike([case], 2000)
    halves = {half: pa.array([one[half] for one in values]) for half in ("partition", "offset")}
    parquet.write_table(pa.table(halves), tmp_path / "m.parquet", row_group_size=40)
    manifest = replace(filed(case, tmp_path / "m"), files=(LargeFile("m.parquet", str(tmp_path / "m.parquet")),))
    (verdict,) = in_process([manifest], split_size=300, ready=tmp_path / "ready")
    assert expected is not None
    assert sent(verdict) == expected


def test_an_entry_that_is_only_compared_is_left_too(tmp_path: Path) -> None:
    """The rules would reject most of these entries."""
    values = [mirrored(n, -1, cluster="elsewhere") for n in range(9)] + [{**mirrored(99), "offset": None}]
    content = jsonl(values) + line_of(mirrored(10, 1.0), (", ", ": ")).encode()
    manifest = filed(Case(content, MIRROR, offsets(mirrored(99))), tmp_path / "m")
    (verdict,) = in_process([replace(manifest, is_checked=False)], ready=tmp_path / "ready")
    assert sent(verdict) == [jsonl([one]).decode() for one in (*values, mirrored(10, 1.0))]


def test_a_file_that_changes_between_the_jobs_is_a_named_error(tmp_path: Path) -> None:
    manifest = filed(Case(jsonl(mirrored(n) for n in range(50)), MIRROR, {}), tmp_path / "m")

    class Hasty(InProcess):
        def write(self, patch_job: Any) -> Any:
            Path(manifest.files[0].path).write_bytes(jsonl(mirrored(n) for n in range(49)))
            return super().write(patch_job)

    with pytest.raises(SparkFailed, match="49 of its entries remain to be sent, expected 50"):
        in_process([manifest], ready=tmp_path / "ready", engine=Hasty())


def test_an_error_or_unknown_offsets_leave_nothing(tmp_path: Path) -> None:
    wrong = filed(Case(jsonl([mirrored(1), mirrored(2, -1)]), MIRROR, {}), tmp_path / "wrong")
    unknown = filed(Case(jsonl([mirrored(1)]), MIRROR), tmp_path / "unknown")
    nothing = filed(
        Case(jsonl([mirrored(1, 5)]), MIRROR, offsets(mirrored(1, 5)), OffsetChangeKind.REPLACE), tmp_path / "n"
    )
    found = in_process([wrong, unknown, nothing], ready=tmp_path / "ready")
    assert [one.patch is None for one in found] == [True, True, False]
    assert found[2].patch is not None
    assert (found[2].patch.files, found[2].patch.entries, found[2].patch.size) == ((), 0, 0)
    assert not [*(tmp_path / "ready").iterdir()]


@pytest.mark.thorough
def test_patches_of_five_manifests_of_different_classes_in_one_job(spark: Any, tmp_path: Path) -> None:
    """One manifest's input splits are in several tasks, and one task has input splits of several manifests."""
    rnd = random.Random(3)  # noqa: S311 - the same each time
    current = offsets(*(mirrored(n, rnd.randrange(9)) for n in range(0, 90_000, 3)))
    tombstones = ({**mirrored(n), "offset": None} for n in range(0, 9000, 2))
    altered = [mirrored(n, n % 9) for n in range(9000, 100_000)]
    replaced = [mirrored(n, rnd.randrange(9)) for n in range(30_000)]
    make = MAKE["sink"][1]
    cases = [
        Case(jsonl([*tombstones, *altered]), MIRROR, current, name="a.jsonl"),
        Case(
            b"\xef\xbb\xbf" + jsonl(replaced).replace(b"\n", b"\r\n\r\n"), MIRROR, current, KINDS[2], name="b.jsonl.zst"
        ),
        Case(jsonl(make(n, 7) for n in range(20_000)), SINK, offsets(make(1, 3), make(-1, 4)), name="c.jsonl.gz"),
        Case("".join(written(MAKE["other"][1](n, n), rnd) + "\n" for n in range(5000)).encode(), OTHER, {}, KINDS[1]),
        Case(jsonl([read()]), FILE_SOURCE, {}, KINDS[1]),
        Case(jsonl([mirrored(1, -1), mirrored(2)]), MIRROR, current),
    ]
    manifests = [filed(case, tmp_path / str(n)) for n, case in enumerate(cases)]
    verdicts = on_spark(spark, manifests, ready=tmp_path / "ready")
    for case, verdict in zip(cases, verdicts, strict=True):
        assert sent(verdict) == patch_by_small(case)
    assert [verdict.patch is None for verdict in verdicts] == [False] * 5 + [True]
    named = {file for verdict in verdicts if verdict.patch for file in verdict.patch.files}
    assert {str(path) for path in (tmp_path / "ready").iterdir()} == named, "nothing else is left"


def test_distances_are_counted_by_their_decades() -> None:
    far = [0, 1, 9, 10, 99, 100, 10**6, 10**18, 2**63 - 2**62 - 1]
    half = 2**62
    current = offsets(*(mirrored(n, half) for n in range(20)))
    values = [mirrored(n, half + one) for n, one in enumerate(far)]
    values += [mirrored(10 + n, half - one) for n, one in enumerate((1, 10**5, 10**18, half))]
    with TemporaryDirectory() as name:
        (verdict,) = in_process([filed(Case(jsonl(values), MIRROR, current), Path(name) / "m")])
    forward = (2, 2, 1, 0, 0, 0, 1, *[0] * 11, 2)
    assert verdict.distribution == {Direction.FORWARD: forward, Direction.REWIND: (1, *[0] * 4, 1, *[0] * 12, 2)}


def test_lsns_as_postgresql_writes_them_are_sent_as_numbers() -> None:
    """Such lines are checked one by one, and are sent in canonical form."""
    config = {"connector.class": "PostgresConnector"}
    lsns = [100, "0/64", "0/1985390", 26_760_080]
    values = [entry({"server": f"s{n}"}, {"lsn": lsns[n % 4], "lsn_commit": "0/5"}) for n in range(80)]
    current = offsets(*(entry({"server": f"s{n}"}, {"lsn": 100, "lsn_commit": 5}) for n in range(40)))
    for kind in (OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE):
        (found,) = left_alike([Case(jsonl(values), config, current, kind)], split_size=300)
        assert found
        assert not any("0/" in line for line in found)
        assert any("26760080" in line for line in found)
