"""The rules for offset manifests, as data: their messages and severities.

Connect answers 200 to many mistakes that lose data: an offset under another cluster alias, a repeated partition, a
number instead of a string. So those are errors here. The checks find violations; only this table has the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.findings import KNOWN, VALUE, Finding
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.operations import Acknowledgement
from gitops_connect.model.suggestions import closest


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `message` and `hint` are templates that use the words of a finding."""

    id: str
    severity: Severity
    message: str
    hint: str = ""


def _error(name: str, message: str, hint: str = "") -> Rule:
    return Rule(f"manifest/{name}", Severity.ERROR, message, hint)


def _warning(name: str, message: str, hint: str = "") -> Rule:
    return Rule(f"manifest/{name}", Severity.WARNING, message, hint)


_FORM = 'write {{"partition": {{...}}, "offset": {{...}}}}'
_NEVER_READ = "correct the partition: Connect would accept this offset, but the connector would never read it"
_TO_ACKNOWLEDGE = f"if this is intended, add `acknowledge: [{Acknowledgement.UNREAD.value}]`"

_UNREADABLE = (
    _error("encoding", "the offset manifest is not UTF-8: {found}", "save it as UTF-8"),
    _error("compression", "the offset manifest cannot be decompressed: {found}", "compress it again with gzip or zstd"),
    _error("syntax", "the offset manifest cannot be read: {found}"),
    _error("duplicate-key", "duplicate key: {found}", "keep only the correct value"),
    _error(
        "number", "this number cannot be stored exactly: {found}", "write a whole number without fraction and exponent"
    ),
    _error(
        "format",
        "this is not an offset manifest: {found}",
        'write {{"offsets": [...]}}, a list of entries, or one entry per line',
    ),
    _error(
        "empty", "the offset manifest is empty: {found}", "add an entry; to remove all offsets, use operation: reset"
    ),
    _error("too-large", "the offset manifest is too large: {found}", "split it into several offset changes"),
)
_ENTRIES = (
    _error("entry", "this entry is {found}, expected a mapping with a partition and an offset", _FORM),
    _error("no-partition", "this entry has no partition", _FORM),
    _error("no-offset", "this entry has no offset", "add the offset, or null to remove the current one"),
    _error("shape", "the {where} {found}", "{shape} expects these fields: {expected}"),
    _error("type", "{field} is {found}, expected {expected}", "{hint}"),
    _error(
        "current-type",
        "{field} is {found}, but in the current offsets it is {expected}",
        "use the current type; if a new version of the connector stores another type, reset the connector first",
    ),
    _error("negative", "{field} is {found}, expected 0 or more"),
    _error("range", "{field} is {found}, expected {expected}"),
    _error("choice", "{field} is {found}, expected {expected}", "{hint}"),
    _error("contradiction", "{field} is {found}, but {other}: {effect}", "{hint}"),
    _error("value", "{field} cannot be written as JSON: {found}"),
    _error("tombstone", "a null offset has no meaning in {kind}", "{hint}"),
    _error("duplicate", "lines {first} and {second} have the same partition, with the same offset", "keep one of them"),
    _error(
        "conflict",
        "lines {first} and {second} have the same partition, with the offsets {found} and {other}",
        "keep only the correct entry; Connect would silently use the last entry",
    ),
    _error("alias", "{field} is {found}, but the connector's {key} is {expected}", _NEVER_READ),
    _error("file", "{field} is {found}, but the connector's {key} is {expected}", _NEVER_READ),
    _error("server", "{field} is {found}, but the connector's {key} is {expected}", _NEVER_READ),
    _error("database", "{field} is {found}, but the connector's {key} is {expected}", _NEVER_READ),
    _error("topic", "{field} is {found}, which the connector does not read: its {key} is {expected}", _NEVER_READ),
    _error("table", "{field} is {found}, which the connector does not read: {why}", _NEVER_READ),
    _error("task", "{field} is {found}, which the connector does not read: its {key} is {expected}", _NEVER_READ),
    _error("own-schema", "{field} violates {path}: {found}"),
    _warning("unknown-field", "{field} is not a field of {shape}", "{hint}"),
    _warning("nothing-to-remove", "the connector has no offset for this partition, so nothing is removed"),
)
_FILES = (_error("schema-broken", "this offset schema cannot be used: {found}", "{hint}"),)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in (*_UNREADABLE, *_ENTRIES, *_FILES)})
"""Every rule by its id."""

_OF_THE_ENTRY = frozenset(
    f"manifest/{name}" for name in ("entry", "no-partition", "no-offset", "value", "tombstone", "duplicate", "conflict")
)
DEPENDENT: frozenset[str] = frozenset(rule.id for rule in _ENTRIES) - _OF_THE_ENTRY
"""The rules that compare an entry with its connector: its class, its config, or its current offsets.

A manifest that passed them when it was applied may violate them later, because the connector has changed. The other
rules depend only on the manifest and the document that names it: a manifest that violates them was never applied.
"""


def as_notes(diagnostics: Diagnostics) -> Diagnostics:
    """The diagnostics of offset changes that may have been applied before: those of DEPENDENT rules become notes."""
    return Diagnostics.of(_as_note(item) if item.rule in DEPENDENT else item for item in diagnostics)


def _as_note(item: Diagnostic) -> Diagnostic:
    applied = "if this change was applied before, no action is needed"
    return replace(item, severity=Severity.NOTE, hint=f"{applied}; otherwise: {item.hint}" if item.hint else applied)


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
