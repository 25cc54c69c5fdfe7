"""Manifests: a file's bytes -> its entries, each at its line, and what cannot be read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gitops_connect.desired.manifests import csv_table, json_body, json_lines
from gitops_connect.desired.manifests.content import MAX_SIZE, text_of
from gitops_connect.desired.manifests.faults import Faults
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.manifests import Manifest, ManifestEntry
from gitops_connect.model.unreadable import EMPTY, FORMAT, TOO_LARGE, Place, Unreadable, shown

__all__ = ["MAX_ENTRIES", "MAX_SIZE", "SUFFIXES", "parse"]

_Reader = Callable[[str, Faults], Iterator[tuple[Any, Place]]]

MAX_ENTRIES = 500_000
"""The smallest entry of a real connector has some 40 bytes: 16 MiB hold fewer of them."""


def _read_yaml(text: str, faults: Faults) -> Iterator[tuple[Any, Place]]:
    from gitops_connect.desired.manifests import yaml_body  # noqa: PLC0415 - executors of Spark may have no yaml

    return yaml_body.read(text, faults)


_READERS: dict[str, _Reader] = {
    ".json": json_body.read,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".jsonl": json_lines.read,
    ".ndjson": json_lines.read,
    ".csv": csv_table.read,
}
_COMPRESSIONS = (".gz", ".zst")
SUFFIXES = tuple(_READERS)
"""Of the formats; `.gz` or `.zst` may follow."""


def parse(blob: Blob) -> Manifest:
    """The entries of a manifest, in their order. What cannot be read is in its faults; nothing is raised.

    A blob of more than `MAX_SIZE` bytes is refused, so that no more than one byte more need be read of a file.
    """
    faults = Faults(blob.path)
    entries: list[ManifestEntry] = []
    try:
        reader, compression = _format(blob.path)
        for value, place in reader(text_of(blob.content, compression), faults):
            if len(entries) == MAX_ENTRIES:
                faults.add_last(TOO_LARGE, f"more than {MAX_ENTRIES} entries", place)
                break
            entries.append(ManifestEntry(value, Location(blob.path, *place)))
    except Unreadable as error:
        faults.add_last(error.rule, error.found, error.place)
    if not entries and not faults.count:
        faults.add(EMPTY, "no entries")
    return Manifest(Location(blob.path), tuple(entries), faults.listed())


def _format(path: str) -> tuple[_Reader, str]:
    """How to read a file of that name, and how it is compressed."""
    name = path.rpartition("/")[2].lower()
    compression = next((suffix for suffix in _COMPRESSIONS if name.endswith(suffix)), "")
    plain = name.removesuffix(compression)
    suffix = plain[plain.rfind(".") :] if "." in plain else ""
    if suffix not in _READERS:
        found = f"the suffix {shown(suffix)}" if suffix else "a name without a suffix"
        known = ", ".join(SUFFIXES)
        raise Unreadable(FORMAT, f"{found}; known are {known}, each also with {' or '.join(_COMPRESSIONS)} after it")
    return _READERS[suffix], compression
