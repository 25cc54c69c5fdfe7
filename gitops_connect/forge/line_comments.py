"""Annotations as review comments, for forges that show a comment at a line of the diff: GitHub and Gitea."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_connect.model.reviews import Annotation

MARK = "<!-- gitops-connect annotation -->"
"""The end of each of these comments. The pages of a forge do not show it."""
_MOST = 50
"""Comments in one pull request. The comment with the plan lists all problems."""
_LONGEST = 4000
"""Characters of one message."""
_HUNK = re.compile(r"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_TICKS = re.compile("`+")


@dataclass(frozen=True, slots=True, order=True)
class LineComment:
    """A comment at a line of the new version of a file."""

    file: str
    line: int
    body: str


def line_comments(annotations: Iterable[Annotation], diff: Mapping[str, frozenset[int]]) -> frozenset[LineComment]:
    """The comments for the annotations in the diff. If there are too many, errors come first."""
    shown = [one for one in annotations if one.line in diff.get(one.file, ())]
    shown.sort(key=lambda one: (not one.is_error, one.file, one.line, one.message))
    return frozenset(LineComment(one.file, one.line, _body(one)) for one in shown[:_MOST])


def is_line_comment(body: str) -> bool:
    """Whether gitops-connect has written it."""
    return body.rstrip().endswith(MARK)


def _body(annotation: Annotation) -> str:
    """The message in a fence: in it, nothing is Markdown, HTML or a mention."""
    message = annotation.message[:_LONGEST]
    lines = ("".join(one if one.isprintable() else " " for one in line) for line in message.splitlines())
    text = _TICKS.sub(lambda run: run[0][:8], "\n".join(lines))
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    title = "Error" if annotation.is_error else "Warning"
    return f"**gitops-connect: {title}**\n\n{fence}text\n{text}\n{fence}\n\n{MARK}"


def lines_in_diff(diff: str, file: str = "") -> Mapping[str, frozenset[int]]:
    """The lines of the new files that a unified diff shows, by path. `file` is the path if the diff does not name it.

    Files whose path Git writes in quotes are left out.
    """
    found: dict[str, set[int]] = {}
    old = new = line = 0
    for text in diff.split("\n"):
        if old > 0 or new > 0:
            is_shown = text[:1] not in ("-", "\\")
            old -= text[:1] not in ("+", "\\")
            new -= is_shown
            if is_shown:
                found.setdefault(file, set()).add(line)
                line += 1
        elif text.startswith("+++ "):
            file = text[4:].rstrip("\t").removeprefix("b/")
        elif hunk := _HUNK.match(text):
            old, line, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
    return {path: frozenset(lines) for path, lines in found.items() if not path.startswith('"')}
