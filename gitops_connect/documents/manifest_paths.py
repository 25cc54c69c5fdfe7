"""Paths of offset manifests: their formats by suffix, and globs, in which `**` means any number of directories.

A wildcard at the beginning of a name does not match names that begin with `_` or `.`. Shells do the same for `.`, and
Spark ignores files such as `_SUCCESS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from fnmatch import translate

from gitops_connect.connect.unreadable import FORMAT, Unreadable, shown

_WILD = re.compile(r"[*?\[]")
_HIDDEN = ("_", ".")
_ANY_FOLDERS = "**"


def is_glob(path: str) -> bool:
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
    def __init__(self, glob: str) -> None:
        self._steps = [None if part == _ANY_FOLDERS else _Name(part) for part in glob.split("/")]
        if self._steps[-1] is None:
            self._steps.append(_Name("*"))

    def matches(self, path: str) -> bool:
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


class Format(Enum):
    JSON = "JSON"
    YAML = "YAML"
    LINES = "JSON Lines"
    CSV = "CSV"
    PARQUET = "Parquet"


_BY_SUFFIX = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".jsonl": Format.LINES,
    ".ndjson": Format.LINES,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}
SUFFIXES = tuple(_BY_SUFFIX)
"""The suffixes of the formats; `.gz` or `.zst` may follow, except for Parquet, which is compressed inside."""
_COMPRESSIONS = (".gz", ".zst")


def format_of(path: str) -> tuple[Format, str]:
    """The format of a file of that name, and how it is compressed: `.gz`, `.zst`, or empty. Raises Unreadable."""
    name = path.rpartition("/")[2].lower()
    compression = next((suffix for suffix in _COMPRESSIONS if name.endswith(suffix)), "")
    plain = name.removesuffix(compression)
    suffix = plain[plain.rfind(".") :] if "." in plain else ""
    if suffix not in _BY_SUFFIX:
        found = f"the suffix of its name is {shown(suffix)}" if suffix else "its name has no suffix"
        known = ", ".join(SUFFIXES)
        raise Unreadable(FORMAT, f"{found}, expected one of {known}, each also with {' or '.join(_COMPRESSIONS)}")
    if _BY_SUFFIX[suffix] is Format.PARQUET and compression:
        raise Unreadable(FORMAT, f"it is Parquet in {compression}; use plain Parquet, which has compression of its own")
    return _BY_SUFFIX[suffix], compression


def suffix_of(path: str) -> str:
    """The suffix that determines the format, in lower case: `.json.gz`. Raises Unreadable."""
    _, compression = format_of(path)
    plain = path.lower().removesuffix(compression)
    return plain[plain.rfind(".") :] + compression


def is_manifest(path: str) -> bool:
    """Whether a file of that name is a manifest, if a directory or a glob means all manifests in it."""
    try:
        format_of(path)
    except Unreadable:
        return False
    return True
