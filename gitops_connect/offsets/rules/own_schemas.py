"""Reads a repository's schemas for the offsets of its own connector classes: `offset-schemas/<class>.schema.json`.

Such a file is a JSON Schema of one entry, `{"partition": ..., "offset": ...}`. It may contain two keys of
gitops-connect: `x-position`, the fields of an offset that define its position, and `x-unit`, the unit of a difference
of two positions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location
from gitops_connect.model.findings import Finding, place_of
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.offsets.rules.rules import diagnose
from gitops_connect.offsets.rules.schema_limits import (
    MAX_BYTES,
    Exceeded,
    LinearValidator,
    NotLinear,
    check_limits,
    check_pattern,
    inner_values,
)

FOLDER = "offset-schemas"
_SUFFIX = ".schema.json"
_LONGEST_MESSAGE = 200

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
            broken.append(_diagnostic(path, error))
        else:
            schemas[schema.class_name] = schema
    return OwnSchemas(schemas, Diagnostics.of(broken))


class SchemaCheck:
    """One schema, ready to check entries."""

    def __init__(self, schema: OffsetSchema) -> None:
        self._path = schema.path
        self._validator = LinearValidator(schema.document)

    def findings(self, entry: Mapping[str, Any]) -> Iterator[Finding]:
        """Each failure of the entry, at its field."""
        found = [(_place(error) or "the entry", error.message) for error in self._validator.iter_errors(entry)]
        for place, message in sorted(found):
            words = {"path": self._path, "found": _shorten(message)}
            yield Finding("manifest/own-schema", place, words, unread=place.split(".")[0] == "partition")


class _BrokenError(Exception):
    """The error of a file: `found`, its place (`line`), and how to fix it (`hint`)."""

    def __init__(self, found: str, line: int = 1, hint: str = "") -> None:
        super().__init__(found)
        self.line = line
        self.hint = hint


def _diagnostic(path: str, error: _BrokenError) -> Diagnostic:
    finding = Finding("manifest/schema-broken", "", {"found": str(error), "hint": error.hint})
    return diagnose(finding, Location(path, error.line), None)


def _read(path: str, content: bytes) -> OffsetSchema:
    document = _parse(content)
    _check(document)
    keys = document if isinstance(document, dict) else {}
    position, unit = keys.get("x-position", []), keys.get("x-unit", "")
    if not isinstance(position, list) or not all(isinstance(name, str) and name for name in position):
        raise _BrokenError(
            "x-position is not a list of fields", hint='write the fields of an offset, for example ["position"]'
        )
    if not isinstance(unit, str):
        raise _BrokenError(
            "x-unit is not a string", hint='write the unit of a difference of two positions, for example "records"'
        )
    class_name = path.rpartition("/")[2].removesuffix(_SUFFIX)
    return OffsetSchema(class_name, path, document, tuple(position), unit)


def _parse(content: bytes) -> _Schema:
    if len(content) > MAX_BYTES:
        raise _BrokenError(
            f"it is larger than {MAX_BYTES // 1024} KiB",
            hint="shorten it: the schema of one entry needs only a few KiB",
        )
    try:
        document = json.loads(content.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise _BrokenError(f"it is not UTF-8 ({error.reason})", hint="save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise _BrokenError(f"it cannot be read as JSON: {error.msg}", error.lineno) from error
    except (RecursionError, ValueError) as error:
        raise _BrokenError("it is nested too deeply, or contains a number that is too long or not finite") from error
    if not isinstance(document, dict | bool):
        raise _BrokenError("it is not a mapping", hint="see JSON Schema, draft 2020-12")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check(document: _Schema) -> None:
    try:
        check_limits(document)
        Draft202012Validator.check_schema(document)
    except Exceeded as error:
        raise _BrokenError(str(error), hint=error.hint) from error
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "the schema"
        raise _BrokenError(f"{where}: {_shorten(error.message)}", hint="see JSON Schema, draft 2020-12") from error
    _check_patterns(document)


def _check_patterns(value: Any) -> None:
    """Reject patterns that RE2 does not accept; `check_limits` has limited the depth."""
    keys = value if isinstance(value, dict) else {}
    by_name = keys.get("patternProperties")
    patterns = [*(by_name if isinstance(by_name, dict) else ()), *([keys["pattern"]] if "pattern" in keys else ())]
    if by_name and "unevaluatedProperties" in keys:
        raise _BrokenError(
            "it has both patternProperties and unevaluatedProperties", hint="use additionalProperties instead"
        )
    for pattern in patterns:
        try:
            check_pattern(pattern) if isinstance(pattern, str) else None
        except NotLinear as error:
            hint = "do not use look-around or back-references: regular expressions must run in linear time (RE2)"
            raise _BrokenError(f"the pattern {_shorten(pattern)!r} cannot be used: {error}", hint=hint) from error
    for inner in inner_values(value):
        _check_patterns(inner)


def _place(error: ValidationError) -> str:
    path = [*error.absolute_path]
    return reduce(place_of, path[1:], str(path[0])) if path else ""


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 3] + "..."
