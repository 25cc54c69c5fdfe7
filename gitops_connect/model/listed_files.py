"""A file of the repository that is listed, and not read yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a checkout: its path from the repository's root directory, and the id of its content (Git's blob id).

    `size` is in bytes. It is None if Git has not fetched the content yet, so that its size is unknown.
    """

    path: str
    blob_id: str
    size: int | None
