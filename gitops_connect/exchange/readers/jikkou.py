"""What only Jikkou's resources have: `KafkaConnector` of `kafka.jikkou.io/v1`, `v1beta1` and `v1beta2`."""

from __future__ import annotations

import json
from dataclasses import replace

from gitops_connect.documents.recognition import JIKKOU
from gitops_connect.exchange.declarations import ConnectorDeclaration
from gitops_connect.exchange.readers.reading import Findings, Part, leave_out
from gitops_connect.model.desired import TargetState
from gitops_connect.model.masking import masked_value
from gitops_connect.model.names import ClusterName

_CLUSTER = f"{JIKKOU}connect-cluster"
_OWN = ("jikkou.io/", JIKKOU)
"""Prefixes of the labels and annotations that mean something to Jikkou."""
_DELETE = "jikkou.io/delete"


def complete(draft: ConnectorDeclaration, part: Part, findings: Findings) -> ConnectorDeclaration:
    """The connector with the cluster that a label names, and the state `absent` if an annotation deletes it."""
    for key, value in part.get("spec", "config").fields():
        sent = json.dumps(value.value)
        if isinstance(value.value, int | float) and value.text is not None and value.text.lower() != sent:
            shown, other = masked_value(key, value.text), masked_value(key, sent)
            summary = f"the value of {key!r} is read as {shown!r}; Jikkou reads it as a number, and sends {other}"
            findings.warning("convert/number", summary, value.location, "put the value in quotes")
    cluster = draft.labels.pop(_CLUSTER, "")
    is_deleted = draft.annotations.pop(_DELETE, "").lower() == "true"
    leave_out(draft.labels, _OWN, "Jikkou", part.get("metadata", "labels"), findings)
    leave_out(draft.annotations, _OWN, "Jikkou", part.get("metadata", "annotations"), findings)
    state = TargetState.ABSENT if is_deleted else draft.state
    return replace(draft, cluster=ClusterName(cluster) if cluster else None, state=state)
