"""A canonical way to write a value as bytes, so that equal values always have equal digests."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from gitops_connect.model.names import Digest

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
"""Created once, because `json.dumps` creates an encoder for each value, and large manifests have millions of values."""


def canonical(value: Any) -> bytes:
    """JSON in UTF-8 with sorted keys and no whitespace. Raises TypeError or ValueError for what JSON lacks."""
    return _ENCODER.encode(value).encode()


def digest(value: Any) -> Digest:
    """SHA-256 over the canonical JSON, for values that contain no secret."""
    return Digest(hashlib.sha256(canonical(value)).hexdigest())


def keyed_digest(key: bytes, value: Any) -> Digest:
    """HMAC-SHA-256 over the canonical JSON: safe to store for a secret, which cannot be guessed without the key."""
    return Digest(hmac.new(key, canonical(value), hashlib.sha256).hexdigest())
