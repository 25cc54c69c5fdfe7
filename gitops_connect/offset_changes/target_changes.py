"""Resolves the targets of due offset changes for a plan, and reads what the brokers say of the other ones."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from gitops_connect.documents.load import read_file
from gitops_connect.errors import GitopsConnectError
from gitops_connect.families.shapes import Shape
from gitops_connect.model.canonical import canonical
from gitops_connect.model.desired import DesiredConnector, DesiredOffsetChange
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.differences import Move
from gitops_connect.model.documents import Blob, Document, Pointer
from gitops_connect.model.manifests import Manifest, ManifestEntry
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_targets import OffsetTargets, PositionKind
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.offset_changes.kafka_positions import WAIT, ConnectorLog, KafkaReads, NoLog
from gitops_connect.plan.offset_review import find_difference
from gitops_connect.plan.situation import ResolvedTargets, Situation
from gitops_connect.plan.target_resolution import Resolution, words
from gitops_connect.source.checkout import Checkout

_AFTER_MERGE = (
    "the targets are resolved after the merge: only the pull request says which topics the connector reads; to see"
    " their effect before, change the topics first"
)


@dataclass(slots=True)
class TargetChanges:
    """The changes of one plan whose offsets are positions in Kafka. `logs` are those of their connectors.

    A document that is not merged does not decide which topics are read: None is the log of its connector, if the
    connector does not read these topics yet.
    """

    reads: KafkaReads
    checkout: Checkout
    situation: Situation
    logs: dict[ConnectorName, ConnectorLog | NoLog | None] = field(default_factory=dict)
    resolved: dict[OffsetChangeName, ResolvedTargets] = field(default_factory=dict)

    def read(self, offset_changes: Iterable[DesiredOffsetChange]) -> None:
        """Read the partitions of their connectors, and add the records that exist in them to the situation."""
        shapes = dict(self.situation.offsets.shapes)
        of_connectors = defaultdict[ConnectorName, list[DesiredOffsetChange]](list)
        for one in offset_changes:
            if one.manifest is not None:  # a reset needs no broker
                of_connectors[one.connector].append(one)
        for name, some in of_connectors.items():
            has_targets = any(isinstance(one.manifest, OffsetTargets) for one in some)
            shape = shapes.get(name)
            if not has_targets and (shape is None or shape.log is None):
                continue
            log = self.logs[name] = self._log(self.situation.desired.by_name[name], shape)
            if shape is not None and isinstance(log, ConnectorLog):
                shapes[name] = replace(shape, logs=log.facts)
        self.situation = replace(self.situation, offsets=replace(self.situation.offsets, shapes=shapes))

    def _log(self, connector: DesiredConnector, shape: Shape | None) -> ConnectorLog | NoLog | None:
        if self.situation.untrusted and shape is not None:
            observed = self.situation.observed.connectors.get(connector.name)
            if observed is None or _what_is_read(shape, observed.config) != _what_is_read(shape, connector.config):
                return None
        try:
            return self.reads.log(shape, connector.config, self._current(connector.name))
        except NoLog as error:
            return error

    def resolve(self, offset_change: DesiredOffsetChange) -> DesiredOffsetChange | Diagnostic | None:
        """The change with its offsets; an error if its targets cannot be resolved, or the brokers do not answer.

        None: the targets are resolved after the merge.
        """
        targets = offset_change.manifest
        place = targets.location if isinstance(targets, OffsetTargets) else offset_change.locate()
        try:
            log = self.logs.get(offset_change.connector) if targets is not None else None
            if isinstance(log, NoLog) and (log.is_configured or isinstance(targets, OffsetTargets)):
                raise log
            if not isinstance(targets, OffsetTargets):
                return offset_change
            if not isinstance(log, ConnectorLog):
                now = self.situation.now
                self.resolved[offset_change.name] = ResolvedTargets((), (_AFTER_MERGE,), now)
                return None
            return self._resolved(offset_change, targets, log)
        except NoLog as error:
            return _problem(offset_change, place, "offsets/kafka", str(error), error.hint)
        except GitopsConnectError as error:
            return _problem(offset_change, place, "offsets/kafka", str(error), WAIT)

    def _resolved(
        self, offset_change: DesiredOffsetChange, targets: OffsetTargets, log: ConnectorLog
    ) -> DesiredOffsetChange | Diagnostic:
        if offset_change.connector in self.situation.offsets.large_current:
            why = "its connector has too many offsets for targets"
            return _problem(offset_change, targets.location, "offsets/target", why, "write the offsets in a manifest")
        current = self._current(offset_change.connector)
        committed = commit_time(self.checkout, offset_change, targets, self.situation.now)
        if committed is None:
            why = "the commit that added the document is too far back in the history to count from it"
            return _problem(offset_change, targets.location, "offsets/target", why, "use time instead of ago")
        resolution = log.resolve(targets, current, committed)
        for one in resolution.problems[:1]:
            more = f"; {len(resolution.problems) - 1:,} more problems" if len(resolution.problems) > 1 else ""
            return _problem(offset_change, one.location, "offsets/target", one.summary + more, one.hint)
        shown = tuple(words(targets, committed, is_committed=self.checkout.history is not None))
        self.resolved[offset_change.name] = ResolvedTargets(shown, resolution.notes, committed)
        entries = tuple(_entries(targets, log, resolution, current))
        return replace(offset_change, manifest=Manifest(targets.location, entries))

    def with_times(
        self, offset_changes: Iterable[DesiredOffsetChange], offsets: Mapping[OffsetChangeName, OffsetPatch | None]
    ) -> Situation:
        """The situation with the times of the records at the positions that these changes move most."""
        situation, shapes = self.situation, dict(self.situation.offsets.shapes)
        moves = defaultdict[ConnectorName, list[Move]](list)
        for one in offset_changes:
            if (patch := offsets.get(one.name)) is not None:
                difference = find_difference(self._current(one.connector), patch, shapes.get(one.connector))
                moves[one.connector] += difference.moves
        for name, log in self.logs.items():
            if isinstance(log, ConnectorLog):
                shapes[name] = log.shape_for(moves[name])
        return replace(situation, offsets=replace(situation.offsets, shapes=shapes, resolved=self.resolved))

    def _current(self, name: ConnectorName) -> Offsets:
        return self.situation.offsets.current.get(name, {})


def _what_is_read(shape: Shape, config: Mapping[str, str]) -> object:
    servers = shape.log.bootstrap_servers(config) if shape.log is not None else ""
    return servers, config.get("connector.class"), shape.ties(config)


def _problem(offset_change: DesiredOffsetChange, place: Location, rule: str, why: str, hint: str) -> Diagnostic:
    summary = f"offset change {offset_change.name}: {why}"
    return Diagnostic(Severity.ERROR, rule, summary, place, hint, offset_change.connector)


def _entries(
    targets: OffsetTargets, log: ConnectorLog, resolution: Resolution, current: Offsets
) -> Iterator[ManifestEntry]:
    """The resolved offsets, each at the place of its target, to be checked as if someone had written them."""
    partitions = {text: partition for partition, text in log.texts.items()}
    for text, offset in log.offsets(resolution, current).items():
        value = {"partition": json.loads(text), "offset": None if offset is None else json.loads(offset)}
        yield ManifestEntry(value, targets.of(partitions[text])[0].location)


def commit_time(
    checkout: Checkout, offset_change: DesiredOffsetChange, targets: OffsetTargets, now: datetime
) -> datetime | None:
    """When the commit was made that added the targets to their file. `now` if nothing depends on it, or without Git.

    None: the commit is not in the history, or too far back. Raises what the source raises.
    """
    if checkout.history is None or all(one.kind is not PositionKind.AGO for one in targets.targets):
        return now
    document, pointer = offset_change.document, offset_change.pointer
    wanted = canonical(_targets_in(document, pointer)), document.value.get("kind"), offset_change.connector

    def is_in(blob: Blob) -> bool:
        file = read_file(blob)
        return file is not None and any(_declares(one, pointer, *wanted) for one in file.documents)

    commit = checkout.history.added(document.location.file, (pointer, *wanted), is_in)
    return None if commit is None else checkout.history.committed(commit)


def _declares(document: Document, pointer: Pointer, targets: bytes, kind: object, connector: ConnectorName) -> bool:
    if document.value.get("kind") != kind or connector not in _connectors(document):
        return False
    try:
        return canonical(_targets_in(document, pointer)) == targets
    except (TypeError, ValueError):  # a version of the file with other values
        return False


def _connectors(document: Document) -> Collection[object]:
    listed = document.section("spec").get("connectors")
    return listed if isinstance(listed, list) else [document.connector]


def _targets_in(document: Document, pointer: Pointer) -> object:
    value: object = document.value
    for step in (*pointer, "to"):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
