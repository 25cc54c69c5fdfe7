"""Debezium's connectors: sources that read the log of a database, and its two sinks. `debezium.yaml` has the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import yaml

from gitops_connect.families import debezium_positions
from gitops_connect.families.family import ConnectorClass, Family, Section, UndefinedKeys
from gitops_connect.families.field_kinds import ANY, FLAG, NUMBER, SIGNED, SMALL, TEXT, FieldKind
from gitops_connect.families.offset_keys import ListKey, OffsetKeys, Start, ValueKey, named_in_partitions
from gitops_connect.families.resume import ResumeCondition, ResumeRule, ResumeRules
from gitops_connect.families.shapes import Contradiction, Shape, ShapeFields
from gitops_connect.families.sinks import PLAIN_SINK
from gitops_connect.families.ties import Tied
from gitops_connect.model.differences import Direction, ResumeAspect
from gitops_connect.model.units import Unit

WAL_BYTES = Unit("wal_bytes", "byte of WAL", "bytes of WAL", "wal_bytes", counts_what_is_read=False)
"""Bytes of PostgreSQL's write-ahead log, which also contains changes of tables that the connector does not read."""
BINLOG_BYTES = Unit("binlog_bytes", "byte of binlog", "bytes of binlog", "binlog_bytes", counts_what_is_read=False)
"""Bytes of a binlog of MySQL or MariaDB, which also contains changes of other tables."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml is ten times as fast."""
_UNITS = {unit.key: unit for unit in (WAL_BYTES, BINLOG_BYTES)}
_KINDS: Mapping[str, FieldKind] = {
    "ANY": ANY,
    "FLAG": FLAG,
    "NUMBER": NUMBER,
    "SIGNED": SIGNED,
    "SMALL": SMALL,
    "TEXT": TEXT,
    **{name: one for name, one in vars(debezium_positions).items() if isinstance(one, FieldKind)},
}
_LISTS_OF_FIELDS = ("position", "measured", "frame", "skipped", "if_both")


def _shape(facts: Mapping[str, Any]) -> Shape:
    lists: dict[str, Any] = {name: tuple(facts.get(name, ())) for name in _LISTS_OF_FIELDS}
    return Shape(
        facts["name"],
        tuple(ShapeFields(_kinds(one)) for one in facts["partitions"]),
        _fields(facts["offset"]),
        unit=_UNITS.get(facts.get("unit", "")),
        instead=facts.get("instead", {}),
        contradictions=tuple(Contradiction(**one) for one in facts.get("contradictions", ())),
        tied=tuple(Tied(**{**one, "keys": tuple(one["keys"])}) for one in facts.get("tied", ())),
        reads=debezium_positions.partitions_of_tasks if facts.get("reads_keys_of_tasks") else None,
        **lists,
    )


def _fields(facts: Mapping[str, Any]) -> ShapeFields:
    return ShapeFields(
        _kinds(facts.get("required", {})),
        _kinds(facts.get("optional", {})),
        frozenset(facts.get("nullable", ())),
        tuple(facts.get("any_of", ())),
        tuple(facts["prefixes"]),
        {name: tuple(values) for name, values in facts.get("choices", {}).items()},
    )


def _kinds(names: Mapping[str, str]) -> Mapping[str, FieldKind]:
    return {field: _KINDS[name] for field, name in names.items()}


def _rules(facts: Iterable[Any], conditions: Mapping[str, ResumeCondition]) -> Iterator[ResumeRule]:
    """The rules in a list, which may contain further lists. The first key of a rule is as in `rewind new needs`."""
    for one in facts:
        if isinstance(one, list):
            yield from _rules(one, conditions)
            continue
        subject, message = next(iter(one.items()))
        *moves, aspect = subject.upper().split()
        when = tuple(conditions[name] for name in one.get("when", ()))
        directions = frozenset(Direction[move] for move in moves)
        yield ResumeRule(ResumeAspect[aspect], directions, message, when, one.get("external", False))


def _conditions(facts: Mapping[str, Mapping[str, list[str]]]) -> Mapping[str, ResumeCondition]:
    """Each condition by its name, and its opposite after `not`."""
    found = {
        name: ResumeCondition(tuple((key, frozenset(values)) for key, values in one.items()))
        for name, one in facts.items()
    }
    return found | {f"not {name}": ~one for name, one in found.items()}


def _key(facts: Mapping[str, Any]) -> ValueKey | ListKey:
    keys = tuple(facts["keys"])
    if "named" in facts:
        return named_in_partitions(facts["named"], *keys, also=facts.get("also", ""))
    if "listed" in facts:
        return ListKey(keys, facts["listed"])
    return ValueKey(**{**facts, "keys": keys})


def _undefined(facts: Mapping[str, list[str]]) -> UndefinedKeys:
    return {source: tuple(patterns) for source, patterns in facts.items()}


def _classes(facts: Mapping[str, Any]) -> Iterator[tuple[str, ConnectorClass]]:
    conditions, start = _conditions(facts["conditions"]), Start(**facts["start"])
    sections = tuple(Section(**one) for one in facts["sections"])
    for name, one in facts["classes"].items():
        rules = tuple(_rules(one["resume"]["rules"], conditions))
        resume = ResumeRules(one["resume"]["decides"], rules, one["resume"].get("unchecked", ""))
        keys = OffsetKeys(start, tuple(map(_key, one["keys"])))
        yield name, ConnectorClass(_shape(one["shape"]), resume, keys, _undefined(one["undefined"]), sections)
    for name, undefined in facts["sinks"].items():
        yield name, replace(PLAIN_SINK, undefined=_undefined(undefined))


def _family() -> Family:
    text = files("gitops_connect.families").joinpath("debezium.yaml").read_text(encoding="utf-8")
    facts = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe
    transforms = _undefined(facts["transforms"])
    return Family(1, "Debezium", dict(_classes(facts)), tuple(_UNITS.values()), transforms)


FAMILY = _family()
