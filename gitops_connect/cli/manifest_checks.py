"""A manifest from a file of this machine, held against its connector as a cycle would hold it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from gitops_connect.cli.subject import Subject
    from gitops_connect.model.differences import Review
    from gitops_connect.model.documents import Blob
    from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestVerdict
    from gitops_connect.model.offsets import OffsetPatch
    from gitops_connect.model.operations import Acknowledgement, OperationKind
    from gitops_connect.report.manifests import CheckedManifest
    from gitops_connect.settings.sections import Settings


def check_file(file: Path, subject: Subject, kind: OperationKind, settings: Settings) -> CheckedManifest:
    """All rules, and what it would change. Raises UsageError where the file cannot be read."""
    from gitops_connect.checks import small
    from gitops_connect.desired import manifests
    from gitops_connect.report.manifests import CheckedManifest

    manifest = manifests.parse(_blob(file))
    verdict = small.check(manifest, subject.context, kind)
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
        acknowledge=needed(reviewed, verdict) if verdict.offsets is not None else (),
        why_not=subject.unread,
    )


def review_of(subject: Subject, kind: OperationKind, offsets: OffsetPatch, settings: Settings) -> Review:
    """What an operation with these offsets would do to those that stand (none, where none are known)."""
    from gitops_connect.model.canonical import digest
    from gitops_connect.model.names import OperationName, Revision
    from gitops_connect.model.operations import Operation
    from gitops_connect.model.shapes import shape_of
    from gitops_connect.plan.offsets import review

    context: ManifestContext = subject.context
    operation = Operation(OperationName("-"), context.connector, kind, digest([]), Revision(""), offsets)
    shape = shape_of(context.config, context.schema) if context.config is not None else None
    max_skip = settings.clusters[subject.cluster].max_skip if subject.cluster is not None else 0
    return review(operation, context.live or {}, shape, max_skip)


def needed(reviewed: Review | None, *verdicts: ManifestVerdict) -> tuple[Acknowledgement, ...]:
    """What a document has to acknowledge, in a fixed order: for what it does, and for what its offsets are."""
    from gitops_connect.model.operations import Acknowledgement

    refusals = reviewed.refusals if reviewed is not None else ()
    found = {one.missing for one in refusals if one.missing is not None}
    found |= {Acknowledgement.UNREAD for one in verdicts if one.unread}
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
