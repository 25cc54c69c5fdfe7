"""What is wrong with the exactly-once keys of one `Connector` document (KIP-618), as far as the document shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from gitops_connect.documents.fields import CLASS, config_of, exactly_once_config
from gitops_connect.families.family import class_names
from gitops_connect.families.mirror_maker_2 import SOURCE_CLASS
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.sinks import is_sink
from gitops_connect.model.client_servers import ADMIN_SERVERS, CONSUMER_SERVERS, has_other_admin
from gitops_connect.model.desired import DesiredConnector, DesiredState, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.exactly_once import (
    BOUNDARY,
    FIELDS,
    INTERVAL,
    OFFSETS_TOPIC,
    SUPPORT,
    WORDS,
    requires_exactly_once,
)
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.sensitivity import is_reference

_FIELD, _CONFIG = ("spec", "exactlyOnce"), ("spec", "config")
_MILLISECONDS = re.compile(r"\s*\+?[0-9]{1,18}\s*")
_ENFORCED = {
    "producer.override.transactional.id": None,
    "producer.override.enable.idempotence": "true",
    "consumer.override.isolation.level": "read_committed",
}
"""Client settings that a worker with exactly-once support replaces (`Worker.exactlyOnceSourceTaskProducerConfigs` and
`exactlyOnceSourceOffsetsConsumerConfigs`), and the only value that agrees with it."""

_SOURCE_ISOLATION = ("source.consumer.isolation.level", "consumer.isolation.level")
"""The first one that a mirror's config has counts (`MirrorSourceConfig.sourceConsumerConfig`)."""


def check(document: Document) -> Iterator[Diagnostic]:
    fields, given = document.value["spec"].get("exactlyOnce", {}), config_of(document)
    for field, key in FIELDS.items():
        if field in fields and key in given:
            summary = f"spec.exactlyOnce.{field} and {key} of the config set the same key"
            hint = "remove it from the config"
            yield document.error("connector/exactly-once-conflict", summary, (*_CONFIG, key), hint)
    config = {CLASS: document.value["spec"].get("class", ""), **given, **exactly_once_config(fields)}
    yield from _values(document, config)
    if requires_exactly_once(config) and document.value["spec"].get("acknowledge"):
        summary = "the document acknowledges a weaker delivery guarantee, and requires exactly-once"
        place, hint = document.locate(("spec", "acknowledge")), "remove it: a later change must be acknowledged, too"
        rule = "connector/early-acknowledgement"
        yield Diagnostic(Severity.WARNING, rule, summary, place, hint, document.connector)
    if is_sink(config):
        yield from _of_sink(document, config, is_declared=bool(fields))
    else:
        yield from _of_source(document, config)


def _values(document: Document, config: Mapping[str, str]) -> Iterator[Diagnostic]:
    for key, expected in {**WORDS, INTERVAL: ("a number of milliseconds",), OFFSETS_TOPIC: ("a topic",)}.items():
        value = config.get(key)
        if value is None or is_reference(value) or _is_valid(key, value):
            continue
        summary = f"{key} is {value!r}, expected {' or '.join(expected)}"
        yield document.error("connector/exactly-once-value", summary, _place(document, key))


def _is_valid(key: str, value: str) -> bool:
    if key in WORDS:
        return value.strip().lower() in WORDS[key]
    return bool(_MILLISECONDS.fullmatch(value)) if key == INTERVAL else bool(value)


def _of_sink(document: Document, config: Mapping[str, str], *, is_declared: bool) -> Iterator[Diagnostic]:
    isolation = "consumer.override.isolation.level: read_committed"
    hint = f"remove it; if the sink should not read records of aborted transactions, set {isolation}"
    if has_other_admin(config):
        summary = f"{CONSUMER_SERVERS} names another Kafka cluster than {ADMIN_SERVERS}, so that Connect"
        effect = "shows and changes the sink's offsets in the wrong one"
        same = "set both to the same value"
        yield _warning(document, "connector/admin-cluster", f"{summary} {effect}", CONSUMER_SERVERS, same)
    if is_declared:
        summary = "spec.exactlyOnce is for sources, and this connector is a sink"
        yield document.error("connector/exactly-once-sink", summary, _FIELD, hint)
        return
    for key in FIELDS.values():
        if key in config:
            yield _warning(document, "connector/exactly-once-sink", f"{key} has no effect on a sink", key, hint)


def _of_source(document: Document, config: Mapping[str, str]) -> Iterator[Diagnostic]:
    yield from _of_mirror(document, config)
    rule = "connector/exactly-once-override"
    if INTERVAL in config and (boundary := config.get(BOUNDARY, "poll")).strip().lower() != "interval":
        summary = f"{INTERVAL} has no effect if {BOUNDARY} is {boundary!r}"
        yield _warning(document, rule, summary, INTERVAL, f"set {BOUNDARY} to interval, or remove the interval")
    for key, only in _ENFORCED.items() if SUPPORT in config else ():
        value = config.get(key)
        if value is not None and not is_reference(value) and value.strip().lower() != only:
            summary = f"{key} is {value!r}, but a worker with exactly-once support replaces this value"
            yield _warning(document, rule, summary, key, "remove it")


def _of_mirror(document: Document, config: Mapping[str, str]) -> Iterator[Diagnostic]:
    """`MirrorSourceConnector.exactlyOnceSupport`. Without it, a mirror also copies records of aborted transactions."""
    if SUPPORT not in config or config[CLASS] not in class_names(SOURCE_CLASS):
        return
    key, best = next((one for one in _SOURCE_ISOLATION if one in config), SUPPORT), _SOURCE_ISOLATION[0]
    level = config[key] if key != SUPPORT else ""
    if level == "read_committed" or is_reference(level):
        return
    found = f"{key} is {level!r}" if key != SUPPORT else f"{best} is not set"
    summary = f"{found}, expected 'read_committed': otherwise MirrorMaker does not support exactly-once"
    severity = Severity.ERROR if requires_exactly_once(config) else Severity.WARNING
    place, hint = document.locate(_place(document, key)), f"set {best} to read_committed"
    yield Diagnostic(severity, "connector/mirror-isolation", summary, place, hint, document.connector)


States = Mapping[ClusterName, DesiredState]


def enforce(states: States, required: Mapping[ClusterName, Sequence[str]]) -> tuple[States, Diagnostics]:
    """The states without the sources that must require exactly-once, by globs for each cluster, and do not; errors."""
    found, problems = dict(states), list[Diagnostic]()
    for cluster, globs in required.items():
        if not globs or cluster not in states:
            continue
        state, wrong = states[cluster], dict[ConnectorName, DesiredConnector]()
        for one in state.connectors:
            glob = next((glob for glob in globs if fnmatchcase(one.name, glob)), None)
            if glob is None or one.state is TargetState.ABSENT or BUILT_IN.is_sink(one.config):
                continue
            is_ignored = any(fnmatchcase(SUPPORT, pattern) for pattern in one.ignore)
            if is_ignored or not requires_exactly_once(one.config):
                wrong[one.name] = one
                problems.append(_not_required(one, cluster, glob, is_ignored=is_ignored))
        found[cluster] = replace(
            state,
            connectors=tuple(one for one in state.connectors if one.name not in wrong),
            held=state.held | wrong.keys(),
            held_secrets={
                **state.held_secrets,
                **{name: frozenset(one.secrets.items()) for name, one in wrong.items() if one.secrets},
            },
        )
    return found, Diagnostics.of(problems)


def _not_required(one: DesiredConnector, cluster: ClusterName, glob: str, *, is_ignored: bool) -> Diagnostic:
    setting = f"[clusters.{cluster}] require_exactly_once has {glob!r}"
    summary = f"the source {one.name!r} must have {SUPPORT}: required, because {setting}"
    where = "the config" if one.document.resource is not None else "spec.exactlyOnce.support or the config"
    hint = f"remove {SUPPORT} from spec.ignore" if is_ignored else f"set {SUPPORT} to required in {where}"
    place = one.locate(("spec", "ignore")) if is_ignored else one.locate_config(SUPPORT)
    return Diagnostic(Severity.ERROR, "connector/exactly-once-required", summary, place, hint, one.name)


def _warning(document: Document, rule: str, summary: str, key: str, hint: str) -> Diagnostic:
    place = document.locate(_place(document, key))
    return Diagnostic(Severity.WARNING, rule, summary, place, hint, document.connector)


def _place(document: Document, key: str) -> Pointer:
    declared = ((*_FIELD, field) for field, one in FIELDS.items() if one == key)
    return next((one for one in declared if one in document.positions), (*_CONFIG, key))
