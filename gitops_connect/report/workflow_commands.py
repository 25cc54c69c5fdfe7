"""Diagnostics as workflow commands of GitHub, which the runner shows as annotations of lines.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.printable import escaped, one_line
from gitops_connect.report.problems import summary_line

_IN_MESSAGES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(diagnostics: Diagnostics, documents: int | None = None) -> Iterator[str]:
    """A command for each diagnostic, and a line with their number.

    Each line begins with our own words, so that no value from outside can begin a command. A message contains the
    location too, because the runner shows only the messages in its log.
    """
    for item in diagnostics:
        yield f"{escaped(_command(item))}\n"
    yield f"{summary_line(diagnostics, documents)}\n"


def _command(item: Diagnostic) -> str:
    place = item.location
    file, title = place.file.translate(_IN_PROPERTIES), item.rule.translate(_IN_PROPERTIES)
    message = f"{place}: {one_line(item.summary)}" + (f"\nhint: {one_line(item.hint)}" if item.hint else "")
    properties = f"file={file},line={place.line},col={place.column},title={title}"
    return f"::{_level(item.severity)} {properties}::{message.translate(_IN_MESSAGES)}"


def _level(severity: Severity) -> str:
    match severity:
        case Severity.ERROR:
            return "error"
        case Severity.WARNING:
            return "warning"
        case Severity.NOTE:
            return "notice"
        case _:
            assert_never(severity)
