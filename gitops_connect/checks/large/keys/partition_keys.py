"""The partition of an entry as 128 bits: the sum of a number for each of its fields.

So the order of the fields and whitespace do not change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gitops_connect.checks.large.keys.text_hashes import Numbers, Secret, Texts, hash_texts, mixed
from gitops_connect.model.canonical import canonical
from gitops_connect.model.offsets import PartitionText


class Values(NamedTuple):
    """A field in many rows, or one value for all of them: strings, or other values as canonical JSON (`is_json`)."""

    name: str
    texts: Texts
    is_json: bool = False


def hash_fields(fields: Iterable[Values], count: int, secret: Secret) -> list[Numbers]:
    """Two numbers for each row; all rows have exactly these fields.

    Different partitions have different numbers, except with a probability of at most 2^-80 for each pair.
    """
    hashes = [np.full(count, start, np.uint64) for start in secret.starts]
    for name, texts, is_json in fields:
        for which, part in enumerate(_parts(texts, secret.of_field(name, is_json), secret)):
            hashes[which] += part
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
