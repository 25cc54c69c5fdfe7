"""Finds where strings, heredocs, brackets, comments and expressions of HCL end."""

from __future__ import annotations

import re

_MAX_DEPTH = 50
"""Brackets inside of brackets, and strings inside of interpolations inside of strings."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_SPACE = re.compile(r"(?:\s++|#[^\n]*+|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_INLINE = re.compile(r"(?:[ \t\r]++|/\*.*?\*/)*+", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*+|//[^\n]*+|/\*.*?\*/", re.DOTALL)
_PLAIN = re.compile(r'[^"<#/(){}\[\],\n]++')
"""Characters that neither begin nor end anything."""
_STRING_PARTS = re.compile(r"(?:[^\"\\$%\n]++|\\.|\$\$\{|%%\{|[$%](?!\{))++", re.DOTALL)
_INTERPOLATION = re.compile(r"[$%]\{")
HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*)\r?\n")


class NotHcl(Exception):
    """What is wrong, and the index of the character."""

    def __init__(self, summary: str, at: int) -> None:
        super().__init__(summary)
        self.summary = summary
        self.at = at


def skip_space(text: str, at: int) -> int:
    """The index after whitespace, line ends and comments."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def skip_inline(text: str, at: int) -> int:
    """The index after whitespace and comments of this line."""
    found = _INLINE.match(text, at)
    return found.end() if found else at


def end_of_string(text: str, start: int, depth: int = 0) -> int:
    """The index after the string in double quotes that begins at `start`. Raises NotHcl."""
    if depth > _MAX_DEPTH:
        raise NotHcl(f"interpolations are nested deeper than {_MAX_DEPTH} levels", start)
    at = start + 1
    while at < len(text) and text[at] != '"':
        if found := _STRING_PARTS.match(text, at):
            at = found.end()
        elif _INTERPOLATION.match(text, at):
            at = end_of_brackets(text, at + 1, depth + 1)
        elif text[at] == "\n":
            break
        else:
            at += 1
    if text[at : at + 1] != '"':
        raise NotHcl("the string is not closed in its line", start)
    return at + 1


def end_of_heredoc(text: str, start: int) -> int:
    """The index after the closing word of the heredoc that begins at `start`. Raises NotHcl."""
    opening = HEREDOC.match(text, start)
    at = opening.end() if opening else len(text)
    while opening and at < len(text):
        line, _, _ = text[at : text.find("\n", at) + 1 or None].partition("\n")
        if line.removesuffix("\r").strip(" \t") == opening.group(2):
            return at + len(line.removesuffix("\r"))
        at += len(line) + 1
    raise NotHcl("the heredoc is not closed", start)


def end_of_brackets(text: str, start: int, depth: int = 0) -> int:
    """The index after the bracket that closes the one at `start`. Raises NotHcl."""
    expected: list[str] = []
    at = start
    while at < len(text):
        character = text[at]
        if character in _BRACKETS:
            expected.append(_BRACKETS[character])
            if len(expected) > _MAX_DEPTH:
                raise NotHcl(f"brackets are nested deeper than {_MAX_DEPTH} levels", at)
        elif character in ")]}" and character != expected.pop():
            raise NotHcl(f"unexpected {character}", at)
        at = _after_token(text, at, depth)
        if not expected:
            return at
    raise NotHcl(f"{text[start]} is not closed", start)


def end_of_expression(text: str, start: int) -> int:
    """The index after the expression: its line or item ends there. Raises NotHcl."""
    at = start
    while at < len(text) and text[at] not in ",\n)]}":
        if _COMMENT.match(text, at) and not text.startswith("/*", at):
            break
        at = end_of_brackets(text, at) if text[at] in _BRACKETS else _after_token(text, at, 0)
    return start + len(text[start:at].rstrip())


def _after_token(text: str, at: int, depth: int) -> int:
    """The index after a string, a heredoc, a comment, plain characters, or another character."""
    if found := _PLAIN.match(text, at):
        return found.end()
    if text[at] == '"':
        return end_of_string(text, at, depth)
    if HEREDOC.match(text, at):
        return end_of_heredoc(text, at)
    if found := _COMMENT.match(text, at):
        return found.end()
    if text.startswith("/*", at):
        raise NotHcl("the comment is not closed", at)
    return at + 1
