"""The current offsets for `offsets get`: shown, or saved as a manifest. Very many offsets are only streamed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.options import TableOutput
from gitops_connect.cli.output_files import refuse_old, write_new
from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from gitops_connect.model.large_manifests import SavedOffsets
    from gitops_connect.model.names import ClusterName, ConnectorName
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.settings.sections import Settings

_BLOCK = 256 * 1024
_FIRST = 10
"""So many offsets are shown if there are too many for memory."""
_YAML = (".yaml", ".yml")
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Saving:
    """The file for saved offsets. Raises UsageError for an unknown suffix, or if the file exists, unless `force`.

    `root` is the directory that the user named, if the file is below it.
    """

    file: Path
    force: bool
    root: Path | None = None

    def __post_init__(self) -> None:
        if self.file.suffix not in (".json", *_YAML, *_LINES):
            raise UsageError(
                f"{self.file} has no known format; use the suffix .json, .yaml, or .jsonl (one entry per line)"
            )
        refuse_old(self.file, force=self.force)


@contextmanager
def fetched(
    settings: Settings, clusters: tuple[ClusterName, ...], connector: ConnectorName, parent: Path | None
) -> Iterator[Offsets | SavedOffsets]:
    """The current offsets. If they are too many for memory, they are in a temporary file during the block.

    The file is in the given directory, or in the system's temporary directory. Raises UsageError if the directory is
    not writable, and the errors of `subject.locate` and `subject.read_current`.
    """
    from gitops_connect.cli.progress import progress
    from gitops_connect.cli.subject import clients_of, locate, read_current

    with temporary_directory(parent) as directory:
        with progress("Offsets") as say, clients_of(settings, clusters) as clients:
            say(f"reading the offsets of {connector}")
            found = read_current(clients[locate(clients, connector)], connector, directory)
        yield found


@contextmanager
def temporary_directory(parent: Path | None) -> Iterator[Path]:
    """A directory for offsets that are too many for memory. Without a parent it is in the system's temporary directory.

    Raises UsageError if it cannot be created.
    """
    try:
        room = tempfile.TemporaryDirectory(prefix=".gitops-connect-", dir=parent)
    except OSError as error:
        raise UsageError(
            f"cannot write to the directory {parent or tempfile.gettempdir()}: {error.strerror}"
        ) from error
    with room as directory:
        yield Path(directory)


def show(found: Offsets | SavedOffsets, output: TableOutput) -> None:
    """Print the offsets. If they are too many for memory, a table has only the first, and YAML raises UsageError."""
    from gitops_connect.model.large_manifests import SavedOffsets

    if not isinstance(found, SavedOffsets):
        emit(listed(found, output))
        return
    match output:
        case TableOutput.TABLE:
            emit(_first(found))
        case TableOutput.JSON:
            for block in _body(found):
                emit(block.decode())
        case TableOutput.YAML:
            raise UsageError(f"{found.entries:,} offsets are too many for YAML; use -o json or --save FILE.jsonl")
        case _:
            assert_never(output)


def save(found: Offsets | SavedOffsets, saving: Saving) -> None:
    """Write the offsets to a file, and report it. Raises as `write`."""
    write(found, saving)
    count = number_of(found)
    echo(f"Saved {'1 offset' if count == 1 else f'{count:,} offsets'} to {saving.file}.")
    if not count:
        echo("note: an offset manifest needs at least one entry; to remove all offsets, use operation: reset")


def number_of(found: Offsets | SavedOffsets) -> int:
    """The number of offsets."""
    from gitops_connect.model.large_manifests import SavedOffsets

    return found.entries if isinstance(found, SavedOffsets) else len(found)


def write(found: Offsets | SavedOffsets, saving: Saving) -> None:
    """Write the offsets to a file, which is a valid manifest. Raises UsageError if that is impossible."""
    from gitops_connect.model.large_manifests import SavedOffsets
    from gitops_connect.report.change_document import json_lines

    file, is_lines = saving.file, saving.file.suffix in _LINES
    if not isinstance(found, SavedOffsets):
        body = TableOutput.YAML if file.suffix in _YAML else TableOutput.JSON
        write_new(file, json_lines(found) if is_lines else listed(found, body), force=saving.force, root=saving.root)
    elif is_lines:
        write_new(file, _lines(found), force=saving.force, root=saving.root)
    elif file.suffix in _YAML:
        raise UsageError(f"{found.entries:,} offsets are too many for YAML; use --save {file.with_suffix('.jsonl')}")
    else:
        write_new(file, _body(found), force=saving.force, root=saving.root)


def listed(found: Offsets, output: TableOutput) -> str:
    """All of the offsets, in the format that `offsets get` prints."""
    from gitops_connect.model.offsets import to_json
    from gitops_connect.report.table import as_json, as_yaml

    match output:
        case TableOutput.TABLE:
            return _table(sorted(found.items()))
        case TableOutput.JSON:
            return as_json({"offsets": list(to_json(found))})
        case TableOutput.YAML:
            return as_yaml({"offsets": list(to_json(found))})
        case _:
            assert_never(output)


def _table(offsets: list[tuple[str, str]]) -> str:
    from gitops_connect.model.offsets import OffsetText, PartitionText
    from gitops_connect.report.offset_lines import offset_words, partition_words
    from gitops_connect.report.table import table

    rows = [(partition_words(PartitionText(one)), offset_words(OffsetText(offset))) for one, offset in offsets]
    return table(("PARTITION", "OFFSET"), rows)


def _first(found: SavedOffsets) -> str:
    import json

    from gitops_connect.model.offsets import offset_text, partition_text

    with Path(found.path).open(encoding="utf-8") as stream:
        entries = [json.loads(line) for line in islice(stream, _FIRST)]
    shown = [(partition_text(one["partition"]), offset_text(one["offset"])) for one in entries]
    megabytes = found.size / 1_000_000
    advice = f"{found.entries:,} offsets, {megabytes:,.0f} MB; these are the first {_FIRST}, in the order of Connect.\n"
    return f"{_table(list(shown))}{advice}To get all of them: --save FILE.jsonl (an offset manifest), or -o json\n"


def _lines(found: SavedOffsets) -> Iterator[bytes]:
    """One entry a line."""
    from gitops_connect.report.printable import output

    with Path(found.path).open("rb") as stream:
        while lines := stream.readlines(_BLOCK):
            yield output(b"".join(lines).decode()).encode()


def _body(found: SavedOffsets) -> Iterator[bytes]:
    """The body of Connect's answer: one object, with one entry a line."""
    before = b'{"offsets": [\n  '
    for lines in _lines(found):
        yield before + lines.rstrip(b"\n").replace(b"\n", b",\n  ")
        before = b",\n  "
    yield b"\n]}\n"
