"""The entries of a block as rows of numbers, with texts for the few entries that need them; sent as Arrow IPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import Numbers

_SCHEMA: Final = pa.schema(
    [
        ("h1", pa.uint64()),
        ("h2", pa.uint64()),
        ("value", pa.int64()),
        ("line", pa.uint32()),
        ("form", pa.uint8()),
        ("text", pa.string()),
    ]
)


class OffsetForm(IntEnum):
    """The form in which a row stores its offset."""

    NUMBER = 0
    """`value` is the only number of the offset."""
    NONE = 1
    """A tombstone."""
    TEXT = 2
    """`text` is the canonical text of the offset."""
    DEFERRED = 3
    """`text` is JSON: the column, the offset, and the findings, which hold if the partition has no current offset."""


MARK_SHIFT: Final = 2
"""Bits of an `OffsetForm`. The bits above mark a row whose partition the connector does not read and that has no
current offset: the number of the form of its line, from 1, whose findings then are its own."""
FORM_MASK: Final = (1 << MARK_SHIFT) - 1


def shuffle_block(
    hashes: Sequence[Numbers],
    value: NDArray[np.int64],
    line: NDArray[Any],
    form: NDArray[Any],
    texts: Sequence[str | None],
) -> Any:
    """Rows as an Arrow table: two halves of a hash of the partition, the offset, the line within the block, from 0.

    `form` is an `OffsetForm`, with a mark in the higher bits. `texts` is empty if no row has a text.
    """
    text = pa.array(texts, pa.string()) if texts else pa.nulls(len(value), pa.string())
    return pa.table([*hashes, value, line.astype(np.uint32), form.astype(np.uint8), text], _SCHEMA)


def in_buckets(blocks: Sequence[Any], count: int) -> Iterator[bytes]:
    """The rows of each bucket, in the order of their lines, as an Arrow IPC stream."""
    rows = pa.concat_tables([_SCHEMA.empty_table(), *blocks]).combine_chunks()
    h2 = rows.column("h2").to_numpy()
    bucket = (((h2 >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.uint16)
    ordered = rows.take(pa.array(np.lexsort((rows.column("line").to_numpy(), bucket))))
    start = 0
    for size in np.bincount(bucket, minlength=count).tolist():
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, _SCHEMA) as writer:
            writer.write_table(ordered.slice(start, size))
        yield stream.getvalue().to_pybytes()
        start += size
