"""Writing current offsets to ConfigMaps, as annotations of Strimzi resources request it: once for each addition."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_connect.connect.capabilities import GET_OFFSETS
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.operations import Operation, OperationKind, OperationState
from gitops_connect.model.plans import Action, Step
from gitops_connect.model.strimzi import AnnotationAction, AnnotationWarning, RequestedListing, failed
from gitops_connect.plan.situation import Situation


def requested_listings(situation: Situation, desired: DesiredConnector) -> Iterator[Step]:
    """The listings of one connector that are due. A failed one is repeated in each reconciliation, as in Strimzi."""
    observed = situation.observed.connectors
    if desired.name not in observed or desired.name in situation.observed.unknown:
        return
    for one in situation.desired.listings:
        if one.connector == desired.name and not (_is_done(situation, one) or _problem(situation, one)):
            what = f"the current offsets are written to the entry {one.entry} of the ConfigMap {one.config_map}"
            declared = digest([one.connector, one.config_map, one.namespace, one.entry])
            operation = Operation(one.name, one.connector, OperationKind.LIST, declared, situation.revision)
            yield Step(one.connector, Action.LIST, what, operation=operation, listing=one)


def listing_warnings(situation: Situation) -> Iterator[AnnotationWarning]:
    """Why listings are not done, or failed."""
    for one in situation.desired.listings:
        if _is_done(situation, one):
            continue
        record, why = situation.offsets.records.get(one.name), _problem(situation, one)
        if not why and record is not None and record.state is OperationState.FAILED:
            why = f'"{record.message}"'
        if why:
            action, cluster = AnnotationAction.LIST, situation.desired.cluster
            yield AnnotationWarning(action, failed(action, one.connector, why), one.location, cluster, one.connector)


def _is_done(situation: Situation, one: RequestedListing) -> bool:
    record = situation.offsets.records.get(one.name)
    return record is not None and record.state is OperationState.SETTLED


def _problem(situation: Situation, one: RequestedListing) -> str:
    if one.problem:
        return one.problem
    if not GET_OFFSETS.is_in(situation.observed.version):
        return GET_OFFSETS.missing(situation.observed.version)
    if not situation.policy.lists_offsets:
        return "no destination for ConfigMaps in the settings: set [strimzi] output or output_branch"
    return ""
