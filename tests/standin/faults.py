"""Faults on demand: what happens to a request instead of its effect, or after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Parts = Callable[[], Iterator[bytes]]
"""Makes the bytes that are sent for one request, from the status line on."""


@dataclass
class Fault:
    """Meant for the next `times` requests whose method and path with query match; with `effect`, after their effect.

    They get `status`, `body` and `headers`, or these `parts`; if `is_cut`, they get half of their own answer.
    """

    method: str
    path: str
    times: int = 1
    effect: bool = False
    status: int = 500
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    parts: Parts | None = None
    pause: float = 0.0
    """Seconds before each part."""

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and bool(re.fullmatch(self.method, method) and re.fullmatch(self.path, path))


class Faults:
    """The faults for requests to come."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = Lock()

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def meet(self, method: str, path: str) -> Fault | None:
        """Return the fault for this request, and count it down."""
        with self._lock:
            fault = next((fault for fault in self._faults if fault.matches(method, path)), None)
            if fault is not None:
                fault.times -= 1
            return fault
