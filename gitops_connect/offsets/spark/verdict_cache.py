"""Spark's recent verdicts, so that a change that waits for a person does not cost a read every minute.

A read of very many offsets occupies a worker for half a minute. A change that is planned with a cached verdict is
checked again anyway, once its connector is STOPPED.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from gitops_connect.model.manifests import LargeVerdict, SavedOffsets

KEPT_FOR = 600.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class CachedVerdict:
    """A verdict, the number of current offsets (their file is deleted), and how often a worker would hold them all."""

    verdict: LargeVerdict
    current: SavedOffsets
    copies: int = 1


@dataclass(slots=True)
class VerdictCache:
    """Verdicts by everything that they depend on, except the current offsets. Safe for several threads."""

    _verdicts: dict[Hashable, tuple[float, CachedVerdict]] = field(default_factory=dict)

    def get(self, key: Hashable, now: float) -> CachedVerdict | None:
        """The verdict of the last minutes; `now` in seconds from an arbitrary start."""
        at, verdict = self._verdicts.get(key, (float("-inf"), None))
        return verdict if now - at < KEPT_FOR else None

    def keep(self, key: Hashable, verdict: CachedVerdict, now: float) -> None:
        """Store a verdict, and remove old ones."""
        recent = {one: kept for one, kept in self._verdicts.items() if now - kept[0] < KEPT_FOR}
        self._verdicts = {**recent, key: (now, verdict)}
