"""Every rule by its id: what triggers it, how severe it is, how to fix the problem, and an example.

Code-scanning views show these explanations next to a diagnostic, and docs/reference/rules.md lists them.
"""

from __future__ import annotations

from gitops_connect.report.rules.connector_explanations import CONNECTORS
from gitops_connect.report.rules.document_explanations import DOCUMENTS
from gitops_connect.report.rules.explanation import RuleExplanation
from gitops_connect.report.rules.manifest_explanations import MANIFESTS
from gitops_connect.report.rules.offset_explanations import OFFSETS
from gitops_connect.report.rules.schema_explanations import SCHEMA
from gitops_connect.report.rules.strimzi_explanations import STRIMZI

__all__ = ["RULE_EXPLANATIONS", "RuleExplanation"]

RULE_EXPLANATIONS = {**DOCUMENTS, **SCHEMA, **CONNECTORS, **OFFSETS, **MANIFESTS, **STRIMZI}
"""The explanation of each rule by the id of the rule."""
