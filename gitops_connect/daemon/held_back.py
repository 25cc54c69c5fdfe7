"""What the daemon leaves unchanged on purpose: log events when a suspension begins and ends, and for observed drift."""

from __future__ import annotations

import logging

from gitops_connect.daemon.events import NewItems, say
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.outcomes import ReconciliationOutcome
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.report.words import suspended_lines


class HeldBack:
    """The suspensions and the drift of one cluster that were already logged: each is logged once."""

    def __init__(self) -> None:
        self._cluster_is_suspended = False
        self._suspended: frozenset[ConnectorName] = frozenset()
        self._drifted = NewItems()

    def log(self, outcome: ReconciliationOutcome) -> None:
        """Log what began and ended since the last reconciliation."""
        self._log_cluster(outcome)
        self._log_connectors(outcome)
        drifted = [(one.name, _steps(one)) for one in outcome.plan.connectors if one.drifted and not one.applicable]
        for name, steps in self._drifted.of(drifted):
            say(
                logging.WARNING,
                "drift_detected",
                cluster=outcome.cluster,
                connector=name,
                message=f"not corrected: {steps}",
            )

    def _log_cluster(self, outcome: ReconciliationOutcome) -> None:
        suspension, before = outcome.plan.suspension, self._cluster_is_suspended
        self._cluster_is_suspended = suspension is not None
        if suspension is not None and not before:
            say(logging.WARNING, "cluster_suspended", cluster=outcome.cluster, message=f"suspended {suspension.origin}")
        elif suspension is None and before:
            say(logging.INFO, "cluster_resumed", cluster=outcome.cluster)

    def _log_connectors(self, outcome: ReconciliationOutcome) -> None:
        """A connector whose document has errors keeps its state: it is unknown whether the document suspends it."""
        connectors = outcome.plan.connectors
        suspended = {one.name: one for one in connectors if one.suspension and not one.suspension.whole_cluster}
        unknown = {one.connector for one in outcome.diagnostics.errors}
        before, self._suspended = self._suspended, frozenset({*suspended, *(self._suspended & unknown)})
        for name in sorted(self._suspended - before):
            message = " ".join(suspended_lines(suspended[name]))
            say(logging.WARNING, "connector_suspended", cluster=outcome.cluster, connector=name, message=message)
        for name in sorted(before - self._suspended):
            say(logging.INFO, "connector_resumed", cluster=outcome.cluster, connector=name)


def _steps(connector: ConnectorPlan) -> str:
    return ", ".join(f"{step.action.value} ({step.reason})" for step in connector.steps)
