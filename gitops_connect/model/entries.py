"""A file of the repository that is known, and not read yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a checkout: its path from the repository's folder, and its content's id (git's blob id).

    `size` is in bytes; it is None where git has not fetched the content yet, and so cannot tell.
    """

    path: str
    blob_id: str
    size: int | None
