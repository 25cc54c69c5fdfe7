"""JSON that others wrote, with a limit for nested levels.

Python's parser calls itself for each level, up to the interpreter's limit for calls. The garbage collector may run at
that point, too. The finalizers that it calls for unrelated objects then fail, because no call is left for them. The
levels are therefore limited before a text is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

MAX_LEVELS = 100
"""This many levels are always accepted, and three times as many never: the brackets give an estimate."""

_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STRING = re.compile(r'"[^"]*"?')


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value. Raises ValueError for a text that is no JSON, and for one with too many levels.

    `parse_constant` is that of `json.loads`, which reads the text.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if _is_deep(_brackets(text.encode(errors="replace"))):
        raise ValueError(f"the JSON has more than {MAX_LEVELS} nested levels")
    return json.loads(text, parse_constant=parse_constant)


def _brackets(content: bytes) -> str:
    """The brackets outside strings. Before each, the number of quotes is even, also without adjacent quotes."""
    unescaped = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    signs = unescaped.translate(None, _OTHERS).replace(b'""', b"").decode()
    return _STRING.sub("", signs)  # on bytes, `sub` would need ten times the memory


def _is_deep(brackets: str) -> bool:
    """Remove empty pairs, level by level. The deeper they are nested, the fewer are empty."""
    for _ in range(MAX_LEVELS):
        outer = brackets.replace("[]", "").replace("{}", "")
        removed = len(brackets) - len(outer)
        if len(brackets) <= MAX_LEVELS or removed * MAX_LEVELS < len(brackets):
            break
        brackets = outer
    return len(brackets) > MAX_LEVELS
