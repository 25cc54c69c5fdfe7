"""The rules for manifests of offsets, as data: what each of them says, and how grave it is.

Connect answers 200 to much that loses data: an offset under another cluster alias, the same partition twice, a number
where a text stood. So those are errors here. An engine finds; the words come from this table alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.operations import Acknowledgement


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `message` and `hint` are templates over the words of a finding."""

    id: str
    severity: Severity
    message: str
    hint: str = ""


class Finding(NamedTuple):
    """A rule that is broken: by which field (`partition.topic`; empty: by the whole entry), and what to say of it.

    `unread`: the partition is one that Connect takes and the connector does not read. Where the document acknowledges
    that (`Acknowledgement.UNREAD`), the finding is a warning.
    """

    rule: str
    field: str
    words: Mapping[str, str]
    unread: bool = False


def _error(name: str, message: str, hint: str = "") -> Rule:
    return Rule(f"manifest/{name}", Severity.ERROR, message, hint)


def _warning(name: str, message: str, hint: str = "") -> Rule:
    return Rule(f"manifest/{name}", Severity.WARNING, message, hint)


_FORM = 'write {{"partition": {{...}}, "offset": {{...}}}}'
_NEVER_READ = "nothing would ever read this offset, though Connect takes it"
_TO_ACKNOWLEDGE = f"if that is meant, add `acknowledge: [{Acknowledgement.UNREAD.value}]`"

_UNREADABLE = (
    _error("encoding", "the manifest is not UTF-8: {found}", "save it as UTF-8"),
    _error("compression", "the manifest cannot be unpacked: {found}", "pack it again with gzip or zstd"),
    _error("syntax", "the manifest cannot be read: {found}"),
    _error("duplicate-key", "a key may stand only once: {found}", "keep the one that is meant"),
    _error("number", "this number cannot be kept as it stands: {found}", "a whole number has no fraction and no e"),
    _error("format", "this is no manifest: {found}", 'expected is {{"offsets": [...]}}, a list, or an entry a line'),
    _error("empty", "the manifest declares nothing: {found}", "to take all offsets away, write operation: reset"),
    _error("too-large", "the manifest is too large: {found}", "split it into several offset changes"),
)
_ENTRIES = (
    _error("entry", "this entry is {found}, expected a mapping with a partition and an offset", _FORM),
    _error("no-partition", "this entry has no partition", _FORM),
    _error("no-offset", "this entry has no offset", "write the offset, or null to take away the one that stands"),
    _error("shape", "the {where} {found}", "{shape} has {expected} in it"),
    _error("type", "{field} is {found}, expected {expected}", "{hint}"),
    _error(
        "live-type",
        "{field} is {found}, and among the offsets that stand it is {expected}",
        "write it as it stands, or reset the connector first if its new version keeps it otherwise",
    ),
    _error("negative", "{field} is {found}, expected 0 or more"),
    _error("range", "{field} is {found}, expected {expected}"),
    _error("value", "{field} cannot be written as JSON: {found}"),
    _error("tombstone", "a null offset says nothing in {kind}", "{hint}"),
    _error("duplicate", "lines {first} and {second} have the same partition, with the same offset", "keep one of them"),
    _error(
        "conflict",
        "lines {first} and {second} have the same partition, with the offsets {found} and {other}",
        "keep the one that is meant; Connect would keep the last and say nothing",
    ),
    _error("alias", "{field} is {found}, and the connector's {key} is {expected}", _NEVER_READ),
    _error("file", "{field} is {found}, and the connector's {key} is {expected}", _NEVER_READ),
    _error("server", "{field} is {found}, and the connector's {key} is {expected}", _NEVER_READ),
    _error("topic", "{field} is {found}, which the sink does not read: its {key} is {expected}", _NEVER_READ),
    _error("own-schema", "{field} breaks {path}: {found}"),
    _warning("unknown-field", "{field} is no field of {shape}", "{hint}"),
    _warning("nothing-to-remove", "no offset stands for this partition, so there is none to take away"),
)
_FILES = (_error("schema-broken", "this schema of offsets is of no use: {found}", "{hint}"),)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in (*_UNREADABLE, *_ENTRIES, *_FILES)})
"""Every rule by its id."""


def diagnose(
    finding: Finding,
    location: Location,
    connector: ConnectorName | None,
    acknowledged: frozenset[Acknowledgement] = frozenset(),
) -> Diagnostic:
    """The finding in words, at its place; the hint names the acknowledgement that would make a warning of it."""
    rule = RULES[finding.rule]
    words = {"field": finding.field, **finding.words}
    severity = severity_of(finding, acknowledged)
    hint = rule.hint.format_map(words)
    if finding.unread and severity is Severity.ERROR:
        hint = f"{hint}; {_TO_ACKNOWLEDGE}" if hint else _TO_ACKNOWLEDGE
    return Diagnostic(severity, rule.id, rule.message.format_map(words), location, hint, connector)


def severity_of(finding: Finding, acknowledged: frozenset[Acknowledgement] = frozenset()) -> Severity:
    """How grave it is, where the document acknowledges that: an error is what the manifest cannot be used with."""
    if finding.unread and Acknowledgement.UNREAD in acknowledged:
        return Severity.WARNING
    return RULES[finding.rule].severity
