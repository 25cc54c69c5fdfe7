"""Strings as YAML text: every reader of YAML 1.1 and of YAML 1.2 reads the same string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/_](?:[A-Za-z0-9_./,:@=+-]*[A-Za-z0-9_/])?")
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_TEXT = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that are booleans or null in YAML 1.1 or 1.2, in lower case."""
_LINE_END = "\n"


def in_json(text: str) -> str:
    """JSON as YAML: characters that are not printable are escaped, because YAML has no surrogate pairs."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(ord(one)) for one in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def quoted(text: str) -> str:
    return in_json(json.dumps(text, ensure_ascii=False))


def scalar(text: str) -> str:
    """A string without quotes if it is a simple word that is no other value of YAML, else in double quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT else quoted(text)


def field(key: str, text: str, indent: str) -> str:
    """The lines of a field: a string of several lines is a literal block, if such a block cannot change it."""
    name, lines = f"{indent}{scalar(key)}:", text.removesuffix("\n").split("\n")
    # Editors remove whitespace at line ends, and a block cannot begin with whitespace or end with empty lines.
    is_clean = all(line.isprintable() and line == line.rstrip() for line in lines)
    if "\n" not in text or not is_clean or not lines[0][:1].strip() or not lines[-1].strip():
        return f"{name} {scalar(text)}"
    block = "".join(f"\n{indent}  {line}" if line else "\n" for line in lines)
    return f"{name} {'|' if text.endswith(_LINE_END) else '|-'}{block}"


def lines(key: str, value: Any, indent: str) -> Iterator[str]:
    """The lines of a field with any JSON value."""
    if isinstance(value, str):
        yield field(key, value, indent)
    elif isinstance(value, Mapping) and value:
        yield f"{indent}{scalar(key)}:"
        for name, one in value.items():
            yield from lines(name, one, f"{indent}  ")
    elif isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value):
        yield f"{indent}{scalar(key)}:"
        yield from (f"{indent}  - {in_flow(one)}" for one in value)
    else:
        yield f"{indent}{scalar(key)}: {in_flow(value)}"


def in_flow(value: Any) -> str:
    """A value on one line, in which a string may have commas and brackets."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{in_flow(key)}: {in_flow(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_flow, value))}]"
    if isinstance(value, str):
        return value if _SIMPLE.fullmatch(value) and value.lower() not in _NOT_TEXT else quoted(value)
    return json.dumps(value)
