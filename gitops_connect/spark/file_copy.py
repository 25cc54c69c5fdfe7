"""Files that Spark can read, copied byte for byte into a directory that this process shares with executors.

Spark reads them as lines. It removes line ends, a byte order mark, and any compression that it knows by the name of the
file. The first two are restored from the size of the file. The third is prevented if Hadoop's `PassthroughCodec` claims
the suffix. A file with a codec is not split, so that one task reads all of it in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from gitops_connect.errors import SparkFailed
from gitops_connect.model.copies import CopiedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gitops_connect.spark.session import Session

_CODEC = "org.apache.hadoop.io.compress.PassthroughCodec"
_EXTENSIONS = ("io.compress.passthrough.extension", "org.apache.hadoop.shaded.io.compress.passthrough.extension")
"""Hadoop's option; the second is its name in the jar that Spark contains, where a tool has renamed it."""
_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(4 * 1024 * 1024),
}
_ALONE = Lock()
"""Two copies in parallel would each restore the settings of the other."""
_COPIED = "path string, file string, sha256 string"
_GLOBBING = "\\*?[]{}"
_MARK: Final = b"\xef\xbb\xbf"
_STEP = 1024 * 1024


def copy(session: Session, uri: str, takes: Callable[[str], bool], folder: str) -> list[CopiedFile]:
    """Copy all files at that URI whose paths are taken; none if nothing exists there.

    A directory means all files in and below it, except names that begin with `_` or `.`. A `Copy`, once the
    session is bound. Raises SparkFailed, or SparkUnusable.
    """
    with session.working(f"{uri} could not be copied because Spark failed"):
        spark = session.spark
        wanted = {path: found for found in _listed(spark, uri) if takes(path := _path(found))}
        with _batched(spark):
            copied = [
                one for suffix in {_suffix(path) for path in wanted} for one in _copied(spark, suffix, wanted, folder)
            ]
    return sorted([*copied, *_empty(wanted.keys() - {one.path for one in copied}, folder)])


@contextmanager
def _batched(spark: SparkSession) -> Iterator[None]:
    """Read many lines at a time. A new session is no alternative: modules are sent to executors for the old session."""
    with _ALONE:
        before = {name: spark.conf.get(name, None) for name in _BATCHES}
        try:
            for name, value in _BATCHES.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, old in before.items():
                spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _listed(spark: SparkSession, uri: str) -> list[str]:
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - nothing of Spark is imported before it is used

    try:
        return spark.read.option("recursiveFileLookup", "true").text(uri).inputFiles()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise


def _copied(spark: SparkSession, suffix: str, wanted: dict[str, str], folder: str) -> Iterator[CopiedFile]:
    reader = spark.read.option("lineSep", "\n").option("io.compression.codecs", _CODEC)
    for name in _EXTENSIONS:
        reader = reader.option(name, suffix)
    paths = [_escaped(unquote(found)) for path, found in wanted.items() if _suffix(path) == suffix]
    lines = reader.text(paths).selectExpr(
        "cast(value as binary) value", "_metadata.file_path path", "_metadata.file_size size"
    )
    for row in lines.mapInArrow(partial(_write, folder), _COPIED).collect():
        if not Path(row.file).is_file():
            what = f"an executor copied {row.path} to {row.file}, but this process does not see that file"
            raise SparkFailed(f"{what}; set [spark] directory to a directory that both share")
        yield CopiedFile(_path(row.path), row.file, row.sha256)


def _empty(paths: Iterable[str], folder: str) -> Iterator[CopiedFile]:
    """Copy files without a line: tasks do not see them."""
    for path in paths:
        file = Path(folder, uuid4().hex)
        file.touch()
        yield CopiedFile(path, str(file), hashlib.sha256().hexdigest())


def _path(found: str) -> str:
    """The decoded path: Spark encodes the paths that it names, as in a URL."""
    return unquote(urlsplit(found).path)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return name[name.rfind(".") :] if "." in name else name


def _escaped(path: str) -> str:
    return "".join(f"\\{one}" if one in _GLOBBING else one for one in path)


def _write(folder: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Write the lines of whole files, one file after the other. Runs on executors."""
    import pyarrow as pa  # noqa: PLC0415 - nothing of Spark is imported before it is used
    import pyarrow.compute as pc  # noqa: PLC0415 - nothing of Spark is imported before it is used

    done: list[tuple[str, str, str]] = []
    current: _Copy | None = None
    for batch in batches:
        runs = pc.run_end_encode(batch.column(1))
        start = 0
        for end, path in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            if current is None or current.path != path:
                done += [current.finished()] if current is not None else []
                current = _Copy(folder, path, batch.column(2)[start].as_py())
            current.add(batch.column(0)[start:end].to_pylist())
            start = end
    done += [current.finished()] if current is not None else []
    columns = [list(column) for column in zip(*done, strict=True)] if done else [[], [], []]
    yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], ["path", "file", "sha256"])


class _Copy:
    """One file that is being written."""

    def __init__(self, folder: str, path: str, size: int) -> None:
        self.path = path
        self._file = Path(folder, uuid4().hex)
        self._size = size
        self._stream = self._file.open("wb")
        self._digest = hashlib.sha256()
        self._written = 0

    def add(self, lines: list[bytes]) -> None:
        self._put((b"\n" if self._written or self._has_lines else b"") + b"\n".join(lines))
        self._has_lines = True

    _has_lines = False

    def finished(self) -> tuple[str, str, str]:
        """Path, file and SHA-256, after the bytes that are missing by the file's size are restored."""
        lacks = self._size - self._written
        if lacks in (1, len(_MARK) + 1):
            self._put(b"\n")
        self._stream.close()
        if lacks in (len(_MARK), len(_MARK) + 1):
            self._mark()
        elif lacks not in (0, 1):
            raise ValueError(f"{self.path} has {self._size} bytes, but {self._written} were read: the file has changed")
        return self.path, str(self._file), self._digest.hexdigest()

    def _put(self, content: bytes) -> None:
        self._stream.write(content)
        self._digest.update(content)
        self._written += len(content)

    def _mark(self) -> None:
        """Write the file again, with a byte order mark at its start."""
        before, self._file = self._file, self._file.with_name(uuid4().hex)
        self._digest = hashlib.sha256()
        with before.open("rb") as content, self._file.open("wb") as self._stream:
            self._put(_MARK)
            while chunk := content.read(_STEP):
                self._put(chunk)
        before.unlink()
