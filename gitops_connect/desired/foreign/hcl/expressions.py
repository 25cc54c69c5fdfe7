"""Values of HCL: literals are evaluated, all other expressions are kept as their text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from gitops_connect.desired.foreign.hcl.scanner import (
    HEREDOC,
    NotHcl,
    end_of_brackets,
    end_of_expression,
    end_of_heredoc,
    end_of_string,
    skip_space,
)

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = ("true", "false", "null")
_LONGEST_NUMBER = 200
_LONGEST_EXPONENT = 400
_NAME = re.compile(r"[^\W\d][\w-]*")
_FOR = re.compile(r"\{\s*for\s")
_TEMPLATE = re.compile(r"\$\$\{|%%\{|[$%]\{")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_INDENTATION = re.compile(r"[^\S\n]*")


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, or a number or boolean as the string that Terraform makes of it."""

    text: str = field(repr=False)
    at: int


@dataclass(frozen=True, slots=True)
class Null:
    """The word `null`."""

    at: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """An expression that only Terraform can evaluate."""

    expression: str
    at: int


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping, with its items in the order of the file. A mapping in another one is no config, and has no items."""

    items: tuple[tuple[Literal | Unknown, Value], ...]
    at: int


Value = Literal | Null | Unknown | Object


def value_at(text: str, start: int, *, is_nested: bool = False) -> tuple[Value, int]:
    """The expression that begins at `start`, and the index after it. Raises NotHcl."""
    end = end_of_expression(text, start)
    if end == start:
        raise NotHcl("a value is missing", start)
    return _value(text, start, end, is_nested=is_nested), end


def from_template(raw: str, at: int) -> Literal | Unknown:
    """A string that may contain `${…}` and `%{…}`, as in Terraform's JSON. `$${` means `${`."""
    if any(found.group() in ("${", "%{") for found in _TEMPLATE.finditer(raw)):
        return Unknown(f'"{raw}"', at)
    return Literal(raw.replace("$${", "${").replace("%%{", "%{"), at)


def number_text(digits: str) -> str:
    """The string that Terraform makes of a number: without an exponent, and without zeros at the end."""
    number = Decimal(digits)
    text = format(number, "f") if abs(number.adjusted()) < _LONGEST_EXPONENT else digits
    return text.rstrip("0").rstrip(".") if "." in text else text


def _value(text: str, start: int, end: int, *, is_nested: bool) -> Value:
    raw = text[start:end]
    if raw in _WORDS or (_NUMBER.fullmatch(raw) and len(raw) <= _LONGEST_NUMBER):
        return _word(raw, start)
    if raw[0] == '"' and end_of_string(text, start) == end:
        return _quoted(raw, start)
    if HEREDOC.match(raw + "\n") and end_of_heredoc(text, start) == end:
        return _heredoc(raw, start)
    if raw[0] == "{" and not _FOR.match(raw) and end_of_brackets(text, start) == end:
        return Object(() if is_nested else tuple(_items(text, start + 1, end - 1)), start)
    return Unknown(" ".join(raw.split()), start)


def _word(raw: str, at: int) -> Literal | Null:
    if raw == "null":
        return Null(at)
    return Literal(raw if raw in _WORDS else number_text(raw), at)


def _quoted(raw: str, at: int) -> Literal | Unknown:
    found = from_template(raw[1:-1], at)
    return Unknown(raw, at) if isinstance(found, Unknown) else Literal(_unescape(found.text, at), at)


def _unescape(text: str, at: int) -> str:
    def character(found: re.Match[str]) -> str:
        escape = found.group(1)
        if escape in _ESCAPES:
            return _ESCAPES[escape]
        code = int(escape[1:], 16) if len(escape) > 1 else -1
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise NotHcl("the string has a backslash that begins no escape of HCL", at)
        return chr(code)

    return _ESCAPE.sub(character, text)


def _heredoc(raw: str, at: int) -> Literal | Unknown:
    """The lines of a heredoc, each with its line end. `<<-` removes the indentation that all lines share."""
    opening = HEREDOC.match(raw)
    lines = raw[opening.end() if opening else 0 :].split("\n")[:-1]
    if opening and opening.group(1):
        indentations = [len(_indentation(line)) for line in lines if line.strip()]
        shared = min(indentations, default=0)
        lines = [line[shared:] if line.strip() else line for line in lines]
    found = from_template("".join(f"{line}\n" for line in lines), at)
    return Unknown("a heredoc with an interpolation", at) if isinstance(found, Unknown) else found


def _indentation(line: str) -> str:
    found = _INDENTATION.match(line)
    return found.group() if found else ""


def _items(text: str, start: int, end: int) -> Iterator[tuple[Literal | Unknown, Value]]:
    at = skip_space(text, start)
    while at < end:
        key, at = _key(text, at)
        at = skip_space(text, at)
        if text[at] not in "=:":
            raise NotHcl("expected = or : after the key", at)
        value, at = value_at(text, skip_space(text, at + 1), is_nested=True)
        yield key, value
        at = skip_space(text, at)
        at = skip_space(text, at + 1) if text[at] == "," else at


def _key(text: str, at: int) -> tuple[Literal | Unknown, int]:
    if text[at] == '"':
        end = end_of_string(text, at)
        return _quoted(text[at:end], at), end
    if text[at] == "(":
        end = end_of_brackets(text, at)
        return Unknown(text[at:end], at), end
    if found := _NAME.match(text, at):
        return Literal(found.group(), at), found.end()
    raise NotHcl("expected a key", at)
