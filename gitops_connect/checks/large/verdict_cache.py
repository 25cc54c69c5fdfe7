"""What Spark has said lately, so that a change that waits for somebody does not cost a look every minute.

A look at very many offsets keeps a worker busy for half a minute. What is planned by an earlier one is looked at again
anyway, once its connector stands still.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gitops_connect.model.large_manifests import LargeVerdict, SavedOffsets

KEPT_FOR = 600.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class CachedVerdict:
    """A verdict, how many offsets stood then (their file is gone), and how often a worker would hold them all."""

    verdict: LargeVerdict
    current: SavedOffsets
    copies: int = 1


@dataclass(slots=True)
class VerdictCache:
    """By everything that a verdict depends on, but for the offsets that stand. Safe for several threads."""

    _known: dict[Hashable, tuple[float, CachedVerdict]] = field(default_factory=dict)

    def get(self, key: Hashable, now: float) -> CachedVerdict | None:
        """That of the last minutes; `now` in seconds from an arbitrary start."""
        at, look = self._known.get(key, (float("-inf"), None))
        return look if now - at < KEPT_FOR else None

    def keep(self, key: Hashable, look: CachedVerdict, now: float) -> None:
        """Remember it, and forget what is old."""
        self._known = {one: found for one, found in self._known.items() if now - found[0] < KEPT_FOR}
        self._known[key] = now, look
