"""The blocks of an HCL file, such as `resource "TYPE" "NAME" { … }`, and the attributes in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitops_connect.desired.foreign.hcl.expressions import Literal, Value, value_at
from gitops_connect.desired.foreign.hcl.scanner import NotHcl, end_of_brackets, end_of_string, skip_inline, skip_space

_NAME = re.compile(r"[^\W\d][\w-]*")


@dataclass(frozen=True, slots=True)
class Block:
    """A block; `start` and `end` are the indexes of the text between its braces."""

    type: str
    labels: tuple[str, ...]
    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name = value`."""

    name: str
    value: Value
    at: int


def items(text: str, start: int = 0, end: int | None = None) -> Iterator[Block | Attribute]:
    """The blocks and attributes of a file, or of a block. Raises NotHcl."""
    end = len(text) if end is None else end
    at = skip_space(text, start)
    while at < end:
        name = _NAME.match(text, at)
        if name is None:
            raise NotHcl("expected the name of an attribute or the type of a block", at)
        following = skip_inline(text, name.end())
        if text.startswith("=", following) and not text.startswith("==", following):
            value, after = value_at(text, skip_inline(text, following + 1))
            yield Attribute(name.group(), value, at)
        else:
            block = _block(text, name.group(), at, following)
            yield block
            after = block.end + 1
        at = skip_space(text, after)


def _block(text: str, kind: str, at: int, following: int) -> Block:
    labels = []
    while not text.startswith("{", following):
        label, after = _label(text, following)
        labels.append(label)
        following = skip_inline(text, after)
    return Block(kind, tuple(labels), at, following + 1, end_of_brackets(text, following) - 1)


def _label(text: str, at: int) -> tuple[str, int]:
    if text.startswith('"', at):
        end = end_of_string(text, at)
        value, _ = value_at(text[at:end], 0)
        return value.text if isinstance(value, Literal) else "", end
    if found := _NAME.match(text, at):
        return found.group(), found.end()
    raise NotHcl("expected = after the name of an attribute, or { after the type of a block", at)
