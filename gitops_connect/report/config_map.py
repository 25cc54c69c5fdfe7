"""The ConfigMap to which current offsets are written, in the format of Strimzi's proposals 076 and 083."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gitops_connect.model.offsets import Offsets, to_json
from gitops_connect.model.strimzi_annotations import RequestedListing
from gitops_connect.report import yaml_text


def config_map_text(before: Mapping[str, Any] | None, listing: RequestedListing, offsets: Offsets) -> str:
    """The ConfigMap as YAML, with the offsets in the entry, sorted by partition. Everything else of `before` is kept.

    The entry is indented JSON in a block, as in Strimzi's examples, so that a person can edit it.
    """
    metadata = {"name": listing.config_map} | ({"namespace": listing.namespace} if listing.namespace else {})
    found = dict(before or {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    data = found.pop("data", None)
    entries = data if isinstance(data, Mapping) else {}
    text = json.dumps({"offsets": list(to_json(offsets))}, indent=2) + "\n"
    found["data"] = {**entries, listing.entry: text}
    return "".join(f"{line}\n" for key, value in found.items() for line in yaml_text.lines(key, value, ""))
