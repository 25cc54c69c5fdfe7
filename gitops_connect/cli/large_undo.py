"""Undoing a change whose offsets, or the current ones, are too many for memory: with temporary files and Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli.console import echo
from gitops_connect.errors import UndoImpossible

if TYPE_CHECKING:
    from gitops_connect.cli.large_checks import LargeChecks
    from gitops_connect.cli.subject import ManifestSubject
    from gitops_connect.model.large_manifests import SavedOffsets
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.model.operations import Acknowledgement, OperationKind, OperationRecord
    from gitops_connect.settings.sections import Settings

_PLAIN = 1024 * 1024
"""Bytes up to which a manifest is written without compression, so that Git can show a diff of its lines."""


def require_finished(record: OperationRecord) -> None:
    """Raise UndoImpossible for a change in progress, because the offsets at its end are unknown."""
    from gitops_connect.model.operations import OperationState

    if record.state is OperationState.OPEN:
        raise UndoImpossible(
            f"offset change {record.name} is in progress; run `gitops-connect apply` to finish it, then undo it"
        )


def acknowledged(
    lines: Path, kind: OperationKind, subject: ManifestSubject, spark: LargeChecks, settings: Settings
) -> tuple[Acknowledgement, ...]:
    """The acknowledgements that a document with these offsets needs for the current offsets.

    If the rules will still block the document, a note says so. Raises the errors of Spark.
    """
    from gitops_connect.cli.large_checks import files_of_checks
    from gitops_connect.cli.manifest_checks import needed, refusals_of
    from gitops_connect.model.diagnostics import Location
    from gitops_connect.model.differences import Difference, Direction
    from gitops_connect.model.large_manifests import LargeFile, LargeManifest
    from gitops_connect.model.operations import Acknowledgement, OperationKind
    from gitops_connect.offset_changes.staging.files import offsets_file

    if kind is OperationKind.RESET:
        count = _count(subject.current)
        removed = Difference({Direction.REMOVED: count} if count else {})
        return needed(refusals_of(subject, kind, removed, settings), unread=False)
    planned = subject.acknowledging(frozenset({Acknowledgement.UNREAD})).context
    files = (LargeFile("the document", str(lines)),)
    with files_of_checks():
        current = offsets_file(
            subject.current if subject.current is not None else {}, spark.directory / "current.jsonl"
        )
        manifest = LargeManifest(Location("the document"), files, planned, kind, current)
        manifests = [replace(manifest, is_checked=False), manifest, replace(manifest, current=None)]
        compared, known, unknown = spark.checks.check(manifests)
    if wrong := next((one.diagnostics.errors for one in (known, unknown) if one.errors), ()):
        echo(f"note: the document will be blocked: {wrong[0].summary} [{wrong[0].rule}]")
    difference = compared.difference or Difference()
    if not any(count for way, count in difference.counts.items() if way is not Direction.SAME):
        echo("note: the current offsets are the same already, so the document changes nothing")
    unread = bool(known.unread or unknown.unread)
    return needed(refusals_of(subject, kind, difference, settings), unread=unread)


def write_manifest(lines: Path, out: Path, *, force: bool) -> Path:
    """Write the manifest next to the document, compressed if it is large, and return its path.

    Raises UsageError if the file exists, unless `force`, and if it cannot be written.
    """
    from gitops_connect.cli.large_checks import blocks_of
    from gitops_connect.cli.output_files import write_new
    from gitops_connect.desired.manifests.packing import packed

    is_large = lines.stat().st_size > _PLAIN
    beside = out.with_suffix(".jsonl.zst" if is_large else ".jsonl")
    blocks = blocks_of(lines)
    write_new(beside, packed(blocks) if is_large else blocks, force=force)
    return beside


def _count(current: Offsets | SavedOffsets | None) -> int:
    from gitops_connect.model.large_manifests import SavedOffsets

    return current.entries if isinstance(current, SavedOffsets) else len(current or ())
