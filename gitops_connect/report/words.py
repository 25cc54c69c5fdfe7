"""The words that all reports share: about steps and config keys, and about connectors that do not work.

They say what to do about such a connector, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote as url_quote

from gitops_connect.model.active_topics import TopicsReset
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.credentials import MASK
from gitops_connect.model.health import UnhealthyConnector
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ConnectorName, TopicName
from gitops_connect.model.outcomes import Result, SendingProgress, StepOutcome
from gitops_connect.model.plans import Action, Change, ConnectorPlan, Step
from gitops_connect.model.restart_records import RestartOutlook, RestartRecord
from gitops_connect.report.printable import LONGEST, Sentence, escaped, one_line, shortened

_TOPICS_SHOWN = 10
CHANGE_OFFSETS = (Action.ALTER, Action.RESET, Action.RECORD)
_SYMBOLS = {
    "create": Action.CREATE.symbol,
    "change": Action.CONFIGURE.symbol,
    "delete": Action.DELETE.symbol,
    "keep": Action.RECORD.symbol,
}


def kind(connector: ConnectorPlan) -> str:
    """`create`, `change`, `delete`, or `keep` if the connector does not change: the effect on it as a whole."""
    actions = {step.action for step in connector.steps}
    if actions <= {Action.ADOPT, Action.LIST, Action.RECORD}:
        return "keep"
    if Action.CREATE in actions:
        return "create"
    return "delete" if Action.DELETE in actions else "change"


def symbol(connector: ConnectorPlan) -> str:
    """The symbol of the connector as a whole: that of its only step, or of the effect of all steps."""
    if len(connector.steps) == 1:
        return connector.steps[0].action.symbol
    return _SYMBOLS[kind(connector)] if connector.steps else "="


def action(step: Step) -> str:
    """The action, with the state that a create requests."""
    return f"{step.action.value} ({step.initial_state.value})" if step.initial_state else step.action.value


def is_warned_of(outcome: StepOutcome) -> bool:
    """Whether a step took effect with a warning from Connect or from the cluster. A list says what it has written."""
    return outcome.result is Result.APPLIED and bool(outcome.message) and outcome.step.action is not Action.LIST


def sending_words(sending: SendingProgress) -> str:
    """How many offsets of a large change are sent, the rate, and the remaining time."""
    done = f"{sending.offset_change}: {sending.done:,} of {sending.entries:,} offsets sent"
    if sending.rate is None or sending.remaining is None:
        return done
    return f"{done}, {sending.rate:,.0f} per second, {sending.remaining:,.0f} s left"


def values(change: Change) -> str:
    """Before and after of one key, with their secrets masked."""
    before, after = change.shown_before, change.shown_after
    if before is None:
        return _shown(change, after)
    if after is None:
        return f"{_shown(change, before)} -> (none)"
    if change.sensitive and before == after == MASK:
        return f"{MASK} (before) -> {MASK} (after)"
    if before == after:
        return f"{quote(after)} (only the masked part changes)"
    return f"{_shown(change, before)} -> {_shown(change, after)}"


def _shown(change: Change, value: str | None) -> str:
    return MASK if change.sensitive and value == MASK else quote(value)


def effect_lines(step: Step) -> Iterator[str]:
    """The effects of a step on the delivery guarantee, on active topics, and on offsets that it does not change."""
    if step.delivery is not None:
        yield step.delivery.words
    for effect in step.offset_effects:
        yield f"offsets: {effect.message}"
        if effect.hint:
            yield f"  hint: {effect.hint}"
    if step.topics is not None:
        yield from _topic_lines(step.topics)


def _topic_lines(reset: TopicsReset) -> Iterator[str]:
    if reset.unread:
        yield f"topics: not known: {reset.unread}"
    elif reset.topics is not None:
        yield f"topics: forgets {_topic_names(reset.topics)}" if reset.topics else "topics: there are none"
    if reset.outdated:
        yield f"topics: its config does not read {_topic_names(reset.outdated)}"


def _topic_names(topics: Collection[TopicName]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - _TOPICS_SHOWN} more" if len(names) > _TOPICS_SHOWN else ""
    return ", ".join(names[:_TOPICS_SHOWN]) + more


def change_symbol(change: Change) -> str:
    """`+`, `-` or `~`."""
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def quote(value: str | None) -> str:
    """A value as JSON on one line; if it is very long, its end is replaced by its length."""
    text = escaped(json.dumps(value or "", ensure_ascii=False))
    if len(text) <= LONGEST:
        return text
    return f'{text[:LONGEST]}…" ({len(value or "")} characters)'


def hold_lines(connector: ConnectorPlan) -> Iterator[str]:
    """One line for each hold, and one for a suspension that holds nothing now."""
    yield from (one_line(one.words) for one in connector.holds)
    if connector.suspension is not None and not any(one.kind is HoldKind.SUSPENDED for one in connector.holds):
        yield one_line(connector.suspension.words)


def plural(count: int, noun: str) -> str:
    """`1 step`, `2,000 steps`."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


# Connectors that do not work

_REMEDY = "fix the cause, then run: {}"
_NAMED = 5
"""How many connectors a hint names."""


def connector_path(connector: str) -> str:
    """The path of the connector in Connect's REST API."""
    return f"/connectors/{url_quote(connector, safe='', errors='replace')}"


def problem_words(one: UnhealthyConnector) -> str:
    """The problems of the connector and its automatic restarts, on one line."""
    return "; ".join([*(shortened(one_line(problem)) for problem in one.problems), *restart_words(one.restarts)])


def restarted_words(count: int, last: datetime) -> str:
    """The automatic restarts of a connector."""
    times = "once" if count == 1 else f"{count} times"
    return f"restarted {times}, last at {last:%Y-%m-%d %H:%M:%S} UTC"


def restart_words(outlook: RestartOutlook | None) -> Iterator[str]:
    """What automatic restarts were done, and when the next one is due or why there is none."""
    if outlook is None:
        return
    if outlook.last is not None:
        yield restarted_words(outlook.count, outlook.last)
    if outlook.why_not:
        yield f"no automatic restart: {one_line(outlook.why_not)}"
    elif outlook.last is not None and outlook.next is not None:
        yield f"next automatic restart ({outlook.count + 1} of {outlook.limit}) at {outlook.next:%H:%M:%S} UTC"


def _restart(name: str) -> str:
    return command_line("restart connector", name, "--failed")


def remedy(one: UnhealthyConnector) -> str:
    """How to fix failed parts: advice about known failures, and the command that restarts the parts."""
    return "; ".join([*one.advice, _REMEDY.format(_restart(one.name))])


def unhealthy_lines(unhealthy: Sequence[UnhealthyConnector]) -> Iterator[Sentence]:
    """A line for each connector, and a line with the fix."""
    for one in unhealthy:
        yield Sentence.of("unhealthy: {}: {}", one.name, problem_words(one))
    yield from hints(unhealthy)


def hints(unhealthy: Collection[UnhealthyConnector]) -> Iterator[Sentence]:
    """How to fix everything that has FAILED: a line for each known failure, and one for all; nothing if none has."""
    affected: dict[str, list[str]] = {}
    for one in unhealthy:
        for advice in one.advice:
            affected.setdefault(advice, []).append(one.name)
    for advice, names in affected.items():
        more = (plural(len(names) - _NAMED, "more connector"),) if len(names) > _NAMED else ()
        yield Sentence.joined([Sentence.of("hint: {}:", (*names[:_NAMED], *more)), Sentence.of(advice)])
    failed = [one.name for one in unhealthy if one.failures]
    if failed:
        yield Sentence.of(f"hint: {_REMEDY}", _restart(failed[0] if len(failed) == 1 else "NAME"))


def unhealthy_sentence(count: int) -> Iterator[str]:
    """The last sentence of a summary; nothing if all connectors work."""
    if count:
        yield "1 connector is unhealthy." if count == 1 else f"{count} connectors are unhealthy."


def time_value(when: datetime | None) -> str | None:
    """ISO 8601 in UTC, in seconds."""
    return None if when is None else when.isoformat(timespec="seconds")


def unhealthy_value(one: UnhealthyConnector) -> dict[str, Any]:
    """The connector as a JSON value, with the request that restarts only what has failed (KIP-745, Kafka 3.0)."""
    outlook = one.restarts
    restart = f"POST {connector_path(one.name)}/restart?includeTasks=true&onlyFailed=true"
    return {
        "connector": one.name,
        "failures": [{"task": failure.task, "reason": failure.reason} for failure in one.failures],
        "no_tasks": one.no_tasks or None,
        "restart": restart if one.failures else None,
        "automatic_restarts": None
        if outlook is None
        else {
            "count": outlook.count,
            "limit": outlook.limit,
            "last": time_value(outlook.last),
            "next": time_value(outlook.next),
            "why_not": outlook.why_not or None,
        },
    }


def auto_restart_status(name: ConnectorName, record: RestartRecord | None) -> dict[str, Any] | None:
    """The automatic restarts in the words of Strimzi's status (proposal 007); None if there were none."""
    if record is None:
        return None
    last = record.last.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"count": record.count, "connectorName": name, "lastRestartTimestamp": last}


def left_stopped(connector: ConnectorName, worker_url: str) -> str:
    """What to do about a connector that stays stopped. `worker_url` is the address of any of its workers."""
    resume = f"{worker_url.rstrip('/')}{connector_path(connector)}/resume"
    return (
        f"connector {connector} is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        f" curl -X PUT {resume}"
    )
