"""The faults of a manifest: each place once, up to a limit."""

from __future__ import annotations

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import ManifestFault
from gitops_connect.model.unreadable import FORMAT, START, Unreadable

MAX_COUNTED = 1000
"""Faults after which reading stops: it is another kind of file."""


class Faults:
    """The faults of one manifest, in the order in which they were found; `path` is the file that is being read."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self._listed: list[ManifestFault] = []
        self.count = 0
        """The number of faults."""
        self.given_up = False
        """Whether there are too many faults to continue."""

    def add(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        """Add a fault. Raises Unreadable if there are too many to continue."""
        if self.count == MAX_COUNTED:
            self.given_up = True
            raise Unreadable(FORMAT, f"{MAX_COUNTED} places in it cannot be read, and the rest was skipped", place)
        self.add_last(rule, found, place)

    def add_last(self, rule: str, found: str, place: tuple[int, int]) -> None:
        """Add the fault that ended the reading."""
        self.count += 1
        self._listed.append(ManifestFault(rule, found, Location(self.path, *place)))

    def listed(self) -> tuple[ManifestFault, ...]:
        """All faults; for a rule with many violations, the rules report the first ones."""
        return tuple(self._listed)
