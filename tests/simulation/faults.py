"""Which instruction that touches the world fails, and how: at random, or those of an earlier day again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from random import Random

from gitops_connect.errors import (
    ConnectRefused,
    ConnectUnavailable,
    GitopsConnectError,
    LedgerUnusable,
    OffsetsNotChanged,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
)


class Point(Enum):
    """A kind of instruction, with its faults."""

    TOUCH = ("dies", "freezes for 1", "freezes for 6", "freezes for 12", "freezes for 40")
    """Before any instruction."""
    COMMIT = ("dies", "finds a full disk")
    """In a transaction of an SQLite ledger, before its end."""
    STATEMENT = ("dies", "freezes for 1", "freezes for 12", "loses its connection")
    """Before a statement of a transaction in PostgreSQL."""
    SERVER_COMMIT = (*STATEMENT, "takes effect, but is not answered")
    """Before the end of a transaction in PostgreSQL that writes."""
    READ = ("is not answered", "is answered 409", "is answered 500")
    REQUEST = (
        "takes effect, but is not answered",
        "takes effect, but is not answered",
        "gets no answer and takes no effect",
        "is not answered",
        "is answered 409",
        "is answered 400",
        "is answered 500",
        "takes half of its effect, and is answered 500",
    )
    """A request with an effect. The worst fault is twice as probable: few requests change offsets."""
    FORGE = (
        "takes effect, but is not answered",
        "is not answered",
        "is answered 404",
        "is answered 429",
        "is answered 500",
        "is answered late",
    )
    """A request to the forge."""


class UnseenCommit(LedgerUnusable):
    """The connection was lost during a commit that took effect. The product cannot tell it from another loss."""


UNSEEN = "takes effect, but is not answered"
HALF = "takes half of its effect, and is answered 500"
"""Of a change of offsets. A creation is too late: see `PRECEDED`. Others take none."""
PRECEDED = "someone else creates the connector first"
"""Between the plan and the request, to which Connect answers that the connector exists."""
ERRORS: Mapping[str, Callable[[], GitopsConnectError]] = {
    "finds a full disk": partial(LedgerUnusable, "the disk of the ledger is full"),
    UNSEEN: partial(OutcomeUnknown, "no answer"),
    "gets no answer and takes no effect": partial(OutcomeUnknown, "no answer"),
    "is not answered": partial(ConnectUnavailable, "nobody"),
    "is answered 409": partial(RebalanceInProgress, "rebalancing"),
    "is answered 400": partial(Rejected, "the worker rejects it"),
    "is answered 500": partial(ConnectRefused, "the worker has a bug"),
    HALF: partial(OffsetsNotChanged, "the worker has failed"),
}


@dataclass(frozen=True)
class Rates:
    """How probable a fault is at each point."""

    death: float = 0.0
    freeze: float = 0.0
    request: float = 0.0
    read: float = 0.0
    disk: float = 0.0
    forge: float = 0.0

    def of(self, fault: str, point: Point) -> float:
        if point in (Point.STATEMENT, Point.SERVER_COMMIT):
            return {"dies": self.death / 4, "freezes for 1": self.freeze / 8}.get(fault, self.disk / 4)
        if fault == "dies":
            return self.death
        if fault.startswith("freezes"):
            return self.freeze / 4
        if fault == "finds a full disk":
            return self.disk
        if point is Point.FORGE:
            return self.forge / 6
        return self.request / 7 if point is Point.REQUEST else self.read / 3


class Faults:
    """The faults of one day. `chosen` has the number of an instruction and its fault: then, no others happen."""

    def __init__(self, rates: Rates, random: Random, chosen: Mapping[int, str] | None = None) -> None:
        self._random = random
        self._chosen = chosen
        self._cumulated = {point: _cumulated(rates, point) for point in Point}
        self._number = 0
        self.met: dict[int, str] = {}
        """What happened, by the number of the instruction."""
        self.are_over = False

    def next(self, point: Point) -> str:
        """The fault of the next instruction; empty if there is none."""
        if self.are_over:
            return ""
        self._number += 1
        if self._chosen is None:
            drawn = self._random.random()
            fault = next((fault for limit, fault in self._cumulated[point] if drawn < limit), "")
        else:
            fault = self._chosen.get(self._number, "")
            fault = fault if fault in point.value else ""  # in a shorter day, this is another instruction
        if fault:
            self.met[self._number] = fault
        return fault


def _cumulated(rates: Rates, point: Point) -> list[tuple[float, str]]:
    found, total = [], 0.0
    for fault in point.value:
        if rate := rates.of(fault, point):
            total += rate
            found.append((total, fault))
    return found
