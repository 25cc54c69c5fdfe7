"""Many texts in one buffer, with their starts and lengths; and texts joined from pieces, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from gitops_connect.checks.large.keys.text_hashes import PAD, Numbers, Positions, Secret, hash_texts, padded


class Texts(NamedTuple):
    """Texts in a buffer with `PAD` zeros around it; `starts` count from its beginning, including the zeros."""

    buffer: NDArray[np.uint8]
    starts: Positions
    lengths: Positions

    def hashed(self, secret: Secret) -> list[Numbers]:
        """Two numbers for each text."""
        return hash_texts(self.buffer, self.starts, self.lengths, secret)

    def listed(self) -> list[str]:
        """The texts as a list."""
        whole = self.buffer.tobytes()
        spans = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        return [whole[start:end].decode() for start, end in spans]


def assembled(pieces: Sequence[bytes | Any], count: int) -> Texts:
    """`count` texts, each joined from the pieces: bytes for all texts, or Arrow arrays with a piece for each."""
    if all(isinstance(piece, bytes) for piece in pieces):
        text = b"".join(pieces)
        return Texts(padded(text), np.full(count, PAD, np.int64), np.full(count, len(text), np.int64))
    parts = [piece.decode() if isinstance(piece, bytes) else piece for piece in pieces]
    return of_array(pc.binary_join_element_wise(*parts, ""))


def of_array(array: Any) -> Texts:
    """The texts of an Arrow array without nulls."""
    content, ends = _content(array)
    return Texts(padded(content), ends[:-1] - ends[0] + PAD, np.diff(ends))


def bytes_of(array: Any) -> bytes:
    """The texts of an Arrow array without nulls, joined as they are in memory."""
    return bytes(_content(array)[0])


def _content(array: Any) -> tuple[Any, Positions]:
    """The bytes of all texts, and the positions between them, which do not start at 0 if the array is a slice."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    return b"" if data is None else data[int(ends[0]) : int(ends[-1])], ends


def of_list(texts: Iterable[str]) -> Texts:
    """A buffer with these texts."""
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], np.int64)
    return Texts(padded(b"".join(encoded)), np.cumsum(lengths) - lengths + PAD, lengths)
