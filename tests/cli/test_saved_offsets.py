"""Offsets that `offsets get` saves or prints are read back equal: no number, string or boolean changes its type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitops_connect.cli.offset_commands import listed
from gitops_connect.cli.options import TableOutput
from gitops_connect.documents import yaml
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.shapes import Shape, ShapeFields
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import Offsets, offset_text, partition_text, to_json
from gitops_connect.offset_changes.offset_files import OffsetFile
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.formats.manifest_parser import parse
from gitops_connect.offsets.rules.small import check
from gitops_connect.report.change_document import ChangeDocument, render

SUFFIXES = (".json", ".yaml", ".yml", ".jsonl", ".ndjson")
CONTEXT = ManifestContext(ConnectorName("orders"))
LOOKS_LIKE_ANOTHER_TYPE = [
    *("0001", "08", "1e5", "1E5", "1e+5", ".5", "5.", "0x1F", "0o17", "0b1", "1_000", "12:30:00", "1.0", "-0", "+1"),
    *("true", "True", "yes", "no", "null", "~", "NULL", "", " ", ".inf", ".nan", "=", "<<", "2026-11-22", "- a"),
    *("#", "\u2028", "\u0085", "\ufeff", "\U0001f600", "\x7f", "a\nb", "\t", "'", '"', "\\", "%", "@", "`", "!x", "*a"),
]
characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(st.sampled_from(LOOKS_LIKE_ANOTHER_TYPE), st.text(characters, max_size=8))
numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, -1, 2**31, 2**53 + 1, 2**63 - 1, 22_937_776, 1_763_000_000_123_456]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e16, 1e-7, 5.0, 1e300, 0.1]),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)


def part(draw: st.DrawFn, fields: ShapeFields) -> dict[str, Any]:
    """Every required field, some of the others, and sometimes one that the class does not know."""
    names = [name for name in fields.types if name in fields.required or draw(st.booleans())]
    return {name: draw(scalars) for name in (*names, *draw(st.lists(texts, max_size=1)))}


@st.composite
def saved_offsets(draw: st.DrawFn) -> Offsets:
    found: Shape = draw(st.sampled_from([one.shape for one in BUILT_IN.classes.values() if one.shape is not None]))
    entries = [
        (part(draw, draw(st.sampled_from(found.partitions))), part(draw, found.offset))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return {partition_text(partition): offset_text(offset) for partition, offset in entries if partition and offset}


def read_back(path: str, content: bytes) -> Any:
    manifest = parse(Blob(path, "", content))
    assert not manifest.faults
    verdict = check(manifest, CONTEXT, OffsetChangeKind.ALTER)
    return verdict.offsets


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=saved_offsets())
def test_what_is_saved_is_read_back_as_it_was(found: Offsets, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"saved{suffix}"
    OffsetFile(file, force=True).write(found)
    if found:
        assert read_back(file.name, file.read_bytes()) == found


@pytest.mark.parametrize(("output", "suffix"), [(TableOutput.JSON, ".json"), (TableOutput.YAML, ".yaml")])
@given(found=saved_offsets())
@example(found={partition_text({"server": "1e5"}): offset_text({"scn": "08", "commit_scn": "0o17"})})
def test_what_is_printed_is_read_back_as_it_was(found: Offsets, output: TableOutput, suffix: str) -> None:
    if found:
        assert read_back(f"printed{suffix}", listed(found, output).encode()) == found


@given(found=saved_offsets())
def test_what_an_undo_document_declares_is_read_back_as_it_was(found: Offsets) -> None:
    name, kind = OffsetChangeName("undo"), OffsetChangeKind.ALTER
    written = ChangeDocument(name, ClusterName("eu"), CONTEXT.connector, kind, "undo of a change", found)
    (document,) = yaml.parse(Blob("undo.yaml", "", render(written).encode())).documents
    declared = document.value["spec"].get("offsets", [])
    assert [(partition_text(one["partition"]), offset_text(one["offset"])) for one in declared] == sorted(found.items())
    assert declared == list(to_json(found))
