"""A file of a manifest outside the repository, copied byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class CopiedFile(NamedTuple):
    """`path` is the original path without scheme and host, `file` the path of the copy; `sha256` is of the content."""

    path: str
    file: str
    sha256: str


Copy = Callable[[str, Callable[[str], bool], str], Sequence[CopiedFile]]
"""Copies the files at a URI.

The arguments are the URI of a file, of a directory with everything below it, or a glob; a function that says whether a
path is copied; and the directory for the copies. The result is empty if there are no such files.
"""
