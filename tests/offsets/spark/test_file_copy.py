"""Files that Spark copies from directories of this machine are equal, byte for byte."""

from __future__ import annotations

import gzip
import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
import zstandard

from gitops_connect.errors import SparkFailed
from gitops_connect.spark.file_copy import copy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BYTES = random.Random(5)  # noqa: S311 - the same in each run
FILES = {
    "one.jsonl": b"one\ntwo\n",
    "no-end.jsonl": b"one\ntwo",
    "carriage.jsonl": b"one\r\n\rtwo\r",
    "empty.jsonl": b"",
    "feed.jsonl": b"\n",
    "feeds.jsonl": b"\n\na\n\n\n",
    "mark.jsonl": b"\xef\xbb\xbfone\n",
    "mark-no-end.jsonl": b"\xef\xbb\xbfone\ntwo",
    "marks.jsonl": b"\xef\xbb\xbf\xef\xbb\xbf\n\xef\xbb\xbf",
    "long.jsonl": b"x" * 3_000_000 + b"\ny",
    "many.jsonl": b"".join(b'{"partition":{"f":%d}}\n' % number for number in range(50_000)),
    "random.csv": BYTES.randbytes(500_000),
    "random.parquet": BYTES.randbytes(500_001) + b"\n",
    "a.json.gz": gzip.compress(b"hello\n" * 10_000),
    "A.JSON.GZ": gzip.compress(b"HELLO\n" * 10_000),
    "b.jsonl.zst": zstandard.ZstdCompressor().compress(BYTES.randbytes(100_000)),
    "cut.jsonl.zst": zstandard.ZstdCompressor().compress(BYTES.randbytes(100_000))[:5000],
    "not-at-all.json.gz": b"no gzip\n\n",
    "a b%20c+d,e#f?g ü.jsonl": b"odd name\n",
    "{x} [1] *.jsonl": b"odder name\n",
    "deep/er/x.jsonl": b"deep\n",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("elsewhere")
    for name, content in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for hidden in ("_SUCCESS", ".x.jsonl.crc", "_old/x.jsonl"):
        (directory / hidden).parent.mkdir(exist_ok=True)
        (directory / hidden).write_bytes(b"hidden")
    return directory


def everything(_path: str) -> bool:
    return True


def test_a_directory_is_copied_byte_for_byte(spark: Any, directory: Path, tmp_path: Path) -> None:
    copied = copy(spark, f"file:{directory}", everything, str(tmp_path))
    found = {Path(one.path).relative_to(directory).as_posix(): one for one in copied}
    assert sorted(found) == sorted(FILES)
    assert {name for name, one in found.items() if Path(one.file).read_bytes() != FILES[name]} == set()
    assert {name for name, one in found.items() if one.sha256 != hashlib.sha256(FILES[name]).hexdigest()} == set()
    assert len(list(tmp_path.iterdir())) == len(FILES)


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        ("one.jsonl", ["one.jsonl"]),
        ("deep/", ["deep/er/x.jsonl"]),
        ("*.parquet", ["random.parquet"]),
        ("mark*.jsonl", ["mark-no-end.jsonl", "mark.jsonl", "marks.jsonl"]),
        ("nothing", []),
        ("nothing/*.jsonl", []),
    ],
)
def test_a_file_a_directory_or_a_glob(
    spark: Any, directory: Path, tmp_path: Path, what: str, wanted: list[str]
) -> None:
    copied = copy(spark, f"file://{directory}/{what}", everything, str(tmp_path))
    assert [Path(one.path).relative_to(directory).as_posix() for one in copied] == wanted
    assert [Path(one.file).read_bytes() for one in copied] == [FILES[name] for name in wanted]


def test_only_what_is_wanted_is_copied(spark: Any, directory: Path, tmp_path: Path) -> None:
    copied = copy(spark, f"file:{directory}", lambda path: path.endswith(".csv"), str(tmp_path))
    assert [Path(one.path).name for one in copied] == ["random.csv"]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_spark_cannot_read_is_named(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(SparkFailed, match=r"nowhere://x/y could not be copied because Spark failed: .*nowhere"):
        copy(spark, "nowhere://x/y", everything, str(tmp_path))
