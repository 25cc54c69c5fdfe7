"""The fields of each log event. Every test of the process in which it logs holds the product to them."""

from __future__ import annotations

import logging
from pathlib import Path

import gitops_connect

PACKAGE = f"{Path(gitops_connect.__file__).parent}/"
LOGGER = logging.getLogger("gitops_connect")

STEP = "cluster revision connector action reason seconds step? offset_change? restart? topics? message?"
COUNTS = "planned applied unconfirmed failed skipped drifted blocked unhealthy errors interrupted seconds"

FIELDS = {
    "daemon_started": "version clusters",
    "daemon_stopping": "in_progress",
    "daemon_stopped": "",
    "leader_elected": "number",
    "leader_followed": "message",
    "leader_lost": "reason message",
    "leader_unknown": "reason message",
    "settings_reloaded": "changed",
    "settings_need_restart": "settings",
    "settings_rejected": "reason message",
    "step_abandoned": "cluster connector action reason message offset_change?",
    "connector_left_stopped": "cluster connector message",
    "traces_not_exported": "message",
    "notification_failed": "reason message",
    "bug": "reason cluster? connector? location? action? job? revision? retry_in?",
    "old_offsets_removed": "cluster offset_changes",
    "old_steps_removed": "steps",
    "clean_up_failed": "reason message",
    "server_started": "url",
    "webhook_received": "provider message",
    "webhook_rejected": "provider message not_logged?",
    "pull_request_reviewed": "pull_request commit planned errors digest?",
    "changes_not_reviewed": "pull_request blocked",
    "plan_approved": "pull_request author digest",
    "approval_rejected": "pull_request author digest message",
    "approval_revoked": "pull_request author digest",
    "reaction_failed": "pull_request reason message",
    "command_rejected": "pull_request author message",
    "review_failed": "message",
    "revision_changed": "revision documents errors before?",
    "history_rewritten": "revision before",
    "repository_unreachable": "reason message enforced?",
    "repository_recovered": "revision",
    "diagnostic": "location rule message cluster? connector? hint?",
    "reconciliation_finished": f"cluster revision {COUNTS}",
    "reconciliation_failed": "cluster revision reason message retry_in?",
    "reconciliation_recovered": "cluster revision",
    "reconciliation_postponed": "cluster reason message",
    "step_applied": STEP,
    "step_unconfirmed": STEP,
    "step_failed": STEP,
    "step_skipped": STEP,
    "offsets_sent": "cluster revision connector offset_change done entries rate? remaining?",
    "lag_unknown": "cluster message",
    "drift_corrected": "cluster connector message",
    "drift_detected": "cluster connector message",
    "note": "cluster message connector? connectors?",
    "connector_unhealthy": "cluster connector message hint?",
    "connector_recovered": "cluster connector",
    "config_rolled_back": "cluster connector revision keys message",
    "unexpected_topics": "cluster connector message",
    "topic_added": "cluster connector topic since",
    "topic_removed": "cluster connector topic since",
    "connector_given_up": "cluster connector message hint",
    "rollout_stopped": "cluster message hint",
    "rollout_continued": "cluster",
    "connector_suspended": "cluster connector message",
    "connector_resumed": "cluster connector",
    "cluster_suspended": "cluster message",
    "cluster_resumed": "cluster",
}
"""The fields that each event has, by its name. A field with `?` may be without a value."""


_KNOWN = {
    event: (
        {name for name in fields.split() if not name.endswith("?")},
        {name.rstrip("?") for name in fields.split()},
    )
    for event, fields in FIELDS.items()
}


def violation(record: logging.LogRecord) -> str:
    """What is wrong with the fields of an event; empty if nothing is, and for what is no event of the product."""
    fields = getattr(record, "fields", None)
    if record.name != LOGGER.name or fields is None or not record.pathname.startswith(PACKAGE):
        return ""  # a message of a library, or an event that a test has made up
    event = record.getMessage()
    if event not in _KNOWN:
        return f"{event} is not in the table of tests/support/log_events.py"
    required, allowed = _KNOWN[event]
    empty, more = [name for name in required if fields.get(name) in (None, "")], fields.keys() - allowed
    return f"{event} has no {sorted(empty)}, and the unexpected {sorted(more)}: {fields}" if empty or more else ""


class LogChecker(logging.Handler):
    """Collects the log events whose fields are not those of the table."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.violations: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if found := violation(record):
            self.violations.append(found)
