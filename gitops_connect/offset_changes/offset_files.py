"""Current offsets in files that are valid offset manifests. Very many offsets are only streamed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.errors import UsageError
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.offsets import Offsets, to_json
from gitops_connect.report.change_document import json_lines
from gitops_connect.report.printable import output
from gitops_connect.report.table import as_json, as_yaml
from gitops_connect.safe_files import refuse_old, write_new

_BLOCK = 256 * 1024
_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class OffsetFile:
    """The file for saved offsets. Raises UsageError for an unknown suffix, or if the file exists, unless `force`.

    `root` is the directory that the user named, if the file is below it.
    """

    file: Path
    force: bool
    root: Path | None = None

    def __post_init__(self) -> None:
        if self.file.suffix not in (".json", *_YAML, *_LINES):
            advice = "use the suffix .json, .yaml, or .jsonl (one entry per line)"
            raise UsageError(f"{self.file} has no known format; {advice}")
        refuse_old(self.file, force=self.force)

    def write(self, found: Offsets | SavedOffsets) -> None:
        """Write the offsets. Raises UsageError if that is impossible."""
        write_new(self.file, self._content(found), force=self.force, root=self.root)

    def _content(self, found: Offsets | SavedOffsets) -> str | Iterator[bytes]:
        is_yaml, is_lines = self.file.suffix in _YAML, self.file.suffix in _LINES
        if isinstance(found, SavedOffsets):
            if is_yaml:
                name = self.file.with_suffix(".jsonl")
                raise UsageError(f"{found.entries:,} offsets are too many for YAML; use --save {name}")
            return saved_lines(found) if is_lines else saved_body(found)
        if is_lines:
            return json_lines(found)
        body = {"offsets": list(to_json(found))}
        return as_yaml(body) if is_yaml else as_json(body)


@contextmanager
def temporary_directory(parent: Path | None) -> Iterator[Path]:
    """A directory for offsets that are too many for memory. Without a parent it is in the system's temporary directory.

    Raises UsageError if it cannot be created.
    """
    try:
        room = tempfile.TemporaryDirectory(prefix=".gitops-connect-", dir=parent)
    except OSError as error:
        place = parent or tempfile.gettempdir()
        raise UsageError(f"cannot write to the directory {place}: {error.strerror}") from error
    with room as directory:
        yield Path(directory)


def number_of(found: Offsets | SavedOffsets | None) -> int:
    return found.entries if isinstance(found, SavedOffsets) else len(found or ())


def saved_lines(found: SavedOffsets) -> Iterator[bytes]:
    """One entry a line."""
    with Path(found.path).open("rb") as stream:
        while lines := stream.readlines(_BLOCK):
            yield output(b"".join(lines).decode()).encode()


def saved_body(found: SavedOffsets) -> Iterator[bytes]:
    """The body of Connect's answer: one object, with one entry a line."""
    before = b'{"offsets": [\n  '
    for lines in saved_lines(found):
        yield before + lines.rstrip(b"\n").replace(b"\n", b",\n  ")
        before = b",\n  "
    yield b"\n]}\n"
