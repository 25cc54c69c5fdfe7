"""Fields of an offset that contradict each other: the connector would not resume where the change says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gitops_connect.checks.field_types import NANOS, show
from gitops_connect.checks.rules import Finding, LazyWords
from gitops_connect.model.offsets import OffsetText
from gitops_connect.model.positions import rank
from gitops_connect.model.shape_fields import Contradiction, FieldType, Shape

_RULE = "manifest/contradiction"
_NOTHING = (None, 0, "NULL")
_MILLISECOND = 1_000_000
"""Nanoseconds."""


def applicable(shape: Shape, config: Mapping[str, str] | None) -> tuple[Contradiction, ...]:
    """The contradictions that the connector's config does not rule out."""
    settings = config or {}
    return tuple(one for one in shape.contradictions if settings.get(one.unless, "").strip().lower() != "true")


def within(shape: Shape, offset: Mapping[str, Any]) -> Iterator[Finding]:
    """The contradictions inside one offset. Fields with a wrong type are reported elsewhere."""
    if shape.fraction is None:
        return
    time, nanos = (offset.get(name) for name in shape.fraction)
    if type(time) is not int or type(nanos) is not int or not 0 <= nanos < NANOS:
        return
    expected = time % 1000
    if nanos // _MILLISECOND != expected:
        name, other = shape.fraction[1], shape.fraction[0]
        words = LazyWords(
            lambda: {
                "found": show(nanos),
                "other": f"{other} is {show(time)}",
                "effect": f"the connector takes the fraction of the second from {name}",
                "hint": f"write {expected * _MILLISECOND}, or leave {name} out",
            }
        )
        yield Finding(_RULE, f"offset.{name}", words)


def between(
    rules: tuple[Contradiction, ...], types: Mapping[str, FieldType], current: OffsetText, declared: Mapping[str, Any]
) -> Iterator[Finding]:
    """The contradictions between a partition's current and declared offset: one finding for each unchanged field."""
    before = json.loads(current)
    reported = set()
    for one in rules:
        if one.kept not in reported and _contradicts(one, types, before, declared):
            reported.add(one.kept)
            yield Finding(_RULE, f"offset.{one.changed}", LazyWords(partial(_words, one, before, declared)))


def _words(one: Contradiction, before: Mapping[str, Any], declared: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        "found": f"changed from {show(before[one.changed])} to {show(declared[one.changed])}",
        "other": f"{one.kept} stays {show(declared[one.kept])}",
        "effect": one.effect,
        "hint": one.hint,
    }


def _contradicts(
    one: Contradiction, types: Mapping[str, FieldType], before: Mapping[str, Any], declared: Mapping[str, Any]
) -> bool:
    old, new, kept = before.get(one.changed), declared.get(one.changed), declared.get(one.kept)
    if old is None or new is None or old == new or kept in _NOTHING or before.get(one.kept) != kept:
        return False
    if not one.is_limit:
        return True
    places = rank(types[one.changed], old), rank(types[one.changed], new), rank(types[one.kept], kept)
    first, second, limit = places
    return first is not None and second is not None and limit is not None and second < min(first, limit)
