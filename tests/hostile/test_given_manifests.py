"""`offsets check` of offset manifests that cost memory or time, or contain control sequences, in every format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from standin.connect import StandIn

from hostile.packed import gzip_of_zeros, zstd_of
from hostile.place import BOUNDS, graded
from hostile.test_connect_answers import place_of

GIB = 1024**3
ESCAPES = "\\u001b[31mred\\u0007\\u009b2J\\u202e"


Row = tuple[str, Callable[[Path], object], str]
"""The name of a file, its content, and a part of the expected report."""


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


def zeros(path: Path) -> None:
    path.write_bytes(gzip_of_zeros(10 * GIB))


def spaces(path: Path) -> None:
    path.write_bytes(zstd_of(b" ", 10 * 10**9))


def sparse(path: Path, begin: bytes = b"") -> None:
    path.write_bytes(begin)
    os.truncate(path, 200 * GIB)


def field(name: str) -> str:
    return f'[{{"partition": {{"{name}": "/tmp/in.txt"}}, "offset": {{"{name}": 1}}}}]'


SPARSE = "the file is sparse"
TEXTS: dict[str, Row] = {
    "deep lists": ("a.json", text("[" * 1_000_000), "nested"),
    "deep objects in a line": ("a.jsonl", text('{"a":' * 100_000), "nested"),
    "deep YAML": ("a.yaml", text("- " * 100_000), "nested"),
    "half a surrogate pair in a field": ("a.json", text(field("a\\ud800")), "surrogate"),
    "control characters in a field": ("a.json", text(field(ESCAPES)), "red"),
    "control characters in a field of YAML": ("a.yaml", text(field(ESCAPES)), "red"),
    "control characters in a field of CSV": ("a.csv", text("partition.\x1b[31mred,offset.b\n1,2\n"), "red"),
}

SIZES: dict[str, Row] = {
    "10 GB of spaces, zstd": ("a.jsonl.zst", spaces, "more than 1,000 times larger"),
    "10 GB of spaces in a list, zstd": ("a.json.zst", spaces, "more than 1,000 times larger"),
    "10 GiB of zeros, gzip": ("a.json.gz", zeros, "more than 1,000 times larger"),
    "10 GiB of zeros in lines, gzip": ("a.jsonl.gz", zeros, "more than 1,000 times larger"),
    "200 GiB of zeros": ("a.json", sparse, SPARSE),
    "200 GiB of zeros behind an entry": ("a.jsonl", partial(sparse, begin=field("a").encode()), SPARSE),
    "200 GiB of zeros, gzip": ("a.json.gz", sparse, SPARSE),
    "200 GiB of Parquet": ("a.parquet", partial(sparse, begin=b"PAR1"), SPARSE),
    "200 GiB of YAML": ("a.yaml", partial(sparse, begin=b"- 1\n"), SPARSE),
}


@pytest.mark.parametrize("output", ["text", "json", "sarif"])
@pytest.mark.parametrize("row", [*graded(TEXTS), *graded(SIZES)])
def test_a_manifest(row: Row, output: str, tmp_path: Path) -> None:
    name, write, says = row
    with StandIn() as hostile, StandIn() as fine:
        place = place_of(tmp_path, hostile, fine)
        write(tmp_path / name)
        arguments = ("--connector", "orders", "--cluster", "hostile", "-o", output)
        ran = place.run("offsets", "check", name, *arguments, bounds=BOUNDS)
    assert says in ran.said
    assert ran.code == (64 if says == SPARSE else 4)
    if output != "text" and ran.out:
        json.loads(ran.out)
