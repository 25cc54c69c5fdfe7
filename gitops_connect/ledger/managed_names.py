"""The connectors in a ledger, for the completion of a shell: read at once or not at all, with nothing but sqlite3."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

_WAIT = 0.2
"""Seconds for the lock of another process."""
_MOST = 10_000
_QUERY = "SELECT DISTINCT connector FROM ownership WHERE substr(connector, 1, ?) = ? AND cluster IN ({}) LIMIT ?"


def managed_names(file: Path, clusters: Collection[str], begin: str) -> list[str]:
    """The managed connectors of these clusters whose names begin so; none if the file cannot be read now.

    Nothing is created, upgraded or locked.
    """
    query = _QUERY.format(",".join("?" * len(clusters)))
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=_WAIT, uri=True)) as connection:
            rows = connection.execute(query, (len(begin), begin, *clusters, _MOST)).fetchall()
    except sqlite3.Error:
        return []
    return sorted(str(name) for (name,) in rows)
