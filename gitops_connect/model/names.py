"""Names that must not be mistaken for one another, though each is a string."""

from __future__ import annotations

from typing import NewType

ClusterName = NewType("ClusterName", str)
ConnectorName = NewType("ConnectorName", str)

Revision = NewType("Revision", str)
"""A git commit (40 hex digits), or `worktree-<digest>` for a folder that is read as it is."""

Digest = NewType("Digest", str)
"""Hex of a SHA-256 over canonical JSON, or of an HMAC-SHA-256 where a secret may be under it."""

OperationName = NewType("OperationName", str)
"""The name of an `OffsetChange`, or one that `operations` derives from a connector's; unique in its cluster."""
