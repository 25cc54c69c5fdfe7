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
    for field in fields:
        for which, part in enumerate(_parts(field, secret)):
            hashes[which] += part
    return hashes


def hash_partitions(partitions: Sequence[PartitionText], secret: Secret) -> list[Numbers]:
    """Two numbers for each of some partitions that each have their own fields, one by one."""
    found: dict[tuple[str, bool], tuple[list[int], list[str]]] = {}
    for row, partition in enumerate(partitions):
        for name, value in json.loads(partition).items():
            is_json = not isinstance(value, str)
            rows, values = found.setdefault((name, is_json), ([], []))
            rows.append(row)
            values.append(canonical(value).decode() if is_json else value)
    hashes = [np.full(len(partitions), start, np.uint64) for start in secret.starts]
    for (name, is_json), (rows, values) in found.items():
        for which, part in enumerate(_parts(Values(name, Texts.of(values), is_json), secret)):
            hashes[which][rows] += part
    return hashes


def _parts(field: Values, secret: Secret) -> tuple[Numbers, Numbers]:
    """The summands of each value for the two numbers: a name and a type have their own secret factors.

    Without the last factors, a field that is 0 or empty would equal a missing field.
    """
    factors = secret.of_field(field.name, "json" if field.is_json else "text")
    first, second = (mixed(one, secret) for one in hash_texts(field.texts, secret))
    return (
        first * factors[0] + second * factors[2] + factors[4],
        first * factors[1] + second * factors[3] + factors[5],
    )
