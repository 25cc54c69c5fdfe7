"""What cannot be read of a manifest: each place once, and not a million of them."""

from __future__ import annotations

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import ManifestFault
from gitops_connect.model.unreadable import START, Unreadable

MAX_SHOWN = 20
"""Faults of one manifest that are named one by one."""
MAX_COUNTED = 1000
"""Faults after which reading on is given up: it is another kind of file."""


class Faults:
    """The faults of one manifest, in the order in which they were met; `path` is the file that is being read."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self._shown: list[ManifestFault] = []
        self._first_left_out: ManifestFault | None = None
        self.count = 0
        """How many there are."""
        self.given_up = False
        """Whether there are too many to go on."""

    def add(self, rule: str, found: str, place: tuple[int, int] = START) -> None:
        """Remember a fault. Raises Unreadable where there are too many to go on."""
        if self.count == MAX_COUNTED:
            self.given_up = True
            raise Unreadable(rule, found, place)
        self.add_last(rule, found, place)

    def add_last(self, rule: str, found: str, place: tuple[int, int]) -> None:
        """Remember the fault that ended the reading."""
        self.count += 1
        fault = ManifestFault(rule, found, Location(self.path, *place))
        if len(self._shown) < MAX_SHOWN:
            self._shown.append(fault)
        elif self._first_left_out is None:
            self._first_left_out = fault

    def listed(self) -> tuple[ManifestFault, ...]:
        """The first ones, and one more that counts the rest."""
        if self._first_left_out is None:
            return tuple(self._shown)
        left_out, first = self.count - MAX_SHOWN, self._first_left_out
        found = f"{left_out} more such places or others, this is the first of them: {first.found}"
        if self.given_up:
            found = (
                f"more than {left_out - 1} further places, and the rest is not read; the first of them: {first.found}"
            )
        return (*self._shown, ManifestFault(first.rule, found, first.location, left_out))
