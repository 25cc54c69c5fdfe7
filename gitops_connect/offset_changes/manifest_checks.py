"""Checks a manifest in local files against its connector, with the rules of a reconciliation.

Spark starts while the command reads other data, and is closed at the end of the command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.families.shapes import Shape
from gitops_connect.model.canonical import digest
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction, Refusal, Review
from gitops_connect.model.manifests import (
    LargeFile,
    Manifest,
    ManifestVerdict,
    is_manifest,
    suffix_of,
)
from gitops_connect.model.names import ConnectorName, OperationName, Revision
from gitops_connect.model.offsets import OffsetPatch, partition_text
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, SkipLimits
from gitops_connect.offset_changes.local_manifests import GivenFiles, find_manifest
from gitops_connect.offset_changes.planner_inputs import workspace
from gitops_connect.offset_changes.spark_checks import SparkChecks
from gitops_connect.offset_changes.staged_files import offsets_file, stage
from gitops_connect.offset_changes.subject import ManifestSubject
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats.manifest_parser import is_staged_as_it_is
from gitops_connect.offsets.rules import small
from gitops_connect.plan.offset_review import described, refusals, review
from gitops_connect.report import manifest_page
from gitops_connect.report.manifest_check import CheckedManifest
from gitops_connect.runtime import SystemClock
from gitops_connect.safe_files import write_new
from gitops_connect.settings.own import cache_directory
from gitops_connect.settings.sections import Settings
from gitops_connect.spark.master_url import master_of
from gitops_connect.spark.session import Say, SharedSession

_BLOCK = 1024 * 1024
VIOLATIONS = "violations.parquet"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What a command checks. `report` is a directory for the list of violations, or None."""

    path: Path
    connector: ConnectorName
    kind: OperationKind
    report: Path | None = None


def check(
    options: CheckOptions, settings: Settings, say: Say, read_subject: Callable[[Path], ManifestSubject]
) -> CheckedManifest:
    """Check all rules, and compute the manifest's effect. A manifest too large for this process is checked on Spark.

    `read_subject` gets a directory for offsets that are too many for memory. Raises UsageError if a file cannot be read
    or written, and the errors of `read_subject` and of Spark.
    """
    began = time.monotonic()
    given = find_manifest(options.path, options.connector)
    is_for_spark = options.report is not None or given.are_certainly_large
    with opened(settings, say) as spark, spark.checks.started_early() if is_for_spark else nullcontext():
        subject = read_subject(spark.directory)
        manifest = None if is_for_spark or subject.saved is not None else given.read()
        if manifest is None:
            checked = _on_spark(options, given, subject, spark, settings)
        else:
            checked = _in_process(options, manifest, subject, settings)
        checked = replace(checked, file=given.shown, files=tuple(path.as_posix() for path in given.paths))
    return replace(checked, seconds=time.monotonic() - began)


def write_page(checked: CheckedManifest, directory: Path, program: str) -> None:
    """Write `index.html` next to the list of violations. Raises UsageError if the file cannot be written."""
    page = manifest_page.render(checked, manifest_page.PageOrigin(program, SystemClock().now()))
    write_new(directory / "index.html", page, force=True)


def _in_process(
    options: CheckOptions, manifest: Manifest, subject: ManifestSubject, settings: Settings
) -> CheckedManifest:
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
    files, offsets = spark.stage(given), subject.current
    violations = spark.directory / "violations" if options.report is not None else None
    with files_of_checks():
        current = None if offsets is None else offsets_file(offsets, spark.directory / "current.jsonl")
        manifest = LargeManifest(Location(given.shown), files, subject.context, options.kind, current)
        (verdict,) = spark.checks.check([manifest], violations=violations)
    if violations is not None and options.report is not None:
        write_new(options.report / VIOLATIONS, blocks_of(violations / VIOLATIONS), force=True)
    refused = () if verdict.difference is None else refusals_of(subject, options.kind, verdict.difference, settings)
    difference = None if verdict.difference is None else described(verdict.difference, _shape_for(subject))
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
    current = subject.context.current or {}
    return review(_operation(subject, kind, offsets), current, _shape_for(subject), _max_skip(subject, settings))


def _shape_for(subject: ManifestSubject) -> Shape | None:
    """The shape of the connector's class and config; None if they are unknown or have no known shape."""
    context: ManifestContext = subject.context
    return context.shape


def refusals_of(
    subject: ManifestSubject, kind: OperationKind, difference: Difference, settings: Settings
) -> tuple[Refusal, ...]:
    """The reasons to reject an operation with this difference."""
    difference = described(difference, _shape_for(subject))
    return tuple(refusals(_operation(subject, kind, {}), difference, _max_skip(subject, settings)))


def _operation(subject: ManifestSubject, kind: OperationKind, offsets: OffsetPatch) -> Operation:
    """The operation of a document that acknowledges nothing."""
    return Operation(OperationName("-"), subject.context.connector, kind, digest([]), Revision(""), offsets)


def _max_skip(subject: ManifestSubject, settings: Settings) -> SkipLimits:
    """The limits of the connector's cluster; all 0 if the cluster is unknown."""
    if subject.cluster is None or subject.cluster not in settings.clusters:
        return dict.fromkeys(DEFAULT_SKIP_LIMITS, 0)
    return settings.clusters[subject.cluster].max_skip.limits


def _needed(reviewed: Review | None, verdict: ManifestVerdict) -> tuple[Acknowledgement, ...]:
    if verdict.offsets is None:
        return ()
    return needed(reviewed.refusals if reviewed is not None else (), unread=bool(verdict.unread))


def needed(refusals: Iterable[Refusal], *, unread: bool) -> tuple[Acknowledgement, ...]:
    """The acknowledgements that a document needs, in a fixed order: for its effects, and for unread partitions."""
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
    found = set()
    for entry in manifest.entries:
        partition = entry.value.get("partition") if isinstance(entry.value, dict) else None
        try:
            found |= {partition_text(partition)} if isinstance(partition, dict) else set()
        except (ValueError, TypeError, RecursionError):
            continue
    return len(found)


@dataclass(frozen=True, slots=True)
class LargeChecks:
    """Checks of large manifests on Spark for one command. The directory for its files need not exist."""

    checks: SparkChecks
    directory: Path

    @property
    def where(self) -> str:
        """The URL of the Spark master, without secrets."""
        return master_of(self.checks.sessions.settings.master).shown

    def stage(self, given: GivenFiles) -> tuple[LargeFile, ...]:
        """The files in a form that Spark can read: the original files if possible, else copies.

        Raises UsageError if a file cannot be read.
        """
        return tuple(self._stage(number, path) for number, path in enumerate(given.paths))

    def _stage(self, number: int, path: Path) -> LargeFile:
        name = path.as_posix()
        if _is_read_as_it_is(name) and master_of(self.checks.sessions.settings.master).is_here:
            return LargeFile(name, str(path.absolute()))
        directory = self.directory / f"staged-{number}"
        directory.mkdir(parents=True)
        self.checks.say(f"reading {path.name}")
        return stage(name, blocks_of(path), directory)


@contextmanager
def opened(settings: Settings, say: Say) -> Iterator[LargeChecks]:
    """A `LargeChecks` that tells `say` its progress. Nothing is started yet."""
    with (
        closing(SharedSession(settings.spark, os.environ, cache_directory())) as sessions,
        workspace(sessions.directory) as directory,
    ):
        yield LargeChecks(SparkChecks(sessions, say), directory)


@contextmanager
def files_of_checks() -> Iterator[None]:
    """Raise UsageError if a file cannot be read or written during the block."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot check large manifests: {error}") from error


def _is_read_as_it_is(name: str) -> bool:
    """Whether Spark can read the original file. Spark recognizes formats by the suffix of the path, in lower case."""
    return is_manifest(name) and is_staged_as_it_is(name) and name.endswith(suffix_of(name))


def blocks_of(path: Path) -> Iterator[bytes]:
    """The content of the file in blocks. Raises UsageError if the file cannot be read."""
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
    except OSError as error:
        raise UsageError(f"cannot read the manifest {path}: {error.strerror}") from error
