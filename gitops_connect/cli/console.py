"""Data goes to stdout, everything else to stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO


def emit(text: str | Iterator[str]) -> None:
    """Write data, as it is; of a long text, its pieces."""
    sys.stdout.writelines([text] if isinstance(text, str) else text)
    sys.stdout.flush()


def tell(text: str) -> None:
    """Write a message to stderr. Control characters in it are escaped: names and errors come from outside."""
    from gitops_connect.report.printable import escaped_lines

    tell_styled(escaped_lines(text))


def tell_styled(text: str) -> None:
    """Write a part of a report to stderr, which may have colours and has escaped every value itself.

    A reader that closed stderr does not end the command.
    """
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def ask(question: str) -> str:
    """A line from whoever sits at the terminal; empty where the input ends. The question is no data, so no stdout."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def without_secrets(text: str) -> str:
    """`text` as it may be written down: the values that this process has read as secrets are masked."""
    from gitops_connect.model.masking import mask
    from gitops_connect.secrets import values_read

    return mask(text, values_read())


def coloured(stream: IO[str]) -> bool:
    """Whether this stream takes colour (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
