"""The part of HCL (HashiCorp's configuration language) that resources with literal values need.

The blocks of a file, and the attributes in them. Literals are evaluated, all other expressions are kept as their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

_MAX_DEPTH = 50
"""Brackets inside of brackets, and strings inside of interpolations inside of strings."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_SPACE = re.compile(r"(?:\s++|#[^\n]*+|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_INLINE = re.compile(r"(?:[ \t\r]++|/\*.*?\*/)*+", re.DOTALL)
_COMMA = re.compile(rf"{_SPACE.pattern}(?:,{_SPACE.pattern})?", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*+|//[^\n]*+|/\*.*?\*/", re.DOTALL)
_PLAIN = re.compile(r'[^"<#/(){}\[\],\n]++')
"""Characters that neither begin nor end anything."""
_STRING_PARTS = re.compile(r"(?:[^\"\\$%\n]++|\\.|\$\$\{|%%\{|[$%](?!\{))++", re.DOTALL)
_INTERPOLATION = re.compile(r"[$%]\{")
_HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*)\r?\n")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = ("true", "false", "null")
_LONGEST_NUMBER = 200
_LONGEST_EXPONENT = 400
_FOR = re.compile(rf"\{{{_SPACE.pattern}for\s", re.DOTALL)
_TEMPLATE = re.compile(r"\$\$\{|%%\{|[$%]\{")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_NAME = re.compile(r"[^\W\d][\w-]*")


class NotHcl(Exception):
    """What is wrong, and the index of the character."""

    def __init__(self, summary: str, at: int) -> None:
        super().__init__(summary)
        self.summary = summary
        self.at = at


# Each of these functions returns the index after something that begins at an index. It raises NotHcl if there is none.


def _skip(text: str, at: int, what: re.Pattern[str] = _SPACE) -> int:
    found = what.match(text, at)
    return found.end() if found else at


def _end_of_string(text: str, start: int, depth: int = 0) -> int:
    if depth > _MAX_DEPTH:
        raise NotHcl(f"interpolations are nested deeper than {_MAX_DEPTH} levels", start)
    at = start + 1
    while at < len(text) and text[at] != '"':
        if found := _STRING_PARTS.match(text, at):
            at = found.end()
        elif _INTERPOLATION.match(text, at):
            at = _end_of_brackets(text, at + 1, depth + 1)
        elif text[at] == "\n":
            break
        else:
            at += 1
    if text[at : at + 1] != '"':
        raise NotHcl("the string is not closed in its line", start)
    return at + 1


def _end_of_heredoc(text: str, start: int) -> int:
    opening = _HEREDOC.match(text, start)
    at = opening.end() if opening else len(text)
    while opening and at < len(text):
        line, _, _ = text[at : text.find("\n", at) + 1 or None].partition("\n")
        if line.removesuffix("\r").strip(" \t") == opening.group(2):
            return at + len(line.removesuffix("\r"))
        at += len(line) + 1
    raise NotHcl("the heredoc is not closed", start)


def _end_of_brackets(text: str, start: int, depth: int = 0) -> int:
    expected: list[str] = []
    at = start
    while at < len(text):
        character = text[at]
        if character in _BRACKETS:
            expected.append(_BRACKETS[character])
            if len(expected) > _MAX_DEPTH:
                raise NotHcl(f"brackets are nested deeper than {_MAX_DEPTH} levels", at)
        elif character in ")]}" and character != expected.pop():
            raise NotHcl(f"unexpected {character}", at)
        at = _after_token(text, at, depth)
        if not expected:
            return at
    raise NotHcl(f"{text[start]} is not closed", start)


def _end_of_expression(text: str, start: int) -> int:
    """The index after the expression: its line or item ends there. Raises NotHcl."""
    at = start
    while at < len(text) and text[at] not in ",\n)]}":
        if _COMMENT.match(text, at) and not text.startswith("/*", at):
            break
        at = _end_of_brackets(text, at) if text[at] in _BRACKETS else _after_token(text, at, 0)
    return start + len(text[start:at].rstrip())


def _after_token(text: str, at: int, depth: int) -> int:
    if found := _PLAIN.match(text, at):
        return found.end()
    if text[at] == '"':
        return _end_of_string(text, at, depth)
    if _HEREDOC.match(text, at):
        return _end_of_heredoc(text, at)
    if found := _COMMENT.match(text, at):
        return found.end()
    if text.startswith("/*", at):
        raise NotHcl("the comment is not closed", at)
    return at + 1


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, or a number or boolean as the string that Terraform makes of it."""

    text: str = field(repr=False)
    at: int


@dataclass(frozen=True, slots=True)
class Null:
    at: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """An expression that only Terraform can evaluate."""

    expression: str
    at: int


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping, with its items in the order of the file. A mapping in another one is not a config, and has no
    items."""

    items: tuple[tuple[Literal | Unknown, Value], ...]
    at: int


Value = Literal | Null | Unknown | Object


def value_at(text: str, start: int, *, is_nested: bool = False) -> tuple[Value, int]:
    """The expression that begins at `start`, and the index after it. Raises NotHcl."""
    end = _end_of_expression(text, start)
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
        return Null(start) if raw == "null" else Literal(raw if raw in _WORDS else number_text(raw), start)
    if raw[0] == '"' and _end_of_string(text, start) == end:
        return _quoted(raw, start)
    if _HEREDOC.match(raw + "\n") and _end_of_heredoc(text, start) == end:
        return _heredoc(raw, start)
    if raw[0] == "{" and not _FOR.match(raw) and _end_of_brackets(text, start) == end:
        return Object(() if is_nested else tuple(_items(text, start + 1, end - 1)), start)
    return Unknown(" ".join(raw.split()), start)


def _quoted(raw: str, at: int) -> Literal | Unknown:
    found = from_template(raw[1:-1], at)
    return Unknown(raw, at) if isinstance(found, Unknown) else Literal(unescape(found.text, at), at)


def unescape(text: str, at: int) -> str:
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
    opening = _HEREDOC.match(raw)
    lines = raw[opening.end() if opening else 0 :].split("\n")[:-1]
    if opening and opening.group(1):
        shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        lines = [line[shared:] if line.strip() else line for line in lines]
    found = from_template("".join(f"{line}\n" for line in lines), at)
    return Unknown("a heredoc with an interpolation", at) if isinstance(found, Unknown) else found


def _items(text: str, start: int, end: int) -> Iterator[tuple[Literal | Unknown, Value]]:
    at = _skip(text, start)
    while at < end:
        key, at = _key(text, at)
        at = _skip(text, at)
        if text[at] not in "=:":
            raise NotHcl("expected = or : after the key", at)
        value, at = value_at(text, _skip(text, at + 1), is_nested=True)
        yield key, value
        at = _skip(text, at, _COMMA)


def elements(text: str, start: int) -> list[Value]:
    """The items of a list, or the arguments of a function: `start` is the index of the bracket. Raises NotHcl."""
    found: list[Value] = []
    at = _skip(text, start + 1)
    while at < len(text) and text[at] not in ")]":
        value, at = value_at(text, at)
        found.append(value)
        at = _skip(text, at, _COMMA)
    return found


def _key(text: str, at: int) -> tuple[Literal | Unknown, int]:
    if text[at] == '"':
        end = _end_of_string(text, at)
        return _quoted(text[at:end], at), end
    if text[at] == "(":
        end = _end_of_brackets(text, at)
        return Unknown(text[at:end], at), end
    if found := _NAME.match(text, at):
        return Literal(found.group(), at), found.end()
    raise NotHcl("expected a key", at)


@dataclass(frozen=True, slots=True)
class HclBlock:
    """A block; `start` and `end` are the indexes of the text between its braces."""

    type: str
    labels: tuple[str, ...]
    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    value: Value


def items(text: str, start: int = 0, end: int | None = None) -> Iterator[HclBlock | Attribute]:
    """The blocks and attributes of a file, or of a block. Raises NotHcl."""
    end = len(text) if end is None else end
    at = _skip(text, start)
    while at < end:
        name = _NAME.match(text, at)
        if name is None:
            raise NotHcl("expected the name of an attribute or the type of a block", at)
        following = _skip(text, name.end(), _INLINE)
        if text.startswith("=", following) and not text.startswith("==", following):
            value, after = value_at(text, _skip(text, following + 1, _INLINE))
            yield Attribute(name.group(), value)
        else:
            block = _block(text, name.group(), at, following)
            yield block
            after = block.end + 1
        at = _skip(text, after)


def _block(text: str, kind: str, at: int, following: int) -> HclBlock:
    labels = []
    while not text.startswith("{", following):
        label, after = _label(text, following)
        labels.append(label)
        following = _skip(text, after, _INLINE)
    return HclBlock(kind, tuple(labels), at, following + 1, _end_of_brackets(text, following) - 1)


def _label(text: str, at: int) -> tuple[str, int]:
    if not text.startswith('"', at) and not _NAME.match(text, at):
        raise NotHcl("expected = after the name of an attribute, or { after the type of a block", at)
    label, end = _key(text, at)
    return label.text if isinstance(label, Literal) else "", end
