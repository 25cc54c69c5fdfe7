"""Undoing an offset change: a document that restores the earlier offsets. Nothing is changed on the cluster.

If the earlier offsets or the current ones are too many for memory, they are in temporary files, and Spark compares
them. Otherwise they are compared in this process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from gitops_connect.connect.client import save_lines
from gitops_connect.errors import UndoImpossible, UsageError
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import (
    LargeFile,
    LargeVerdict,
    Manifest,
    ManifestEntry,
    ManifestVerdict,
    SavedOffsets,
)
from gitops_connect.model.names import ClusterName, OffsetChangeName
from gitops_connect.model.offset_changes import (
    NOTHING_SENT,
    Acknowledgement,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
)
from gitops_connect.model.offsets import Offsets, merged, to_json
from gitops_connect.model.revisions import origin
from gitops_connect.model.suggestions import did_you_mean
from gitops_connect.offset_changes.manifest_checks import (
    LargeChecks,
    blocks_of,
    difference_of,
    files_of_checks,
    needed,
    opened,
)
from gitops_connect.offset_changes.offset_files import number_of
from gitops_connect.offset_changes.recorded_changes import SUGGESTED, find, latest
from gitops_connect.offset_changes.staged_files import offsets_file
from gitops_connect.offset_changes.subject import DeclaredConnectors, ManifestSubject, Note, SubjectSource
from gitops_connect.offsets.context import LargeManifest, ManifestContext
from gitops_connect.offsets.formats.content import packed
from gitops_connect.offsets.rules import small
from gitops_connect.plan.offset_review import effect_of
from gitops_connect.report import change_document
from gitops_connect.report.change_document import ChangeDocument
from gitops_connect.runtime import Runtime
from gitops_connect.safe_files import refuse_old, write_new
from gitops_connect.spark.session import Say

_LONGEST_NAME = 253
_MOST_LATER = 20
"""So many later changes are named."""
_PLAIN = 1024 * 1024
"""Bytes up to which a manifest is written without compression, so that Git can show a diff of its lines."""
_PLACE = Location("the document")


@dataclass(frozen=True, slots=True)
class UndoTarget:
    """The file for the document; None: stdout. Raises UsageError if the file name has no suffix of YAML."""

    path: Path | None
    force: bool

    def __post_init__(self) -> None:
        if self.path is not None and self.path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"{self.path} must be a YAML file; use the suffix .yaml")


@dataclass(frozen=True, slots=True)
class Undo:
    """Undoes changes of these clusters. `note` gets what the user should know, `say` the current activity."""

    runtime: Runtime
    clusters: Sequence[ClusterName]
    read_declared: Callable[[], DeclaredConnectors]
    note: Note
    say: Say

    def write(self, change: str, target: UndoTarget) -> tuple[ChangeDocument, int]:
        """Write a document that undoes the change, for the current offsets, if it has a file.

        Returns the document, and the number of its offsets. Raises the errors of its parts and of Connect. Raises
        UndoImpossible if the current offsets are unknown, because they decide what the document must acknowledge.
        """
        cluster, record = _find_change(self.runtime, self.clusters, change)
        _require_effect(record)
        with opened(self.runtime.settings, self.say) as spark:
            declared, clients = self.read_declared(), {cluster: self.runtime.clients[cluster]}
            subject = SubjectSource(clients, [cluster], declared, spark.directory, self.note).read(record.connector)
            self._tell(cluster, record, subject)
            written = declared.states[cluster].offset_changes if cluster in declared.states else ()
            name = self._new_name(cluster, change, {one.name for one in written})
            return _UndoDraft(self, cluster, record, subject, spark).write(name, target)

    def _tell(self, cluster: ClusterName, record: OffsetChangeRecord, subject: ManifestSubject) -> None:
        if subject.current is None and not subject.absent:
            raise UndoImpossible(f"cannot determine which effects the document must acknowledge: {subject.unread}")
        if subject.absent:
            self.note(f"{subject.unread}; the plan that creates the connector lists what the document must acknowledge")
        changes, those = self.runtime.ledger.offset_changes, (cluster, record.connector, [OffsetChangeState.SETTLED])
        if later := changes.latest(*those, after=record.since, limit=_MOST_LATER):
            left = changes.count(*those, after=record.since) - len(later)
            more = f", and {left:,} more: run `{command_line('offsets history', record.connector)}`"
            names = ", ".join(sorted(one.name for one in later))
            self.note(f"these later offset changes are undone, too: {names}{more if left else ''}")

    def _new_name(self, cluster: ClusterName, change: str, taken: Set[OffsetChangeName]) -> OffsetChangeName:
        """`undo-CHANGE`, with a number if the name is taken. Characters that a name must not contain become hyphens."""
        stem = "undo-" + re.sub(r"[^A-Za-z0-9._-]", "-", change)
        endings: Iterator[str] = chain([""], (f"-{number}" for number in count(2)))
        names = (OffsetChangeName(stem[: _LONGEST_NAME - len(ending)] + ending) for ending in endings)
        find = self.runtime.ledger.offset_changes.find
        return next(name for name in names if name not in taken and find(cluster, name) is None)


@dataclass(frozen=True, slots=True)
class _UndoDraft:
    """The undo of one change, with everything that is known of its connector."""

    undo: Undo
    cluster: ClusterName
    record: OffsetChangeRecord
    subject: ManifestSubject
    spark: LargeChecks

    @property
    def is_large(self) -> bool:
        """Whether the offsets before the change, or the current ones, are too many for memory."""
        return self.record.entries is not None or self.subject.saved is not None

    def write(self, name: OffsetChangeName, target: UndoTarget) -> tuple[ChangeDocument, int]:
        if self.is_large and self.record.state is OffsetChangeState.OPEN:
            raise UndoImpossible(
                f"offset change {self.record.name} is in progress; run `gitops-connect apply` to finish it, then undo"
                " it"
            )
        if target.path is not None:
            refuse_old(target.path, force=target.force)
        before = save_lines(self._blocks(), self.spark.directory / "before.jsonl") if self.is_large else self._before()
        count = number_of(before)
        inline = None if isinstance(before, SavedOffsets) or not change_document.fits(before) else before
        if count and target.path is None and inline is None:
            raise UsageError(f"{count:,} offsets do not fit into one document; write to a file with --out")
        kind = OffsetChangeKind.REPLACE if count else OffsetChangeKind.RESET
        acknowledged = self._needed(kind, before)
        when = f"{self.record.since:%Y-%m-%d %H:%M:%S} UTC"
        reason = f"restores the offsets from before {self.record.name} ({when}, {origin(self.record.revision)})"
        made = ChangeDocument(name, self.cluster, self.record.connector, kind, reason, inline or {}, acknowledged)
        if target.path is not None:
            if count and inline is None:
                made = replace(made, manifest=f"./{_write_beside(target.path, before, force=target.force).name}")
            write_new(target.path, change_document.render(made), force=target.force)
        return made, count

    def _before(self) -> Offsets:
        """The offsets before the change. Raises UndoImpossible if they were not saved."""
        snapshot = self.undo.runtime.ledger.offset_changes.snapshot(self.cluster, self.record.name)
        if snapshot is None:
            raise UndoImpossible(f"the offsets before {self.record.name} are unknown: the ledger has not saved them")
        return snapshot

    def _blocks(self) -> Iterator[bytes]:
        offset_changes = self.undo.runtime.ledger.offset_changes
        if self.record.entries is not None:
            yield from offset_changes.pieces(self.cluster, self.record.name, OffsetsPart.BEFORE)
        elif before := self._before():
            yield change_document.json_lines(before).encode()

    def _needed(self, kind: OffsetChangeKind, before: Offsets | SavedOffsets) -> tuple[Acknowledgement, ...]:
        """The acknowledgements that a document with these offsets needs for the current offsets."""
        subject = self._subject_when_applied()
        verdicts: Sequence[LargeVerdict | ManifestVerdict] = ()
        planned = subject.acknowledging(frozenset({Acknowledgement.UNREAD})).context
        if kind is OffsetChangeKind.RESET:
            removed = number_of(subject.current)
            difference = Difference({Direction.REMOVED: removed} if removed else {})
        elif isinstance(before, SavedOffsets):
            compared, *verdicts = self._check_on_spark(before, planned)
            difference = compared.difference or Difference()
        else:
            difference = difference_of(subject, kind, before)
            manifest = Manifest(_PLACE, tuple(ManifestEntry(entry, _PLACE) for entry in to_json(before)))
            # The plan knows the current offsets, and `validate` does not.
            verdicts = [small.check(manifest, one, kind) for one in (planned, replace(planned, current=None))]
        if difference.changes_nothing:
            self.undo.note("the current offsets are the same already, so the document changes nothing")
        if wrong := next((one.diagnostics.errors for one in verdicts if one.errors), ()):
            self.undo.note(f"the document will be blocked: {wrong[0].summary} [{wrong[0].rule}]")
        return needed(subject, kind, difference, self.undo.runtime.settings, verdicts)

    def _subject_when_applied(self) -> ManifestSubject:
        """The connector at the time when the document is applied: a change in progress is finished first."""
        name, context = self.record.name, self.subject.context
        if self.record.state is not OffsetChangeState.OPEN:
            return self.subject
        self.undo.note(f"offset change {name} is in progress; the next apply finishes it first")
        offset_changes = self.undo.runtime.ledger.offset_changes
        effect = effect_of(offset_changes.saved(self.cluster, name), offset_changes.snapshot(self.cluster, name) or {})
        return replace(self.subject, context=replace(context, current=merged(context.current or {}, effect)))

    def _check_on_spark(self, before: SavedOffsets, planned: ManifestContext) -> list[LargeVerdict]:
        """Compare the offsets, and check them with and without the current offsets, as `_needed` does here."""
        there = self.subject.current if self.subject.current is not None else {}
        with files_of_checks():
            current = offsets_file(there, self.spark.directory / "current.jsonl")
            files = (LargeFile(_PLACE.file, before.path),)
            manifest = LargeManifest(_PLACE, files, planned, OffsetChangeKind.REPLACE, current)
            manifests = [replace(manifest, is_checked=False), manifest, replace(manifest, current=None)]
            return self.spark.checks.check(manifests)


def _write_beside(out: Path, offsets: Offsets | SavedOffsets, *, force: bool) -> Path:
    """Write the manifest next to the document, compressed if it is large, and return its path.

    Raises UsageError if the file exists, unless `force`, and if it cannot be written.
    """
    if not isinstance(offsets, SavedOffsets):
        beside = out.with_suffix(".jsonl")
        write_new(beside, change_document.json_lines(offsets), force=force)
        return beside
    is_packed, blocks = offsets.size > _PLAIN, blocks_of(Path(offsets.path))
    beside = out.with_suffix(".jsonl.zst" if is_packed else ".jsonl")
    write_new(beside, packed(blocks) if is_packed else blocks, force=force)
    return beside


def _find_change(
    runtime: Runtime, clusters: Sequence[ClusterName], name: str
) -> tuple[ClusterName, OffsetChangeRecord]:
    """The change of that name. Raises UndoImpossible if there is none, UsageError if it is on several clusters."""
    changes = runtime.ledger.offset_changes
    found = find(changes, clusters, name)
    if len(found) > 1:
        raise UsageError(
            f"offset change {name} exists on {' and '.join(one for one, _ in found)}; choose one with --cluster"
        )
    if not found:
        meant = did_you_mean(name, {record.name for _, record in latest(changes, clusters, most=SUGGESTED)})
        hint = "" if meant else "; run `gitops-connect ledger show` to list all"
        raise UndoImpossible(f"the ledger has no offset change {name!r}{meant}{hint}")
    return found[0]


def _require_effect(record: OffsetChangeRecord) -> None:
    """Raise UndoImpossible if there is nothing to undo, or if the earlier offsets are unknown."""
    is_unsent = record.before is None and record.message == NOTHING_SENT
    if is_unsent or record.state in (OffsetChangeState.INTENDED, OffsetChangeState.FAILED):
        failed = f" (it failed: {record.message})" if record.state is OffsetChangeState.FAILED else ""
        why = f" ({NOTHING_SENT})" if is_unsent else failed
        raise UndoImpossible(f"offset change {record.name} changed nothing{why}, so there is nothing to undo")
    if record.before is None:
        raise UndoImpossible(
            f"the offsets before {record.name} are not in the ledger: it was not applied with this ledger, or it was"
            " applied longer ago than [state] keep_offsets"
        )
