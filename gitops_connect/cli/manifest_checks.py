"""Checks a manifest in local files against its connector, with the rules of a reconciliation."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.errors import NotFound

if TYPE_CHECKING:
    from gitops_connect.cli.given_files import GivenFiles
    from gitops_connect.cli.large_checks import LargeChecks
    from gitops_connect.cli.subject import ManifestSubject
    from gitops_connect.model.differences import Difference, Direction, Refusal, Review
    from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestVerdict
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.model.offsets import OffsetPatch
    from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
    from gitops_connect.model.shapes import Shape
    from gitops_connect.model.units import SkipLimits
    from gitops_connect.report.manifest_check import CheckedManifest
    from gitops_connect.settings.sections import Settings


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The arguments of a command that checks a manifest. `cluster` is None if the command line names none.

    `acknowledged` are acknowledgements as in a document. `report` is a directory for the report, or None. `directory`
    has the documents that are read instead of the configured repository, or is None.
    """

    path: Path
    connector: ConnectorName
    kind: OperationKind
    acknowledged: frozenset[Acknowledgement] = frozenset()
    cluster: str | None = None
    is_offline: bool = False
    report: Path | None = None
    directory: Path | None = None


def check(options: CheckOptions, settings: Settings) -> CheckedManifest:
    """Check all rules, and compute the manifest's effect. A manifest too large for this process is checked on Spark.

    Raises UsageError if a file cannot be read or written, and the errors of `subject.subject_of` and of Spark.
    """
    from gitops_connect.cli import given_files, large_checks

    began = time.monotonic()
    given = given_files.find(options.path, options.connector)
    is_for_spark = options.report is not None or given.are_certainly_large
    with (
        large_checks.opened(settings) as spark,
        spark.checks.started_early() if is_for_spark else nullcontext(),
    ):
        subject = _subject(options, settings, spark.directory)
        manifest = None if is_for_spark or subject.saved is not None else given.read()
        if manifest is None:
            checked = _on_spark(options, given, subject, spark, settings)
        else:
            checked = _in_process(options, manifest, subject, settings)
        checked = replace(checked, file=given.shown, files=tuple(path.as_posix() for path in given.paths))
    return replace(checked, seconds=time.monotonic() - began)


def write_page(checked: CheckedManifest, directory: Path, program: str) -> None:
    """Write `index.html` next to the list of violations. Raises UsageError if the file cannot be written."""
    from gitops_connect.cli.output_files import write_new
    from gitops_connect.report import manifest_page
    from gitops_connect.runtime import SystemClock

    page = manifest_page.render(checked, manifest_page.PageOrigin(program, SystemClock().now()))
    write_new(directory / "index.html", page, force=True)


def _subject(options: CheckOptions, settings: Settings, directory: Path) -> ManifestSubject:
    from gitops_connect.cli.cluster_commands import declared_in
    from gitops_connect.cli.subject import clients_of, repository_of, subject_of

    declared = repository_of(settings) if options.directory is None else declared_in(settings, options.directory)
    if options.is_offline and not settings.clusters:
        # Without configured clusters, only the repository can name clusters.
        known = tuple(declared.states) if declared is not None else ()
        clusters = tuple(name for name in known if options.cluster in (None, name))
    else:
        clusters = chosen_clusters(settings, options.cluster)
    with clients_of(settings, () if options.is_offline else clusters) as clients:
        found = subject_of(clients, clusters, options.connector, declared, directory)
    if found.cluster is None and options.directory is not None:
        raise NotFound(_not_declared(options, options.directory))
    return found.acknowledging(options.acknowledged)


def _not_declared(options: CheckOptions, directory: Path) -> str:
    where = f" for the cluster {options.cluster!r}" if options.cluster is not None else ""
    found = f"the directory {directory} declares no valid connector {options.connector!r}{where}"
    return f"{found}; to see the errors of its documents, run `gitops-connect validate {directory}`"


def chosen_clusters(settings: Settings, cluster: str | None) -> tuple[ClusterName, ...]:
    """The clusters that may have the connector. Raises UsageError if none is configured, or not the given one."""
    from gitops_connect.cli import cluster_commands
    from gitops_connect.settings.settings_file import require_clusters

    require_clusters(settings)
    return cluster_commands.chosen_in(settings, [cluster] if cluster else None)


def _in_process(
    options: CheckOptions, manifest: Manifest, subject: ManifestSubject, settings: Settings
) -> CheckedManifest:
    from gitops_connect.checks import small

    verdict = small.check(manifest, subject.context, options.kind)
    reviewed = None
    if verdict.offsets is not None and subject.context.current is not None:
        reviewed = review_of(subject, options.kind, verdict.offsets, settings)
    difference = reviewed.difference if reviewed is not None else None
    return replace(
        _checked(options, subject),
        entries=len(manifest.entries),
        partitions=_partitions(manifest) if verdict.offsets is None else len(verdict.offsets),
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        difference=difference,
        distribution=_distribution(difference) if difference is not None else {},
        acknowledge=_needed(reviewed, verdict),
    )


def _on_spark(
    options: CheckOptions, given: GivenFiles, subject: ManifestSubject, spark: LargeChecks, settings: Settings
) -> CheckedManifest:
    from gitops_connect.cli.large_checks import VIOLATIONS, blocks_of, files_of_checks
    from gitops_connect.cli.output_files import write_new
    from gitops_connect.model.diagnostics import Location
    from gitops_connect.model.large_manifests import LargeManifest
    from gitops_connect.offset_changes.staging.files import offsets_file
    from gitops_connect.plan.offset_review import described

    files, offsets = spark.stage(given), subject.current
    violations = spark.directory / "violations" if options.report is not None else None
    with files_of_checks():
        current = None if offsets is None else offsets_file(offsets, spark.directory / "current.jsonl")
        manifest = LargeManifest(Location(given.shown), files, subject.context, options.kind, current)
        (verdict,) = spark.checks.check([manifest], violations=violations)
    if violations is not None and options.report is not None:
        write_new(options.report / VIOLATIONS, blocks_of(violations / VIOLATIONS), force=True)
    refused = () if verdict.difference is None else refusals_of(subject, options.kind, verdict.difference, settings)
    difference = None if verdict.difference is None else described(verdict.difference, shape_for(subject))
    return replace(
        _checked(options, subject),
        entries=verdict.entries,
        partitions=verdict.partitions,
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        difference=difference,
        distribution=verdict.distribution,
        acknowledge=needed(refused, unread=bool(verdict.unread)) if not verdict.errors else (),
        spark=spark.where,
    )


def _checked(options: CheckOptions, subject: ManifestSubject) -> CheckedManifest:
    """The fields of the result that do not depend on where the manifest is checked."""
    from gitops_connect.report.manifest_check import CheckedManifest

    return CheckedManifest(
        file="",
        connector=subject.context.connector,
        cluster=subject.cluster,
        basis=subject.basis,
        kind=options.kind,
        entries=0,
        partitions=0,
        why_not=subject.unread,
    )


def review_of(subject: ManifestSubject, kind: OperationKind, offsets: OffsetPatch, settings: Settings) -> Review:
    """The effect of an operation with these offsets on the current offsets (on no offsets, if they are unknown)."""
    from gitops_connect.plan.offset_review import review

    current = subject.context.current or {}
    return review(_operation(subject, kind, offsets), current, shape_for(subject), _max_skip(subject, settings))


def shape_for(subject: ManifestSubject) -> Shape | None:
    """The shape of the connector's class and config; None if they are unknown or have no known shape."""
    from gitops_connect.model.shapes import shape_of

    context: ManifestContext = subject.context
    return shape_of(context.config, context.schema) if context.config is not None else None


def refusals_of(
    subject: ManifestSubject, kind: OperationKind, difference: Difference, settings: Settings
) -> tuple[Refusal, ...]:
    """The reasons to reject an operation with this difference."""
    from gitops_connect.plan.offset_review import described, refusals

    difference = described(difference, shape_for(subject))
    return tuple(refusals(_operation(subject, kind, {}), difference, _max_skip(subject, settings)))


def _operation(subject: ManifestSubject, kind: OperationKind, offsets: OffsetPatch) -> Operation:
    """The operation of a document that acknowledges nothing."""
    from gitops_connect.model.canonical import digest
    from gitops_connect.model.names import OperationName, Revision
    from gitops_connect.model.operations import Operation

    return Operation(OperationName("-"), subject.context.connector, kind, digest([]), Revision(""), offsets)


def _max_skip(subject: ManifestSubject, settings: Settings) -> SkipLimits:
    """The limits of the connector's cluster; all 0 if the cluster is unknown."""
    from gitops_connect.model.units import Unit

    if subject.cluster is None or subject.cluster not in settings.clusters:
        return dict.fromkeys(Unit, 0)
    return settings.clusters[subject.cluster].max_skip.limits


def _needed(reviewed: Review | None, verdict: ManifestVerdict) -> tuple[Acknowledgement, ...]:
    if verdict.offsets is None:
        return ()
    return needed(reviewed.refusals if reviewed is not None else (), unread=bool(verdict.unread))


def needed(refusals: Iterable[Refusal], *, unread: bool) -> tuple[Acknowledgement, ...]:
    """The acknowledgements that a document needs, in a fixed order: for its effects, and for unread partitions."""
    from gitops_connect.model.operations import Acknowledgement

    found = {one.missing for one in refusals if one.missing is not None}
    found |= {Acknowledgement.UNREAD} if unread else set()
    return tuple(sorted(found, key=lambda one: one.value))


def _distribution(difference: Difference) -> dict[Direction, tuple[int, ...]]:
    """For each direction with distances, how many are in [1, 10), [10, 100), and so on."""
    found: dict[Direction, list[int]] = {}
    for move in difference.moves:
        if move.distance:
            decade, counts = len(str(move.distance)) - 1, found.setdefault(move.direction, [])
            counts.extend([0] * (decade + 1 - len(counts)))
            counts[decade] += 1
    return {direction: tuple(counts) for direction, counts in found.items()}


def _partitions(manifest: Manifest) -> int:
    """The number of different partitions, among the entries whose partition can be read."""
    from gitops_connect.model.offsets import partition_text

    found = set()
    for entry in manifest.entries:
        partition = entry.value.get("partition") if isinstance(entry.value, dict) else None
        try:
            found |= {partition_text(partition)} if isinstance(partition, dict) else set()
        except (ValueError, TypeError, RecursionError):
            continue
    return len(found)
