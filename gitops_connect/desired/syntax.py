"""Translates the errors of a YAML parser for readers who do not know how a scanner works."""

from __future__ import annotations

import re
from typing import Any

import yaml

from gitops_connect.desired.refused import Refused

_LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")
"""YAML 1.1, section 5.4, which is what libyaml counts."""
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_PLAIN_WORDS = {
    "mapping values are not allowed": (
        "a ':' is not allowed here, or this line is indented further than the one above it",
        "put a string that contains ': ' in quotes",
    ),
    "did not find expected key": (
        "the indentation of this line matches neither the lines above nor the lines below",
        "start all fields of one mapping in the same column",
    ),
    "did not find expected '-' indicator": (
        "this line belongs neither to the list above it nor to the block around that list",
        "start all items of one list in the same column, each with '- '",
    ),
    "could not find expected ':'": ("the line before this place is neither `key: value` nor part of a string", ""),
    "did not find expected ',' or": ("a list or mapping in brackets is not closed before this place", ""),
    "found unexpected end of stream": ("this quote is never closed", ""),
    "found unexpected document indicator": ("this quote is not closed before the next `---`", ""),
    "found unknown escape character": (
        "this backslash is not a valid escape in double quotes",
        "use single quotes, in which a backslash has no special meaning",
    ),
    "found invalid Unicode character escape code": (
        "this \\u escape is not a whole character",
        "write the character itself, in UTF-8",
    ),
    "did not find expected <document start>": (
        "something follows the end of the document",
        "start the next document with `---`: a document has one root",
    ),
    "did not find expected node content": ("a value is missing here, or there is one bracket too many", ""),
    "block sequence entries are not allowed": ("a list cannot start with '- ' here", "start the list on a new line"),
    "did not find expected alphabetic or numeric character": (
        "a string begins with '*' or '&'",
        "put a string that begins with * or & in quotes",
    ),
    "found undefined tag handle": ("unknown tag", "put a string that begins with ! in quotes"),
}


def explain(error: yaml.YAMLError, text: str, first_line: int) -> Refused:
    """The refusal with rule `yaml/syntax` for a parser's error; the text of an unknown error is passed on unchanged."""
    if conflict := _CONFLICT.search(text):
        line = first_line + text.count("\n", 0, conflict.start())
        return Refused("yaml/syntax", "a merge conflict is not resolved", (line, 1))
    mark = _mark(error)
    if mark is None:
        return Refused("yaml/syntax", f"this is not YAML: {_one_line(str(error))}", (first_line, 1))
    problem = str(getattr(error, "problem", "") or error)
    summary, hint = _words(problem, text[mark.index : mark.index + 1])
    line, column = _place(mark, text)
    return Refused("yaml/syntax", f"this is not YAML: {summary}", (line + first_line, column + 1), hint)


def _mark(error: yaml.YAMLError) -> Any:
    """The place of the error: for a quote that is never closed, its opening and not the end of the file."""
    context, problem = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    if "quoted scalar" in str(getattr(error, "context", "")) and "unexpected" in str(getattr(error, "problem", "")):
        return context or problem
    return problem or context


def _place(mark: Any, text: str) -> tuple[int, int]:
    """The line and column of a mark, counted from 0.

    If the last line has no line end, libyaml reports the end of the text on a new line. The place is in the last line
    then.
    """
    if mark.column or mark.index < len(text) or text.endswith(_LINE_ENDS):
        return mark.line, mark.column
    return mark.line - 1, len(text) - 1 - max(text.rfind(end) for end in _LINE_ENDS)


def _words(problem: str, character: str) -> tuple[str, str]:
    if "cannot start any token" in problem:
        return _forbidden_start(character)
    for known, words in _PLAIN_WORDS.items():
        if known in problem:
            return words
    return _one_line(problem), ""


def _forbidden_start(character: str) -> tuple[str, str]:
    if character == "\t":
        return "the indentation contains a tab", "indent YAML with spaces only"
    named = f"{character!r}" if character else "this character"
    return f"a string cannot begin with {named}", "put the string in quotes"


def _one_line(text: str) -> str:
    return " ".join(text.split())
