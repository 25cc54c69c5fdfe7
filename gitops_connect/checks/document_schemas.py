"""Checks documents with the published JSON Schemas: every problem of every document, each at its field.

The kind of a document selects its schema, so that the problems are those of the document that the author intended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import gitops_connect
from gitops_connect.checks.quick_schema import Check, quick_check
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, contained_or
from gitops_connect.model.documents import CONNECTOR, KINDS, OFFSET_CHANGE, Document, DocumentCache, Documents, Pointer
from gitops_connect.model.findings import kind_of, word_or_kind
from gitops_connect.model.names import REFUSED_IN_KEYS, REFUSED_IN_NAMES, first_refused
from gitops_connect.model.suggestions import closest, did_you_mean

_SCHEMAS = {CONNECTOR: "connector", OFFSET_CHANGE: "offset-change"}


SchemaCache = DocumentCache[tuple[Diagnostic, ...]]


def check(documents: Documents, cache: SchemaCache | None = None) -> Diagnostics:
    """All violations of the schemas in the documents; documents in the cache are not checked again."""

    def verdict(document: Document) -> tuple[Diagnostic, ...]:
        return contained_or(lambda bug: (bug,), partial(_check_one, document), document.location, document.connector)

    verdicts = (cache or SchemaCache()).results(documents.documents, verdict)
    return Diagnostics.of(problem for problems in verdicts for problem in problems)


@cache
def _engine(kind: str) -> tuple[dict[str, Any], Check, Draft202012Validator]:
    """The schema, its quick check and its validator, created once: that takes longer than the check of a document."""
    schema = read_schema(_SCHEMAS[kind])
    return schema, quick_check(schema), Draft202012Validator(schema)


def _check_one(document: Document) -> tuple[Diagnostic, ...]:
    meant = OFFSET_CHANGE if document.is_offset_change else CONNECTOR
    kind = document.value.get("kind", meant)
    if kind not in KINDS:
        suggestion = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        hint = f"use one of these kinds: {', '.join(KINDS)}"
        return (document.error("schema/kind", f"unknown kind {kind!r}{suggestion}", ("kind",), hint),)
    schema, is_valid, validator = _engine(kind)
    if is_valid(document.value):
        return ()
    failures = [SchemaFailure.of(error) for error in validator.iter_errors(document.value)]
    return tuple(_explain(document, failures, schema)) if failures else ()


# Converts errors of the JSON Schema engine to diagnostics in plain words, each at its field, one for each mistake.
#
# Of a value, at most a word is repeated, if the schema lists the allowed values: any value may be a secret in the wrong
# place. A key that is not valid, or that has no value, may be a part of a secret, too.

_YAML_1_1 = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_UNKNOWN = "additionalProperties"
_CONFIG: Pointer = ("spec", "config")
_NAMES: Collection[Pointer] = (("metadata", "name"), ("spec", "connector"), ("spec", "connectors"))
_REFUSED = {r"^[A-Za-z0-9._-]+$(?!\n)": re.compile(r"[^A-Za-z0-9._-]")}
"""What the name of an offset change must not have, by the pattern of its schema."""
_TYPE_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


class Problem(NamedTuple):
    """A diagnostic without its place."""

    rule: str
    summary: str
    pointer: Pointer
    hint: str = ""


def _explain(
    document: Document, failures: Collection[SchemaFailure], schema: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    """The diagnostics for one document. A missing field is not reported if its misspelling is reported.

    Other failures of a value of the wrong type are not reported either: `oneOf` fails for null, too.
    """
    misspelt = {meant for failure in failures if failure.keyword == _UNKNOWN for meant in _misspelt(failure)}
    mistyped = {failure.pointer for failure in failures if failure.keyword == "type"}
    for failure in failures:
        if failure.pointer in mistyped and failure.keyword != "type":
            continue
        for problem in _problems(failure, schema):
            if problem.rule != "schema/required" or problem.pointer not in misspelt:
                yield document.error(*problem)


def _problems(failure: SchemaFailure, schema: Mapping[str, Any]) -> Iterator[Problem]:
    if failure.of_key:
        pointer = (*failure.pointer, failure.found)
        where = first_refused(REFUSED_IN_KEYS, str(failure.found))
        yield Problem("schema/key", f"a key is not valid{where and f': {where}'}", pointer, _expectation(failure))
    elif failure.keyword == _UNKNOWN:
        yield from _unknown_fields(failure, schema)
    elif failure.keyword == "required":
        yield from _missing_fields(failure)
    else:
        yield _OTHERS.get(failure.keyword, _unforeseen)(failure)


def _unknown_fields(failure: SchemaFailure, schema: Mapping[str, Any]) -> Iterator[Problem]:
    where = failure.pointer
    known = failure.fields
    for field in failure.unknown:
        summary = f"unknown field {field!r} in {_dotted(where)}{did_you_mean(field, known)}"
        hint = _home(field, where, schema) or f"use one of these fields: {', '.join(known)}"
        yield Problem("schema/unknown-field", summary, (*where, field), hint)


def _home(field: str, where: Pointer, schema: Mapping[str, Any]) -> str:
    """The mapping to which a field belongs that is known there, or an empty string."""
    spec = schema["properties"]["spec"]["properties"]
    if where == ("spec",) and "." in field and "config" in spec and closest(field, spec) is None:
        return "move it to spec.config, which contains the connector's config"
    places: dict[Pointer, Mapping[str, Any]] = {
        (): schema["properties"],
        ("metadata",): schema["properties"]["metadata"]["properties"],
        ("spec",): spec,
    }
    homes = [_dotted(place) for place, fields in places.items() if field in fields and place != where]
    return f"move {field} to {homes[0]}; check the indentation" if homes else ""


def _missing_fields(failure: SchemaFailure) -> Iterator[Problem]:
    for field in failure.expected:
        if field not in failure.found:
            pointer = (*failure.pointer, field)
            hint = str(failure.schema["properties"][field]["description"])
            yield Problem("schema/required", f"{_dotted(pointer)} is missing", pointer, hint)


def _misspelt(failure: SchemaFailure) -> Iterator[Pointer]:
    for field in failure.unknown:
        meant = closest(field, failure.fields)
        if meant is not None:
            yield (*failure.pointer, meant)


def _type(failure: SchemaFailure) -> Problem:
    expected = failure.expected if isinstance(failure.expected, list) else [failure.expected]
    words = " or ".join(_TYPE_WORDS[name] for name in expected)
    what = _dotted(failure.pointer)
    if failure.found is None and failure.pointer[:-1] == _CONFIG:  # `{a.password: x,y}` has a key `y` without a value
        what = f"a value of {_dotted(_CONFIG)}"
    summary = f"{what} is {kind_of(failure.found)}, expected {words}"
    hint = _type_hint(failure.found, expected) or _example(failure)
    return Problem("schema/type", summary, failure.pointer, hint)


def _example(failure: SchemaFailure) -> str:
    examples = failure.schema.get("examples")
    return f"for example {json.dumps(examples[0])}" if examples else ""


def _type_hint(found: object, expected: list[str]) -> str:
    if found is None:
        return "remove the key, or give it a value"
    if expected == ["boolean"] and isinstance(found, str):
        return f"write {_YAML_1_1.get(found.lower(), 'true or false')}, without quotes"
    if expected == ["string"] and isinstance(found, bool | int | float):
        return "put it in quotes"
    if "boolean" in expected and isinstance(found, list):
        return "join the items with commas: Connect stores strings"
    if "boolean" in expected and isinstance(found, Mapping):
        return "write the keys in full, as in transforms.unwrap.type: Connect's config is flat"
    return ""


def _enum(failure: SchemaFailure) -> Problem:
    options = [failure.expected] if failure.keyword == "const" else list(failure.expected)
    known = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    listed = len(options) > 1 and isinstance(failure.found, str)
    suggestion = did_you_mean(failure.found, options) if listed else ""
    summary = f"{_dotted(failure.pointer)} is {word_or_kind(failure.found)}, expected {known}{suggestion}"
    return Problem("schema/enum", summary, failure.pointer)


def _range(failure: SchemaFailure) -> Problem:
    bound = "at least" if failure.keyword == "minimum" else "at most"
    summary = f"{_dotted(failure.pointer)} is {failure.found}, expected {bound} {failure.expected}"
    return Problem("schema/range", summary, failure.pointer)


def _text(failure: SchemaFailure) -> Problem:
    pointer = failure.pointer
    if not failure.found:
        return Problem("schema/string", f"{_dotted(pointer)} is empty", pointer, failure.description)
    if failure.keyword == "maxLength":
        return Problem("schema/string", f"{_dotted(pointer)} is longer than {failure.expected} characters", pointer)
    refused = _REFUSED.get(failure.expected, REFUSED_IN_NAMES)
    where = first_refused(refused, failure.found) if pointer[:2] in _NAMES else ""
    summary = f"{_dotted(pointer)} is not well-formed{where and f': {where}'}"
    return Problem("schema/string", summary, pointer, _expectation(failure))


def _choice(failure: SchemaFailure) -> Problem:
    """For a mapping with exactly or at least one field: by their number, or `oneOf` with a `required` for each."""
    if failure.keyword == "oneOf":
        fields = [str(option["required"][0]) for option in failure.expected]
        found = [field for field in fields if field in failure.found]
    else:
        fields, found = failure.fields, list(failure.found)
    number = "at least" if failure.keyword == "minProperties" and "maxProperties" not in failure.schema else "exactly"
    expected = f"{number} one of {', '.join(fields)}, found {', '.join(found) or 'none'}"
    return Problem("schema/choice", f"{_dotted(failure.pointer)} must have {expected}", failure.pointer)


def _none_of(failure: SchemaFailure) -> Problem:
    """For a mapping that must not have any of several fields: `not`, with an `anyOf` of `required`."""
    fields = [str(option["required"][0]) for option in failure.expected["anyOf"]]
    found = [field for field in fields if field in failure.found]
    summary = f"{_dotted(failure.pointer)} must not have {' or '.join(fields)}, found {', '.join(found)}"
    return Problem("schema/choice", summary, (*failure.pointer, found[0]), failure.description)


def _empty(failure: SchemaFailure) -> Problem:
    return Problem("schema/empty", f"{_dotted(failure.pointer)} is empty", failure.pointer, failure.description)


def _too_many(failure: SchemaFailure) -> Problem:
    summary = f"{_dotted(failure.pointer)} has {len(failure.found):,} entries, expected at most {failure.expected}"
    return Problem("schema/range", summary, failure.pointer)


def _unforeseen(failure: SchemaFailure) -> Problem:
    """For a keyword that no schema uses yet. The engine's own message repeats the value, and is not shown."""
    summary = f"{_dotted(failure.pointer)} does not satisfy {failure.keyword!r} of the schema"
    return Problem("schema/other", summary, failure.pointer, failure.description)


_OTHERS: dict[str, Callable[[SchemaFailure], Problem]] = {
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "minimum": _range,
    "maximum": _range,
    "pattern": _text,
    "minLength": _text,
    "maxLength": _text,
    "minProperties": _choice,
    "maxProperties": _choice,
    "minItems": _empty,
    "maxItems": _too_many,
    "oneOf": _choice,
    "not": _none_of,
}


def _expectation(failure: SchemaFailure) -> str:
    return str(failure.schema.get("patternErrorMessage", ""))


def _dotted(pointer: Iterable[str | int]) -> str:
    return ".".join(map(str, pointer)) or "the document"


class SchemaFailure(NamedTuple):
    """One failure of the engine. The engine's own type is loose: every attribute may be unset."""

    keyword: str
    expected: Any
    found: Any
    pointer: Pointer
    schema: Mapping[str, Any]
    of_key: bool
    """True if not a value, but its key failed (`propertyNames`)."""

    @staticmethod
    def of(error: ValidationError) -> SchemaFailure:
        """Convert an error of the engine."""
        pointer: Pointer = tuple(error.absolute_path)
        schema = cast("Mapping[str, Any]", error.schema)
        of_key = "propertyNames" in error.absolute_schema_path
        return SchemaFailure(str(error.validator), error.validator_value, error.instance, pointer, schema, of_key)

    @property
    def fields(self) -> list[str]:
        return list(self.schema["properties"])

    @property
    def unknown(self) -> list[str]:
        return [field for field in self.found if field not in self.schema["properties"]]

    @property
    def description(self) -> str:
        return str(self.schema.get("description", ""))


# The place of the published schemas: inside an installed package, or at the top of a checkout.

_PACKAGE = Path(gitops_connect.__file__).parent


def schema_directory() -> Path:
    """The directory of `*.schema.json`. A wheel contains it inside the package (`force-include` in pyproject.toml)."""
    inside = _PACKAGE / "schemas"
    return inside if inside.is_dir() else _PACKAGE.parent / "schemas"


def read_schema(name: str) -> dict[str, Any]:
    """The schema. Parts that it uses several times are inserted, so that each part can be used alone."""
    schema: dict[str, Any] = json.loads((schema_directory() / f"{name}.schema.json").read_text(encoding="utf-8"))
    parts = {f"#/$defs/{part}": value for part, value in schema.pop("$defs", {}).items()}

    def inserted(value: Any) -> Any:
        if isinstance(value, dict):
            return parts.get(value.get("$ref", "")) or {key: inserted(one) for key, one in value.items()}
        return [inserted(one) for one in value] if isinstance(value, list) else value

    return cast("dict[str, Any]", inserted(schema))
