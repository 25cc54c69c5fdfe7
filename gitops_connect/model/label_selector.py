"""Selectors of labels, in the syntax of `kubectl --selector`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_KEY, _VALUE = r"[A-Za-z0-9](?:[\w./-]*[A-Za-z0-9])?", r"[\w.-]*"
_REQUIREMENT = re.compile(
    rf"\s*(?:!\s*(?P<absent>{_KEY})|(?P<key>{_KEY})(?:\s*(?P<equal>==?|!=)\s*(?P<value>{_VALUE})"
    rf"|\s+(?P<set>in|notin)\s*\(\s*(?P<values>{_VALUE}(?:\s*,\s*{_VALUE})*)\s*\))?)\s*(?:,(?=.)|$)",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a selector. `values` are those that the label may have; None: any value."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """As in Kubernetes, `!=` and `notin` accept labels without the key."""
        found = labels.get(self.key)
        has = found is not None and (self.values is None or found in self.values)
        return has is not self.negated


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """The requirements of a selector such as `team=payments,env!=dev`. Raises ValueError with what cannot be read."""
    requirements: list[Requirement] = []
    at = 0
    while at < len(text) or not requirements:
        found = _REQUIREMENT.match(text, at)
        if found is None:
            raise ValueError(text[at:])
        requirements.append(_requirement(found))
        at = found.end()
    return tuple(requirements)


def _requirement(found: re.Match[str]) -> Requirement:
    if (key := found["absent"]) is not None:
        return Requirement(key, None, negated=True)
    if (values := found["values"]) is not None:
        return Requirement(found["key"], frozenset(re.split(r"\s*,\s*", values)), negated=found["set"] == "notin")
    only = None if found["value"] is None else frozenset((found["value"],))
    return Requirement(found["key"], only, negated=found["equal"] == "!=")


def selects(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether the labels meet every requirement."""
    return all(one.accepts(labels) for one in requirements)
