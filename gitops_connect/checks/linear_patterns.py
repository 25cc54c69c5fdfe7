"""JSON Schema 2020-12 with regular expressions that take linear time: RE2 instead of Python's backtracking engine.

`(a+)+b` takes Python minutes for 30 characters. RE2 has neither look-around nor back-references, so a schema that uses
them is rejected when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 1 << 20


class NotLinear(ValueError):
    """RE2 does not accept the pattern."""


def check_pattern(pattern: str) -> None:
    """Raise NotLinear, with RE2's message, if RE2 does not accept the pattern."""
    try:
        _compiled(pattern)
    except UnicodeEncodeError as error:
        raise NotLinear("it contains half of a surrogate pair") from error
    except re2.error as error:
        words = error.args[0]
        raise NotLinear(words.decode(errors="replace") if isinstance(words, bytes) else str(words)) from error


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


LinearValidator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    },
)
"""`unevaluatedProperties` next to `patternProperties` is left to jsonschema, which uses Python's engine for it: such a
schema is rejected (`own_schemas`)."""
