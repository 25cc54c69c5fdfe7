"""Data goes to stdout, everything else to stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO


def emit(text: str | Iterator[str]) -> None:
    """Write data; a long text can be given in pieces. What is still not printable is escaped, except our colours."""
    from gitops_connect.report.printable import output

    is_coloured = coloured(sys.stdout)
    sys.stdout.writelines(output(one, coloured=is_coloured) for one in ([text] if isinstance(text, str) else text))
    sys.stdout.flush()


def echo(text: str) -> None:
    """Write a message to stderr. Control characters are escaped, because names and errors come from outside."""
    from gitops_connect.report.printable import escaped_lines

    echo_styled(escaped_lines(text))


def echo_styled(text: str) -> None:
    """Write a part of a report to stderr, which may have colours.

    A reader that closed stderr does not end the command.
    """
    from gitops_connect.report.printable import output

    text = output(text, coloured=coloured(sys.stderr))
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def ask(question: str) -> str:
    """Ask on stderr, because the question is no data, and return the user's line; empty at the end of the input."""
    from gitops_connect.report.printable import output

    sys.stderr.write(output(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def without_secrets(text: str) -> str:
    """`text` with the secrets that this process has read masked, so that the text may be stored or printed."""
    from gitops_connect.model.masking import mask
    from gitops_connect.secrets import values_read

    return mask(text, values_read())


def bug_report(error: Exception, where: str) -> str:
    """The information for an issue. `where` is a line that says what has failed."""
    import platform
    import traceback

    from gitops_connect import __version__

    return without_secrets(
        "This is a bug in gitops-connect. Please report it with everything below.\n\n"
        f"gitops-connect {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{where}\n\n{''.join(traceback.format_exception(error))}"
    )


def coloured(stream: IO[str]) -> bool:
    """Whether to write colours to this stream (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
