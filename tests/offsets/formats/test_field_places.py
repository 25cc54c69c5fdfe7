"""The position of a field in an entry, with any layout of its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.manifests import FILE_SOURCE, MIRROR, context_of
from support.files.tables import table

from gitops_connect.documents import offset_change_fields, yaml
from gitops_connect.documents.offset_change_fields import ManifestFiles
from gitops_connect.model.desired import DesiredOffsetChange
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.offsets.formats.field_places import is_json
from gitops_connect.offsets.rules.small import check

pytestmark = pytest.mark.slow


def places(manifest: Manifest, config: dict[str, str]) -> list[tuple[str, int, int]]:
    verdict = check(manifest, context_of(config), OffsetChangeKind.ALTER)
    return [(one.rule.removeprefix("manifest/"), one.location.line, one.location.column) for one in verdict.diagnostics]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_error_of_a_json_manifest_points_at_the_field(end: str) -> None:
    manifest = manifest_parser.parse(Blob("a.json", "", table(__file__, "BODY").replace("\n", end).encode()))
    assert places(manifest, FILE_SOURCE) == [
        ("file", 2, 18),
        ("negative", 3, 6),
        ("shape", 4, 42),
        ("unknown-field", 5, 3),
    ]


def test_an_error_of_an_inline_manifest_points_at_the_field() -> None:
    (document,) = yaml.parse(Blob("changes/back.yaml", "", table(__file__, "DOCUMENT").encode())).documents
    offset_change = offset_change_fields.change(document, ManifestFiles([]))
    assert isinstance(offset_change, DesiredOffsetChange)
    assert isinstance(offset_change.manifest, Manifest)
    assert places(offset_change.manifest, MIRROR) == [
        ("type", 8, 51),
        ("alias", 11, 9),
        ("negative", 15, 9),
        ("shape", 16, 8),
    ]


def test_an_error_of_a_line_points_at_the_line() -> None:
    lines = b'{"partition": {"filename": "/data/orders.txt"}, "offset": {"position": -5}}\n'
    assert places(manifest_parser.parse(Blob("a.jsonl", "", lines)), FILE_SOURCE) == [("negative", 1, 1)]


names = st.text('ab"\\\u00e9 {}[],:', max_size=4)
values = st.one_of(names, st.integers(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2))
parts = st.dictionaries(names, values, max_size=4)


@given(
    st.lists(st.fixed_dictionaries({"partition": parts, "offset": parts}), min_size=1, max_size=3),
    st.sampled_from([None, 0, 3]),
    st.sampled_from([(",", ":"), (" , ", "  : ")]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_field_is_located_at_the_start_of_its_key(
    entries: list[dict[str, Any]], indent: int | None, separators: tuple[str, str], end: str
) -> None:
    text = json.dumps(entries, indent=indent, separators=separators, ensure_ascii=False)
    manifest = manifest_parser.parse(Blob("a.json", "", text.replace("\n", end).encode()))
    lines = text.split("\n")
    for entry in manifest.entries:
        for half, part in entry.value.items():
            for name in part:
                found = entry.locate(f"{half}.{name}")
                assert found > entry.location
                assert lines[found.line - 1][found.column - 1 :].startswith(json.dumps(name, ensure_ascii=False))
            missing = entry.locate(f"{half}.missing")
            assert lines[missing.line - 1][missing.column - 1 :].startswith(f'"{half}"')
        assert entry.locate("") == entry.location == entry.locate("neither")


def test_json_is_recognized_by_its_file_name() -> None:
    assert [is_json(name) for name in ("a.json", "a.json.gz", "s3://b/a.json.zst")] == [True] * 3
    assert [is_json(name) for name in ("a.jsonl", "a.yaml", "a.csv.gz", Location("json").file)] == [False] * 4
