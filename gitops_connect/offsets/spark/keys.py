"""Partitions as numbers: 128 bits for each, whatever the order of its fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gitops_connect.model.canonical import canonical
from gitops_connect.model.offsets import PartitionText

Numbers = NDArray[np.uint64]
Positions = NDArray[np.int64]

PAD: Final = 64
"""Zero bytes before and after the texts of a buffer, so that eight bytes can be read anywhere."""
_LONGEST = 512
"""Bytes; longer texts are hashed one by one."""
_WORDS = _LONGEST // 8
_SHIFT = np.uint64(32)
_FIRST = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""The mask for the first n of eight bytes."""


class Secret:
    """The random numbers of one job: nobody can prepare texts whose hashes collide."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        random = np.random.Generator(np.random.Philox(key=np.frombuffer(seed[:16], np.uint64)))
        drawn = random.integers(0, 2**64, size=2 * _WORDS + 5, dtype=np.uint64) | np.uint64(1)
        self.mixer, self.starts, self.lengths = drawn[0], drawn[1:3], drawn[3:5]
        self.factors = drawn[5:].reshape(2, _WORDS)

    def of_field(self, name: str, is_json: bool) -> Numbers:  # noqa: FBT001
        """Six odd numbers for the field of that name, others for its strings than for its other values."""
        digest = hashlib.blake2b(f"{is_json:d} {name}".encode(), digest_size=48, key=self._seed).digest()
        return np.frombuffer(digest, np.uint64) | np.uint64(1)

    def of_long(self, text: bytes) -> tuple[int, int]:
        """The hash of one text of any length."""
        digest = hashlib.blake2b(text, digest_size=16, key=self._seed).digest()
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


class Texts(NamedTuple):
    """Texts in a buffer with `PAD` zeros around it; `starts` count from its beginning, including the zeros."""

    buffer: NDArray[np.uint8]
    starts: Positions
    lengths: Positions

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """A buffer with these texts."""
        encoded = [text.encode() for text in texts]
        lengths = np.array([len(text) for text in encoded], np.int64)
        return cls(padded(b"".join(encoded)), np.cumsum(lengths) - lengths + PAD, lengths)


def padded(content: Any) -> NDArray[np.uint8]:
    """The bytes with zeros around them; texts begin at `PAD`."""
    return np.frombuffer(b"".join((b"\0" * PAD, content, b"\0" * PAD)), np.uint8)


def words_of(buffer: NDArray[np.uint8]) -> Numbers:
    """Eight bytes from each position of the buffer, as one number."""
    return np.lib.stride_tricks.as_strided(buffer[:8].view(np.uint64), shape=(len(buffer) - 8,), strides=(1,))


def mixed(words: Numbers, secret: Secret) -> Numbers:
    """Mix the words in place, so that each bit of a word affects all lower ones."""
    words *= secret.mixer
    words ^= words >> _SHIFT
    return words


def hash_texts(texts: Texts, secret: Secret) -> list[Numbers]:
    """Two numbers for each text, different for different texts, except with a probability of 2^-80 or less for a pair.

    Every eight bytes are mixed, so that each bit of them affects all lower ones, multiplied by a secret odd number, and
    summed up. The length is added in the same way.
    """
    buffer, starts, lengths = texts
    words = words_of(buffer)
    hashes = [lengths.astype(np.uint64) * factor for factor in secret.lengths]
    if not len(starts):
        return hashes
    at, left = starts.copy(), lengths.copy()
    longest, shortest = min(int(lengths.max()), _LONGEST), int(lengths.min())
    for number in range(-(-longest // 8)):
        word = words[np.minimum(at, len(words) - 1)] if longest > PAD else words[at]
        if 8 * (number + 1) > shortest:
            word &= _FIRST[np.clip(left, 0, 8)]
        word = mixed(word, secret)
        hashes[0] += word * secret.factors[0, number]
        hashes[1] += word * secret.factors[1, number]
        at += 8
        left -= 8
    for row in np.flatnonzero(lengths > _LONGEST):
        text = buffer[starts[row] : starts[row] + lengths[row]].tobytes()
        hashes[0][row], hashes[1][row] = secret.of_long(text)
    return hashes


class Values(NamedTuple):
    """A field in many rows, or one value for all of them: strings, or other values as canonical JSON (`is_json`).

    `rows` has for each row the number of its text; None if each row has its own.
    """

    name: str
    texts: Texts
    is_json: bool = False
    rows: NDArray[np.intp] | None = None


def hash_fields(fields: Iterable[Values], count: int, secret: Secret) -> list[Numbers]:
    """Two numbers for each row, sums over its fields in any order; all rows have exactly these fields.

    Different partitions have different numbers, except with a probability of at most 2^-80 for each pair.
    """
    hashes = [np.full(count, start, np.uint64) for start in secret.starts]
    for name, texts, is_json, rows in fields:
        for which, part in enumerate(_parts(texts, secret.of_field(name, is_json), secret)):
            hashes[which] += part if rows is None else part[rows]
    return hashes


def hash_partitions(partitions: Sequence[PartitionText], secret: Secret) -> list[Numbers]:
    """Two numbers for each of some partitions that each have their own fields."""
    known: dict[tuple[str, bool], Numbers] = {}
    rows, factors, values = [], [], []
    for row, partition in enumerate(partitions):
        for name, value in json.loads(partition).items():
            field = name, not isinstance(value, str)
            if field not in known:
                known[field] = secret.of_field(*field)
            rows.append(row)
            factors.append(known[field])
            values.append(value if isinstance(value, str) else canonical(value).decode())
    hashes = [np.full(len(partitions), start, np.uint64) for start in secret.starts]
    if rows:
        for which, part in enumerate(_parts(Texts.of(values), np.array(factors).T, secret)):
            np.add.at(hashes[which], rows, part)
    return hashes


def _parts(texts: Texts, factors: Numbers, secret: Secret) -> tuple[Numbers, Numbers]:
    """The summands of each value for the two numbers, with the six factors of all fields, or of each value.

    Without the last factors, a field that is 0 or empty would equal a missing field.
    """
    first, second = (mixed(one, secret) for one in hash_texts(texts, secret))
    return (
        first * factors[0] + second * factors[2] + factors[4],
        first * factors[1] + second * factors[3] + factors[5],
    )
