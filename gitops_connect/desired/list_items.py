"""The items of a list as documents of their own, each field with its place in the file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from gitops_connect.model.documents import Document, Pointer

T = TypeVar("T")


def items_of(document: Document, values: list[Any], pointer: Pointer) -> Iterator[Document]:
    """A document for each of the values, which are the list at `pointer`."""
    depth = len(pointer)
    positions, texts = _below(document.positions, depth), _below(document.texts, depth)
    for index, value in enumerate(values):
        yield Document(document.locate((*pointer, index)), value, positions[index], texts[index])


def _below(fields: Mapping[Pointer, T], depth: int) -> Mapping[object, dict[Pointer, T]]:
    """The fields of each item of a list, by the index of the item. `depth` is the length of the list's pointer."""
    found: dict[object, dict[Pointer, T]] = defaultdict(dict)
    for pointer, one in fields.items():
        if len(pointer) > depth + 1:
            found[pointer[depth]][pointer[depth + 1 :]] = one
    return found
