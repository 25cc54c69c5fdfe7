"""Which tests share an expensive service, so that pytest-xdist runs them in one process, and in which order."""

from __future__ import annotations

import re

from support.files.tables import rows, table

SCOPES = {name: tuple(prefixes) for name, prefixes in table(__file__, "scopes").items()}
LONG, LAST = rows(__file__, "long"), rows(__file__, "last")
PARAMETERS = {"sandbox": re.compile(r"[\[-]real[\]-]"), "postgresql": re.compile(r"\[postgresql")}
"""Parameters of other tests that need the service: those that run over the stand-in and over the shared sandbox, and
those of the ledger."""


def scope(test: str) -> str:
    """The scope of the test with this id: tests of one service, or of one file, must share a process."""
    for name, prefixes in SCOPES.items():
        if test.startswith(prefixes) or (name in PARAMETERS and PARAMETERS[name].search(test)):
            return name
    file = test.partition("::")[0]
    return test if file in LAST else file


def order(test: str) -> int:
    """When the test's scope starts: those in `LONG` first, in their order; the tests in `LAST` after all others."""
    if test.startswith(tuple(LAST)):
        return len(LONG) + 1
    name = scope(test)
    return LONG.index(name) if name in LONG else len(LONG)
