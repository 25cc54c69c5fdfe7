"""The values of references in an HCL file that are in the file: variables' defaults, locals, and `each` of `for_each`.

Of all functions, only `merge`, and `toset` in `for_each`, are evaluated. Everything else stays an unknown value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from gitops_connect.documents.encoding import Refused, place_after
from gitops_connect.exchange.readers.hcl import (
    Attribute,
    HclBlock,
    Literal,
    NotHcl,
    Null,
    Object,
    Unknown,
    Value,
    elements,
    items,
    unescape,
    value_at,
)
from gitops_connect.model.sensitivity import is_sensitive_key

_MAX_DEPTH = 10
"""References to references. A local may refer to itself."""
_MAX_WORK = 5_000_000
"""Characters and items that are looked at. Thousands of references may mean one large value: the rest stay unknown."""
_STEP_WORK = 10
"""What a look-up costs in addition, as a number of characters."""
_PATH = r'(?:var|local|each)(?:\.[^\W\d][\w-]*|\["[^"$%\\]*"\])+'
_REFERENCE = re.compile(_PATH)
_STEP = re.compile(r'\.([\w-]+)|\["([^"]*)"\]')
_PIECE = re.compile(r'\$\$\{|%%\{|\$\{([^{}"]*)\}|[$%]\{')
_MERGE = re.compile(r"merge\s*\(")
_SET = re.compile(rf"toset\s*\(\s*(?:({_PATH})\s*\)|(?=\[))")


class Scope:
    """The values in the file by the beginning of their references, as in `var.topic`. `used` are the variables."""

    def __init__(self, text: str, blocks: Iterable[HclBlock | Attribute]) -> None:
        self._text = text
        self._values: dict[str, Value] = {}
        self._left = _MAX_WORK
        self.used: set[str] = set()
        for block in blocks:
            if isinstance(block, HclBlock):
                # what only Terraform can read has no value here; it is no reason to refuse the file
                with suppress(NotHcl):
                    self._values |= _declared(text, block)

    def instances(self, attributes: Mapping[str, Value]) -> Iterator[Mapping[str, Value]]:
        """The attributes of each instance of a resource, with the values of their references."""
        each = self._each(attributes.get("for_each"))
        rest = {name: one for name, one in attributes.items() if each is None or name != "for_each"}
        for values in [{}] if each is None else each:
            self._values |= values
            yield {name: self._config(self._resolved(one)) for name, one in rest.items()}
            if self._left < 0 and each is not None:
                place = place_after(self._text[: next(iter(attributes.values())).at])
                raise Refused("document/too-many", "for_each declares too many values", place, "split the file")
            self._values = {name: one for name, one in self._values.items() if name not in values}

    def _each(self, value: Value | None) -> list[dict[str, Value]] | None:
        """The values of `each` for the items of a map or a set; None for another value."""
        found = self._resolved(value) if value is not None else None
        if isinstance(found, Unknown) and (opening := _SET.match(self._text, found.at)):
            found = self._resolved(Unknown(opening[1], found.at)) if opening[1] else replace(found, at=opening.end())
            if not self._text.startswith("[", found.at):
                return None
            named = [self._resolved(one) for one in elements(self._text, found.at)]
            found = Object(tuple((one, one) for one in named if isinstance(one, Literal | Unknown)), found.at)
        if not isinstance(found, Object) or not all(isinstance(key, Literal) for key, _ in found.items):
            return None
        return [{"each.key": key, "each.value": one} for key, one in found.items]

    def _config(self, value: Value) -> Value:
        if not isinstance(value, Object):
            return value
        return replace(value, items=tuple((key, self._resolved(one)) for key, one in value.items))

    def _resolved(self, value: Value, depth: int = 0) -> Value:
        """The value of a reference, of a string with references, or of `merge`. Other values are returned as is."""
        self._left -= _STEP_WORK + (len(value.text) if isinstance(value, Literal) else 0)
        if isinstance(value, Unknown) and depth <= _MAX_DEPTH and self._left > 0:
            with suppress(NotHcl):
                return self._evaluated(value, depth)
        return value

    def _evaluated(self, value: Unknown, depth: int) -> Value:
        if value.expression[0] == '"':
            return self._string(value, depth)
        if _REFERENCE.fullmatch(value.expression):
            return self._referred(value, depth)
        if opening := _MERGE.match(self._text, value.at):
            arguments = elements(self._text, opening.end() - 1)
            self._left -= _STEP_WORK * len(arguments)
            maps = [self._resolved(one, depth + 1) for one in arguments]
            found = [one for one in maps if isinstance(one, Object)]
            self._left -= sum(len(one.items) for one in found)
            return Object(tuple(item for one in found for item in one.items), value.at) if found == maps else value
        return value

    def _referred(self, value: Unknown, depth: int) -> Value:
        root, *steps = [plain or quoted for plain, quoted in _STEP.findall(f".{value.expression}")]
        name = f"{root}.{steps[0]}"
        # the name of a secret is lost with the reference, so that its value would not be recognized as one
        found = self._values.get(name) if not any(map(is_sensitive_key, steps)) else None
        for step in steps[1:]:
            opened = self._opened(self._resolved(found, depth + 1)) if found is not None else None
            within = opened.items if isinstance(opened, Object) else ()
            self._left -= len(within)
            found = next((one for key, one in within[::-1] if isinstance(key, Literal) and key.text == step), None)
        if found is None:
            return value
        if root == "var":
            self.used.add(name)
        return self._opened(self._resolved(found, depth + 1))

    def _opened(self, value: Value) -> Value:
        """A mapping in another one, with its items."""
        if not isinstance(value, Object) or value.items:
            return value
        opened, end = value_at(self._text, value.at)
        self._left -= end - value.at
        return opened

    def _string(self, value: Unknown, depth: int) -> Value:
        raw, at, parts = value.expression[1:-1], 0, []
        for piece in _PIECE.finditer(raw):
            parts.append(unescape(raw[at : piece.start()], value.at))
            at = piece.end()
            if piece[0] in ("$${", "%%{"):
                parts.append(piece[0][1:])
                continue
            inner = self._resolved(Unknown((piece[1] or "?").strip() or "?", value.at), depth + 1)
            if not isinstance(inner, Literal):
                return value
            parts.append(inner.text)
        return Literal("".join([*parts, unescape(raw[at:], value.at)]), value.at)


def _declared(text: str, block: HclBlock) -> Mapping[str, Value]:
    """Locals, or the default of a variable, unless the variable is a secret."""
    if block.type not in ("locals", "variable"):
        return {}
    fields = {one.name: one.value for one in items(text, block.start, block.end) if isinstance(one, Attribute)}
    if block.type == "locals":
        return {f"local.{name}": one for name, one in fields.items()}
    default, hidden = fields.get("default"), fields.get("sensitive")
    is_hidden = hidden is not None and not (isinstance(hidden, Literal) and hidden.text == "false")
    if default is None or isinstance(default, Null) or is_hidden or not block.labels:
        return {}
    return {f"var.{block.labels[0]}": default}
