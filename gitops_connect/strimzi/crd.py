"""Checks the fields of a Strimzi resource against its CRD, and leaves out what the CRD does not have.

A Kubernetes API server does both before the operator sees a resource. `crd.schema.yaml` has the fields as JSON Schema,
with the API versions and operator versions of each one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from gitops_connect.documents.fields import read
from gitops_connect.documents.nodes import compose
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.findings import kind_of, word_or_kind
from gitops_connect.model.strimzi import StrimziVersion, parse_strimzi_version
from gitops_connect.model.suggestions import closest
from gitops_connect.strimzi.resources import IGNORED, INVALID, Problems, path

UNKNOWN = "strimzi/unknown-field"

NEW_SHAPE = StrimziVersion(0, 49)
"""The first operator with API version v1, and with `spec.target`, which v1beta2 also has from then on."""
_LAST_WITH_OLD_API = StrimziVersion(0, 51)
_PRESERVED_BEFORE = StrimziVersion(0, 23)
"""Older CRDs (`apiextensions.k8s.io/v1beta1`) keep unknown fields, and the operator reads them."""
_FIRST = "0.17"
"""The first operator with `KafkaMirrorMaker2`."""
_TYPES: Mapping[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "object": Mapping, "array": list}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """The API version of a resource as written, and the operator version that reads it."""

    version: StrimziVersion
    api: str

    @staticmethod
    def of(resource: Document, version: StrimziVersion) -> Rules:
        """The rules for a resource: operators up to 0.51 read the old API versions, operators since 0.49 read v1."""
        api = str(resource.value.get("apiVersion")).rpartition("/")[2]
        return Rules(max(version, NEW_SHAPE) if api == "v1" else min(version, _LAST_WITH_OLD_API), api)

    def have(self, one: Schema) -> bool:
        before = one.get("x-before")
        in_time = parse_strimzi_version(one.get("x-since", _FIRST)) <= self.version
        in_time = in_time and (before is None or self.version < parse_strimzi_version(before))
        return in_time and one.get("x-api") in (None, "v1" if self.api == "v1" else "old")


@cache
def _definitions() -> Schema:
    definitions: Schema = read_data("crd.schema.yaml")["$defs"]
    return definitions


def read_data(file: str) -> Any:
    """The content of a YAML file of this package."""
    (root,) = compose(files(__package__).joinpath(file).read_text(encoding="utf-8"), 1)
    return read(root).value


def fields_of(name: str) -> Collection[str]:
    """Every field of a definition of the schema, whatever the version."""
    fields: Mapping[str, Any] = _definitions()[name]["properties"]
    return fields.keys()


@lru_cache(maxsize=16)
def _schema(kind: str, rules: Rules) -> Schema:
    """The schema as the rules have it. `known` are the fields that exist, `properties` are all of them."""

    def resolved(schema: Schema) -> Schema:
        if "$ref" in schema:
            own = {key: one for key, one in schema.items() if key != "$ref"}
            return resolved({**_definitions()[schema["$ref"].removeprefix("#/$defs/")], **own})
        if "properties" in schema:
            fields = {key: resolved(one) for key, one in schema["properties"].items()}
            known = {key: one for key, one in fields.items() if rules.have(one)}
            needed = (key for key, one in schema.get("x-required", {}).items() if rules.have(one))
            required = [key for key in (*schema.get("required", ()), *needed) if key in known]
            return {**schema, "properties": fields, "known": known, "required": required}
        if "items" in schema:
            return {**schema, "items": resolved(schema["items"])}
        if "enum" in schema:
            limited = schema.get("x-enum", {})
            return {**schema, "enum": [one for one in schema["enum"] if rules.have(limited.get(one, {}))]}
        return schema

    return resolved(_definitions()[kind])


def check(spec: Mapping[str, Any], kind: str, rules: Rules, problems: Problems) -> dict[str, Any]:
    """The `spec` of a resource of this kind without nulls and without the fields that the operator does not see."""
    return _Checker(rules, problems).object(spec, ("spec",), _schema(kind, rules))


@dataclass(frozen=True, slots=True)
class _Checker:
    rules: Rules
    problems: Problems

    def object(self, value: Mapping[str, Any], pointer: Pointer, schema: Schema) -> dict[str, Any]:
        for key in schema["required"]:
            if value.get(key) is None:
                self._error((*pointer, key), "is required")
        return dict(self._pairs(value, pointer, schema["properties"], schema["known"]))

    def _pairs(
        self, value: Mapping[str, Any], pointer: Pointer, fields: Mapping[str, Schema], known: Mapping[str, Schema]
    ) -> Iterator[tuple[str, Any]]:
        preserved = self.rules.version < _PRESERVED_BEFORE
        readable = fields if preserved else known
        for key, one in value.items():
            if one is None:
                continue
            if key in readable:
                yield key, self._value(one, (*pointer, key), readable[key])
            elif preserved:
                yield key, one
            else:
                self._left_out((*pointer, key), known, is_known=key in fields)

    def _value(self, value: Any, pointer: Pointer, schema: Schema) -> Any:
        expected = schema.get("type")
        if expected is not None and not _has_type(value, expected):
            hint = "quote it" if expected == "string" and isinstance(value, int | float) else ""
            self._error(pointer, f"must be of type {expected}, found {kind_of(value)}", hint)
            return value
        self._limits(value, pointer, schema)
        if "properties" in schema:
            return self.object(value, pointer, schema)
        if expected == "array":
            return [self._value(item, (*pointer, index), schema["items"]) for index, item in enumerate(value)]
        return value

    def _limits(self, value: Any, pointer: Pointer, schema: Schema) -> None:
        allowed = schema.get("enum", [value])
        if value not in allowed:
            self._error(pointer, f"must be {_alternatives(allowed)}, found {word_or_kind(value)}{self._reader}")
        if "minimum" in schema and value < schema["minimum"]:
            self._error(pointer, f"must be at least {schema['minimum']}, found {value}")
        pattern = schema.get("pattern", "").removeprefix("^").removesuffix("$")
        if pattern and re.fullmatch(pattern, value) is None:
            self._error(pointer, f"must match {pattern}, found {word_or_kind(value)}")

    def _left_out(self, pointer: Pointer, known: Collection[str], *, is_known: bool) -> None:
        reason = "the field does not exist" if is_known else "the field is unknown"
        similar = None if is_known else closest(str(pointer[-1]), known)
        hint = "remove it" if is_known else f"write {similar}" if similar else "correct or remove it"
        summary = f"{path(pointer)} is ignored: {reason}{self._reader}"
        self.problems.warning(IGNORED if is_known else UNKNOWN, pointer, summary, hint)

    @property
    def _reader(self) -> str:
        return f" (API version {self.rules.api}, Strimzi {self.rules.version})"

    def _error(self, pointer: Pointer, problem: str, hint: str = "") -> None:
        self.problems.error(INVALID, pointer, f"{path(pointer)} {problem}", hint)


def _has_type(value: object, expected: str) -> bool:
    return isinstance(value, _TYPES[expected]) and (expected == "boolean" or not isinstance(value, bool))


def _alternatives(values: list[str]) -> str:
    return " or ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)
