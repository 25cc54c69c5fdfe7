"""Offsets that commands save or print, also in offset change documents, are read back with the same types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.files.document_files import LOCAL, declare

from gitops_connect.cli.offset_commands import listed
from gitops_connect.cli.options import TableOutput
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.offset_changes.offset_files import OffsetFile
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.formats.manifest_parser import parse
from gitops_connect.offsets.rules.small import check
from gitops_connect.report.change_document import ChangeDocument, fits, json_lines, render

pytestmark = pytest.mark.slow

SUFFIXES = (".json", ".yaml", ".yml", ".jsonl", ".ndjson")
CONTEXT = ManifestContext(ConnectorName("orders"))
LOOKS_LIKE_ANOTHER_TYPE = [
    *("0001", "08", "1e5", "1E5", "1e+5", ".5", "5.", "0x1F", "0o17", "0b1", "1_000", "12:30:00", "1.0", "-0", "+1"),
    *("true", "True", "yes", "no", "null", "~", "NULL", "", " ", ".inf", ".nan", "=", "<<", "2026-11-22", "- a"),
    *("#", "\u2028", "\u0085", "\ufeff", "\U0001f600", "\x7f", "a\nb", "\t", "'", '"', "\\", "%", "@", "`", "!x", "*a"),
    *("1", "1e3", "007", "a: b", "\x9b\x7f\u202e\U000e0001"),
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
objects = st.dictionaries(texts, scalars, min_size=1, max_size=3)
saved_offsets = st.dictionaries(objects.map(partition_text), objects.map(offset_text), min_size=1, max_size=4)


def read_back(path: str, content: bytes) -> Any:
    manifest = parse(Blob(path, "", content))
    assert not manifest.faults
    return check(manifest, CONTEXT, OffsetChangeKind.ALTER).offsets


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=saved_offsets)
def test_what_is_saved_is_read_back_as_it_was(found: Offsets, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"saved{suffix}"
    OffsetFile(file, force=True).write(found)
    assert read_back(file.name, file.read_bytes()) == found


@pytest.mark.parametrize(("output", "suffix"), [(TableOutput.JSON, ".json"), (TableOutput.YAML, ".yaml")])
@given(found=saved_offsets)
@example(found={partition_text({"server": "1e5"}): offset_text({"scn": "08", "commit_scn": "0o17"})})
def test_what_is_printed_is_read_back_as_it_was(found: Offsets, output: TableOutput, suffix: str) -> None:
    assert read_back(f"printed{suffix}", listed(found, output).encode()) == found


def document(offsets: OffsetPatch, **more: Any) -> ChangeDocument:
    values: dict[str, Any] = {"reason": "a reason", **more}
    kind = OffsetChangeKind.REPLACE
    return ChangeDocument(OffsetChangeName("undo-1"), LOCAL, CONTEXT.connector, kind, offsets=offsets, **values)


@given(saved_offsets)
def test_the_offsets_in_a_document_and_beside_it(found: Offsets) -> None:
    states, diagnostics = declare({"undo.yaml": render(document(found))})
    assert not diagnostics.items
    (change,) = states[LOCAL].offset_changes
    assert isinstance(change.manifest, Manifest)
    assert not change.manifest.faults
    values = [entry.value for entry in change.manifest.entries]
    declared = [(partition_text(one["partition"]), offset_text(one["offset"])) for one in values]
    assert declared == sorted(found.items())
    text = json_lines(found)
    assert len(text.splitlines()) == len(found)
    assert read_back("undo.jsonl", text.encode()) == found


@given(st.text(characters, min_size=1, max_size=40).filter(str.strip))
def test_what_a_document_says_beside_its_offsets(reason: str) -> None:
    made = document(
        {}, reason=reason, manifest="./ü \x9b.jsonl", acknowledge=(Acknowledgement.REWIND, Acknowledgement.TOMBSTONE)
    )
    states, diagnostics = declare({"deep/undo.yaml": render(made), "deep/ü \x9b.jsonl": "{}"})
    assert not diagnostics.items
    (read,) = states[LOCAL].offset_changes
    assert (read.name, read.connector, read.kind) == ("undo-1", "orders", OffsetChangeKind.REPLACE)
    assert read.acknowledged == {Acknowledgement.REWIND, Acknowledgement.TOMBSTONE}
    assert read.reason.split() == "".join(one if one.isprintable() else " " for one in reason).split()


def test_an_acknowledgement_is_in_effect_without_the_first_number_sign() -> None:
    text = render(document({}, to={"ago": "1h"}, needed=(Acknowledgement.REWIND, Acknowledgement.EXTERNAL)))
    for content, expected in ((text, set()), (text.replace("#", "", 1), {"rewind", "external"})):
        states, diagnostics = declare({"rewind.yaml": content.replace("replace", "alter")})
        assert not diagnostics.items
        (change,) = states[LOCAL].offset_changes
        assert {one.value for one in change.acknowledged} == expected


def test_long_content_is_not_in_a_document() -> None:
    def many(count: int, name: str = "a") -> OffsetPatch:
        return {partition_text({name: number}): offset_text({"position": 1}) for number in range(count)}

    assert fits({})
    assert fits(many(20))
    assert not fits(many(21))
    assert not fits(many(1, "a" * 1024)), "YAML takes no longer keys in one line"
