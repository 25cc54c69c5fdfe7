"""The rules for offset manifests: `rules.toml` has their messages and severities.

Connect answers 200 to many mistakes that lose data: an offset under another cluster alias, a repeated partition, a
number instead of a string. So those are errors here. The checks find violations; only that table has the words.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.findings import KNOWN, VALUE, Finding
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement
from gitops_connect.model.suggestions import closest


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `message` and `hint` are templates that use the words of a finding.

    `compares`: the rule compares an entry with its connector: its class, its config, or its current offsets. A manifest
    that passed it when it was applied may violate it later, because the connector has changed. The other rules depend
    only on the manifest and the document that names it: a manifest that violates them was never applied.
    """

    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    compares: bool = False


def _load() -> dict[str, Rule]:
    rules = tomllib.loads(files("gitops_connect.offsets.rules").joinpath("rules.toml").read_text(encoding="utf-8"))
    return {
        f"manifest/{name}": Rule(**{**rule, "severity": Severity(rule.get("severity", "error"))})
        for name, rule in rules.items()
    }


RULES: Mapping[str, Rule] = MappingProxyType(_load())
"""Every rule by its id."""
_TO_ACKNOWLEDGE = f"if this is intended, add `acknowledge: [{Acknowledgement.UNREAD.value}]`"


def as_notes(diagnostics: Diagnostics) -> Diagnostics:
    """The diagnostics of offset changes that may have been applied before: those of rules that compare become notes."""
    compare = {name for name, rule in RULES.items() if rule.compares}
    applied = "if this change was applied before, no action is needed"
    return Diagnostics.of(
        replace(item, severity=Severity.NOTE, hint=f"{applied}; otherwise: {item.hint}" if item.hint else applied)
        if item.rule in compare
        else item
        for item in diagnostics
    )


def diagnose(
    finding: Finding,
    location: Location,
    connector: ConnectorName | None,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
) -> Diagnostic:
    """The finding in words, at its place; the hint names the acknowledgement that would make it a warning."""
    severity = severity_of(finding, acknowledged)
    return Diagnostic(severity, finding.rule, summary_of(finding), location, _hint(finding, severity), connector)


def summary_of(finding: Finding) -> str:
    """The message of the finding."""
    return RULES[finding.rule].message.format_map({"field": finding.field, **finding.words})


def _hint(finding: Finding, severity: Severity) -> str:
    parts = [RULES[finding.rule].hint.format_map({"field": finding.field, **finding.words})]
    if finding.words.get(KNOWN):
        meant = closest(finding.words[VALUE], finding.words[KNOWN].split("\n"))
        parts.insert(0, f"did you mean {meant!r}?" if meant is not None else "")
    if finding.unread and severity is Severity.ERROR:
        parts.append(_TO_ACKNOWLEDGE)
    return "; ".join(filter(None, parts)).replace("?; ", "? ")


def severity_of(finding: Finding, acknowledged: frozenset[Acknowledgement] = frozenset()) -> Severity:
    """The severity with the document's acknowledgements. A manifest with an error cannot be used."""
    if finding.unread and Acknowledgement.UNREAD in acknowledged:
        return Severity.WARNING
    return RULES[finding.rule].severity
