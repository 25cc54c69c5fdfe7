"""A written offset change document is read back with the same meaning, whatever the offsets are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.files.document_files import LOCAL, declare

from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, offset_text, partition_text
from gitops_connect.offsets.formats import manifest_parser
from gitops_connect.report.change_document import ChangeDocument, fits, json_lines, render

NOT_HALVES = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(NOT_HALVES, max_size=8),
    st.sampled_from(
        ["null", "true", "1", "1e3", "0o17", "007", "~", "- a", "a: b", "#", "\x9b\x7f\u202e\U000e0001", "\ufeff"]
    ),
)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)
OFFSETS = st.dictionaries(OBJECTS.map(partition_text), OBJECTS.map(offset_text), min_size=1, max_size=4)


def document(offsets: OffsetPatch, **more: Any) -> ChangeDocument:
    values: Mapping[str, Any] = {"reason": "a reason", **more}
    return ChangeDocument(
        OffsetChangeName("undo-1"), LOCAL, ConnectorName("orders"), OffsetChangeKind.REPLACE, offsets=offsets, **values
    )


def offsets_of(manifest: Any) -> OffsetPatch:
    assert isinstance(manifest, Manifest)
    assert not manifest.faults
    values = [entry.value for entry in manifest.entries]
    return {partition_text(one["partition"]): offset_text(one["offset"]) for one in values}


@given(OFFSETS)
def test_offsets_in_the_document(offsets: OffsetPatch) -> None:
    states, diagnostics = declare({"undo.yaml": render(document(offsets))})
    assert not diagnostics.items
    (read,) = states[LOCAL].offset_changes
    assert offsets_of(read.manifest) == offsets


@given(OFFSETS)
def test_offsets_beside_the_document(offsets: OffsetPatch) -> None:
    text = json_lines(offsets)
    assert len(text.splitlines()) == len(offsets)
    assert offsets_of(manifest_parser.parse(Blob("undo.jsonl", "", text.encode()))) == offsets


@given(st.text(NOT_HALVES, min_size=1, max_size=40).filter(str.strip))
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


def test_long_content_is_not_in_a_document() -> None:
    def many(count: int, name: str = "a") -> OffsetPatch:
        return {partition_text({name: number}): offset_text({"position": 1}) for number in range(count)}

    assert fits({})
    assert fits(many(20))
    assert not fits(many(21))
    assert not fits(many(1, "a" * 1024)), "YAML takes no longer keys in one line"
