"""Undoing an offset change: writes a document that restores the earlier offsets, and changes nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.output_files import refuse_old, write_new
from gitops_connect.cli.subject import repository_of, subject_of
from gitops_connect.errors import UndoImpossible, UsageError

if TYPE_CHECKING:
    from gitops_connect.cli.large_checks import LargeChecks
    from gitops_connect.cli.subject import ManifestSubject
    from gitops_connect.model.manifests import ManifestVerdict
    from gitops_connect.model.names import ClusterName, OperationName
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.model.operations import OperationKind, OperationRecord
    from gitops_connect.reconcile import Declared
    from gitops_connect.report.change_document import ChangeDocument
    from gitops_connect.runtime import Runtime
    from gitops_connect.settings.sections import Settings

_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class UndoTarget:
    """The file for the document; None: stdout. Raises UsageError if the file name has no suffix of YAML."""

    path: Path | None
    force: bool

    def __post_init__(self) -> None:
        if self.path is not None and self.path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"{self.path} must be a YAML file; use the suffix .yaml")


def undo(runtime: Runtime, clusters: Sequence[ClusterName], change: str, target: UndoTarget) -> None:
    """Write a document that undoes the change, for the current offsets.

    Raises the errors of its parts and of Connect. Raises UndoImpossible if the current offsets are unknown, because
    they decide what the document must acknowledge.
    """
    from gitops_connect.cli import large_checks
    from gitops_connect.report import change_document

    cluster, record = find_change(runtime, clusters, change)
    require_effect(record)
    with large_checks.opened(runtime.settings) as spark:
        declared, clients = repository_of(runtime.settings), {cluster: runtime.clients[cluster]}
        subject = subject_of(clients, [cluster], record.connector, declared, spark.directory)
        if subject.current is None and not subject.absent:
            raise UndoImpossible(f"cannot determine which effects the document must acknowledge: {subject.unread}")
        if subject.absent:
            echo(
                f"note: {subject.unread}; the plan that creates the connector lists what the document must acknowledge"
            )
        if later := later_changes(runtime, cluster, record):
            echo(f"note: these later offset changes are undone, too: {', '.join(later)}")
        name = new_name(change, known_names(runtime, cluster, declared))
        if record.entries is None and subject.saved is None:
            made, message = _write_small(runtime, record, subject, (name, target))
        else:
            made, message = _write_large(runtime, record, subject, (name, target), spark)
    if target.path is None:
        emit(change_document.render(made))
    echo(message)


def _write_small(
    runtime: Runtime, record: OperationRecord, subject: ManifestSubject, named: tuple[OperationName, UndoTarget]
) -> tuple[ChangeDocument, str]:
    """Write the document if it has a file. Returns the document, and a message about it."""
    from gitops_connect.report import change_document

    cluster, (name, target) = _cluster_of(subject), named
    before = stood_before(runtime, cluster, record)
    current = current_after(runtime, cluster, record, subject.context.current or {})
    subject = replace(subject, context=replace(subject.context, current=current))
    made = document_for(name, record, before, subject, runtime.settings)
    if target.path is not None:
        write(made, target.path, force=target.force)
    elif not change_document.fits(made.offsets):
        raise _no_room(len(made.offsets))
    return made, what_next(made, target.path, len(made.offsets))


def _write_large(
    runtime: Runtime,
    record: OperationRecord,
    subject: ManifestSubject,
    named: tuple[OperationName, UndoTarget],
    spark: LargeChecks,
) -> tuple[ChangeDocument, str]:
    """Write the document, and its offsets as a manifest with one entry a line next to it."""
    from gitops_connect.cli import large_undo
    from gitops_connect.connect.saving import save_lines
    from gitops_connect.model.operations import OperationKind
    from gitops_connect.report import change_document

    name, target = named
    large_undo.require_finished(record)
    if target.path is not None:
        refuse_old(target.path, force=target.force)
    lines = spark.directory / "before.jsonl"
    count = save_lines(_blocks_before(runtime, _cluster_of(subject), record), lines).entries
    if count and target.path is None:
        raise _no_room(count)
    kind = OperationKind.REPLACE if count else OperationKind.RESET
    acknowledge = large_undo.acknowledged(lines, kind, subject, spark, runtime.settings)
    made = replace(_document(name, record, subject, kind), acknowledge=acknowledge)
    if target.path is not None:
        beside = large_undo.write_manifest(lines, target.path, force=target.force) if count else None
        made = replace(made, manifest=f"./{beside.name}" if beside is not None else "")
        write_new(target.path, change_document.render(made), force=target.force)
    return made, what_next(made, target.path, count)


def _blocks_before(runtime: Runtime, cluster: ClusterName, record: OperationRecord) -> Iterator[bytes]:
    from gitops_connect.ledger.pieces import OffsetsPart
    from gitops_connect.report.change_document import json_lines

    if record.entries is not None:
        yield from runtime.ledger.operations.pieces(cluster, record.name, OffsetsPart.BEFORE)
    elif before := stood_before(runtime, cluster, record):
        yield json_lines(before).encode()


def _no_room(count: int) -> UsageError:
    return UsageError(f"{count:,} offsets do not fit into one document; write to a file with --out")


def what_next(made: ChangeDocument, out: Path | None, count: int) -> str:
    """The message after a document with `count` offsets was written."""
    where = f"Wrote {out}" if out is not None else "Printed the document"
    beside = f" and {made.manifest}" if made.manifest else ""
    needed = ", ".join(one.value for one in made.acknowledge)
    acknowledged = f", acknowledges {needed}" if needed else ""
    offsets = "1 offset" if count == 1 else f"{count:,} offsets"
    return (
        f"{where}{beside} ({made.kind.value}, {offsets}{acknowledged}). Nothing was changed on the cluster.\n"
        "Next: commit the document to the repository, review it with `gitops-connect plan`, and apply it."
    )


def find_change(runtime: Runtime, clusters: Sequence[ClusterName], name: str) -> tuple[ClusterName, OperationRecord]:
    """The change of that name. Raises UndoImpossible if there is none, UsageError if it is on several clusters."""
    from gitops_connect.model.suggestions import did_you_mean

    known = [(one, record) for one in clusters for record in runtime.ledger.operations.records(one).values()]
    found = [(one, record) for one, record in known if record.name == name]
    if len(found) > 1:
        raise UsageError(
            f"offset change {name} exists on {' and '.join(one for one, _ in found)}; choose one with --cluster"
        )
    if not found:
        meant = did_you_mean(name, {record.name for _, record in known})
        hint = "" if meant else "; run `gitops-connect ledger show` to list all"
        raise UndoImpossible(f"the ledger has no offset change {name!r}{meant}{hint}")
    return found[0]


def require_effect(record: OperationRecord) -> None:
    """Raise UndoImpossible if there is nothing to undo, or if the earlier offsets are unknown."""
    from gitops_connect.model.operations import NOTHING_SENT, OperationState

    if record.state in (OperationState.INTENDED, OperationState.FAILED):
        why = f" (it failed: {record.message})" if record.state is OperationState.FAILED else ""
        raise UndoImpossible(f"offset change {record.name} changed nothing{why}, so there is nothing to undo")
    if record.before is None and record.message == NOTHING_SENT:
        raise UndoImpossible(
            f"offset change {record.name} changed nothing ({NOTHING_SENT}), so there is nothing to undo"
        )
    if record.before is None:
        raise UndoImpossible(
            f"the offsets before {record.name} are unknown: it was not applied with this ledger, so they were not saved"
        )


def stood_before(runtime: Runtime, cluster: ClusterName, record: OperationRecord) -> Offsets:
    """The offsets before the change. Raises UndoImpossible if they were not saved."""
    snapshot = runtime.ledger.operations.snapshot(cluster, record.name)
    if snapshot is None:
        raise UndoImpossible(f"the offsets before {record.name} are unknown: the ledger has not saved them")
    return snapshot


def current_after(runtime: Runtime, cluster: ClusterName, record: OperationRecord, current: Offsets) -> Offsets:
    """The offsets at the time when the document is applied: a change in progress is finished first."""
    from gitops_connect.model.offsets import merged
    from gitops_connect.model.operations import OperationState
    from gitops_connect.plan.offset_review import effect_of

    if record.state is not OperationState.OPEN:
        return current
    echo(f"note: offset change {record.name} is in progress; the next apply finishes it first")
    operations = runtime.ledger.operations
    before = operations.snapshot(cluster, record.name) or {}
    return merged(current, effect_of(operations.saved(cluster, record.name), before))


def later_changes(runtime: Runtime, cluster: ClusterName, record: OperationRecord) -> list[OperationName]:
    """Later changes of the same connector that were applied, and that the document undoes, too."""
    from gitops_connect.model.operations import OperationState

    return [
        one.name
        for one in runtime.ledger.operations.records(cluster).values()
        if one.connector == record.connector and one.state is OperationState.SETTLED and one.since > record.since
    ]


def known_names(runtime: Runtime, cluster: ClusterName, declared: Declared | None) -> Set[OperationName]:
    """The names of all recorded and declared changes of that cluster."""
    written = declared.states[cluster].operations if declared is not None else ()
    return runtime.ledger.operations.records(cluster).keys() | {one.name for one in written}


def new_name(change: str, taken: Set[OperationName]) -> OperationName:
    """`undo-CHANGE`, with a number if the name is taken. Characters that a name must not contain become hyphens."""
    from gitops_connect.model.names import OperationName

    stem = "undo-" + re.sub(r"[^A-Za-z0-9._-]", "-", change)
    endings: Iterator[str] = chain([""], (f"-{number}" for number in count(2)))
    names = (OperationName(stem[: _LONGEST_NAME - len(ending)] + ending) for ending in endings)
    return next(name for name in names if name not in taken)


def document_for(
    name: OperationName, record: OperationRecord, before: Offsets, subject: ManifestSubject, settings: Settings
) -> ChangeDocument:
    """The document that restores the offsets `before`, with the acknowledgements that the current offsets require."""
    from gitops_connect.cli.manifest_checks import needed, review_of
    from gitops_connect.model.operations import OperationKind

    kind = OperationKind.REPLACE if before else OperationKind.RESET
    reviewed = review_of(subject, kind, before, settings)
    if not reviewed.patch:
        echo("note: the current offsets are the same already, so the document changes nothing")
    unread = any(one.unread for one in _verdicts(kind, before, subject))
    acknowledge = needed(reviewed.refusals, unread=unread)
    return replace(_document(name, record, subject, kind), offsets=before, acknowledge=acknowledge)


def _document(
    name: OperationName, record: OperationRecord, subject: ManifestSubject, kind: OperationKind
) -> ChangeDocument:
    """The document without its offsets."""
    from gitops_connect.model.revisions import origin
    from gitops_connect.report.change_document import ChangeDocument

    when = f"{record.since:%Y-%m-%d %H:%M:%S} UTC"
    reason = f"restores the offsets from before {record.name} ({when}, {origin(record.revision)})"
    return ChangeDocument(name, _cluster_of(subject), record.connector, kind, reason)


def _cluster_of(subject: ManifestSubject) -> ClusterName:
    if subject.cluster is None:
        raise UsageError("the cluster of the offset change is unknown")
    return subject.cluster


def _verdicts(kind: OperationKind, before: Offsets, subject: ManifestSubject) -> list[ManifestVerdict]:
    """The results of the rules: for the plan, which knows the current offsets, and for `validate`, which does not."""
    from gitops_connect.checks import small
    from gitops_connect.model.diagnostics import Location
    from gitops_connect.model.manifests import Manifest, ManifestEntry
    from gitops_connect.model.offsets import to_json
    from gitops_connect.model.operations import Acknowledgement

    if not before:
        return []
    place = Location("the document")
    manifest = Manifest(place, tuple(ManifestEntry(entry, place) for entry in to_json(before)))
    planned = subject.acknowledging(frozenset({Acknowledgement.UNREAD})).context
    verdicts = [small.check(manifest, context, kind) for context in (planned, replace(planned, current=None))]
    if wrong := next((one.diagnostics.errors for one in verdicts if one.errors), ()):
        echo(f"note: the document will be blocked: {wrong[0].summary} [{wrong[0].rule}]")
    return verdicts


def write(document: ChangeDocument, out: Path, *, force: bool) -> list[Path]:
    """Write the document, and next to it a manifest if it has many offsets. Raises UsageError; returns the paths."""
    from gitops_connect.report import change_document

    if change_document.fits(document.offsets):
        write_new(out, change_document.render(document), force=force)
        return [out]
    beside = out.with_suffix(".jsonl")
    document = replace(document, manifest=f"./{beside.name}")
    texts = {beside: change_document.json_lines(document.offsets), out: change_document.render(document)}
    for path, text in texts.items():
        write_new(path, text, force=force)
    return [out, beside]
