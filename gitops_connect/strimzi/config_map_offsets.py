"""Offsets in the entry of a ConfigMap, with the place of each one: the body of Connect's request, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import Any

from gitops_connect.documents.fields import read
from gitops_connect.documents.nodes import Refused, compose
from gitops_connect.model.documents import Document, Pointer


class UnusableOffsets(Exception):
    """The offsets cannot be used; the text says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class FoundOffsets:
    """The list of offsets, its location, and the position of each of its fields."""

    value: Sequence[Any] = field(repr=False)
    file: str
    positions: Mapping[Pointer, tuple[int, int]] = field(repr=False)


def find_config_map(name: str, resource: Document, config_maps: Iterable[Document]) -> Document:
    """The ConfigMap of that name in the namespace of the resource. A ConfigMap without a namespace may be in any.

    If several files have one, as in overlays, the one in the same file or else in the same directory counts. Raises
    UnusableOffsets.
    """
    namespace = resource.section("metadata").get("namespace")
    found = [one for one in config_maps if one.section("metadata").get("name") == name]
    found = [one for one in found if namespace is None or one.section("metadata").get("namespace") in (None, namespace)]
    file, every = resource.location.file, found
    for nearness in (str, dirname):
        nearer = [one for one in every if nearness(one.location.file) == nearness(file)]
        if len(found) > 1 and nearer:
            found = nearer
    if not found:
        where = f" in the namespace {namespace}" if namespace else ""
        raise UnusableOffsets(f"missing ConfigMap {name}{where} in the repository")
    if len(found) > 1:
        places = ", ".join(str(one.location) for one in found)
        raise UnusableOffsets(f"several ConfigMaps with the name {name}: {places}")
    return found[0]


def read_offsets(config_map: Document, entries: Sequence[str]) -> FoundOffsets:
    """The offsets in the first of these entries that exists. Other fields of the ConfigMap are ignored.

    Raises UnusableOffsets if no entry exists, if it is not valid JSON, or if it is not `{"offsets": […]}` with a list
    that is not empty.
    """
    data = config_map.value.get("data")
    name = config_map.section("metadata").get("name")
    entry = next((one for one in entries if isinstance(data, Mapping) and one in data), None)
    if entry is None or not isinstance(data, Mapping):
        raise UnusableOffsets(f"missing entry {' or '.join(entries)} in the ConfigMap {name}")
    text, where = data[entry], f"the entry {entry} of the ConfigMap {name}"
    try:
        value = json.loads(text, parse_constant=_refuse) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise UnusableOffsets(f"invalid JSON in {where}: {error}") from error
    offsets = value.get("offsets") if isinstance(value, dict) else None
    if not isinstance(offsets, list) or not offsets:
        raise UnusableOffsets(f'{where}: expected {{"offsets": […]}} with at least one offset')
    place = config_map.locate(("data", entry))
    # the lines of a block are lines of the file, below the key; a ConfigMap in JSON has one line
    is_block = "\n" in text and not config_map.location.file.endswith(".json")
    positions = _positions(text, place.line) if is_block else {}
    return FoundOffsets(offsets, config_map.location.file, {("offsets",): (place.line, place.column), **positions})


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number of JSON")


def _positions(text: str, line: int) -> Mapping[Pointer, tuple[int, int]]:
    """The position of each field of the text, which begins in the line after `line`. Columns are those of the text."""
    try:
        (root,) = compose(text, line + 1)
        return read(root).positions
    except (Refused, ValueError):
        return {}  # too many values for positions: the entry itself is the place
