"""Types for names that must not be confused, although each is a string. And which names and keys cannot be used."""

from __future__ import annotations

import re
import unicodedata
from typing import NewType

ClusterName = NewType("ClusterName", str)
ConnectorName = NewType("ConnectorName", str)
TopicName = NewType("TopicName", str)

Revision = NewType("Revision", str)
"""A Git commit (40 hex digits), or `worktree-<digest>` for a directory that is read without Git."""

Digest = NewType("Digest", str)
"""Hex of a SHA-256 over canonical JSON, or of an HMAC-SHA-256 if the value may contain a secret."""

OffsetChangeName = NewType("OffsetChangeName", str)
"""The name of an `OffsetChange`, or a name that `offset_changes` derives from a connector's; unique in its cluster."""

REFUSED_IN_NAMES = re.compile(r"^\s|\s$|[%/\\{}\x00-\x1f\x7f-\x9f\ud800-\udfff]")
REFUSED_IN_KEYS = re.compile(r"[\s\x00-\x1f\x7f]")
"""Of config keys. Connect accepts all of them."""
_OUT_OF_REACH = "no request can change or delete it; create it under another name, and remove it from the config topic"
_RENAMED = "create it under another name, and delete this one"


def first_refused(refused: re.Pattern[str], text: str) -> str:
    """The first such character and its place, as in `'/' at position 2`; empty if there is none."""
    found = refused.search(text)
    if found is None:
        return ""
    name = unicodedata.name(found[0], "")
    invisible = f"U+{ord(found[0]):04X}{name and f' ({name})'}"
    shown = repr(found[0]) if found[0].isprintable() and found[0] != " " else invisible
    return f"{shown} at position {found.start() + 1}"


def unaddressable(name: str) -> str | None:
    """Why a connector of that name could be created but not managed; None if it can be managed.

    Jetty 12 (Kafka 4.0 and later) rejects paths with an encoded `/`, `%` or backslash before Connect sees them, while
    the POST, which has the name in its body, succeeds. Curly brackets break the forwarding to the leader (`UriBuilder`
    treats them as a template), and `.` and `..` break if anything on the way normalizes paths. POST removes spaces at
    the ends and rejects control characters (`ConnectorsResource.createConnector`, `NonEmptyStringWithoutControlChars`).
    """
    if name in ("", ".", ".."):
        return 'it is empty, "." or ".."'
    refused = first_refused(REFUSED_IN_NAMES, name)
    if refused and name != name.strip():
        return f"it begins or ends with whitespace: {refused}"
    return f"{refused} cannot be sent in a path of Connect's REST API" if refused else None


def found_unaddressable(name: str) -> str | None:
    """Why a connector of the cluster cannot be managed because of its name, and what to do; None if it can be."""
    why = unaddressable(name)
    remedy = _RENAMED if set(name).isdisjoint("/%\\") else _OUT_OF_REACH
    return f"{why}; {remedy}" if why else None
