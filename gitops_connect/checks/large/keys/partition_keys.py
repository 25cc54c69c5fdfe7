"""The partition of an entry as 128 bits: the sum of a number for each of its fields.

So the order of the fields, whitespace, and the source (text or columns) do not change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gitops_connect.checks.field_types import LONG
from gitops_connect.checks.large.keys.text_columns import Texts, of_list
from gitops_connect.checks.large.keys.text_hashes import Numbers, Secret, mixed
from gitops_connect.model.canonical import canonical
from gitops_connect.model.offsets import PartitionText


class Values(NamedTuple):
    """A field in many rows, or one value for all: strings, 64-bit integers, or other values as JSON (`is_json`)."""

    name: str
    texts: Texts | None = None
    numbers: NDArray[np.int64] | None = None
    is_json: bool = False


def constant(name: str, text: str) -> Values:
    """A field with one string in all rows."""
    return Values(name, of_list([text]))


def hash_fields(fields: Iterable[Values], count: int, secret: Secret) -> list[Numbers]:
    """Two numbers for each row; all rows have exactly these fields.

    Different partitions have different numbers, except with a probability of at most 2^-80 for each pair.
    """
    hashes = [np.full(count, start, np.uint64) for start in secret.starts]
    for field in fields:
        parts = _parts(field, secret)
        for which in (0, 1):
            hashes[which] += parts[which]
    return hashes


def hash_partitions(partitions: Sequence[PartitionText], secret: Secret) -> list[Numbers]:
    """Two numbers for each of some partitions that each have their own fields, one by one."""
    found: dict[tuple[str, str], tuple[list[int], list[Any]]] = {}
    for row, partition in enumerate(partitions):
        for name, value in json.loads(partition).items():
            is_long = type(value) is int and -LONG - 1 <= value <= LONG
            kind = "text" if type(value) is str else "number" if is_long else "json"
            rows, values = found.setdefault((name, kind), ([], []))
            rows.append(row)
            values.append(canonical(value).decode() if kind == "json" else value)
    hashes = [np.full(len(partitions), start, np.uint64) for start in secret.starts]
    for (name, kind), (rows, values) in found.items():
        if kind == "number":
            field = Values(name, numbers=np.array(values, np.int64))
        else:
            field = Values(name, of_list(values), is_json=kind == "json")
        parts = _parts(field, secret)
        for which in (0, 1):
            hashes[which][rows] += parts[which]
    return hashes


def _parts(field: Values, secret: Secret) -> tuple[Numbers, Numbers]:
    """The summands of each value for the two numbers: a name and a type have their own secret factors.

    Without the last factors, a field that is 0 or empty would equal a missing field.
    """
    kind = "number" if field.texts is None else "json" if field.is_json else "text"
    factors = secret.of_field(field.name, kind)
    if field.texts is None:
        word = mixed(np.asarray(field.numbers).view(np.uint64).copy(), secret)
        return word * factors[0] + factors[4], word * factors[1] + factors[5]
    first, second = (mixed(one, secret) for one in field.texts.hashed(secret))
    return (
        first * factors[0] + second * factors[2] + factors[4],
        first * factors[1] + second * factors[3] + factors[5],
    )
