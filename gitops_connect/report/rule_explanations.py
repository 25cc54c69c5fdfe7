"""Every rule by its id: what triggers it, how severe it is, how to fix the problem, and an example.

`rules.yaml` has the texts. Code-scanning views show them next to a diagnostic, and docs/reference/rules.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from gitops_connect.model.diagnostics import Severity

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """`trigger` and `fix` are sentences. `example` is a message, or input that triggers the rule; it may have lines.

    `severity` is None for rules of offset manifests, whose severity is in `offsets/rules/rules.toml`. `exception` says
    when the severity differs; empty if it never does.
    """

    trigger: str
    fix: str
    example: str
    severity: Severity | None = None
    exception: str = ""


@cache
def rule_explanations() -> Mapping[str, RuleExplanation]:
    """The explanation of each rule by the id of the rule."""
    text = files("gitops_connect.report").joinpath("rules.yaml").read_text(encoding="utf-8")
    found: Mapping[str, dict[str, Any]] = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe
    return {rule: RuleExplanation(**{**fields, "severity": _severity(rule, fields)}) for rule, fields in found.items()}


def _severity(rule: str, fields: Mapping[str, str]) -> Severity | None:
    return None if rule.startswith("manifest/") else Severity(fields.get("severity", Severity.ERROR.value))
