"""Globs over paths: `*`, `?` and `[...]` within one name, `**` for any number of directories.

A wildcard at the beginning of a name does not match names that begin with `_` or `.`. Shells do the same for `.`, and
Spark ignores files such as `_SUCCESS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate

_WILD = re.compile(r"[*?\[]")
_HIDDEN = ("_", ".")
_ANY_FOLDERS = "**"


def is_glob(path: str) -> bool:
    """Whether the path contains a wildcard."""
    return _WILD.search(path) is not None


def is_hidden(path: str) -> bool:
    """Whether the file, or a directory of its path, is ignored unless it is named."""
    return any(part.startswith(_HIDDEN) for part in path.split("/"))


def directory_of(glob: str) -> str:
    """The deepest directory that contains all paths which the glob can match, without a slash at its end."""
    parts = glob.split("/")
    first = next((index for index, part in enumerate(parts) if is_glob(part)), len(parts) - 1)
    return "/".join(parts[:first])


class Glob:
    """One glob, to match many paths."""

    def __init__(self, glob: str) -> None:
        self._steps = [None if part == _ANY_FOLDERS else _Name(part) for part in glob.split("/")]
        if self._steps[-1] is None:
            self._steps.append(_Name("*"))

    def matches(self, path: str) -> bool:
        """Whether the glob matches that path."""
        parts = path.split("/")
        reached = {0}
        for part in parts:
            reached = {after for step in self._resting(reached) for after in self._after(step, part)}
            if not reached:
                return False
        return len(self._steps) in reached

    def _resting(self, reached: set[int]) -> set[int]:
        """Add the steps that are reached if `**` matches no directory at all."""
        found = set(reached)
        for step in sorted(reached):
            while step < len(self._steps) and self._steps[step] is None:
                step += 1  # noqa: PLW2901 - the way on from each
                found.add(step)
        return found

    def _after(self, step: int, part: str) -> Sequence[int]:
        if step == len(self._steps):
            return ()
        name = self._steps[step]
        if name is None:
            return () if part.startswith(_HIDDEN) else (step,)
        return (step + 1,) if name.matches(part) else ()


class _Name:
    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(translate(pattern))
        self._meets_hidden = not is_glob(pattern[:1])

    def matches(self, part: str) -> bool:
        return (self._meets_hidden or not part.startswith(_HIDDEN)) and self._pattern.match(part) is not None
