"""The parameters of requests: which connectors, which steps, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from gitops_connect.daemon.state import Snapshot
from gitops_connect.model.status import ConnectorStatus, Health, Sync

MOST = 1000
"""Entries of one page of a list."""
USUAL = 100
_LONGEST_SEARCH = 200


@dataclass(frozen=True, slots=True)
class ConnectorFilter:
    """Which connectors are listed; an empty value restricts nothing."""

    cluster: str = ""
    sync: str = ""
    health: str = ""
    attention: bool = False
    search: str = ""

    @staticmethod
    def of(params: QueryParams) -> ConnectorFilter:
        """The filter of a URL. Unknown names of states select nothing."""
        return ConnectorFilter(
            cluster=params.get("cluster", ""),
            sync=params.get("sync", ""),
            health=params.get("health", ""),
            attention=params.get("attention", "") in ("1", "true", "on"),
            search=params.get("search", "")[:_LONGEST_SEARCH].strip(),
        )

    def select(self, snapshot: Snapshot) -> Iterator[ConnectorStatus]:
        """The connectors of all clusters that the filter selects."""
        words = self.search.lower().split()
        for cluster, view in snapshot.clusters.items():
            if self.cluster in ("", cluster):
                yield from (one for one in view.connectors if self._selects(one, words))

    def _selects(self, one: ConnectorStatus, words: Sequence[str]) -> bool:
        if self.sync not in ("", one.sync.value) or self.health not in ("", one.health.value):
            return False
        if self.attention and one.is_fine:
            return False
        text = f"{one.name} {one.state} {one.reason.value} {one.message}".lower() if words else ""
        return all(word in text for word in words)

    @property
    def is_empty(self) -> bool:
        """Whether every connector is selected."""
        return self == ConnectorFilter()

    def query(self) -> str:
        """The query string of this filter, with its question mark; empty if it selects everything."""
        values = {**asdict(self), "attention": "1" if self.attention else ""}
        text = urlencode({name: value for name, value in values.items() if value})
        return f"?{text}" if text else ""


SYNC_STATES = tuple(one.value for one in Sync)
HEALTH_STATES = tuple(one.value for one in Health)


def number(params: QueryParams, name: str, usual: int | None, most: int = 2**53) -> int | None:
    """A positive number. Raises HTTPException (400)."""
    text = params.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and 1 <= int(text) <= most):
        raise HTTPException(400, f"{name}: expected a number from 1 to {most}")
    return int(text)


def page_size(params: QueryParams) -> int:
    """The parameter `limit`. Raises HTTPException (400)."""
    return number(params, "limit", USUAL, MOST) or USUAL
