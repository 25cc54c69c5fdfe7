"""Offsets as Connect keeps them: for each source partition one offset, both of them free-form JSON objects.

Both are kept as canonical JSON text. So a set of them is small and hashable, two are equal exactly where Connect would
keep the same (`1`, `1.0` and `"1"` are three values), and what is sent is what was compared.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NewType

from gitops_connect.model.canonical import canonical, digest
from gitops_connect.model.names import Digest

PartitionText = NewType("PartitionText", str)
"""The canonical JSON of a partition: `{"filename":"/data/orders.txt"}`."""

OffsetText = NewType("OffsetText", str)
"""The canonical JSON of an offset: `{"position":20}`."""

Offsets = Mapping[PartitionText, OffsetText]
"""What stands, or must stand: every partition with its offset."""

OffsetPatch = Mapping[PartitionText, OffsetText | None]
"""What is declared or sent: a partition with None is to have no offset (a tombstone)."""


def partition_text(partition: Mapping[str, Any]) -> PartitionText:
    """Raises ValueError for what JSON cannot say (NaN, infinity, half of a surrogate pair)."""
    return PartitionText(_text(partition))


def offset_text(offset: Mapping[str, Any]) -> OffsetText:
    """Raises ValueError likewise."""
    return OffsetText(_text(offset))


def _text(value: Mapping[str, Any]) -> str:
    text = canonical(value).decode()
    return canonical(_positive_zeros(value)).decode() if "-0.0" in text else text


def _positive_zeros(value: Any) -> Any:
    """Connect keeps -0.0 as 0.0, so that what was sent would never be read back."""
    if isinstance(value, dict):
        return {key: _positive_zeros(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_positive_zeros(one) for one in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def merged(before: Offsets, patch: OffsetPatch) -> Offsets:
    """What stands after the patch was applied to what stood before."""
    after = {**before, **patch}
    return {partition: offset for partition, offset in after.items() if offset is not None}


def patch_between(current: Offsets, wanted: Offsets) -> OffsetPatch:
    """The smallest patch that leads from one set to the other: KIP-875's "full overwrite".

    One request with tombstones, and not a reset and an alter: there is no moment in which the connector has no offsets.
    """
    return {one: wanted.get(one) for one in {*current, *wanted} if current.get(one) != wanted.get(one)}


def to_json(offsets: OffsetPatch) -> Iterator[dict[str, Any]]:
    """The entries as in the body of GET and PATCH `/connectors/X/offsets`, sorted by partition."""
    for partition, offset in sorted(offsets.items()):
        yield {"partition": json.loads(partition), "offset": None if offset is None else json.loads(offset)}


def pack(offsets: OffsetPatch) -> bytes:
    """Compressed, for keeping; equal sets give equal bytes on the same zlib."""
    return zlib.compress(json.dumps(sorted(offsets.items()), ensure_ascii=False, separators=(",", ":")).encode())


def unpack(packed: bytes) -> OffsetPatch:
    """The reverse of `pack`. Raises ValueError or zlib.error where the bytes are something else."""
    return {PartitionText(partition): offset for partition, offset in json.loads(zlib.decompress(packed))}


def offsets_digest(offsets: OffsetPatch) -> Digest:
    """The same for equal sets, in whatever order they came."""
    return digest(sorted(offsets.items()))
