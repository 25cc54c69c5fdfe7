"""Checks one manifest in this process: the engine for manifests that fit into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.findings import Finding, shorten
from gitops_connect.model.manifests import Manifest, ManifestEntry, ManifestVerdict
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.rules.rules import diagnose, severity_of

SHOWN = 20
"""The number of violations of each rule that are listed with their places; the others are only counted."""


def check(manifest: Manifest, context: ManifestContext, kind: OffsetChangeKind) -> ManifestVerdict:
    """Check every entry with every rule. Raises nothing, whatever the entries contain.

    The resulting offsets do not depend on the order of the entries.
    """
    problems = _Problems(context.connector, context.acknowledged)
    for fault in manifest.faults:
        problems.add(Finding(fault.rule, "", {"found": fault.found}), fault.location)
    if not manifest.entries and not manifest.faults:
        problems.add(Finding("manifest/empty", "", {"found": "it has no entries"}), manifest.location)
    checker = EntryChecker(context, kind)
    offsets: dict[PartitionText, OffsetText | None] = {}
    places: dict[PartitionText, Location] = {}
    unread = 0
    for entry in manifest.entries:
        findings, partition, offset = checker.check(entry.value)
        if findings:
            for finding in findings:
                problems.add(finding, entry)
            unread += any(finding.unread for finding in findings)
        if partition is None:
            continue
        if partition in offsets:
            problems.add(_repeated(offsets[partition], offset, places[partition], entry.location), entry)
        else:
            offsets[partition] = offset
            places[partition] = entry.location
    return ManifestVerdict(
        offsets=None if problems.errors else offsets,
        diagnostics=problems.diagnostics(manifest.location),
        counts=problems.counts_by_rule(),
        errors=problems.errors,
        unread=unread,
    )


def _repeated(offset: OffsetText | None, other: OffsetText | None, first: Location, second: Location) -> Finding:
    """An exact repeat is an error too: two partitions were intended, and one of them is not declared."""
    named = str(first.line) if first.file == second.file else f"{first.line} of {first.file}"
    words = {"first": named, "second": str(second.line)}
    if offset == other:
        return Finding("manifest/duplicate", "partition", words)
    shown = {"found": shorten(offset or "null"), "other": shorten(other or "null")}
    return Finding("manifest/conflict", "partition", {**words, **shown})


@dataclass(slots=True)
class _Problems:
    """All findings: the first of each rule in words, the others as a number. Warnings never hide errors."""

    connector: ConnectorName
    acknowledged: frozenset[Acknowledgement]
    found: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    shown: list[Diagnostic] = field(default_factory=list)

    def add(self, finding: Finding, place: Location | ManifestEntry) -> None:
        key = (finding.rule, severity_of(finding, self.acknowledged))
        count = self.found[key] = self.found[key] + 1
        if count <= SHOWN:
            location = place if isinstance(place, Location) else place.locate(finding.field)
            self.shown.append(diagnose(finding, location, self.connector, self.acknowledged))

    @property
    def errors(self) -> int:
        return sum(count for (_, severity), count in self.found.items() if severity is Severity.ERROR)

    def counts_by_rule(self) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        for (rule, _), count in self.found.items():
            counts[rule] += count
        return dict(counts)

    def diagnostics(self, location: Location) -> Diagnostics:
        more = (rest(*key, count, (location, self.connector)) for key, count in self.found.items() if count > SHOWN)
        return Diagnostics.of([*self.shown, *more])


def rest(rule: str, severity: Severity, count: int, subject: tuple[Location, ConnectorName]) -> Diagnostic:
    """The diagnostic for the violations of a rule that are not listed: their number, at the manifest."""
    summary = f"{count - SHOWN:,} more of this rule, {count:,} in total"
    hint = "fix the ones that are listed, and check again"
    return Diagnostic(severity, rule, summary, subject[0], hint if severity is Severity.ERROR else "", subject[1])
