"""The ConfigMap to which current offsets are written, in the format of Strimzi's proposals 076 and 083."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_connect.model.offsets import Offsets, to_json
from gitops_connect.model.strimzi_annotations import RequestedListing
from gitops_connect.report.table import as_yaml


def config_map_text(before: Mapping[str, Any] | None, listing: RequestedListing, offsets: Offsets) -> str:
    """The ConfigMap as YAML, with the offsets in the entry, sorted by partition. Everything else of `before` is kept.

    The entry is indented JSON in a block, as in Strimzi's examples, so that a person can edit it.
    """
    metadata = {"name": listing.config_map} | ({"namespace": listing.namespace} if listing.namespace else {})
    found = dict(before or {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    data = found.pop("data", None)
    entries = dict(data) if isinstance(data, Mapping) else {}
    entries[listing.entry] = json.dumps({"offsets": list(to_json(offsets))}, indent=2, ensure_ascii=True) + "\n"
    lines = (line for key, value in entries.items() for line in _entry(key, value))
    return as_yaml(found) + "data:\n" + "".join(f"  {line}\n" if line else "\n" for line in lines)


def _entry(key: str, value: Any) -> Iterator[str]:
    """An entry as a block if its text is printable, so that a block can hold it, and otherwise as a quoted string."""
    lines = value.split("\n") if isinstance(value, str) else []
    is_block = len(lines) > 1 and not lines[-1] and lines[-2] and all(line.isprintable() for line in lines)
    if not is_block or lines[0].startswith(" "):
        yield from as_yaml({key: value}).splitlines()
        return
    yield f"{as_yaml({key: 0}).partition(': ')[0]}: |"
    yield from (f"  {line}" if line else "" for line in lines[:-1])
