"""What is wrong with the exactly-once keys of one `Connector` document (KIP-618), as far as the document shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gitops_connect.documents.fields import CLASS, config_of, exactly_once_config
from gitops_connect.families.sinks import is_sink
from gitops_connect.model.client_servers import ADMIN_SERVERS, CONSUMER_SERVERS, has_other_admin
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.exactly_once import BOUNDARY, FIELDS, INTERVAL, OFFSETS_TOPIC, SUPPORT, WORDS
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


def check(document: Document) -> Iterator[Diagnostic]:
    fields, given = document.value["spec"].get("exactlyOnce", {}), config_of(document)
    for field, key in FIELDS.items():
        if field in fields and key in given:
            summary = f"spec.exactlyOnce.{field} and {key} of the config set the same key"
            hint = "remove it from the config"
            yield document.error("connector/exactly-once-conflict", summary, (*_CONFIG, key), hint)
    config = {CLASS: document.value["spec"].get("class", ""), **given, **exactly_once_config(fields)}
    yield from _values(document, config)
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
    rule = "connector/exactly-once-override"
    if INTERVAL in config and (boundary := config.get(BOUNDARY, "poll")).strip().lower() != "interval":
        summary = f"{INTERVAL} has no effect if {BOUNDARY} is {boundary!r}"
        yield _warning(document, rule, summary, INTERVAL, f"set {BOUNDARY} to interval, or remove the interval")
    for key, only in _ENFORCED.items() if SUPPORT in config else ():
        value = config.get(key)
        if value is not None and not is_reference(value) and value.strip().lower() != only:
            summary = f"{key} is {value!r}, but a worker with exactly-once support replaces this value"
            yield _warning(document, rule, summary, key, "remove it")


def _warning(document: Document, rule: str, summary: str, key: str, hint: str) -> Diagnostic:
    place = document.locate(_place(document, key))
    return Diagnostic(Severity.WARNING, rule, summary, place, hint, document.connector)


def _place(document: Document, key: str) -> Pointer:
    declared = ((*_FIELD, field) for field, one in FIELDS.items() if one == key)
    return next((one for one in declared if one in document.positions), (*_CONFIG, key))
