"""The faults of a manifest: each place once, up to a limit."""

from __future__ import annotations

import sys

from gitops_connect.model.large_manifests import LineFault
from gitops_connect.model.unreadable import FORMAT, START, Unreadable

MAX_COUNTED = 1000
"""Faults after which reading stops: it is another kind of file."""
NO_LIMIT = sys.maxsize
"""For a part of a file: all parts together may have any number of faults."""


class Faults:
    """The faults of one manifest, in the order in which they were found; `path` is the file that is being read."""

    def __init__(self, most: int = MAX_COUNTED) -> None:
        self.path = ""
        self.listed: list[tuple[str, LineFault]] = []
        """All faults, each with its file; for a rule with many violations, the rules report the first ones."""
        self.given_up = False
        """Whether there are too many faults to continue."""
        self._most = most

    def add(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        """Add a fault. Raises Unreadable if there are too many to continue."""
        if len(self.listed) >= self._most:
            self.given_up = True
            raise Unreadable(FORMAT, f"{self._most} places in it cannot be read, and the rest was skipped", place)
        self.add_last(rule, found, place)

    def add_last(self, rule: str, found: str, place: tuple[int, int]) -> None:
        """Add the fault that ended the reading."""
        self.listed.append((self.path, LineFault(rule, found, *place)))
