"""The requests with an effect that a step sends, each with its answer: method, path, status and message, no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

LONGEST = 300
"""Characters of an answer that are recorded. It is cut after its secrets were masked: a part of one is not found."""


class Exchange(NamedTuple):
    """A request as method and path, and its answer in words, in which secrets are masked."""

    request: str
    answer: str


_NOTED: ContextVar[list[Exchange] | None] = ContextVar("exchanges", default=None)
"""Those of this thread, if they are noted."""


@contextmanager
def noted_in(exchanges: list[Exchange]) -> Iterator[None]:
    """Add every request with an effect that this thread sends in the block."""
    token = _NOTED.set(exchanges)
    try:
        yield
    finally:
        _NOTED.reset(token)


def note(request: str, answer: str) -> None:
    if (exchanges := _NOTED.get()) is not None:
        exchanges.append(Exchange(request, answer.removeprefix(f"{request}: ")))
