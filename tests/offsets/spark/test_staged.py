"""Staged manifests of all formats get the same verdict from the large engine as the same files from the small one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.files.manifests import FILE_SOURCE, read
from support.spark.large_engine import PACK, Case, assert_alike, in_process

from gitops_connect.model.diagnostics import Diagnostic, Location
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import LargeFile
from gitops_connect.offset_changes.staged_files import opened
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.rules import small

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOUND = [read(position=number) for number in range(3)]
BODY = b"""{"offsets": [
  {"partition": {"filename": "/data/orders.txt"}, "offset": {"position": 5}},
  {"partition": {"filename": "/data/orders.txt"},
   "offset": {"position": 6}}, {"partition": {"filename": "/data/other.txt"}, "offset": {"position": -1}},
  {"partition": {"filename": "x", "filename": "y"}, "offset": null}, 7,
  {"partition": {"filename": "/data/orders.txt"}, "offset": {"position": "7"}}, {"offset": null}
]%s}"""
TABLE = b"""partition.filename,offset.position
/data/orders.txt,5
"/data/orders.txt",6
1,2,3
"/data
/other.txt",-1
,5
/data/orders.txt,\"\"\"7\"\"\"
"""
CONTENTS: Mapping[str, list[bytes]] = {
    "a.json": [
        BODY % b"",
        (BODY % b"").replace(b"\n", b"\r\n"),
        BODY % b', "more": 1',
        json.dumps([*SOUND, read("/data/order.txt"), read(position=-1), read(5, "7")], indent=3).encode(),
        (BODY % b"")[:-5],
        b"[]",
        b"",
        b"[1] 2",
        (BODY % b"").replace(b"other", b"\xe9"),
        (BODY % b"").replace(b"offsets", b"\xff"),
        b"[7, \xff]",
        b"[7, {}, \0]",
        b"\x89PNG",
        json.dumps(SOUND[:1]).encode(),
    ],
    "a.csv": [
        TABLE,
        TABLE.replace(b"\n", b"\r\n"),
        TABLE + b'"',
        b"",
        b"x,y\n1,2\n",
        TABLE + b"\xff",
        TABLE.replace(b"data", b"\xe9"),
        b"\xe9" + TABLE,
        b"\0" + TABLE,
    ],
    "a.yaml": [
        BODY % b"",
        b"- {partition: {filename: a}, offset: {position: 1}}\n- x\n",
        b"- &a [1]\n- [x\n",
        b"a: 1\n",
        BODY % b'"\xe9"',
    ],
}


def staged(names_and_contents: list[tuple[str, bytes]], directory: Path) -> tuple[LargeFile, ...]:
    with opened(directory) as store:
        return tuple(
            store.blob(Entry(name, f"id-{number}", None), [content])
            for number, (name, content) in enumerate(names_and_contents)
        )


def hold(case: Case, files: tuple[LargeFile, ...]) -> None:
    manifest = LargeManifest(Location(case.name), files, replace(case.context, current=None), case.kind)
    (verdict,) = in_process([manifest])
    assert_alike(case, verdict)


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize(("name", "content"), [(name, one) for name, listed in CONTENTS.items() for one in listed])
def test_one_file(name: str, content: bytes, packing: str, tmp_path: Path) -> None:
    case = Case(content, FILE_SOURCE, name=f"offsets/{name}{packing}")
    hold(case, staged([(case.name, case.stored)], tmp_path / "store"))
    if packing:
        cut_off = replace(case, content=case.stored[:-3], packed=True)
        hold(cut_off, staged([(case.name, cut_off.stored)], tmp_path / "cut"))


@pytest.mark.parametrize(
    "contents",
    [
        [("a.json", BODY % b""), ("b.csv", TABLE), ("c.yaml", BODY % b""), ("d.jsonl", b"7\n{}\n")],
        [("a.json", b"[]"), ("b.csv", b"")],
        [("a.json", b"[]"), ("b.jsonl", b"x\n")],
        [("a.json", b"[1, 2"), ("b.json.gz", b"no"), ("c.txt", b"")],
        [
            ("a.csv", b"partition.filename,offset.position\n/data/orders.txt,5\n"),
            ("b.json", json.dumps(SOUND[:1]).encode()),
        ],
    ],
)
def test_several_files(contents: list[tuple[str, bytes]], tmp_path: Path) -> None:
    case = Case(b"", FILE_SOURCE, name=contents[0][0])
    files = staged(contents, tmp_path)
    (verdict,) = in_process([LargeManifest(Location(case.name), files, replace(case.context, current=None), case.kind)])
    manifest = manifest_parser.parse_all(Blob(name, "", content) for name, content in contents)
    expected = small.check(manifest, case.context, case.kind)
    assert _said(verdict.diagnostics.items) == _said(expected.diagnostics.items)
    assert (verdict.counts, verdict.errors, verdict.unread) == (expected.counts, expected.errors, expected.unread)


def _said(items: tuple[Diagnostic, ...]) -> list[tuple[str, str, Location]]:
    return [(item.rule, item.summary, item.location) for item in items]
