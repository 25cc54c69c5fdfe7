"""Checks one half of an entry, the partition or the offset, with the fields of its class."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from gitops_connect.families.field_kinds import ANY, Accepts, is_plain
from gitops_connect.families.shapes import Choice, Demand, ShapeFields
from gitops_connect.model.findings import Finding, LazyWords, describe, place_of, show
from gitops_connect.model.offsets import Offsets, OffsetText
from gitops_connect.model.suggestions import closest

_ANYTHING = ShapeFields()
_Names = tuple[int, tuple[str, ...], tuple[str, ...]]
"""Identity of the expected fields, names of missing fields, and names of unknown fields."""
_MOST_KNOWN = 1000
"""The number of combinations of names whose findings are cached."""


@dataclass(frozen=True)
class PartShape:
    """The possible forms of a partition or an offset. Without `alternatives`: any mapping of plain values.

    `demand` is what Connect requires of a partition. A wrong partition that meets the demand is accepted, but not read.
    """

    where: str
    current: CurrentTypes
    shape: str = "the connector"
    alternatives: tuple[ShapeFields, ...] = ()
    lenient: bool = False
    demand: Demand = Demand.NOTHING
    _known: dict[_Names, tuple[Finding, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def _checks(self) -> Mapping[str, Accepts] | None:
        """A check for each field; None if optional fields, closed sets or alternatives leave a choice."""
        if len(self.alternatives) != 1:
            return None
        (fields,) = self.alternatives
        if fields.optional or fields.choices or any(kind.is_loose for kind in fields.required.values()):
            return None
        return {name: kind.accepts for name, kind in fields.required.items()}

    def fits(self, part: Any) -> bool:
        """True if `part` has exactly the expected fields with their types; False if that needs a complete check."""
        checks = self._checks
        if checks is None or type(part) is not dict or part.keys() != checks.keys():
            return False
        for name, accepts in checks.items():  # noqa: SIM110 - a generator would double the cost, a million times
            if not accepts(part[name]):
                return False
        return True

    def kept(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields that Connect stores: all, or for a sink those that it knows."""
        if not self.lenient:
            return part
        known = self.alternatives[0].types
        return {name: value for name, value in part.items() if name in known}

    def loose(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields whose types only the current offsets show."""
        fields = self._closest(part)
        types = fields.types
        kept = self.kept(part).items()
        return {name: value for name, value in kept if types.get(name, ANY).is_loose and name not in fields.choices}

    def faults(self, part: Any) -> list[Finding]:
        """Why Connect cannot store the part, or JSON cannot represent it; if empty, it has a canonical form."""
        if not isinstance(part, Mapping):
            lazy = LazyWords(lambda: {"found": describe(part), "expected": "a mapping", "hint": ""})
            return [Finding("manifest/type", self.where, lazy)]
        types = self._closest(part).types
        found = []
        for name, value in self.kept(part).items():
            if name not in types and not _is_writable(name):
                words = "a key that is not a string, or contains half of a surrogate pair"
                found.append(_unwritable(place_of(self.where, name), words))
            elif not is_plain(value):
                found.append(types.get(name, ANY).mismatch(place_of(self.where, name), value))
            elif type(value) is str and not _is_writable(value):
                found.append(_unwritable(place_of(self.where, name), "a string that contains half of a surrogate pair"))
        return found

    def findings(self, part: Mapping[str, Any]) -> Iterator[Finding]:
        """The fields that are missing, unknown, or of another type; `part` has no faults."""
        if not self.alternatives or self.fits(part):
            return
        fields = self._closest(part)
        types = fields.types
        yield from self._missing_and_unknown(fields, part)
        for name, value in part.items():
            kind = types.get(name)
            if name in fields.choices:
                yield from self._of_choice(name, value, fields.choices[name])
            elif kind is not None and not kind.accepts(value) and not (value is None and name in fields.nullable):
                yield kind.mismatch(f"{self.where}.{name}", value)._replace(unread=self._is_unread(Demand.TYPES))

    def _of_choice(self, name: str, value: Any, choices: Sequence[Choice]) -> Iterator[Finding]:
        """Check a value of a closed set. True is not 1, and the case of a string matters."""
        if any(value == one and type(value) is type(one) for one in choices):
            return
        yield Finding("manifest/choice", place_of(self.where, name), LazyWords(partial(_of_choice, value, choices)))

    def _missing_and_unknown(self, fields: ShapeFields, part: Mapping[str, Any]) -> tuple[Finding, ...]:
        missing = [name for name in fields.required if name not in part]
        if fields.any_of and not any(part.get(name) is not None for name in fields.any_of):
            missing.append(" or ".join(fields.any_of))
        unknown = sorted(name for name in part if name not in fields.types and self._is_unknown(fields, name))
        if not missing and not unknown:
            return ()
        key = id(fields), tuple(missing), tuple(unknown)  # nearly all entries of a manifest have the same mistake
        found = self._known.get(key)
        if found is None:
            found = tuple(self._matched(fields, missing, unknown))
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = found
        return found

    def _matched(self, fields: ShapeFields, missing: list[str], unknown: Iterable[str]) -> Iterator[Finding]:
        """The findings; a misspelt field that resembles a missing one is one finding and not two."""
        for name in unknown:
            meant = closest(name, missing)
            if meant is not None:
                missing.remove(meant)
                yield self._incomplete(name, f"has the field {show(name)}, expected {show(meant)}")
            else:
                yield self._unknown(fields, name)
        for name in missing:
            yield self._incomplete(name, f"has no field {name}")

    def _unknown(self, fields: ShapeFields, name: str) -> Finding:
        if self.lenient:
            words = {"shape": self.shape, "hint": "remove the field: it is not sent, because Connect would ignore it"}
            return Finding("manifest/unknown-field", place_of(self.where, name), words)
        if self.where == "partition":
            return self._broken(name, f"has a field {show(name)} that the connector does not look up", unread=True)
        hinted = LazyWords(lambda: {"shape": self.shape, "hint": _did_you_mean(name, fields.types)})
        return Finding("manifest/unknown-field", place_of(self.where, name), hinted)

    def _incomplete(self, name: str, found: str) -> Finding:
        return self._broken(name, found, unread=self._is_unread(Demand.FIELDS, Demand.TYPES))

    def _broken(self, name: str, found: str, *, unread: bool) -> Finding:
        words = partial(self._words, found)
        return Finding("manifest/shape", place_of(self.where, name), LazyWords(words), unread)

    def _words(self, found: str) -> Mapping[str, str]:
        expected = " or ".join(", ".join(fields.required or fields.any_of) for fields in self.alternatives)
        return {"where": self.where, "found": found, "shape": self.shape, "expected": expected}

    def _is_unread(self, *refused_by: Demand) -> bool:
        """True if Connect accepts such a partition, and the connector never reads it."""
        return self.where == "partition" and self.demand not in refused_by

    def _is_unknown(self, fields: ShapeFields, name: str) -> bool:
        if name.startswith(fields.prefixes):
            return False
        return self.where == "partition" or not self.current.has(self.where, name)

    def _closest(self, part: Mapping[str, Any]) -> ShapeFields:
        """The alternative that differs from the part in the fewest fields."""
        if len(self.alternatives) < 2:
            return self.alternatives[0] if self.alternatives else _ANYTHING
        return min(self.alternatives, key=lambda fields: len(fields.required.keys() ^ part.keys()))


def _of_choice(value: Any, choices: Sequence[Choice]) -> Mapping[str, str]:
    meant = closest(value, [one for one in choices if isinstance(one, str)]) if isinstance(value, str) else None
    return {
        "found": describe(value),
        "expected": " or ".join(filter(None, (", ".join(map(show, choices[:-1])), show(choices[-1])))),
        "hint": f"did you mean {show(meant)}?" if meant else "",
    }


def _unwritable(field: str, found: str) -> Finding:
    return Finding("manifest/value", field, {"found": found})


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    meant = closest(name, known)
    return f"did you mean {meant!r}?" if meant else "check the name: the field is sent unchanged"


def _is_writable(text: Any) -> bool:
    """False for half of a surrogate pair: JSON allows it, UTF-8 and the broker do not."""
    if not isinstance(text, str):
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# The types of the fields in the current offsets: a manifest with other types is a mistake.
#
# A string instead of a number makes another partition, or an offset that the connector cannot read.

_WORDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a fraction",
}
Types = Mapping[str, frozenset[type]]
CURRENT_TYPE = "manifest/current-type"


@dataclass(frozen=True)
class CurrentTypes:
    """The types of all fields, computed at the first use."""

    current: Offsets

    def findings(self, where: str, part: Mapping[str, Any], own: OffsetText | None) -> Iterator[Finding]:
        """The fields of a `partition` or an `offset` that have other types in the current offsets.

        `own` is the current offset of exactly this partition, if it has one: it takes precedence over all others.
        """
        first = {} if own is None else _types([json.loads(own)])
        others = self._known(where)
        for name, value in part.items():
            expected = first.get(name) or others.get(name)
            if expected and type(value) in _WORDS and type(value) not in expected:
                words = LazyWords(partial(_words, value, expected))
                yield Finding(CURRENT_TYPE, place_of(where, name), words, unread=where == "partition")

    def has(self, where: str, name: str) -> bool:
        """True if any of the current offsets has that field."""
        return name in self._known(where)

    @cached_property
    def are_mixed(self) -> bool:
        """True if a field of the offsets has several types: then only an entry's own current offset counts."""
        return any(len(types) > 1 for types in self._offsets.values())

    def _known(self, where: str) -> Types:
        return self._partitions if where == "partition" else self._offsets

    @cached_property
    def _partitions(self) -> Types:
        return _types(json.loads(text) for text in self.current)

    @cached_property
    def _offsets(self) -> Types:
        return _types(json.loads(text) for text in self.current.values())


def _words(value: Any, expected: Iterable[type]) -> Mapping[str, str]:
    types = " or ".join(words for one, words in _WORDS.items() if one in expected)
    return {"found": describe(value), "expected": types}


def _types(values: Iterable[Mapping[str, Any]]) -> Types:
    """The types of each field, without null, which shows no type."""
    found: dict[str, set[type]] = {}
    for value in values:
        for name, one in value.items():
            found.setdefault(name, set()).add(type(one))
    return {name: frozenset(types & _WORDS.keys()) for name, types in found.items()}
