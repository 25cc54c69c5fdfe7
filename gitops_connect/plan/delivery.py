"""The delivery guarantees of sources (KIP-618): what weakens them, and who does not benefit from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_connect.families.kafka_use import renaming_transform
from gitops_connect.families.sinks import topics_read
from gitops_connect.families.ties import SINK_TOPIC, translate
from gitops_connect.model.desired import ACKNOWLEDGE, DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.exactly_once import (
    SUPPORT,
    Delivery,
    DeliveryChange,
    ExactlyOnceSupport,
    delivery,
    requires_exactly_once,
)
from gitops_connect.model.hold import Hold, HoldKind
from gitops_connect.model.observed_state import ConnectorType, ObservedConnector
from gitops_connect.model.plans import ConnectorPlan
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.plan.situation import Situation
from gitops_connect.plan.topics import named

Config = Mapping[str, str]
_ISOLATION = "consumer.override.isolation.level"


def delivery_change(
    situation: Situation, observed: ObservedConnector, config: Config, *, is_declared: bool
) -> DeliveryChange | None:
    """What another config means for the guarantee of an existing source; None if the guarantee stays."""
    if observed.type is not ConnectorType.SOURCE:
        return None
    before, after = (delivery(one, situation.exactly_once) for one in (observed.config, config))
    return None if before is after else DeliveryChange(before, after, is_declared)


def unacknowledged(declared: DesiredConnector, planned: ConnectorPlan) -> Hold | None:
    """The hold of a config that weakens the guarantee although the document does not acknowledge that."""
    changes = (step.delivery for step in planned.steps if step.delivery is not None)
    change = next((one for one in changes if one.must_be_acknowledged), None)
    if change is None or declared.acknowledges_delivery:
        return None
    way = "`acknowledge: [delivery]` to `spec`"
    if declared.document.resource is not None:
        way = f"the annotation `{ACKNOWLEDGE}: delivery`"
    message = f"the config weakens the delivery guarantee ({change.before.value} -> {change.after.value})"
    return Hold(HoldKind.UNACKNOWLEDGED, message, f"if this is intended, add {way}")


def weaker_deliveries(situation: Situation, planned: Iterable[ConnectorPlan]) -> Iterator[Diagnostic]:
    """The errors of the documents with such a hold."""
    for one in planned:
        for hold in one.holds:
            if hold.kind is HoldKind.UNACKNOWLEDGED:
                place = situation.desired.by_name[one.name].locate_config(SUPPORT)
                summary = f"connector {one.name}: {hold.message}"
                yield Diagnostic(Severity.ERROR, "connector/weaker-delivery", summary, place, hold.release, one.name)


def delivery_warnings(situation: Situation) -> Iterator[str]:
    yield from _unexpected_support(situation)
    yield from _unmet_requirements(situation)
    yield from _uncommitted_reads(situation)


def _unexpected_support(situation: Situation) -> Iterator[str]:
    """The warning if the workers are not as the administrator states."""
    stated, observed = situation.policy.exactly_once, situation.observed.exactly_once
    if stated is not None and observed not in (ExactlyOnceSupport.UNKNOWN, stated.support):
        yield (
            f"exactly_once is {stated.value!r} in [clusters.{situation.desired.cluster}], but support for exactly-once"
            f" sources is {observed.value} on the worker that answered; change exactly.once.source.support of the"
            " workers, or the setting"
        )


def _unmet_requirements(situation: Situation) -> Iterator[str]:
    """The sources that run without the guarantee that their config requires: Connect checks a config only once."""
    if situation.exactly_once is ExactlyOnceSupport.NOT_ENABLED:
        concerned = situation.desired.by_name.keys() | situation.ownership.keys()
        found = [
            name
            for name, one in situation.observed.connectors.items()
            if name in concerned and one.type is ConnectorType.SOURCE and requires_exactly_once(one.config)
        ]
        if found:
            why = "the workers do not support exactly-once, so that the delivery of sources that require it is"
            yield f"{why} {Delivery.AT_LEAST_ONCE.value}: {named(found)}"


def _uncommitted_reads(situation: Situation) -> Iterator[str]:
    """The declared sinks that also read records of aborted transactions of exactly-once sources, in words."""
    written = _written(situation)
    found = []
    for sink in situation.desired.connectors if written.topics or written.prefixes else ():
        level = sink.config.get(_ISOLATION, "").strip()
        is_concerned = sink.state is not TargetState.ABSENT and situation.families.is_sink(sink.config)
        if not is_concerned or level.lower() == "read_committed" or is_reference(level):
            continue
        if topics := [one for one in _topics_read(situation, sink, written) if written.has(one)]:
            found.append(f"{sink.name} ({named(topics)})")
    if found:
        what = "sinks that read topics of exactly-once sources also read records of aborted transactions"
        way = f"set {_ISOLATION}: read_committed in their configs, unless the workers set consumer.isolation.level"
        yield f"{what}: {named(found)}; {way}"


@dataclass(frozen=True, slots=True)
class _Topics:
    """The topics that exactly-once sources write; of some, only the beginnings of their names are known."""

    topics: set[str] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)

    def has(self, topic: str) -> bool:
        return topic in self.topics or any(topic[:end] in self.prefixes for end in range(1, len(topic)))


def _written(situation: Situation) -> _Topics:
    """As far as active topics were read, or configs and the families of their classes tell."""
    found, families = _Topics(), situation.families
    configs = {
        **{name: one.config for name, one in situation.observed.connectors.items()},
        **{one.name: one.config for one in situation.desired.connectors if one.state is not TargetState.ABSENT},
    }
    for name, config in configs.items():
        if delivery(config, situation.exactly_once) is not Delivery.EXACTLY_ONCE or families.is_sink(config):
            continue
        found.topics.update(situation.topics.known.get(name, ()))
        use = families.of(config).kafka_use
        if use is not None and not renaming_transform(config):
            found.topics.update(use(config).topics)
            found.prefixes.update(use(config).prefixes)
    return found


def _topics_read(situation: Situation, sink: DesiredConnector, written: _Topics) -> set[str]:
    """The topics that the config of the sink lists, or else those that match its pattern."""
    if listed := sink.config.get("topics", "").strip():
        return {one.strip() for one in listed.split(",")}
    pattern, read = translate(sink.config.get("topics.regex", "")), topics_read(sink.config)
    active = {one for one in situation.topics.known.get(sink.name, ()) if read.hold({SINK_TOPIC: one})}
    return active | {one for one in written.topics if pattern is not None and pattern.fullmatch(one)}
