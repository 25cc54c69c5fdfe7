"""What the stack trace of a FAILED part means, if it is a failure that Kafka's exceptions identify.

`known_failures.toml` lists these failures. They are failures of Connect and of Kafka's clients, so any class can have
them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from gitops_connect.model.health import KnownFailure

CAUSED_BY = "Caused by: "


@cache
def _known_failures() -> Sequence[tuple[Sequence[re.Pattern[str]], KnownFailure]]:
    text = files("gitops_connect.families").joinpath("known_failures.toml").read_text(encoding="utf-8")
    return [
        (
            [re.compile(one, re.MULTILINE) for one in failure["trace"]],
            KnownFailure(failure["cause"], failure["advice"], failure["restart"]),
        )
        for failure in tomllib.loads(text)["failure"]
    ]


def known_failure(trace: str) -> KnownFailure | None:
    """The meaning of a Java stack trace; None if no entry of `known_failures.toml` matches."""
    first, *others = trace.strip().splitlines() or [""]
    headers = "\n".join([first, *(line for line in others if line.startswith(CAUSED_BY))])
    for patterns, failure in _known_failures():
        if all(pattern.search(headers) for pattern in patterns):
            return failure
    return None
