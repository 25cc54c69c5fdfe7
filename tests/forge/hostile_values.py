"""Values that no forge sends, and every answer with one of them instead of another value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.files.tables import table

from forge.exchanges import GITEA_ANSWERS, exchanges
from gitops_connect.settings.sections import ForgeKind

VALUES: list[Any] = table(__file__, "values")
"""Instead of a whole answer, or of a value in it."""
BODIES = (b"", b"<html>", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"[1e999]", b"\x00")
"""Instead of a whole answer."""

_TESTS = ("user", "permissions of the account", "open", "is open", "merged", "parents", "comments", "statuses")


def answers(kind: ForgeKind) -> dict[str, Any]:
    """The answer of a forge to each request, as `METHOD PATH` without a query: those of the contract."""
    if kind is ForgeKind.GITEA:
        return GITEA_ANSWERS
    found: dict[str, Any] = {}
    for test in (*_TESTS, "permissions", "annotations"):
        for one in exchanges(kind, test):
            if one.status < 300:
                found.setdefault(one.request.partition("?")[0], one.answer)
    return found


def spoiled(answer: Any) -> Iterator[bytes]:
    """Bodies instead of an answer. Of a list, only the first result is spoiled."""
    if isinstance(answer, str):
        yield from (b"@@ -1 +" + b"9" * 5000 + b" @@", b"\xff", b"+++ \n@@ -0,0 +0,999999999 @@\n+")
        return
    yield from BODIES
    for one in _spoiled(answer):
        yield json.dumps(one).encode()


def _spoiled(answer: Any) -> Iterator[Any]:
    yield from VALUES
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield {other: one for other, one in answer.items() if other != name}
            yield from ({**answer, name: one} for one in _spoiled(value))
    elif isinstance(answer, list) and answer:
        yield from ([one] for one in _spoiled(answer[0]))
