"""Reads a repository's schemas for the offsets of its own connector classes: `offset-schemas/<class>.schema.json`.

Such a file is a JSON Schema of one entry, `{"partition": ..., "offset": ...}`. It may contain two keys of
gitops-connect: `x-position`, the fields of an offset that define its position, and `x-unit`, the unit of a difference
of two positions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any, NoReturn

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend

from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.diagnostics import Diagnostics, Location
from gitops_connect.model.findings import Finding, place_of
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.offsets.rules.rules import diagnose

FOLDER = "offset-schemas"
MAX_BYTES = 256 * 1024
"""Bytes of one schema. The schema of an entry has a few KiB."""
_SUFFIX = ".schema.json"
_LONGEST_MESSAGE = 200
_MAX_DEPTH = 64
_MAX_ITEMS = 500
"""Items of one list. Unique items are checked by comparing each item with each other."""
_MAX_UNFOLDED = 5_000
"""Values, with each reference replaced by its target: a check of an entry may visit all of them."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SEE = "see JSON Schema, draft 2020-12"

_Schema = dict[str, Any] | bool


@dataclass(frozen=True, slots=True)
class OwnSchemas:
    """All schemas of a repository, by full class name; and the errors of invalid ones."""

    schemas: Mapping[str, OffsetSchema] = field(default_factory=dict)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)


def is_offset_schema(path: str) -> bool:
    """True for a file with an offset schema; `path` is relative to the repository root."""
    directory, _, name = path.rpartition("/")
    return directory == FOLDER and name.endswith(_SUFFIX) and name != _SUFFIX


def load(files: Iterable[tuple[str, bytes]]) -> OwnSchemas:
    """The schemas in these files (path and content); a broken schema is a diagnostic, and counts as missing."""
    schemas, broken = {}, []
    for path, content in files:
        try:
            schema = _read(path, content)
        except _BrokenError as error:
            finding = Finding("manifest/schema-broken", "", {"found": error.found, "hint": error.hint})
            broken.append(diagnose(finding, Location(path, error.line), None))
        else:
            schemas[schema.class_name] = schema
    return OwnSchemas(schemas, Diagnostics.of(broken))


class SchemaCheck:
    """One schema, ready to check entries."""

    def __init__(self, schema: OffsetSchema) -> None:
        self._path = schema.path
        self._validator = _LinearValidator(schema.document)

    def findings(self, entry: Mapping[str, Any]) -> Iterator[Finding]:
        """Each failure of the entry, at its field."""
        found = [(_place(error) or "the entry", error.message) for error in self._validator.iter_errors(entry)]
        for place, message in sorted(found):
            words = {"path": self._path, "found": _shorten(message)}
            yield Finding("manifest/own-schema", place, words, unread=place.split(".")[0] == "partition")


class _BrokenError(Exception):
    """The error of a file: what was found, how to fix it, and its line."""

    def __init__(self, found: str, hint: str = "", line: int = 1) -> None:
        super().__init__(found)
        self.found = found
        self.hint = hint
        self.line = line


def _read(path: str, content: bytes) -> OffsetSchema:
    document = _parse(content)
    _check(document)
    keys = document if isinstance(document, dict) else {}
    position, unit = keys.get("x-position", []), keys.get("x-unit", "")
    if not isinstance(position, list) or not all(isinstance(name, str) and name for name in position):
        hint = 'write the fields of an offset, for example ["position"]'
        raise _BrokenError("x-position is not a list of fields", hint)
    if not isinstance(unit, str):
        hint = 'write the unit of a difference of two positions, for example "records"'
        raise _BrokenError("x-unit is not a string", hint)
    class_name = path.rpartition("/")[2].removesuffix(_SUFFIX)
    return OffsetSchema(class_name, path, document, tuple(position), unit)


def _parse(content: bytes) -> _Schema:
    if len(content) > MAX_BYTES:
        hint = "shorten it: the schema of one entry needs only a few KiB"
        raise _BrokenError(f"it is larger than {MAX_BYTES // 1024} KiB", hint)
    try:
        document = parse_json(content.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise _BrokenError(f"it is not UTF-8 ({error.reason})", "save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise _BrokenError(f"it cannot be read as JSON: {error.msg}", line=error.lineno) from error
    except ValueError as error:
        raise _BrokenError("it is nested too deeply, or contains a number that is too long or not finite") from error
    if not isinstance(document, dict | bool):
        raise _BrokenError("it is not a mapping", _SEE)
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check(document: _Schema) -> None:
    _check_cost(document)
    try:
        Draft202012Validator.check_schema(document)
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "the schema"
        raise _BrokenError(f"{where}: {_shorten(error.message)}", _SEE) from error
    _check_patterns(document)


def _check_patterns(value: Any) -> None:
    """Reject patterns that RE2 does not accept; `_check_cost` has limited the depth."""
    keys = value if isinstance(value, dict) else {}
    by_name = keys.get("patternProperties")
    if by_name and "unevaluatedProperties" in keys:
        hint = "use additionalProperties instead"
        raise _BrokenError("it has both patternProperties and unevaluatedProperties", hint)
    for pattern in (*(by_name if isinstance(by_name, dict) else ()), keys.get("pattern")):
        if isinstance(pattern, str) and (problem := _problem_of(pattern)):
            hint = "do not use look-around or back-references: regular expressions must run in linear time (RE2)"
            raise _BrokenError(f"the pattern {_shorten(pattern)!r} cannot be used: {problem}", hint)
    for inner in _inner_values(value):
        _check_patterns(inner)


def _check_cost(document: _Schema) -> None:
    """Reject a schema that is too expensive. Others check any entry in a time linear in the entry."""
    for value, depth in _walk(document, 0):
        if depth > _MAX_DEPTH:
            raise _BrokenError(f"it is nested deeper than {_MAX_DEPTH} levels")
        if isinstance(value, list) and len(value) > _MAX_ITEMS:
            raise _BrokenError(f"it has a list of {len(value):,} items, expected at most {_MAX_ITEMS}")
        if isinstance(value, dict) and depth and isinstance(value.get("$id"), str):
            raise _BrokenError("a schema inside it has an $id", "remove it: a file contains one schema")
    _Unfolding(document).size(document, ())


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    waiting = [(value, depth)]
    while waiting:
        value, depth = waiting.pop()
        yield value, depth
        if depth <= _MAX_DEPTH:
            waiting.extend((inner, depth + 1) for inner in _inner_values(value))


def _inner_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


class _Unfolding:
    """Counts values with references followed, each target once: twenty nested references can mean 2^20 values."""

    def __init__(self, root: _Schema) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def size(self, value: Any, inside: tuple[str, ...]) -> int:
        size = 1 + sum(self.size(inner, inside) for inner in _inner_values(value))
        for key in _REFERENCES:
            if isinstance(value, Mapping) and isinstance(value.get(key), str):
                size += self._referred(value[key], inside)
        if size > _MAX_UNFOLDED:
            raise _BrokenError(
                f"with its references resolved, it has more than {_MAX_UNFOLDED:,} values",
                "simplify it: an entry has only a few fields",
            )
        return size

    def _referred(self, reference: str, inside: tuple[str, ...]) -> int:
        if reference in inside:
            hint = "remove the reference: entries are flat, so their schema needs no recursion"
            raise _BrokenError(f"the reference {_shorten(reference, 100)} is circular", hint)
        if reference not in self._known:
            self._known[reference] = self.size(_target(self._root, reference), (*inside, reference))
        return self._known[reference]


def _target(root: Any, reference: str) -> Any:
    hint = "refer only to parts of the same schema, for example #/$defs/partition"
    if not reference.startswith("#/"):
        raise _BrokenError(f"it refers to {_shorten(reference, 100)}, outside of the schema", hint)
    place = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(place, dict) or name not in place:
            raise _BrokenError(f"it refers to {_shorten(reference, 100)}, which does not exist", hint)
        place = place[name]
    return place


def _place(error: ValidationError) -> str:
    path = [*error.absolute_path]
    return reduce(place_of, path[1:], str(path[0])) if path else ""


def _shorten(text: str, longest: int = _LONGEST_MESSAGE) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


# JSON Schema 2020-12 with regular expressions that take linear time: RE2 instead of Python's backtracking engine.
#
# `(a+)+b` takes Python minutes for 30 characters. RE2 has neither look-around nor back-references, so a schema that
# uses them is rejected when it is read.

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


def _problem_of(pattern: str) -> str:
    """Why RE2 does not accept the pattern; empty if it does."""
    try:
        _compiled(pattern)
    except UnicodeEncodeError:
        return "it contains half of a surrogate pair"
    except re2.error as error:
        words = error.args[0]
        return words.decode(errors="replace") if isinstance(words, bytes) else str(words)
    return ""


@cache
def _compiled(pattern: str) -> Any:
    return re2.compile(pattern, _OPTIONS)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, inner in patterns.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, inner: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [key for key in instance if key not in known and not any(_matches(one, key) for one in patterns)]
    for key in extras if inner is not False else ():
        yield from validator.descend(instance[key], inner, path=key)
    if inner is False and extras:
        names = ", ".join(map(repr, extras))
        yield ValidationError(f"additional properties are not allowed: {names}")


_LinearValidator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional_properties},
)
"""`unevaluatedProperties` next to `patternProperties` is left to jsonschema, which uses Python's engine for it: such a
schema is rejected."""
