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
from gitops_connect.families.family import NO_OFFSET_KEYS, ConnectorClass, Family, Section
from gitops_connect.families.field_kinds import FieldKind
from gitops_connect.families.log_fields import LogFields
from gitops_connect.families.offset_keys import ListKey, OffsetKeys, Start, ValueKey, named_in_partitions
from gitops_connect.families.resume import ALL, ResumeCondition, ResumeRule, ResumeRules
from gitops_connect.families.shapes import Contradiction, Demand, Shape, ShapeFields
from gitops_connect.families.ties import Tied
from gitops_connect.model.differences import Direction, ResumeAspect

_LOADER: Any = type("_FactsLoader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
"""libyaml is ten times as fast. Lists are read as tuples, which the classes of families have."""
_LOADER.add_constructor("tag:yaml.org,2002:seq", lambda one, node: tuple(one.construct_sequence(node, deep=True)))


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
    return Family(1, name, classes, units, facts.get("transforms", {}))


class _FamilyReader:
    def __init__(self, module: ModuleType, conditions: Mapping[str, ResumeCondition]) -> None:
        self._module = module
        self._conditions = conditions

    def connector_class(self, facts: Mapping[str, Any]) -> ConnectorClass:
        undefined = facts.get("undefined", {})
        resume = self._resume(facts["resume"]) if "resume" in facts else None
        if "sink" in facts:
            keys = tuple(ValueKey(**one) for one in facts.get("keys", ()))
            sink = sinks.known_sink(resume or sinks.PLAIN, keys, **facts["sink"])
            return replace(sink, undefined=undefined, has_aliases=facts.get("has_aliases", True))
        return ConnectorClass(
            self._shape(facts["shape"]) if "shape" in facts else None,
            resume,
            self._offset_keys(facts) if "start" in facts else NO_OFFSET_KEYS,
            undefined,
            tuple(Section(**one) for one in facts.get("sections", ())),
            facts.get("disabled_by", ()),
            facts.get("why_no_tasks", ""),
            self.named(facts.get("shape_of_config")),
        )

    def named(self, name: str | None) -> Any:
        """What the family's module, or else `field_kinds` or `sinks`, calls by that name."""
        modules = (self._module, field_kinds, sinks)
        return None if name is None else next(getattr(one, name) for one in modules if hasattr(one, name))

    def _with_named(self, facts: Mapping[str, Any], *fields: str) -> dict[str, Any]:
        """The facts, with what each of these fields names."""
        return {**facts, **{field: self.named(facts.get(field)) for field in fields}}

    def _shape(self, facts: Mapping[str, Any]) -> Shape:
        found = self._with_named(facts, "unit", "check", "in_snapshot", "reads")
        found["partitions"] = tuple(ShapeFields(self._kinds(one)) for one in facts["partitions"])
        found["offset"] = self._fields(facts["offset"])
        found["contradictions"] = tuple(Contradiction(**one) for one in facts.get("contradictions", ()))
        found["tied"] = tuple(Tied(**one) for one in facts.get("tied", ()))
        found["demand"] = Demand(facts.get("demand", "nothing"))
        found["log"] = LogFields(**self._with_named(facts["log"], "excluded")) if "log" in facts else None
        return Shape(**found)

    def _fields(self, facts: Mapping[str, Any]) -> ShapeFields:
        kinds = {name: self._kinds(facts.get(name, {})) for name in ("required", "optional")}
        return ShapeFields(**{**facts, **kinds, "nullable": frozenset(facts.get("nullable", ()))})

    def _kinds(self, names: Mapping[str, str]) -> Mapping[str, FieldKind]:
        return {field: self.named(name) for field, name in names.items()}

    def _resume(self, facts: Mapping[str, Any]) -> ResumeRules:
        return ResumeRules(**{**facts, "rules": tuple(self._rules(facts["rules"]))})

    def _rules(self, facts: Iterable[Any]) -> Iterator[ResumeRule]:
        """The rules in a list, which may contain further lists, and names of rules in Python.

        The first key of a rule is as in `rewind new needs`.
        """
        for one in facts:
            if isinstance(one, str):
                yield from self.named(one)
                continue
            if isinstance(one, tuple):
                yield from self._rules(one)
                continue
            subject, message = next(iter(one.items()))
            *moves, aspect = subject.split()
            about = ALL.directions if moves == ["all"] else frozenset(Direction[move.upper()] for move in moves)
            when = tuple(self._conditions[name] for name in one.get("when", ()))
            flags = {name: one.get(name, False) for name in ("external", "of_snapshot", "without_log")}
            yield ResumeRule(ResumeAspect[aspect.upper()], about, message, when, **flags)

    def _offset_keys(self, facts: Mapping[str, Any]) -> OffsetKeys:
        return OffsetKeys(Start(**facts["start"]), tuple(map(self._key, facts["keys"])), facts.get("unused"))

    def _key(self, facts: Mapping[str, Any]) -> ValueKey | ListKey:
        if "named" in facts:
            return named_in_partitions(facts["named"], *facts["keys"], also=facts.get("also", ""))
        return ListKey(**facts) if "noun" in facts else ValueKey(**self._with_named(facts, "pairs"))


def _conditions(facts: Mapping[str, Mapping[str, Iterable[str]]]) -> Mapping[str, ResumeCondition]:
    """Each condition by its name, and its opposite after `not`."""
    found = {
        name: ResumeCondition(tuple((key, frozenset(values)) for key, values in one.items()))
        for name, one in facts.items()
    }
    return found | {f"not {name}": ~one for name, one in found.items()}
