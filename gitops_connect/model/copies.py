"""A file of a manifest from elsewhere, copied byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class CopiedFile(NamedTuple):
    """`path` is where it lay, without scheme and host; `file` where the copy is; `sha256` is that of the content."""

    path: str
    file: str
    sha256: str


Copy = Callable[[str, Callable[[str], bool], str], Sequence[CopiedFile]]
"""What to look at (a file, a folder with all below it, or a glob, as a URI), which of the paths to take, and the folder
for the copies. Whoever copies finds out what there is; nothing at all is an answer."""
