"""Which config keys hold a secret, as far as their names tell, and which values are a server's mask of one."""

from __future__ import annotations

import re
from functools import lru_cache

_SENSITIVE_KEY = re.compile(
    r"(password|passwd|passphrase|secret|token|credential|api[._-]?key|private[._-]?key|access[._-]?key"
    r"|sasl\.jaas\.config)",
    re.IGNORECASE,
)
_NOT_SENSITIVE = re.compile(r"(tokenizer|\.(file|path|location|type|class|provider|name|topic))$", re.IGNORECASE)
_MASK = re.compile(r"[*\u2022]{3,}|\[hidden\]|<redacted>", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]+:[^}]*\}")


@lru_cache(maxsize=4096)
def is_sensitive_key(key: str) -> bool:
    """True for keys such as `database.password`: masked wherever they are shown, whatever the plugin says of them.

    The keys of a thousand connectors are the same few, and each is looked at several times a cycle.
    """
    return bool(_SENSITIVE_KEY.search(key)) and not _NOT_SENSITIVE.search(key)


def is_mask(value: str) -> bool:
    """True for what servers put in place of a secret: `********`, or Kafka's own `[hidden]` (Password.HIDDEN)."""
    return bool(_MASK.fullmatch(value))


def is_reference(value: str) -> bool:
    """True where a value holds a config provider's `${provider:path:key}` (KIP-297), which the worker resolves."""
    return bool(_REFERENCE.search(value))
