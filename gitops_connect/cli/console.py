"""Data goes to stdout, everything else to stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import sys
from typing import IO


def emit(text: str) -> None:
    """Write data, as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()


def tell(text: str) -> None:
    """Write a line for a human."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def coloured(stream: IO[str]) -> bool:
    """Whether this stream takes colour (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
