"""What `offsets check` and `offsets diff` say of a manifest: what is in it, what is wrong, what it would change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.differences import Difference
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.operations import Acknowledgement, OperationKind
from gitops_connect.report import offsets
from gitops_connect.report.offsets_json import difference_value
from gitops_connect.report.printable import one_line
from gitops_connect.report.problems import problems_value, totals


@dataclass(frozen=True, slots=True)
class CheckedManifest:
    """A manifest that was held against its connector.

    `basis` says where the connector's config comes from, and is empty where none is known. `difference` is None where
    the manifest has errors, or (`why_not`) the offsets that stand are not known; `acknowledge` is what a document that
    does this has to say. `counts` are the offenders of each rule, and `errors` those that are errors: all of them, also
    where `diagnostics` names some and has the rest as a number.
    """

    file: str
    connector: ConnectorName
    cluster: ClusterName | None
    basis: str
    kind: OperationKind
    entries: int
    partitions: int
    diagnostics: Diagnostics
    counts: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    difference: Difference | None = None
    acknowledge: tuple[Acknowledgement, ...] = ()
    why_not: str = ""

    @property
    def warnings(self) -> int:
        """All offenders that are no errors."""
        return sum(self.counts.values()) - self.errors


def summary(checked: CheckedManifest) -> str:
    """A few lines for a person, after the problems themselves."""
    lines = [_what(checked), _problems(checked)]
    if checked.difference is not None:
        lines.append(f"as {checked.kind.value}, from what stands now: {offsets.counts(checked.difference)}")
    elif checked.why_not:
        lines.append(f"not compared with the offsets that stand: {one_line(checked.why_not)}")
    needed = ", ".join(one.value for one in checked.acknowledge)
    lines += [f"a document that does this says `acknowledge: [{needed}]`"] if needed else []
    return "".join(f"{line}\n" for line in lines)


def _what(checked: CheckedManifest) -> str:
    where = f" on {checked.cluster}" if checked.cluster is not None else ""
    basis = checked.basis or "nothing is known of it, so only what holds for every connector is checked"
    entries = "1 entry" if checked.entries == 1 else f"{checked.entries:,} entries"
    partitions = "1 partition" if checked.partitions == 1 else f"{checked.partitions:,} partitions"
    return f"{one_line(checked.file)} for {checked.connector}{where} ({basis}): {entries}, {partitions}"


def _problems(checked: CheckedManifest) -> str:
    found = totals(checked.errors, checked.warnings)
    counts = sorted(checked.counts.items(), key=lambda one: (-one[1], one[0]))
    told = ", ".join(f"{count:,} {rule}" for rule, count in counts)
    return f"{found} ({told})" if told else found


def as_json(checked: CheckedManifest) -> str:
    """Everything, with each problem and each partition that moves."""
    value = {
        "file": checked.file,
        "connector": checked.connector,
        "cluster": checked.cluster,
        "operation": checked.kind.value,
        "entries": checked.entries,
        "partitions": checked.partitions,
        "errors": checked.errors,
        "warnings": checked.warnings,
        "rules": dict(sorted(checked.counts.items())),
        "difference": None if checked.difference is None else difference_value(checked.difference),
        "acknowledge": [one.value for one in checked.acknowledge],
        "diagnostics": problems_value(checked.diagnostics),
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
