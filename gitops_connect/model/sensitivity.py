"""Which config keys hold a secret, judged by their names, and which values are a server's mask of a secret."""

from __future__ import annotations

import re
from functools import lru_cache

_SENSITIVE_KEY = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|api[._-]?key|private[._-]?key|access[._-]?key"
    r"|sasl\.jaas\.config|basic\.auth\.user\.info)",
    re.IGNORECASE,
)
_NOT_SENSITIVE = re.compile(r"(tokenizer|\.(file|path|location|type|class|provider|name|topic))$", re.IGNORECASE)
_MASK = re.compile(r"[*\u2022]{3,}|\[hidden\]|<redacted>", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]+:[^}]*\}")


@lru_cache(maxsize=4096)
def is_sensitive_key(key: str) -> bool:
    """True for keys such as `database.password`: masked in every output, whatever type the plugin gives them.

    The cache helps because a thousand connectors share a few keys, and a reconciliation checks each key several times.
    """
    return bool(_SENSITIVE_KEY.search(key)) and not _NOT_SENSITIVE.search(key)


def is_mask(value: str) -> bool:
    """True for values that servers show instead of a secret: `********`, or Kafka's `[hidden]` (Password.HIDDEN)."""
    return bool(_MASK.fullmatch(value))


def is_reference(value: str) -> bool:
    """True if a value contains a config provider's `${provider:path:key}` (KIP-297), which the worker resolves."""
    return bool(_REFERENCE.search(value))
