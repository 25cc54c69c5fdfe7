"""One way to write a value as bytes, so that equal values have equal digests wherever they were made."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from gitops_connect.model.names import Digest

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
"""Kept, because `json.dumps` makes a new one for each value; large manifests have millions of them."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no blanks, in UTF-8. Raises TypeError for what JSON cannot say, ValueError for NaN."""
    return _ENCODER.encode(value).encode()


def digest(value: Any) -> Digest:
    """SHA-256 over the canonical JSON: for values without a secret in them."""
    return Digest(hashlib.sha256(canonical(value)).hexdigest())


def keyed_digest(key: bytes, value: Any) -> Digest:
    """HMAC-SHA-256 over the canonical JSON: what may be kept of a secret, as it cannot be guessed without the key."""
    return Digest(hmac.new(key, canonical(value), hashlib.sha256).hexdigest())
