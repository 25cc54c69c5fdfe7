"""Stack traces that quote a secret."""

from __future__ import annotations

import base64

TRACE = "org.apache.kafka.connect.errors.ConnectException: login with {0} refused\n\tat x\nCaused by: y: {1}"


def quoting(value: str) -> str:
    """A stack trace with the secret in clear text and as Basic authentication sends it."""
    return TRACE.format(value, base64.b64encode(f"user:{value}".encode()).decode())
