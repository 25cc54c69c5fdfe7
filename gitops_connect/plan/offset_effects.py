"""What a changed config, a new name or a deletion means for the offsets of a connector: a warning under the step.

Connect stores offsets under the connector's name, and a sink's offsets in a consumer group. A connector reads the
offsets of the partitions that its config names. Other values of such keys leave the offsets stored, but unread.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitops_connect.families.family import class_names
from gitops_connect.families.offset_keys import SEED_ADDED, ListKey, OffsetKeys, Start, ValueKey
from gitops_connect.families.registry import Registry
from gitops_connect.families.sinks import CONSUMER_CLUSTER, CONSUMER_GROUP
from gitops_connect.model.client_servers import CONSUMER_SERVERS, PRODUCER_SERVERS, reads_elsewhere
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.exactly_once import OFFSETS_TOPIC, ExactlyOnceSupport
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetEffect, Step
from gitops_connect.model.sensitivity import is_mask, is_reference
from gitops_connect.plan.offset_stores import OFFSETS_CLUSTER_KEY, OFFSETS_TOPIC_KEY
from gitops_connect.plan.ownership_records import owned_and_undeclared
from gitops_connect.plan.situation import Situation

_ALIKE = 2 / 3
"""A new connector is a renamed one if it shares this part of its config with a connector no longer declared."""
_MOST_ALIKE = 10
"""Connectors no longer declared with which a new one is compared: the number of pairs grows with its square."""
_CLASS = "connector.class"
_NOT_COMPARED = frozenset({"name", _CLASS, "tasks.max"})
_GROUP = (CONSUMER_GROUP, CONSUMER_CLUSTER)
_SHOWN = 5
"""The number of entries of a list that are named."""
_LONGEST = 100
"""The number of characters of a value that are shown; the change itself shows more of it."""
_SAVE_FIRST = (
    "to continue from the current offsets, run `{save}` first, and set"
    " spec.initialOffsets.manifest.path of {new} to FILE"
)


@dataclass(frozen=True, slots=True)
class _OffsetConfig:
    """A connector's name, its config, and the keys whose values no message may show."""

    name: ConnectorName
    config: Mapping[str, str]
    sensitive: frozenset[str] = frozenset()

    def value(self, key: ValueKey | ListKey) -> str:
        return key.value(self.name, self.config)

    def shown(self, key: ValueKey | ListKey, *values: str) -> str:
        """Values of that key in JSON notation, or stars if the key is sensitive."""
        if self.sensitive & set(key.keys):
            return "***"
        more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        short = (value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…" for value in values[:_SHOWN])
        return ", ".join(json.dumps(value, ensure_ascii=False) for value in short) + more


def add_offset_effects(situation: Situation, planned: Sequence[ConnectorPlan]) -> list[ConnectorPlan]:
    """The plans with warnings on the steps that leave offsets unread or use them for something else."""
    actions = {one.name: {step.action for step in one.steps} for one in planned}
    moving = {name for name, some in actions.items() if some & {Action.ALTER, Action.RESET}}
    new = {name for name, some in actions.items() if Action.CREATE in some and name not in moving}
    earlier = {name: old for name, old in _renamed(situation) if name in new}
    later = defaultdict[ConnectorName, list[ConnectorName]](list)
    for name, old in sorted(earlier.items()):
        later[old].append(name)

    def effects(step: Step) -> tuple[OffsetEffect, ...]:
        name = step.connector
        if step.action.changes_config:
            found = _of_config(situation, step)
            return tuple(replace(one, hint="") for one in found) if name in moving else found
        if step.action is Action.CREATE and name in earlier:
            return _of_rename(situation, step, earlier[name])
        if step.action is Action.DELETE and name in later:
            return _of_deletion(situation, name, later[name])
        return ()

    return [
        replace(one, steps=tuple(replace(step, offset_effects=effects(step)) for step in one.steps))
        if one.steps
        else one
        for one in planned
    ]


def _of_config(situation: Situation, step: Step) -> tuple[OffsetEffect, ...]:
    observed = situation.observed.connectors.get(step.connector)
    if observed is None:
        return ()
    hidden = step.sensitive | {change.key for change in step.changes if change.sensitive}
    before, after = (_OffsetConfig(step.connector, config, hidden) for config in (observed.config, step.config))
    known = situation.families.of(after.config).offset_keys
    stores = tuple(_of_stores(situation, before, after, known.start))
    other_class = tuple(_of_class(situation.families, before, after))
    return stores + (other_class or tuple(_of_keys(known, before, after)))


def _of_stores(
    situation: Situation, before: _OffsetConfig, after: _OffsetConfig, start: Start
) -> Iterator[OffsetEffect]:
    """The effects on the offsets topic and the Kafka cluster from which a source reads its offsets."""
    if situation.families.is_sink(after.config):
        return
    keys = [OFFSETS_TOPIC_KEY]
    if situation.exactly_once is ExactlyOnceSupport.ENABLED or after.config.get(OFFSETS_TOPIC):
        keys.append(OFFSETS_CLUSTER_KEY)
        if reads_elsewhere(after.config) and not reads_elsewhere(before.config):
            written, read = PRODUCER_SERVERS, CONSUMER_SERVERS
            yield OffsetEffect(
                f"offsets are written to the Kafka cluster of {written}, and read from that of {read}",
                "set both keys to the same value",
            )
    yield from _of_keys(OffsetKeys(start, tuple(keys)), before, after)


def _of_class(families: Registry, before: _OffsetConfig, after: _OffsetConfig) -> Iterator[OffsetEffect]:
    old, new = before.config.get(_CLASS, ""), after.config.get(_CLASS, "")
    if not old or _is_same_class(old, new):
        return
    was, becomes = families.shape(before.config), families.shape(after.config)
    known = was is not None and becomes is not None
    if was is not None and becomes is not None and was.has_form_of(becomes):
        return
    then = f"{new} stores offsets in another format" if known else f"check that {new} can read them"
    hint = "if it cannot, remove the offsets with an OffsetChange (operation: reset) in the same commit"
    yield OffsetEffect(f"the offsets were written by {old}; {then}", "" if families.is_sink(after.config) else hint)


def _is_same_class(one: str, other: str) -> bool:
    return one in class_names(other) or other in class_names(one)


def _of_keys(known: OffsetKeys, before: _OffsetConfig, after: _OffsetConfig) -> Iterator[OffsetEffect]:
    start = known.start.of(after.config)
    unused = known.unused[0] if known.unused is not None else ""
    is_unused = known.unused is not None and any(one.config.get(unused) == known.unused[1] for one in (before, after))
    for key in known.keys:
        old, new = before.value(key), after.value(key)
        if old == new or any(is_reference(one) or is_mask(one) for one in (old, new)):
            continue
        if is_unused and unused not in key.keys:
            continue
        if isinstance(key, ValueKey):
            yield from _of_value(key, before, after, start)
        else:
            yield from _of_list(key, before, after, start)


def _of_value(key: ValueKey, before: _OffsetConfig, after: _OffsetConfig, start: str) -> Iterator[OffsetEffect]:
    old, new = before.value(key), after.value(key)
    if key.pairs is not None:
        template = key.pairs.get((old, new), "")
    else:
        template = key.changed if old and new else key.added if new else key.removed
    if template:
        words = {"before": after.shown(key, old), "after": after.shown(key, new), "name": after.name, "start": start}
        yield OffsetEffect(template.format(**words), key.hint.format(**words, save=_save(after.name)))


def _save(name: ConnectorName) -> str:
    return command_line("offsets get", name, "--save", "FILE")


def _of_list(key: ListKey, before: _OffsetConfig, after: _OffsetConfig, start: str) -> Iterator[OffsetEffect]:
    old, new = _items(before.value(key)), _items(after.value(key))
    if not (old and new) and not key.excludes:
        if key.unlimited:
            yield _of_limit(key, after, old or new, start if old else "")
        return
    left, joined = (new, old) if key.excludes else (old, new)
    gone, come = sorted(left - joined), sorted(joined - left)
    if gone:
        yield OffsetEffect(f"the offsets of {key.noun} {after.shown(key, *gone)} are no longer read")
    if come:
        joins = f"{key.noun} {after.shown(key, *come)} are read from now on"
        yield OffsetEffect(f"{joins}; without offsets for them the connector {start}", SEED_ADDED)


def _of_limit(key: ListKey, after: _OffsetConfig, named: frozenset[str], start: str) -> OffsetEffect:
    """The effect of a list that limits what is read: the list is new if `start` is empty, else it is removed."""
    others = f"{key.noun} other than {after.shown(key, *sorted(named))}"
    if not start:
        return OffsetEffect(f"the offsets of {others} are no longer read")
    return OffsetEffect(f"{others} are read too; without offsets for them the connector {start}", SEED_ADDED)


def _items(value: str) -> frozenset[str]:
    return frozenset(one.strip() for one in value.split(",") if one.strip())


def _renamed(situation: Situation) -> Iterator[tuple[ConnectorName, ConnectorName]]:
    """From the new name to the old name: connectors to be created that resemble a connector no longer declared."""
    absent = {one.name for one in situation.desired.connectors if one.state is TargetState.ABSENT}
    deleted = {*owned_and_undeclared(situation), *(absent & situation.ownership.keys())}
    old = [one for name, one in sorted(situation.observed.connectors.items()) if name in deleted]
    if not old or not situation.desired.complete:
        return
    by_pair = defaultdict[tuple[str, str], list[ObservedConnector]](list)
    for one in old:
        for pair in one.config.items():
            by_pair[pair].append(one)
    for new in situation.desired.connectors:
        if new.name not in situation.observed.connectors and new.name not in absent:
            alike = old if len(old) <= _MOST_ALIKE else _sharing(new, by_pair)
            share, name = max(((_likeness(new, one), one.name) for one in alike), default=(0.0, new.name))
            if share >= _ALIKE and not _same_group(situation, new, situation.observed.connectors[name]):
                yield new.name, name


def _sharing(
    new: DesiredConnector, by_pair: Mapping[tuple[str, str], Sequence[ObservedConnector]]
) -> list[ObservedConnector]:
    """The connectors with which `new` shares the most keys and values that few connectors have, such as a topic."""
    shared = [some for pair in new.config.items() if len(some := by_pair.get(pair, ())) <= _MOST_ALIKE]
    found = {one.name: one for some in shared for one in some}
    counts = Counter(one.name for some in shared for one in some)
    return [found[name] for name, _ in counts.most_common(_MOST_ALIKE)]


def _same_group(situation: Situation, new: DesiredConnector, old: ObservedConnector) -> bool:
    """Whether these are sinks that share a consumer group: the new name reads the earlier offsets."""
    if not situation.families.is_sink(new.config):
        return False
    return all(key.value(old.name, old.config) == key.value(new.name, new.config) for key in _GROUP)


def _likeness(new: DesiredConnector, old: ObservedConnector) -> float:
    """The share of their keys that are equal, 0 to 1; masked values count as equal. 0 for another class."""
    before, after = old.config, new.config
    if not _is_same_class(before.get(_CLASS, ""), after.get(_CLASS, "")):
        return 0.0
    keys = (before.keys() | after.keys()) - _NOT_COMPARED
    equal = sum(before.get(key) == after.get(key) or is_mask(before.get(key, "")) for key in keys)
    return equal / len(keys) if keys else 0.0


def _of_rename(situation: Situation, step: Step, old: ConnectorName) -> tuple[OffsetEffect, ...]:
    before = _OffsetConfig(old, situation.observed.connectors[old].config, step.sensitive)
    after = _OffsetConfig(step.connector, step.config, step.sensitive)
    known = situation.families.of(after.config).offset_keys
    hint = _SAVE_FIRST.format(save=_save(old), new=after.name)
    if situation.families.is_sink(after.config):
        return tuple(replace(one, hint=hint if one.hint else "") for one in _of_keys(known, before, after))
    message = (
        f"offsets are stored under the connector's name: {after.name} does not read those of {old}, which is no longer"
        f" declared; without offsets of its own it {known.start.of(after.config)}"
    )
    return (OffsetEffect(message, hint),)


def _of_deletion(situation: Situation, old: ConnectorName, new: Sequence[ConnectorName]) -> tuple[OffsetEffect, ...]:
    on_delete = situation.desired.by_name.get(old, situation.ownership[old]).on_delete
    kept = "are removed with it" if on_delete.resets_offsets else "stay stored under its name"
    names = ", ".join(new)
    return (OffsetEffect(f"the offsets of {old} {kept}; {names}, whose config is similar, does not read them"),)
