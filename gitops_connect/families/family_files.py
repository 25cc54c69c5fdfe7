"""Reads families from YAML: the facts about classes, each with its source. Their packages have what only code can say.

A name in a file, such as `PG_LSN` or `topics_read`, is a type, a unit or a function of the family's module, or a type
of `field_kinds`. Spark's executors import these modules, and never this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from types import ModuleType
from typing import Any

import yaml

from gitops_connect.families import field_kinds, sinks
from gitops_connect.families.family import NO_OFFSET_KEYS, ConnectorClass, Family, Section, UndefinedKeys
from gitops_connect.families.field_kinds import FieldKind
from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.offset_keys import ListKey, OffsetKeys, Start, ValueKey, named_in_partitions
from gitops_connect.families.resume import ALL, ResumeCondition, ResumeMoves, ResumeRule, ResumeRules
from gitops_connect.families.shapes import Contradiction, Demand, Shape, ShapeFields
from gitops_connect.families.ties import Tied
from gitops_connect.model.differences import Direction

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml is ten times as fast."""
_LISTS_OF_FIELDS = ("position", "measured", "frame", "skipped", "if_both")


def read_family(name: str, module: ModuleType) -> Family:
    """The family whose package is `module`: its `facts.yaml`, and the functions that the file names."""
    text = files(module).joinpath("facts.yaml").read_text(encoding="utf-8")
    facts = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe
    reader = _FamilyReader(module, _conditions(facts.get("conditions", {})))
    kafka_use = reader.named(facts.get("kafka_use"))
    classes = {
        class_name: replace(reader.connector_class(one), kafka_use=kafka_use)
        for class_name, one in facts["classes"].items()
    }
    units = tuple(getattr(module, unit) for unit in facts.get("units", ()))
    return Family(1, name, classes, units, _undefined(facts.get("transforms", {})))


class _FamilyReader:
    def __init__(self, module: ModuleType, conditions: Mapping[str, ResumeCondition]) -> None:
        self._module = module
        self._conditions = conditions

    def connector_class(self, facts: Mapping[str, Any]) -> ConnectorClass:
        undefined = _undefined(facts.get("undefined", {}))
        resume = self._resume(facts["resume"]) if "resume" in facts else None
        if "sink" in facts:
            keys = tuple(ValueKey(**{**one, "keys": tuple(one["keys"])}) for one in facts.get("keys", ()))
            sink = sinks.known_sink(resume or sinks.PLAIN, keys, **facts["sink"])
            return replace(sink, undefined=undefined, has_aliases=facts.get("has_aliases", True))
        return ConnectorClass(
            self._shape(facts["shape"]) if "shape" in facts else None,
            resume,
            self._offset_keys(facts) if "start" in facts else NO_OFFSET_KEYS,
            undefined,
            tuple(Section(**one) for one in facts.get("sections", ())),
            tuple(facts.get("disabled_by", ())),
            facts.get("why_no_tasks", ""),
            self.named(facts.get("shape_of_config")),
        )

    def named(self, name: str | None) -> Any:
        """What the family's module, or else `field_kinds` or `sinks`, calls by that name."""
        modules = (self._module, field_kinds, sinks)
        return None if name is None else next(getattr(one, name) for one in modules if hasattr(one, name))

    def _shape(self, facts: Mapping[str, Any]) -> Shape:
        lists: dict[str, Any] = {name: tuple(facts.get(name, ())) for name in _LISTS_OF_FIELDS}
        return Shape(
            facts["name"],
            tuple(ShapeFields(self._kinds(one)) for one in facts["partitions"]),
            self._fields(facts["offset"]),
            unit=self.named(facts.get("unit")),
            instead=facts.get("instead", {}),
            contradictions=tuple(Contradiction(**one) for one in facts.get("contradictions", ())),
            check=self.named(facts.get("check")),
            in_snapshot=self.named(facts.get("in_snapshot")),
            tied=tuple(Tied(**{**one, "keys": tuple(one["keys"])}) for one in facts.get("tied", ())),
            reads=self.named(facts.get("reads")),
            demand=Demand(facts.get("demand", "nothing")),
            log=self._log(facts["log"]) if "log" in facts else None,
            **lists,
        )

    def _log(self, facts: Mapping[str, Any]) -> LogFields:
        excluded = self.named(facts.get("excluded"))
        lists = {name: tuple(facts.get(name, ())) for name in ("servers", "isolation")}
        return LogFields(**{**facts, **lists, "excluded": excluded})

    def _fields(self, facts: Mapping[str, Any]) -> ShapeFields:
        return ShapeFields(
            self._kinds(facts.get("required", {})),
            self._kinds(facts.get("optional", {})),
            frozenset(facts.get("nullable", ())),
            tuple(facts.get("any_of", ())),
            tuple(facts.get("prefixes", ())),
            {name: tuple(values) for name, values in facts.get("choices", {}).items()},
        )

    def _kinds(self, names: Mapping[str, str]) -> Mapping[str, FieldKind]:
        return {field: self.named(name) for field, name in names.items()}

    def _resume(self, facts: Mapping[str, Any]) -> ResumeRules:
        return ResumeRules(facts["decides"], tuple(self._rules(facts["rules"])), facts.get("unchecked", ""))

    def _rules(self, facts: Iterable[Any]) -> Iterator[ResumeRule]:
        """The rules in a list, which may contain further lists, and names of rules in Python.

        The first key of a rule is as in `rewind new needs`.
        """
        for one in facts:
            if isinstance(one, str):
                yield from self.named(one)
                continue
            if isinstance(one, list):
                yield from self._rules(one)
                continue
            subject, message = next(iter(one.items()))
            *moves, aspect = subject.split()
            about = ALL if moves == ["all"] else ResumeMoves(frozenset(Direction[move.upper()] for move in moves))
            when = tuple(self._conditions[name] for name in one.get("when", ()))
            external = {"external": True} if one.get("external") else {}
            rule = getattr(about, aspect)(message, when=when, **external)
            flags = {name: one.get(name, False) for name in ("of_snapshot", "without_log")}
            yield replace(rule, **flags)

    def _offset_keys(self, facts: Mapping[str, Any]) -> OffsetKeys:
        unused = facts.get("unused")
        return OffsetKeys(
            Start(**facts["start"]), tuple(map(self._key, facts["keys"])), (unused[0], unused[1]) if unused else None
        )

    def _key(self, facts: Mapping[str, Any]) -> ValueKey | ListKey:
        keys, more = tuple(facts["keys"]), {name: one for name, one in facts.items() if name != "keys"}
        if "named" in more:
            return named_in_partitions(more["named"], *keys, also=more.get("also", ""))
        if "listed" in more:
            return ListKey(keys, more.pop("listed"), **more)
        return ValueKey(keys, **{**more, "pairs": self.named(more.get("pairs"))})


def _conditions(facts: Mapping[str, Mapping[str, list[str]]]) -> Mapping[str, ResumeCondition]:
    """Each condition by its name, and its opposite after `not`."""
    found = {
        name: ResumeCondition(tuple((key, frozenset(values)) for key, values in one.items()))
        for name, one in facts.items()
    }
    return found | {f"not {name}": ~one for name, one in found.items()}


def _undefined(facts: Mapping[str, list[str]]) -> UndefinedKeys:
    return {source: tuple(patterns) for source, patterns in facts.items()}
