"""The files of the manifests, cut into splits for tasks: text files, and Parquet files as lines of JSON."""

from __future__ import annotations

import codecs
import json
import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gitops_connect.connect.unreadable import Unreadable
from gitops_connect.model.manifests import LargeFile, LineFault
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.offsets.formats.content import fault_of, unpack
from gitops_connect.offsets.spark.layouts import bytes_of

SPLIT_SIZE = 8 * 1024 * 1024
"""Bytes of a split, and about those of a block: they fit into a processor's cache, and Spark moves them in one row."""
BUCKET = 192 * 1024 * 1024
"""Bytes of manifests whose rows are in one bucket: about 2 million rows, which take 180 MB during the join."""
_CELL = 128 * 1024
"""Bytes of a split for each bucket, at least. With splits of one size, the number of rows that Spark moves, splits
times buckets, would grow with the square of the size."""
MAX_SPLITS = 2**20
"""Splits of one job; splits grow if the files are larger than that."""
MAX_LINE = 16 * 1024 * 1024
"""Bytes. A Kafka record has at most 1 MiB, unless brokers are configured otherwise: no offset is that long."""
_STEP = 1024 * 1024
FORMAT, TOO_LARGE = "manifest/format", "manifest/too-large"
HALVES = ("partition", "offset")
_ROWS = 32 * 1024
"""Rows that are converted at a time: as many as fit into a processor's cache."""
_EXPECTED = "partition and offset as structs, or partition.FIELD and offset.FIELD for each field"
_LONGEST_SHOWN = 200
_ESCAPED = r'["\\\x00-\x1f]'


class InputSplit(NamedTuple):
    """A part of a file: the lines that begin in it. `end` is None for a compressed file, which is a single split.

    `size` is the approximate number of bytes of its blocks. For Parquet, `start` and `end` are numbers of row groups.
    """

    manifest: int
    is_current: bool
    file: LargeFile
    size: int = SPLIT_SIZE
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a split: the last line also ends in a line feed. `base`: lines of the split before the block.

    `fault` is what ended the reading; its line counts from the beginning of the block.
    """

    base: int
    text: bytes
    is_first: bool = False
    fault: LineFault | None = None

    @property
    def content(self) -> bytes:
        """The text without a byte order mark."""
        return self.text.removeprefix(codecs.BOM_UTF8) if self.is_first else self.text

    @property
    def lines(self) -> int:
        return self.text.count(b"\n")


def input_splits(manifests: Sequence[LargeManifest], smallest: int = SPLIT_SIZE) -> list[InputSplit]:
    """All splits of all files, current offsets first: the order of splits is the order of places."""
    current = [(number, True, one.current) for number, one in enumerate(manifests) if one.current is not None]
    files = [(number, False, file) for number, one in enumerate(manifests) for file in one.files]
    total = sum(Path(file.path).stat().st_size for _, _, file in (*current, *files))
    size = max(smallest, -(-total // MAX_SPLITS) * 2, -(-total // BUCKET) * _CELL)
    return [
        split
        for number, is_current, file in (*current, *files)
        for split in _parts(InputSplit(number, is_current, file, size))
    ]


def blocks_of(split: InputSplit) -> Iterator[Block]:
    """The lines of a split in blocks. Raises OSError if its file cannot be read."""
    if split.file.is_parquet:
        yield from _of_parquet(split)
        return
    if split.end is not None:
        yield from _plain(split, split.end)
        return
    path = Path(split.file.path)
    with path.open("rb") as stream, ExitStack() as mapped:
        content: bytes | mmap.mmap = b""  # an empty file cannot be mapped
        if path.stat().st_size:
            content = mapped.enter_context(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        yield from _whole_lines(unpack(content, split.file.compression), split.size)


def _parts(whole: InputSplit) -> Iterator[InputSplit]:
    if whole.file.is_parquet:
        for start, end in groups_of(whole.file.path, whole.size):
            yield whole._replace(start=start, end=end)
        return
    if whole.file.compression:
        yield whole
        return
    length = Path(whole.file.path).stat().st_size
    for start in range(0, max(length, 1), whole.size):
        yield whole._replace(start=start, end=min(start + whole.size, length))


def _of_parquet(split: InputSplit) -> Iterator[Block]:
    base = 0
    for found in rows_as_lines(split.file.path, split.start, split.end or 0, MAX_LINE):
        if isinstance(found, LineFault):
            yield Block(base, b"", fault=found)
            return
        yield Block(base, found)
        base += found.count(b"\n")


def _plain(split: InputSplit, end: int) -> Iterator[Block]:
    with Path(split.file.path).open("rb") as stream:
        stream.seek(max(split.start - 1, 0))
        content = stream.read(end - max(split.start - 1, 0))
        start = content.find(b"\n") + 1 if split.start else 0
        if start == len(content) or (split.start and not start):
            yield Block(0, b"", is_first=not split.start)
            return
        rest = []
        length = len(content) - content.rfind(b"\n") - 1
        while not content.endswith(b"\n") and length <= MAX_LINE and (more := stream.read(_STEP)):
            at = more.find(b"\n") + 1
            rest.append(more[: at or len(more)])
            length += len(rest[-1])
            if at:
                break
        yield _finished(0, b"".join((memoryview(content)[start:], *rest)), is_first=not split.start)


def _whole_lines(chunks: Iterable[bytes], size: int) -> Iterator[Block]:
    """Blocks of about that size; each begins with the unfinished line of the block before it."""
    base, held = 0, bytearray()
    is_first = True
    try:
        for chunk in chunks:
            held += chunk
            at = held.rfind(b"\n") + 1
            if (len(held) >= size and at) or len(held) - at > MAX_LINE:
                at = at if len(held) - at <= MAX_LINE else len(held)
                block = _finished(base, bytes(held[:at]), is_first=is_first)
                yield block
                if block.fault is not None:
                    return
                base += block.lines
                is_first = False
                del held[:at]
        yield _finished(base, bytes(held), is_first=is_first)
    except Unreadable as error:
        yield Block(base, b"", is_first=is_first, fault=fault_of(error))


def _finished(base: int, content: bytes, *, is_first: bool) -> Block:
    """A block that ends in a line feed, added if missing. A line that is too long is a fault: it is not a manifest."""
    if not content or content.endswith(b"\n"):
        return Block(base, content, is_first)
    at = content.rfind(b"\n") + 1
    if len(content) - at > MAX_LINE:
        found = f"a line of more than {MAX_LINE // 1024**2} MiB"
        fault = LineFault(TOO_LARGE, found, content.count(b"\n") + 1, 1)
        return Block(base, content[:at], is_first, fault)
    return Block(base, content + b"\n", is_first)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


_TYPES = (pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, _is_text)


class _Unfit(Exception):
    """The file is not a manifest."""


def groups_of(path: str, size: int) -> list[tuple[int, int]]:
    """Ranges of row groups, each of about `size` bytes. A damaged file is one split, which reports the damage.

    Raises OSError if the file cannot be read.
    """
    try:
        with _opened(path) as file:
            sizes = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
    except _Unfit:
        return [(0, 0)]
    found, start, held = [], 0, 0
    for number, one in enumerate(sizes):
        if held and held + one > size:
            found.append((start, number))
            start, held = number, 0
        held += one
    return [*found, (start, len(sizes))]


def rows_as_lines(path: str, start: int, end: int, longest: int) -> Iterator[bytes | LineFault]:
    """The rows of those row groups as lines, in blocks; a fault that ends them comes last, with its line in its block.

    `longest`: bytes of a line at most. Valid rows become canonical lines.
    """
    try:
        with _opened(path) as file:
            _refuse_columns(file.schema_arrow)
            for batch in file.iter_batches(_ROWS, row_groups=range(start, end), use_threads=False):
                lines = _lines(batch)
                lengths = pc.binary_length(lines)
                if (pc.max(lengths).as_py() or 0) > longest:
                    row = pc.index(pc.greater(lengths, longest), value=True).as_py()
                    found = f"a row of more than {longest // 1024**2} MiB"
                    yield LineFault(TOO_LARGE, found, row + 1)
                    return
                yield bytes_of(lines)
    except _Unfit as error:
        yield LineFault(FORMAT, str(error))


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Raises _Unfit if Arrow cannot read the file. Errors of the system have a number, those of Arrow have none."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - most manifests are lines, which start faster without it

    Path(path).stat()
    try:
        with pa.OSFile(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = " ".join(str(error).split())
        short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
        raise _Unfit(f"a Parquet file that cannot be read; write it again: {short}") from error


def _refuse_columns(schema: Any) -> None:
    """Raise _Unfit unless the columns are those of a manifest."""
    fields: list[Any] = []
    for column in schema:
        half, _, name = column.name.partition(".")
        is_struct = column.name in HALVES and pa.types.is_struct(column.type)
        if half not in HALVES or not (name or is_struct):
            raise _Unfit(f"a Parquet file with the column {column.name!r} ({column.type}); expected {_EXPECTED}")
        fields += (inner.with_name(f"{half}.{inner.name}") for inner in column.type) if is_struct else [column]
    for field in fields:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not any(test(kind) for test in _TYPES):
            raise _Unfit(
                f"a Parquet file with the column {field.name!r} of the type {kind}, which JSON does not have; "
                "convert it to whole numbers, strings or booleans, as the connector stores them"
            )
    names = [field.name for field in fields]
    for half in HALVES:
        if not any(name.startswith(f"{half}.") for name in names):
            raise _Unfit(f"a Parquet file without the column {half}; expected {_EXPECTED}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise _Unfit(f"a Parquet file with the column {twice[0]!r} twice")


def _lines(batch: Any) -> Any:
    """An entry for each row, as in a CSV: without partition fields it has no partition, without offset fields null."""
    table = pa.Table.from_batches([batch]).flatten().combine_chunks()
    if not any(column.null_count for column in table.columns):
        first, second = ([part for member in _members(table, half) for part in member] for half in HALVES)
        whole = ('{"partition":{', *first[1:], '},"offset":{', *second[1:], "}}\n")
        return pc.binary_join_element_wise(*whole, "")
    partition, offset = (_objects(table, half) for half in HALVES)
    partition = pc.binary_join_element_wise('"partition":', partition, ",", "")
    parts = ("{", pc.fill_null(partition, ""), '"offset":', pc.fill_null(offset, "null"), "}\n")
    return pc.binary_join_element_wise(*parts, "")


def _objects(table: Any, half: str) -> Any:
    """An object for each row, without the fields that are null; null if all are."""
    members = (pc.binary_join_element_wise(*member, "") for member in _members(table, half))
    joined = pc.binary_join_element_wise("{", *members, "}", "", null_handling="replace")
    objects = pc.replace_substring(joined, "{,", "{", max_replacements=1)
    return pc.if_else(pc.equal(objects, "{}"), None, objects)


def _members(table: Any, half: str) -> Iterator[Sequence[Any]]:
    """The fields of that half for each row, in parts: a comma, the name, the value in JSON."""
    for name in sorted(name for name in table.column_names if name.startswith(f"{half}.")):
        key = json.dumps(name.removeprefix(f"{half}."), ensure_ascii=False)
        yield ",", f"{key}:", *_in_json(table.column(name).combine_chunks())


def _in_json(array: Any) -> Sequence[Any]:
    """The values of a column in JSON, in parts. A byte that is not UTF-8 stays, for the reader of the lines."""
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if pa.types.is_boolean(array.type) or pa.types.is_integer(array.type):
        return (array.cast(pa.string()),)
    if _is_text(array.type):
        array = array.cast(pa.string())
        if not pc.any(pc.match_substring_regex(array, _ESCAPED), min_count=0).as_py():
            return '"', array, '"'
        array = array.cast(pa.binary())
    values = (one.decode(errors="surrogateescape") if isinstance(one, bytes) else one for one in array.to_pylist())
    texts = (None if one is None else json.dumps(one, ensure_ascii=False) for one in values)
    encoded = [None if one is None else one.encode(errors="surrogateescape") for one in texts]
    return (pa.array(encoded, pa.binary()).view(pa.string()),)
