"""Offsets as Connect stores them: one offset for each source partition, both of them free-form JSON objects.

Both are kept as canonical JSON. So a set of offsets is small and hashable, two are equal exactly if Connect would store
the same value (`1`, `1.0` and `"1"` are three values), and exactly the compared offsets are sent.
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

OffsetPatch = Mapping[PartitionText, OffsetText | None]
"""Declared offsets, or offsets to send: a partition with None is to have no offset (a tombstone)."""


def partition_text(partition: Mapping[str, Any]) -> PartitionText:
    """The canonical JSON of a partition. Raises ValueError for NaN, infinity and lone surrogates, which JSON lacks."""
    return PartitionText(_text(partition))


def offset_text(offset: Mapping[str, Any]) -> OffsetText:
    """The canonical JSON of an offset. Raises ValueError for NaN, infinity and lone surrogates, which JSON lacks."""
    return OffsetText(_text(offset))


def _text(value: Mapping[str, Any]) -> str:
    text = canonical(value).decode()
    return canonical(_positive_zeros(value)).decode() if "-0.0" in text else text


def _positive_zeros(value: Any) -> Any:
    """Connect stores -0.0 as 0.0, so a -0.0 that was sent would never be read back."""
    if isinstance(value, dict):
        return {key: _positive_zeros(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_positive_zeros(one) for one in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def merged(before: Offsets, patch: OffsetPatch) -> Offsets:
    """The offsets after the patch is applied to the offsets `before`."""
    after = {**before, **patch}
    return {partition: offset for partition, offset in after.items() if offset is not None}


def patch_between(current: Offsets, wanted: Offsets) -> OffsetPatch:
    """The smallest patch to the wanted offsets (KIP-875's "full overwrite"): one request leaves no gap in time."""
    return {one: wanted.get(one) for one in {*current, *wanted} if current.get(one) != wanted.get(one)}


def to_json(offsets: OffsetPatch) -> Iterator[dict[str, Any]]:
    """The entries as in the body of GET and PATCH `/connectors/X/offsets`, sorted by partition."""
    for partition, offset in sorted(offsets.items()):
        yield {"partition": json.loads(partition), "offset": None if offset is None else json.loads(offset)}


def pack(offsets: OffsetPatch) -> bytes:
    """The offsets as compressed bytes, for storage. Equal sets give equal bytes with the same version of zlib."""
    return zlib.compress(json.dumps(sorted(offsets.items()), ensure_ascii=False, separators=(",", ":")).encode())


def unpack(packed: bytes) -> OffsetPatch:
    """The reverse of `pack`. Raises ValueError or zlib.error if the bytes were not made by `pack`."""
    return {PartitionText(partition): offset for partition, offset in json.loads(zlib.decompress(packed))}


def offsets_digest(offsets: OffsetPatch) -> Digest:
    """A digest that is equal for equal sets of offsets, in any order."""
    return digest(sorted(offsets.items()))
