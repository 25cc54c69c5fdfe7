"""Data goes to stdout, everything else to stderr; colour only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from gitops_connect import __version__
from gitops_connect.errors import UsageError
from gitops_connect.report.printable import escaped_lines, output


def emit(text: str | Iterator[str]) -> None:
    """Write data; a long text can be given in pieces. What is still not printable is escaped, except our colours."""
    is_coloured = coloured(sys.stdout)
    sys.stdout.writelines(output(one, coloured=is_coloured) for one in ([text] if isinstance(text, str) else text))
    sys.stdout.flush()


def echo(text: str) -> None:
    """Write a message to stderr. Control characters are escaped, because names and errors come from outside."""
    echo_styled(escaped_lines(text))


def echo_note(text: str) -> None:
    """Write what the user should know of the result to stderr."""
    echo(f"note: {text}")


def echo_styled(text: str) -> None:
    """Write a part of a report to stderr, which may have colours.

    A reader that closed stderr does not end the command.
    """
    text = output(text, coloured=coloured(sys.stderr))
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def approved(question: str, advice: str, cancelled: str) -> bool:
    """Whether the user enters 'yes'. Raises UsageError, with the advice, if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        raise UsageError(f"cannot ask for approval, as stdin is not a terminal; {advice}")
    echo(f"\n{question} Only 'yes' will be accepted to approve.")
    sys.stderr.write(output("  Enter a value: "))
    sys.stderr.flush()
    if sys.stdin.readline().strip() == "yes":
        return True
    echo(f"{cancelled} Nothing was changed.")
    return False


def without_secrets(text: str) -> str:
    """`text` with the secrets that this process has read masked, so that the text may be stored or printed."""
    # `--help` prints no secrets.
    from gitops_connect.model.masking import mask  # noqa: PLC0415
    from gitops_connect.secret_values import values_read  # noqa: PLC0415

    return mask(text, values_read())


def bug_report(error: Exception, where: str) -> str:
    """The information for an issue. `where` is a line that says what has failed."""
    return without_secrets(
        "This is a bug in gitops-connect. Please report it with everything below.\n\n"
        f"gitops-connect {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{where}\n\n{''.join(traceback.format_exception(error))}"
    )


def coloured(stream: IO[str]) -> bool:
    """Whether to write colours to this stream (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
