"""Staged manifests of all formats get the same verdict from the large engine as the same files from the small one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.files.manifests import FILE_SOURCE
from support.files.tables import rows, table
from support.spark.large_engine import PACK, Case, assert_alike, in_process, said_by_large, small_verdict

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob, Entry
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.offset_changes.staged_files import opened
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats import manifest_parser

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def content_of(row: str | Mapping[str, Any]) -> bytes:
    text, (old, new) = next(iter(row.items())) if isinstance(row, Mapping) else (row, ("", ""))
    for name in ("BODY", "TABLE"):
        text = text.replace(f"<{name}>", table(__file__, name))
    return text.replace(old, new).encode("latin-1")


def verdict_of(case: Case, contents: Mapping[str, bytes], directory: Path) -> LargeVerdict:
    with opened(directory) as store:
        files = [store.blob(Entry(name, f"id-{n}", None), [one]) for n, (name, one) in enumerate(contents.items())]
        manifest = LargeManifest(Location(case.name), tuple(files), case.context, case.kind)
        (verdict,) = in_process([manifest])
    return verdict


ONE = [(name, content_of(row)) for name, listed in table(__file__, "one").items() for row in listed]


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize(("name", "content"), ONE)
def test_one_file(name: str, content: bytes, packing: str, tmp_path: Path) -> None:
    case = Case(content, FILE_SOURCE, name=f"offsets/{name}{packing}")
    cut_off = replace(case, content=case.stored[:-3], packed=True)
    for number, one in enumerate((case, cut_off) if packing else (case,)):
        assert_alike(one, verdict_of(one, {one.name: one.stored}, tmp_path / str(number)))


@pytest.mark.parametrize("contents", rows(__file__, "several"))
def test_several_files(contents: Mapping[str, str], tmp_path: Path) -> None:
    stored = {name: content_of(row) for name, row in contents.items()}
    case = Case(b"", FILE_SOURCE, name=next(iter(stored)))
    manifest = manifest_parser.parse_all(Blob(name, "", content) for name, content in stored.items())
    assert said_by_large(verdict_of(case, stored, tmp_path)) == small_verdict(manifest, case.context, case.kind)
