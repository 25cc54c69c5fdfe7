"""The problems of the documents: as lines that editors and CI logs turn into links, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.report.printable import escaped, one_line, output
from gitops_connect.report.words import plural

_RESET = "\x1b[0m"
_DIM = "\x1b[2m"
_COLOURS = {Severity.ERROR: "\x1b[31m", Severity.WARNING: "\x1b[33m", Severity.NOTE: "\x1b[36m"}


def problems_text(
    diagnostics: Diagnostics, *, coloured: bool = False, documents: int | None = None, skipped: int = 0
) -> str:
    """`file:line:column: error: summary [rule]` and a hint for each problem, and a count with the number of documents.

    The caller, who knows the terminal, decides on `coloured`. `skipped` is the number of offset changes that were
    applied before, and not checked again.
    """
    lines = problem_lines(diagnostics, coloured=coloured) + summary_line(diagnostics, documents) + "\n"
    return lines + (f"{plural(skipped, 'offset change')} not checked again: already applied\n" if skipped else "")


def problem_lines(diagnostics: Diagnostics, *, coloured: bool = False) -> str:
    """`file:line:column: error: summary [rule]` for each problem, with its hint below."""
    return "".join(f"{line}\n" for item in diagnostics.each_once() for line in _lines(item, coloured=coloured))


def summary_line(diagnostics: Diagnostics, documents: int | None = None) -> str:
    """As in `2 errors, 1 warning in 14 documents`."""
    shown = diagnostics.each_once()
    found = totals(len(shown.errors), len(shown.warnings), len(shown.notes))
    return f"{found} in {plural(documents, 'document')}" if documents is not None else found


def totals(errors: int, warnings: int, notes: int = 0) -> str:
    """As in `2 errors, 1 warning`."""
    counts = ((errors, "error"), (warnings, "warning"), (notes, "note"))
    return ", ".join(plural(count, noun) for count, noun in counts if count) or "no problems"


def problems_json(diagnostics: Diagnostics, *, documents: int, skipped: int = 0) -> Iterator[str]:
    """JSON text in pieces: the counts, and each diagnostic with its fields."""
    value = {
        "documents": documents,
        "errors": len(diagnostics.errors),
        "warnings": len(diagnostics.warnings),
        "notes": len(diagnostics.notes),
        "applied_offset_changes": skipped,
        "diagnostics": diagnostics.items,
    }
    return in_pieces(value, problem_value)


def problem_value(item: Diagnostic) -> dict[str, Any]:
    return {
        "severity": item.severity.value,
        "rule": item.rule,
        "summary": item.summary,
        "hint": item.hint,
        "connector": item.connector,
        "file": item.location.file,
        "line": item.location.line,
        "column": item.location.column,
    }


def _lines(item: Diagnostic, *, coloured: bool) -> list[str]:
    word = f"{_COLOURS[item.severity]}{item.severity.value}{_RESET}" if coloured else item.severity.value
    rule = f"{_DIM}[{item.rule}]{_RESET}" if coloured else f"[{item.rule}]"
    first = f"{escaped(str(item.location))}: {word}: {one_line(item.summary)} {rule}"
    return [first, f"    hint: {one_line(item.hint)}"] if item.hint else [first]


_TOKENS = 4096
"""Tokens in one piece."""


def in_pieces(value: Any, as_value: Callable[[Any], Any]) -> Iterator[str]:
    """The indented JSON of `value`, with a line end; characters that do not print are escaped.

    A report of very many values is never in memory as values and as text together.

    `as_value` returns the JSON value of an object that is not JSON. It is called when the object is written.
    """
    tokens = json.JSONEncoder(indent=2, ensure_ascii=False, default=as_value).iterencode(value)
    while piece := "".join(islice(tokens, _TOKENS)):
        yield output(piece)
    yield "\n"
