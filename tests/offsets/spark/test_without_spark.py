"""Large manifests in a process without Spark: the same verdicts and patches, and which manifests are checked so."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from psutil import pid_exists
from pyarrow.json import read_json
from support.files.manifests import MIRROR, mirrored, offsets
from support.spark.large_engine import Case, filed, in_process, jsonl, patch_by_small, sent
from support.spark.manifests_held import planted
from support.waiting import await_that

from gitops_connect.errors import SparkFailed, SparkUnusable
from gitops_connect.model.manifests import LargeFile
from gitops_connect.offset_changes.manifest_source import SparkChecks
from gitops_connect.offsets.spark.check import LocalEngine
from gitops_connect.offsets.spark.input_splits import content_size
from gitops_connect.settings.coerce import Size
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.session import SharedSession

pytestmark = pytest.mark.slow
BYTES = random.Random(1)  # noqa: S311 - not secret
CASE = Case(jsonl(mirrored(n, n % 9) for n in range(9000)), MIRROR, offsets(*(mirrored(n, 4) for n in range(0, 99, 2))))


def started(*_: object) -> None:
    raise SparkUnusable("Spark was started")


@pytest.fixture
def checks(tmp_path: Path) -> Iterator[SparkChecks]:
    settings = SparkSettings(min_size=Size(10**6))
    with closing(SharedSession(settings, os.environ, tmp_path / "cache", start=started)) as sessions:  # type: ignore[arg-type]
        yield SparkChecks(sessions, lambda _: None)


def test_the_verdicts_are_those_of_the_engine_on_spark(checks: SparkChecks, tmp_path: Path) -> None:
    manifests = planted(tmp_path / "manifests")
    for count in (1, 2):
        with checks.sessions.without_spark(count) as processes:
            assert in_process(manifests, 1, engine=LocalEngine(processes, tmp_path / "rows")) == in_process(manifests)
            assert in_process(manifests, 3, engine=LocalEngine(processes, tmp_path / "rows")) == in_process(manifests)


def test_the_offsets_to_send_are_written(checks: SparkChecks, tmp_path: Path) -> None:
    (verdict,) = checks.check([filed(CASE, tmp_path / "m")], ready=tmp_path / "ready")
    assert sent(verdict) == patch_by_small(CASE)


@pytest.mark.parametrize(("rows", "needed"), [(5_000, False), (20_000, True)])
@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_what_is_larger_needs_spark(checks: SparkChecks, tmp_path: Path, name: str, rows: int, *, needed: bool) -> None:
    manifest = filed(Case(jsonl(mirrored(n) for n in range(rows)), MIRROR), tmp_path / "m")
    if name == "a.parquet":
        pq.write_table(read_json(manifest.files[0].path), tmp_path / name)
        manifest = replace(manifest, files=(LargeFile(name, str(tmp_path / name)),))
    if needed:
        with pytest.raises(SparkUnusable, match="Spark was started"):
            checks.check([manifest])
    else:
        (verdict,) = checks.check([manifest])
        assert (verdict.entries, verdict.errors) == (rows, 0)


@pytest.mark.parametrize(("size", "needed"), [(90_000, False), (110_000, True)])
def test_a_compressed_file_counts_ten_times(checks: SparkChecks, tmp_path: Path, size: int, *, needed: bool) -> None:
    manifest = filed(Case(BYTES.randbytes(size), name="a.jsonl.gz"), tmp_path / "m")
    assert checks.needs_spark([manifest]) == needed


@pytest.mark.parametrize(
    ("claimed", "factor"), [(b"\x05", 0), (b"\xfe" + b"\xff" * 8 + b"\x01", 1000)], ids=["-3 rows", "2**63 - 1 rows"]
)
def test_the_rows_that_a_parquet_file_claims_are_bounded_by_its_size(
    tmp_path: Path, claimed: bytes, factor: int
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"partition.topic": ["a", "b", "c"], "offset.offset": [1, 2, 3]}), path)
    content, size = path.read_bytes(), int.from_bytes(path.read_bytes()[-8:-4], "little")
    footer = content[-8 - size : -8].replace(b"\x16\x06\x19", b"\x16" + claimed + b"\x19", 1)
    path.write_bytes(content[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    manifest = replace(filed(CASE, tmp_path / "m"), files=(LargeFile(path.name, str(path)),), current=None)
    assert content_size([manifest]) == path.stat().st_size * factor


def test_a_damaged_parquet_file_needs_no_spark(checks: SparkChecks, tmp_path: Path) -> None:
    (verdict,) = checks.check([filed(Case(b"PAR1 and nothing else", name="a.parquet"), tmp_path / "m")])
    assert [one.rule for one in verdict.diagnostics] == ["manifest/format"]


def test_the_current_offsets_count(checks: SparkChecks, tmp_path: Path) -> None:
    few = Case(jsonl([mirrored(1)]), MIRROR, offsets(*map(mirrored, range(20_000))))
    assert checks.needs_spark([filed(few, tmp_path / "m")])


def test_several_checks_share_the_processes_and_each_has_one(checks: SparkChecks) -> None:
    sessions = checks.sessions
    with sessions.without_spark(3) as three, sessions.without_spark(9) as rest, sessions.without_spark(0) as one:
        assert [len(three), len(rest), len(one)] == [3, 1, 1]
    with sessions.without_spark(9) as all_of_them:
        assert len(all_of_them) == 4


def test_a_process_that_was_killed_is_an_error(checks: SparkChecks, tmp_path: Path) -> None:
    with checks.sessions.without_spark(2) as processes:
        pid = processes[1].run(_pid, task="find")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SparkFailed, match=r"large manifests could not be checked: its process has ended \(-9\)"):
            in_process([filed(CASE, tmp_path / "m")], engine=LocalEngine(processes, tmp_path / "rows"))


def test_a_check_that_takes_too_long_ends_with_its_processes(checks: SparkChecks, tmp_path: Path) -> None:
    with checks.sessions.without_spark(1) as processes:
        pid = processes[0].run(_pid, task="find")
        engine = LocalEngine(processes, tmp_path / "rows", left=lambda: 0.0)
        with pytest.raises(SparkFailed, match="large manifests could not be checked: it takes too long"):
            in_process([filed(CASE, tmp_path / "m")], engine=engine)
        with pytest.raises(SparkFailed, match="sleep: it takes too long"):
            processes[0].run(_sleep, task="sleep", timeout=0.1)
    await_that(lambda: not pid_exists(pid))


def _sleep(_: object) -> None:
    time.sleep(60)


def _pid(_: object) -> int:
    return os.getpid()
