"""The pieces of large operations in an archive: only those of known operations, and all pieces of each."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitops_connect.ledger.pieces import OffsetsPart, piece_of

_Rows = Sequence[Mapping[str, Any]]


def read_lines(content: bytes) -> bytes:
    """A piece, unpacked and packed again. Raises ValueError or zlib.error if its lines are not offsets."""
    lines = zlib.decompress(content)
    if not lines.endswith(b"\n"):
        raise ValueError("its last line is incomplete")
    for number, line in enumerate(lines.splitlines(), start=1):
        value = json.loads(line)
        if not isinstance(value, dict) or value.keys() != {"partition", "offset"}:
            raise ValueError(f"line {number} is not a partition with its offset")
    return piece_of(lines).content


def referenced(operations: Iterable[Mapping[str, Any]], pieces: _Rows) -> _Rows:
    """The pieces without those that are left over from an interrupted attempt."""
    known = {(row["cluster"], row["name"]): row for row in operations}
    return [piece for piece in pieces if _is_referenced(known.get((piece["cluster"], piece["name"])), piece["part"])]


def _is_referenced(operation: Mapping[str, Any] | None, part: str) -> bool:
    if operation is None:
        return False
    if part == OffsetsPart.DECLARED.value:
        return operation["entries"] is not None
    return operation["digest_before"] is not None and operation["snapshot"] is None


def require_whole(operations: _Rows, pieces: _Rows) -> None:
    """Raise ValueError if declared offsets (which are sent) or earlier offsets (which are the undo) are incomplete."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for piece in pieces:
        found[piece["cluster"], piece["name"], piece["part"]].append(piece)
    for row in operations:
        key = row["cluster"], row["name"]
        of = f"of {row['name']} on {row['cluster']}"
        declared, before = (found.pop((*key, part.value), []) for part in (OffsetsPart.DECLARED, OffsetsPart.BEFORE))
        entries = _entries(declared, f"the declared offsets {of}")
        if entries != (row["entries"] or 0) or (row["sent"] or 0) > entries:
            raise ValueError(f"the declared offsets {of}: found {entries} entries, expected {row['entries']}")
        _entries(before, f"the earlier offsets {of}")
        needed = row["entries"] is not None and row["state"] == "in_progress"
        if (before or needed) and _digest(before) != row["digest_before"]:
            raise ValueError(f"the earlier offsets {of} are not those of digest_before")
    for cluster, name, part in found:
        raise ValueError(f"it contains {part} offsets of {name} on {cluster}, but no such operation")


def _entries(pieces: _Rows, what: str) -> int:
    if [piece["number"] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(f"{what}: a piece is missing")
    for piece in pieces:
        if zlib.decompress(piece["content"]).count(b"\n") != piece["entries"]:
            raise ValueError(f"{what}: piece {piece['number']} does not have {piece['entries']} entries")
    return sum(piece["entries"] for piece in pieces)


def _digest(pieces: _Rows) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(zlib.decompress(piece["content"]))
    return found.hexdigest()
