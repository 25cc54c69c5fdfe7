"""The rules over one manifest in this process: the engine for manifests that fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitops_connect.checks.entries import EntryJudge
from gitops_connect.checks.field_types import shorten
from gitops_connect.checks.rules import RULES, Finding, diagnose, is_error
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location
from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestFault, ManifestVerdict
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offsets import OffsetText, PartitionText
from gitops_connect.model.operations import OperationKind

SHOWN = 20
"""So many offenders of a rule are named, each with its place; of the rest it is said how many they are."""


def check(manifest: Manifest, context: ManifestContext, kind: OperationKind) -> ManifestVerdict:
    """Every entry held against every rule. Raises nothing, whatever stands in the entries.

    Which offsets come out does not depend on the order of the entries.
    """
    problems = _Problems(context.connector)
    for fault in manifest.faults:
        problems.add_fault(fault)
    if not manifest.entries and not manifest.faults:
        problems.add(Finding("manifest/empty", "", {"found": "there is none in it"}), manifest.location)
    judge = EntryJudge(context, kind)
    offsets: dict[PartitionText, OffsetText | None] = {}
    places: dict[PartitionText, Location] = {}
    for entry in manifest.entries:
        findings, partition, offset = judge.judge(entry.value)
        for finding in findings:
            problems.add(finding, entry.location)
        if partition is None:
            continue
        if partition in offsets:
            repeated = _repeated(offsets[partition], offset, places[partition], entry.location)
            problems.add(repeated, entry.location)
        else:
            offsets[partition] = offset
            places[partition] = entry.location
    return ManifestVerdict(None if problems.errors else offsets, problems.diagnostics(manifest.location))


def _repeated(offset: OffsetText | None, other: OffsetText | None, first: Location, second: Location) -> Finding:
    """Twice the same is no better than a contradiction: two partitions were meant, and one of them is not declared."""
    words = {"first": str(first.line), "second": str(second.line)}
    if offset == other:
        return Finding("manifest/duplicate", "partition", words)
    shown = {"found": shorten(offset or "null"), "other": shorten(other or "null")}
    return Finding("manifest/conflict", "partition", {**words, **shown})


@dataclass(slots=True)
class _Problems:
    """All that was found: the first of each rule in words, the rest as a number."""

    connector: ConnectorName
    errors: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    shown: list[Diagnostic] = field(default_factory=list)

    def add(self, finding: Finding, location: Location) -> None:
        count = self.counts[finding.rule] = self.counts.get(finding.rule, 0) + 1
        self.errors += is_error(finding)
        if count <= SHOWN:
            self.shown.append(diagnose(finding, location, self.connector))

    def add_fault(self, fault: ManifestFault) -> None:
        """The reader has named a few and counted the rest already."""
        finding = Finding(fault.rule, "", {"found": fault.found})
        self.errors += is_error(finding)
        self.shown.append(diagnose(finding, fault.location, self.connector))

    def diagnostics(self, location: Location) -> Diagnostics:
        return Diagnostics.of([*self.shown, *(self._rest(rule, location) for rule in self.counts if self._more(rule))])

    def _more(self, rule: str) -> int:
        return max(self.counts[rule] - SHOWN, 0)

    def _rest(self, rule: str, location: Location) -> Diagnostic:
        count = self._more(rule)
        summary = f"{count:,} more of this rule, {self.counts[rule]:,} in all"
        hint = "mend the ones that are named, and check again"
        return Diagnostic(RULES[rule].severity, rule, summary, location, hint, self.connector)
