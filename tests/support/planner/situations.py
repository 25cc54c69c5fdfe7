"""Builders of planner input: a test gives the few values that it needs, and the rest has defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gitops_connect.connect.wire import parse_version
from gitops_connect.model.desired import (
    DesiredConnector,
    DesiredOffsetChange,
    DesiredState,
    Mode,
    SecretReference,
    SecretSource,
    TargetState,
)
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document
from gitops_connect.model.exactly_once import ExactlyOnceSupport
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.observed_state import (
    ConnectorType,
    ObservedConnector,
    ObservedState,
    TaskStatus,
    WorkerState,
)
from gitops_connect.model.offset_changes import (
    Acknowledgement,
    OffsetChange,
    OffsetChangeKind,
    OffsetChangeRecord,
    OffsetChangeState,
)
from gitops_connect.model.offsets import OffsetPatch, Offsets, offset_text, partition_text
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.model.plans import ConnectorPlan, Plan
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS
from gitops_connect.plan.reviewed import reviewed_plan
from gitops_connect.plan.situation import Policy, Situation

CLUSTER = ClusterName("local")
REVISION = Revision("1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d")
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
KEY = b"0123456789abcdef"
CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
DOCUMENT = Document(Location("clusters/local/connectors.yaml"), {}, {})


def wanted(
    name: str, state: str = "running", *, config: Mapping[str, str] | None = None, **more: Any
) -> DesiredConnector:
    secrets = {key: SecretReference(SecretSource.ENV, key.upper()) for key in more.pop("secrets", ())}
    return DesiredConnector(
        ConnectorName(name),
        TargetState(state),
        full(config),
        DOCUMENT,
        secrets=secrets,
        ignore=tuple(more.pop("ignore", ())),
        mode=Mode(more.pop("mode", "enforce")),
        **more,
    )


def seen(
    name: str,
    state: str = "RUNNING",
    *,
    config: Mapping[str, str] | None = None,
    trace: str = "",
    tasks: Iterable[str] | None = None,
) -> ObservedConnector:
    """`tasks`: for each RUNNING, UNASSIGNED, or the trace of a FAILED task; None: one, if the connector is RUNNING."""
    if tasks is None:
        tasks = ["RUNNING"] if state == "RUNNING" else []
    worker = "127.0.0.1:8083"
    made = tuple(
        TaskStatus(number, WorkerState(task), worker)
        if task in ("RUNNING", "UNASSIGNED")
        else TaskStatus(number, WorkerState.FAILED, worker, task)
        for number, task in enumerate(tasks)
    )
    return ObservedConnector(
        ConnectorName(name), ConnectorType.SOURCE, WorkerState(state), worker, full(config), made, trace
    )


def current_offsets(**positions: int) -> Offsets:
    """Offsets of FileStreamSource: `current_offsets(a=20)` is position 20 of the file a."""
    return {
        partition_text({"filename": name}): offset_text({"position": position}) for name, position in positions.items()
    }


def offsets_to(**positions: int | None) -> OffsetPatch:
    """A change to these positions; None removes the offset of the file."""
    return {
        partition_text({"filename": name}): None if position is None else offset_text({"position": position})
        for name, position in positions.items()
    }


def change(
    name: str, connector: str, kind: str = "alter", *, acknowledge: Iterable[str] = (), digest: str = "d1"
) -> DesiredOffsetChange:
    """A change whose manifest is in its document; the situation contains the declared offsets."""
    manifest = None if kind == "reset" else Manifest(DOCUMENT.location)
    return DesiredOffsetChange(
        OffsetChangeName(name),
        ConnectorName(connector),
        OffsetChangeKind(kind),
        Digest(digest),
        DOCUMENT,
        ("spec",),
        manifest,
        frozenset(map(Acknowledgement, acknowledge)),
    )


def record(one: DesiredOffsetChange | OffsetChange, state: str, **more: Any) -> OffsetChangeRecord:
    """The ledger's record of a change."""
    lacks = frozenset(map(Acknowledgement, more.pop("lacks", ())))
    values = {"digest": one.digest, "revision": REVISION, "since": NOW, "lacks": lacks, **more}
    return OffsetChangeRecord(one.name, one.connector, one.kind, OffsetChangeState(state), **values)


def full(config: Mapping[str, str] | None) -> dict[str, str]:
    return {"connector.class": CLASS, "tasks.max": "1", **(config or {})}


def situation(
    desired: Iterable[DesiredConnector] = (),
    observed: Iterable[ObservedConnector] = (),
    *,
    owned: Iterable[str] = (),
    version: str = "4.3.1",
    policy: Policy | None = None,
    **more: Any,
) -> Situation:
    held, complete = frozenset(more.pop("held", ())), more.pop("complete", True)
    unknown = frozenset(more.pop("unknown", ()))
    support = ExactlyOnceSupport(more.pop("exactly_once", "unknown"))
    there = {one.name: one for one in observed}
    return Situation(
        REVISION,
        DesiredState(
            CLUSTER,
            tuple(sorted(desired, key=lambda one: one.name)),
            held,
            complete,
            tuple(sorted(more.pop("changes", ()), key=lambda one: one.name)),
        ),
        ObservedState(CLUSTER, parse_version(version), there, unknown, exactly_once=support),
        more.pop("now", NOW),
        policy or Policy(),
        {ConnectorName(name): Ownership(CLUSTER, ConnectorName(name), Origin.CREATED, REVISION, NOW) for name in owned},
        key=KEY,
        **more,
    )


def situation_of(given: Mapping[str, Any]) -> Situation:
    """The situation that a table describes: `desired` and `observed` are the fields of each connector."""
    more = {**given, "policy": Policy(**given.get("policy", {})), "invalid": frozenset(given.get("invalid", ()))}
    desired = [wanted(name, **(fields or {})) for name, fields in more.pop("desired", {}).items()]
    observed = [seen(name, **(fields or {})) for name, fields in more.pop("observed", {}).items()]
    return situation(desired, observed, **more)


def as_observed(desired: DesiredConnector) -> ObservedConnector:
    """The connector as Connect reports it when it is in sync."""
    return replace(seen(desired.name, desired.state.value.upper()), config=dict(desired.config))


def skipping(most: int) -> Policy:
    """A policy that allows to skip `most` of every unit without an acknowledgement."""
    return Policy(max_skip=dict.fromkeys(DEFAULT_SKIP_LIMITS, most))


def said(planned: ConnectorPlan) -> tuple[str, ...]:
    """What a plan says of a connector besides its steps."""
    return (*(one.words for one in planned.holds), *planned.notes)


def digest_of(plans: Iterable[Plan]) -> Digest:
    """The digest of a review of these plans."""
    return reviewed_plan(7, REVISION, plans).digest
