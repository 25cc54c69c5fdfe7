"""Offsets as the text of files: an `OffsetChange`, its manifest, and the ConfigMap of Strimzi.

They are YAML whose strings are quoted as in JSON, so that each remains a string.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets, to_json
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.report import yaml_text
from gitops_connect.report.printable import escaped
from gitops_connect.report.yaml_text import in_json, quoted

MOST_INLINE = 20
"""If there are more entries, they are stored in a manifest next to the document."""
_LONGEST_INLINE = 1000
"""Characters of an entry: YAML does not allow longer keys on one line."""


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """The content of the document. `manifest` is the path of the manifest, if the document itself has no offsets.

    `to` is the value of the field, if there are targets instead of offsets. `needed` are acknowledgements that a person
    has to decide about: they are a comment.
    """

    name: OffsetChangeName
    cluster: ClusterName
    connector: ConnectorName
    kind: OffsetChangeKind
    reason: str
    offsets: OffsetPatch = field(default_factory=dict, repr=False)
    acknowledge: tuple[Acknowledgement, ...] = ()
    manifest: str = ""
    to: str | Mapping[str, Any] = ""
    needed: tuple[Acknowledgement, ...] = ()


def fits(offsets: OffsetPatch) -> bool:
    """Whether the offsets are few and short enough for the document itself."""
    return len(offsets) <= MOST_INLINE and all(len(_json(entry)) <= _LONGEST_INLINE for entry in to_json(offsets))


def render(document: ChangeDocument) -> str:
    lines = [
        "apiVersion: gitops-connect/v1",
        "kind: OffsetChange",
        "metadata:",
        f"  name: {quoted(document.name)}",
        f"  cluster: {quoted(document.cluster)}",
        "spec:",
        f"  connector: {quoted(document.connector)}",
        f"  operation: {document.kind.value}",
    ]
    if document.manifest:
        lines.append(f"  manifest: {{path: {quoted(document.manifest)}}}")
    elif document.to:
        lines.append(f"  to: {document.to if isinstance(document.to, str) else in_json(_json(document.to))}")
    elif document.offsets:
        lines += ["  offsets:", *(f"    - {in_json(_json(entry))}" for entry in to_json(document.offsets))]
    if document.acknowledge:
        lines.append(f"  acknowledge: [{', '.join(one.value for one in document.acknowledge)}]")
    if document.needed:
        effects = ", ".join(one.value for one in document.needed)
        lines.append(f"  #acknowledge: [{effects}]   # remove the first # if this is intended")
    if document.reason:
        lines.append(f"  reason: {quoted(document.reason)}")
    return "".join(f"{line}\n" for line in lines)


def json_lines(offsets: OffsetPatch) -> str:
    """A manifest with one entry a line."""
    return "".join(f"{escaped(_json(entry))}\n" for entry in to_json(offsets))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def config_map_text(before: Mapping[str, Any] | None, listing: RequestedListing, offsets: Offsets) -> str:
    """The ConfigMap as YAML, in the format of Strimzi's proposals 076 and 083.

    It has the offsets in the entry, sorted by partition. Everything else of `before` is kept.

    The entry is indented JSON in a block, as in Strimzi's examples, so that a person can edit it.
    """
    metadata = {"name": listing.config_map} | ({"namespace": listing.namespace} if listing.namespace else {})
    found = dict(before or {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    data = found.pop("data", None)
    entries = data if isinstance(data, Mapping) else {}
    text = json.dumps({"offsets": list(to_json(offsets))}, indent=2) + "\n"
    found["data"] = {**entries, listing.entry: text}
    return "".join(f"{line}\n" for key, value in found.items() for line in yaml_text.lines(key, value, ""))
