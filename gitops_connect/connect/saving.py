"""Writes offsets that do not fit into memory to a file while they arrive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from gitops_connect.connect.wire import offset_lines
from gitops_connect.errors import UsageError
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.names import Digest

_LINES = 5000
"""Lines that are written together."""


def save_offsets(content: Iterable[bytes], file: Path) -> SavedOffsets:
    """Save an answer of Connect, one entry a line. Raises as `save_lines`, and the errors of `wire.offset_lines`."""
    lines = offset_lines(content)
    return save_lines(iter(lambda: "".join(f"{line}\n" for line in islice(lines, _LINES)).encode(), b""), file)


def save_lines(blocks: Iterable[bytes], file: Path) -> SavedOffsets:
    """Write blocks of whole lines to the file, which is replaced. If that fails, the file is removed.

    The directory is created if it is missing. Raises UsageError if the file cannot be written, and errors of `blocks`.
    """
    entries, size, digest = 0, 0, hashlib.sha256()
    try:
        with _opened(file) as stream:
            for block in blocks:
                try:
                    stream.write(block)
                except OSError as error:
                    raise _unwritable(file, error) from error
                entries, size = entries + block.count(b"\n"), size + len(block)
                digest.update(block)
    except BaseException:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        raise
    return SavedOffsets(str(file), entries, size, Digest(digest.hexdigest()))


def _opened(file: Path) -> BinaryIO:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("wb", buffering=0)
    except OSError as error:
        raise _unwritable(file, error) from error


def _unwritable(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the current offsets cannot be written to {file}: {error.strerror or error};"
        " free some space: a large change stores all current offsets there"
    )
