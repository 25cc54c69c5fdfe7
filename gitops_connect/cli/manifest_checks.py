"""A manifest from a file of this machine, held against its connector as a cycle would hold it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.errors import UsageError

_TOO_LARGE = "manifest/too-large"

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitops_connect.cli.subject import Subject
    from gitops_connect.model.differences import Refusal, Review
    from gitops_connect.model.documents import Blob
    from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestVerdict
    from gitops_connect.model.offsets import OffsetPatch
    from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
    from gitops_connect.report.manifests import CheckedManifest
    from gitops_connect.settings.sections import Settings


def check_file(file: Path, subject: Subject, kind: OperationKind, settings: Settings) -> CheckedManifest:
    """All rules, and what it would change. One that is too large for this process is checked on Spark.

    Raises UsageError where the file cannot be read, and what `check_large` raises.
    """
    from gitops_connect.checks import small
    from gitops_connect.cli.large_checks import is_lines
    from gitops_connect.desired import manifests
    from gitops_connect.report.manifests import CheckedManifest

    manifest = manifests.parse(_blob(file))
    verdict = small.check(manifest, subject.context, kind)
    if _TOO_LARGE in verdict.counts and is_lines(file):
        return _check_on_spark(file, subject, kind, settings)
    reviewed = None
    if verdict.offsets is not None and subject.context.live is not None:
        reviewed = review_of(subject, kind, verdict.offsets, settings)
    return CheckedManifest(
        file=file.as_posix(),
        connector=subject.context.connector,
        cluster=subject.cluster,
        basis=subject.basis,
        kind=kind,
        entries=len(manifest.entries),
        partitions=_partitions(manifest) if verdict.offsets is None else len(verdict.offsets),
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        difference=reviewed.difference if reviewed is not None else None,
        acknowledge=_needed(reviewed, verdict),
        why_not=subject.unread,
    )


def _check_on_spark(file: Path, subject: Subject, kind: OperationKind, settings: Settings) -> CheckedManifest:
    from gitops_connect.cli.large_checks import check_large
    from gitops_connect.plan.offsets import refusals
    from gitops_connect.report.manifests import CheckedManifest

    verdict = check_large(file, subject, kind, settings)
    refused: tuple[Refusal, ...] = ()
    if verdict.difference is not None:
        refused = tuple(refusals(_operation(subject, kind, {}), verdict.difference, _max_skip(subject, settings)))
    return CheckedManifest(
        file=file.as_posix(),
        connector=subject.context.connector,
        cluster=subject.cluster,
        basis=subject.basis,
        kind=kind,
        entries=verdict.entries,
        partitions=verdict.partitions,
        diagnostics=verdict.diagnostics,
        counts=verdict.counts,
        errors=verdict.errors,
        difference=verdict.difference,
        acknowledge=needed(refused, unread=bool(verdict.unread)) if not verdict.errors else (),
        why_not=subject.unread,
    )


def review_of(subject: Subject, kind: OperationKind, offsets: OffsetPatch, settings: Settings) -> Review:
    """What an operation with these offsets would do to those that stand (none, where none are known)."""
    from gitops_connect.model.shapes import shape_of
    from gitops_connect.plan.offsets import review

    context: ManifestContext = subject.context
    shape = shape_of(context.config, context.schema) if context.config is not None else None
    return review(_operation(subject, kind, offsets), context.live or {}, shape, _max_skip(subject, settings))


def _operation(subject: Subject, kind: OperationKind, offsets: OffsetPatch) -> Operation:
    """As a document would declare it that acknowledges nothing."""
    from gitops_connect.model.canonical import digest
    from gitops_connect.model.names import OperationName, Revision
    from gitops_connect.model.operations import Operation

    return Operation(OperationName("-"), subject.context.connector, kind, digest([]), Revision(""), offsets)


def _max_skip(subject: Subject, settings: Settings) -> int:
    return settings.clusters[subject.cluster].max_skip if subject.cluster is not None else 0


def _needed(reviewed: Review | None, verdict: ManifestVerdict) -> tuple[Acknowledgement, ...]:
    if verdict.offsets is None:
        return ()
    return needed(reviewed.refusals if reviewed is not None else (), unread=bool(verdict.unread))


def needed(refusals: Iterable[Refusal], *, unread: bool) -> tuple[Acknowledgement, ...]:
    """What a document has to acknowledge, in a fixed order: for what it does, and for what its offsets are."""
    from gitops_connect.model.operations import Acknowledgement

    found = {one.missing for one in refusals if one.missing is not None}
    found |= {Acknowledgement.UNREAD} if unread else set()
    return tuple(sorted(found, key=lambda one: one.value))


def _blob(file: Path) -> Blob:
    """No more than one byte more than is allowed is read."""
    from gitops_connect.desired.manifests import MAX_SIZE
    from gitops_connect.model.documents import Blob

    try:
        with file.open("rb") as stream:
            return Blob(file.as_posix(), "", stream.read(MAX_SIZE + 1))
    except OSError as error:
        raise UsageError(f"cannot read the manifest {file}: {error.strerror}") from error


def _partitions(manifest: Manifest) -> int:
    """How many different ones there are, as far as that can be told of a manifest with errors."""
    from gitops_connect.model.offsets import partition_text

    found = set()
    for entry in manifest.entries:
        partition = entry.value.get("partition") if isinstance(entry.value, dict) else None
        try:
            found |= {partition_text(partition)} if isinstance(partition, dict) else set()
        except (ValueError, TypeError, RecursionError):
            continue
    return len(found)
