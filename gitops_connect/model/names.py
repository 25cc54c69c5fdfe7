"""Types for names that must not be confused, although each is a string."""

from __future__ import annotations

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
