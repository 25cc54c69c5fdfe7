"""Offsets that are read and written as bytes, for connectors with too many offsets for memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.files.manifests import offsets

from contract.under_test import OVER_HTTP, TOPIC, Contract, entry, sink_entry
from gitops_connect.errors import NotFound, NotStopped, OffsetsNotChanged, Rejected
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetPatch, Offsets, to_json

pytestmark = pytest.mark.slow

ABSENT = ConnectorName("no-such-connector")
A, B = entry({"stream": "a"}, {"n": 1}), entry({"stream": "b"}, {"n": 2})


def body_of(patch: OffsetPatch) -> bytes:
    return json.dumps({"offsets": list(to_json(patch))}, ensure_ascii=False).encode()


def read(path: str) -> Offsets:
    lines = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    assert all(one.keys() == {"partition", "offset"} for one in lines)
    return offsets(*lines)


@OVER_HTTP
def test_what_is_sent_as_bytes_is_current_and_is_streamed_back(contract: Contract, tmp_path: Path) -> None:
    name = contract.stopped("bytes", contract.numbers())
    patch: dict[object, object] = {}
    for number in range(2000):
        patch.update(entry({"stream": f"s{number}", "ü": '\u2028"\\'}, {"n": number, "f": number / 7, "z": None}))
    assert contract.client.alter_offsets_with(name, body_of(patch)) == ""  # type: ignore[arg-type]
    found = contract.client.save_offsets(name, tmp_path / "live", 1000)
    assert isinstance(found, SavedOffsets)
    assert found.entries == 2000
    assert read(found.path) == patch == contract.client.offsets(name)
    assert contract.client.save_offsets(name, tmp_path / "other", 10_000_000) == patch


@OVER_HTTP
@pytest.mark.parametrize(
    ("is_sink", "patches", "current"),
    [
        (False, [{**A, **B}, entry({"stream": "a"}, None)], B),
        (True, [sink_entry(TOPIC, 3)], sink_entry(TOPIC, 3)),
        (False, [], {}),
    ],
)
def test_the_file_has_exactly_the_current_offsets(
    contract: Contract, tmp_path: Path, is_sink: bool, patches: list[OffsetPatch], current: Offsets
) -> None:
    name = contract.stopped("bytes", contract.sink(topics=TOPIC) if is_sink else contract.numbers())
    for patch in patches:
        contract.client.alter_offsets_with(name, body_of(patch))
    found = contract.client.save_offsets(name, tmp_path / "live", 0)
    assert isinstance(found, SavedOffsets)
    assert (found.entries, found.size) == (len(current), Path(found.path).stat().st_size)
    assert read(found.path) == current


def test_what_is_refused_is_refused_as_ever(contract: Contract, tmp_path: Path) -> None:
    patch = body_of(entry({"stream": "a"}, {"n": 1}))
    for call, value in ((contract.client.alter_offsets_with, (patch,)), (contract.client.save_offsets, (tmp_path, 0))):
        with pytest.raises(NotFound, match=f"Connector {ABSENT} not found"):
            call(ABSENT, *value)
    name = contract.running("running", contract.source())
    with pytest.raises(NotStopped):
        contract.client.alter_offsets_with(name, patch)
    contract.stop(name)
    with pytest.raises(Rejected):
        contract.client.alter_offsets_with(name, b'{"offsets": []}')
    with pytest.raises(OffsetsNotChanged):
        contract.client.alter_offsets_with(name, body_of(entry({"stream": "a"}, {"position": "x"})))
    assert contract.client.offsets(name) == {}
