"""A manifest as YAML, read as documents are: equal types, equal refusals, and the place of each entry.

It is slow, and made for manifests that are written by hand: a large manifest is JSON, JSON Lines or CSV.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gitops_connect.connect import unreadable
from gitops_connect.connect.unreadable import Place, Unreadable, check_fields, no_list, stray_in
from gitops_connect.documents.encoding import Refused, place_after, refuse_control_characters
from gitops_connect.documents.fields import Reading
from gitops_connect.documents.fields import read as read_node
from gitops_connect.documents.nodes import Node, ScalarNode, compose
from gitops_connect.model.documents import Pointer
from gitops_connect.offsets.formats.content import MAX_SIZE, Faults

_MAX_DOCUMENTS = 1000
"""Empty documents count: each takes time, and a file has room for millions."""
_RULES = {
    "yaml/character": unreadable.ENCODING,
    "yaml/duplicate-key": unreadable.DUPLICATE_KEY,
    "yaml/number": unreadable.NUMBER,
    "yaml/nodes": unreadable.TOO_LARGE,
}


def read(texts: Iterable[str], faults: Faults) -> Iterator[tuple[Any, Place]]:
    """The entries of the only YAML document. Its text and its values are all in memory. Raises Unreadable."""
    text = _joined(texts)
    if text.count("\n---") > _MAX_DOCUMENTS:
        raise Unreadable(unreadable.FORMAT, f"more than {_MAX_DOCUMENTS} YAML documents, expected one")
    if stray := stray_in(text):
        raise Unreadable(unreadable.ENCODING, stray[1], place_after(text[: stray[0]]))
    try:
        refuse_control_characters(text)
        roots = [root for root in compose(text, 1) if not _is_empty(root)]
        if len(roots) > 1:
            raise Unreadable(unreadable.FORMAT, f"{len(roots)} YAML documents, expected one", roots[1].place)
        if not roots:
            return
        reading = read_node(roots[0])
    except Refused as refused:
        raise Unreadable(_rule(refused), refused.summary, refused.place) from refused
    for refusal in reading.refusals:
        faults.add(_rule(refusal), refusal.summary, refusal.place)
    yield from _entries(reading, Place(*roots[0].place), faults)


def _joined(texts: Iterable[str]) -> str:
    held, length = [], 0
    for text in texts:
        held.append(text)
        length += len(text)
        if length > MAX_SIZE:
            raise Unreadable(unreadable.TOO_LARGE, f"YAML of more than {MAX_SIZE // 1024**2} MiB")
    return "".join(held)


def _entries(reading: Reading, start: Place, faults: Faults) -> Iterator[tuple[Any, Place]]:
    values, place = reading.value, start
    pointer: Pointer = ()
    if isinstance(values, dict):
        if found := check_fields(values, start):
            faults.add(unreadable.FORMAT, found, start)
        values, pointer = values[unreadable.ENTRIES], (unreadable.ENTRIES,)
        place = Place(*reading.positions[pointer])
    if not isinstance(values, list):
        raise no_list(values, place)
    for index, value in enumerate(values):
        yield value, Place(*reading.positions[(*pointer, index)])


def _rule(refused: Refused) -> str:
    return _RULES.get(refused.rule, unreadable.SYNTAX)


def _is_empty(root: Node) -> bool:
    return isinstance(root, ScalarNode) and root.plain and not root.text
