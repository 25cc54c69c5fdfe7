"""Checks the fields of a Strimzi resource against its CRD, and leaves out what the CRD does not have.

A Kubernetes API server does both before the operator sees a resource. The tables of fields are data, as
`mirror_maker_fields.py`: which type a field has, and which API versions and operator versions have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.found_values import kind_of, word_or_kind
from gitops_connect.model.strimzi import StrimziVersion
from gitops_connect.model.suggestions import closest

INVALID = "strimzi/invalid-field"
UNKNOWN = "strimzi/unknown-field"
IGNORED = "strimzi/ignored-field"

FIRST = StrimziVersion(0, 17)
"""The first operator with `KafkaMirrorMaker2`."""
PRESERVED_BEFORE = StrimziVersion(0, 23)
"""Older CRDs (`apiextensions.k8s.io/v1beta1`) keep unknown fields, and the operator reads them."""


class Kind(Enum):
    """The type of a field, in the words of Kubernetes."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    OBJECT = "object"
    ARRAY = "array"
    ANY = "value"

    def fits(self, value: object) -> bool:
        """Whether the value has this type."""
        if self is Kind.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, _TYPES[self])


_TYPES: Mapping[Kind, type[Any]] = {
    Kind.STRING: str,
    Kind.BOOLEAN: bool,
    Kind.OBJECT: Mapping,
    Kind.ARRAY: list,
    Kind.ANY: object,
}


class Api(Enum):
    """The API versions with different fields."""

    OLD = "v1alpha1 and v1beta2"
    V1 = "v1"


@dataclass(frozen=True, slots=True)
class Rules:
    """The API version of a resource, and the operator version that reads it. `name` is the API version as written."""

    api: Api
    version: StrimziVersion
    name: str

    @property
    def preserves_unknown_fields(self) -> bool:
        """Whether fields that the CRD does not have reach the operator."""
        return self.version < PRESERVED_BEFORE


@dataclass(frozen=True, slots=True)
class Availability:
    """Which operator versions and API versions have a field or a value. `api` is None for all API versions."""

    since: StrimziVersion = FIRST
    before: StrimziVersion | None = None
    api: Api | None = None

    def includes(self, rules: Rules) -> bool:
        """Whether a resource with these rules has the field."""
        in_time = self.since <= rules.version and (self.before is None or rules.version < self.before)
        return in_time and self.api in (None, rules.api)


ALWAYS = Availability()


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `fields` are those of an object, or of each item of an array; None leaves its content unchecked."""

    kind: Kind
    fields: Mapping[str, Field] | None = None
    values: Mapping[str, Availability] | None = None
    required: Availability | None = None
    available: Availability = ALWAYS
    minimum: int | None = None
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The value without nulls and without the fields that the operator does not see."""

    value: Mapping[str, Any] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def check(document: Document, pointer: Pointer, fields: Mapping[str, Field], rules: Rules) -> Checked:
    """Check the object at the pointer, which must be a mapping."""
    checker = _Checker(document, rules)
    value: Any = document.value
    for key in pointer:
        value = value[key]
    pruned = checker.object(value, pointer, fields)
    return Checked(pruned, tuple(checker.found))


class _Checker:
    def __init__(self, document: Document, rules: Rules) -> None:
        self._document = document
        self._rules = rules
        self.found: list[Diagnostic] = []

    def object(self, value: Mapping[str, Any], pointer: Pointer, fields: Mapping[str, Field]) -> dict[str, Any]:
        """The object without nulls and without what the CRD does not have."""
        known = {key: one for key, one in fields.items() if one.available.includes(self._rules)}
        for key, one in known.items():
            if value.get(key) is None and one.required is not None and one.required.includes(self._rules):
                self._error((*pointer, key), "is required")
        return dict(self._pairs(value, pointer, fields, known))

    def _pairs(
        self, value: Mapping[str, Any], pointer: Pointer, fields: Mapping[str, Field], known: Mapping[str, Field]
    ) -> Iterator[tuple[str, Any]]:
        readable = fields if self._rules.preserves_unknown_fields else known
        for key, one in value.items():
            if one is None:
                continue
            if key in readable:
                yield key, self._value(one, (*pointer, key), readable[key])
            elif self._rules.preserves_unknown_fields:
                yield key, one
            else:
                self._left_out((*pointer, key), known, is_known=key in fields)

    def _value(self, value: Any, pointer: Pointer, rule: Field) -> Any:
        if not rule.kind.fits(value):
            hint = "quote it" if rule.kind is Kind.STRING and isinstance(value, int | float) else ""
            self._error(pointer, f"must be of type {rule.kind.value}, found {kind_of(value)}", hint)
            return value
        self._limits(value, pointer, rule)
        if rule.fields is None:
            return value
        if rule.kind is Kind.OBJECT:
            return self.object(value, pointer, rule.fields)
        return [self._item(item, (*pointer, index), rule.fields) for index, item in enumerate(value)]

    def _item(self, item: Any, pointer: Pointer, fields: Mapping[str, Field]) -> Any:
        if isinstance(item, Mapping):
            return self.object(item, pointer, fields)
        self._error(pointer, f"must be of type object, found {kind_of(item)}")
        return {}

    def _limits(self, value: Any, pointer: Pointer, rule: Field) -> None:
        if rule.values is not None:
            allowed = [one for one, available in rule.values.items() if available.includes(self._rules)]
            if value not in allowed:
                self._error(pointer, f"must be {_alternatives(allowed)}, found {word_or_kind(value)}{self._reader()}")
        if rule.minimum is not None and value < rule.minimum:
            self._error(pointer, f"must be at least {rule.minimum}, found {value}")
        if rule.pattern is not None and rule.pattern.fullmatch(value) is None:
            self._error(pointer, f"must match {rule.pattern.pattern}, found {word_or_kind(value)}")

    def _left_out(self, pointer: Pointer, known: Mapping[str, Field], *, is_known: bool) -> None:
        reason = "the field does not exist" if is_known else "the field is unknown"
        summary = f"{path(pointer)} is ignored: {reason}{self._reader()}"
        if is_known:
            self._warning(IGNORED, pointer, summary, "remove it")
            return
        similar = closest(str(pointer[-1]), known)
        hint = f"write {similar}" if similar else "correct or remove it"
        self._warning(UNKNOWN, pointer, summary, hint)

    def _reader(self) -> str:
        return f" (API version {self._rules.name}, Strimzi {self._rules.version})"

    def _error(self, pointer: Pointer, problem: str, hint: str = "") -> None:
        summary = f"{path(pointer)} {problem}"
        self.found.append(Diagnostic(Severity.ERROR, INVALID, summary, self._document.locate(pointer), hint))

    def _warning(self, rule: str, pointer: Pointer, summary: str, hint: str) -> None:
        self.found.append(Diagnostic(Severity.WARNING, rule, summary, self._document.locate(pointer), hint))


def path(pointer: Pointer) -> str:
    """A pointer as people write it: `spec.mirrors[0].source.alias`."""
    text = ""
    for key in pointer:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def _alternatives(values: list[str]) -> str:
    return " or ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
