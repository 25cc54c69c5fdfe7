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

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value. Raises ValueError for a text that is no JSON, and for one with too many levels.

    `parse_constant` is that of `json.loads`, which reads the text.
    """
    content = text.encode(errors="replace") if isinstance(text, str) else text
    if _may_be_deep(content) and _may_be_deep(_STRING.sub(b"", content)):
        raise ValueError(f"the JSON has more than {MAX_LEVELS} nested levels")
    return json.loads(text, parse_constant=parse_constant)


def _may_be_deep(content: bytes) -> bool:
    """Remove empty pairs of brackets, level by level. Brackets in strings count, and may remain."""
    brackets = content.translate(None, _NO_BRACKETS)
    for _ in range(MAX_LEVELS):
        outer = brackets.replace(b"[]", b"").replace(b"{}", b"")
        removed = len(brackets) - len(outer)
        if len(brackets) <= MAX_LEVELS or removed * MAX_LEVELS < len(brackets):  # the deeper, the fewer are empty
            break
        brackets = outer
    return len(brackets) > MAX_LEVELS
