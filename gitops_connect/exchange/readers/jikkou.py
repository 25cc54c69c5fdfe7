"""Jikkou's resources: `KafkaConnector` of `kafka.jikkou.io/v1`, `v1beta1` and `v1beta2`."""

from __future__ import annotations

import json

from gitops_connect.documents.fields import CLASS, TASKS
from gitops_connect.documents.recognition import JIKKOU
from gitops_connect.exchange.declarations import FileFormat
from gitops_connect.exchange.readers.reading import (
    Draft,
    Findings,
    Part,
    add_config,
    state_of,
    texts_of,
    warn_of_unknown,
)
from gitops_connect.model.desired import TargetState
from gitops_connect.model.masking import masked_value

_CLUSTER = f"{JIKKOU}connect-cluster"
_OWN = ("jikkou.io/", JIKKOU)
"""Prefixes of the labels and annotations that mean something to Jikkou."""
_DELETE = "jikkou.io/delete"
_ROOT = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC = {"connectorClass": CLASS, "tasksMax": TASKS}


def read(part: Part, findings: Findings) -> None:
    metadata, spec = part.get("metadata"), part.get("spec")
    name, unnamed = metadata.get("name").text, "the resource has no metadata.name"
    draft = findings.draft(name, FileFormat.JIKKOU, part.location, unnamed)
    if draft is None:
        return
    _warn(part, findings)
    draft.state = state_of(spec.get("state"), findings)
    add_config(draft, spec.get("config"), findings)
    _add_fields(draft, spec, findings)
    _add_metadata(draft, metadata, findings)
    findings.declare(draft)


def _warn(part: Part, findings: Findings) -> None:
    warn_of_unknown(part, _ROOT, "Jikkou's KafkaConnector", findings)
    warn_of_unknown(part.get("metadata"), ("name", "labels", "annotations"), "its metadata", findings)
    warn_of_unknown(part.get("spec"), (*_SPEC, "config", "state"), "its spec", findings)
    for key, value in part.get("spec", "config").fields():
        sent = json.dumps(value.value)
        if isinstance(value.value, int | float) and value.text is not None and value.text.lower() != sent:
            shown, other = masked_value(key, value.text), masked_value(key, sent)
            summary = f"the value of {key!r} is read as {shown!r}; Jikkou reads it as a number, and sends {other}"
            findings.warning("convert/number", summary, value.location, "put the value in quotes")


def _add_fields(draft: Draft, spec: Part, findings: Findings) -> None:
    for field, key in _SPEC.items():
        value = spec.get(field)
        if value.text is None:
            continue
        if draft.config.get(key, value.text) != value.text:
            summary = f"spec.{field} is {value.text!r}, but the config's {key} is {draft.config[key]!r}"
            findings.error("convert/value", summary, value.location, f"keep spec.{field} only")
        draft.config[key], draft.places[key] = value.text, value.location


def _add_metadata(draft: Draft, metadata: Part, findings: Findings) -> None:
    """Labels and annotations; those that only Jikkou understands are left out."""
    labels = texts_of(metadata.get("labels"), findings)
    draft.cluster = labels.pop(_CLUSTER, "")
    draft.labels = _without_own(labels, metadata.get("labels"), findings)
    annotations = texts_of(metadata.get("annotations"), findings)
    if annotations.pop(_DELETE, "").lower() == "true":
        draft.state = TargetState.ABSENT
    draft.annotations = _without_own(annotations, metadata.get("annotations"), findings)
    draft.places |= {one: metadata.get(one).location for one in ("labels", "annotations")}


def _without_own(texts: dict[str, str], part: Part, findings: Findings) -> dict[str, str]:
    for key in [key for key in texts if key.startswith(_OWN)]:
        del texts[key]
        findings.warning("convert/unknown-field", f"only Jikkou uses {key!r}: it is left out", part.get(key).location)
    return texts
