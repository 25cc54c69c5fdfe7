"""Which tests share an expensive service, so that pytest-xdist runs them in one process, and in which order."""

from __future__ import annotations

import re

from support.files.tables import rows, table

SCOPES = {name: tuple(prefixes) for name, prefixes in table(__file__, "scopes").items()}
LONG = rows(__file__, "long")
PARAMETERS = {"sandbox": re.compile(r"[\[-]real[\]-]"), "postgresql": re.compile(r"\[postgresql")}
"""Parameters of other tests that need the service: those that run over the stand-in and over the shared sandbox, and
those of the ledger."""


def scope(test: str) -> str:
    """The scope of the test with this id: tests of one service, or of one file, must share a process."""
    for name, prefixes in SCOPES.items():
        if test.startswith(prefixes) or (name in PARAMETERS and PARAMETERS[name].search(test)):
            return name
    return test.partition("::")[0]


def order(test: str) -> int:
    """The position of the test's scope in `LONG`; scopes that are not in it come last."""
    name = scope(test)
    return LONG.index(name) if name in LONG else len(LONG)
