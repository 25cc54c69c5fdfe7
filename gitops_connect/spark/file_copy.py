"""Files that Spark can read, copied byte for byte into a directory that this process shares with executors.

Spark reads them as lines. It removes line ends, a byte order mark, and any compression that it knows by the name of the
file. The first two are restored from the size of the file. The third is prevented if Hadoop's `PassthroughCodec` claims
the suffix. A file with a codec is not split, so that one task reads all of it in order.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from gitops_connect.errors import SparkFailed
from gitops_connect.spark.session import Session

_CODEC = {"io.compression.codecs": "org.apache.hadoop.io.compress.PassthroughCodec"}
_EXTENSIONS = ("io.compress.passthrough.extension", "org.apache.hadoop.shaded.io.compress.passthrough.extension")
"""Hadoop's option; the second is its name in the jar that Spark contains, where a tool has renamed it."""
_GLOBBING = r"[\\*?\[\]{}]"
_MARK: Final = b"\xef\xbb\xbf"


def copy(session: Session, uri: str, takes: Callable[[str], bool], directory: str) -> list[CopiedFile]:
    """Copy all files at that URI whose paths are taken; none if nothing exists there.

    A directory means all files in and below it, except names that begin with `_` or `.`. A `Copy`, once the
    session is bound. Raises SparkFailed, or SparkUnusable.
    """
    task = f"{uri} could not be copied because Spark failed"
    found = {path: one for one in session.run(_listed, uri, task=task) if takes(path := _path(one))}
    copies = {path: str(Path(directory, str(number))) for number, path in enumerate(found)}
    for path in session.run(_copied, found, copies, task=task):
        if not Path(copies[path]).is_file():
            what = f"an executor copied {path} to {copies[path]}, but this process does not see that file"
            raise SparkFailed(f"{what}; set [spark] directory to a directory that both share")
    return sorted(CopiedFile(path, file, _digest(Path(file))) for path, file in copies.items())


def _path(found: str) -> str:
    """The decoded path: Spark encodes the paths that it names, as in a URL."""
    return unquote(urlsplit(found).path)


def _digest(file: Path) -> str:
    file.touch()  # tasks do not see a file without a line
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _listed(spark: Any, uri: str) -> list[str]:
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - only the session's process imports Spark

    try:
        return list(spark.read.option("recursiveFileLookup", "true").text(uri).inputFiles())
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return []
        raise


def _copied(spark: Any, found: Mapping[str, str], copies: Mapping[str, str]) -> list[str]:
    """Copy the files. Returns the paths of those that have lines."""
    by_suffix = defaultdict(list)
    for path, one in found.items():
        name = path.rpartition("/")[2].lower()
        by_suffix[name[max(name.rfind("."), 0) :]].append(re.sub(_GLOBBING, r"\\\g<0>", unquote(one)))
    copied = []
    for suffix, paths in by_suffix.items():
        reader = spark.read.options(lineSep="\n", **_CODEC, **dict.fromkeys(_EXTENSIONS, suffix))
        lines = reader.text(paths).selectExpr(
            "cast(value as binary) value", "_metadata.file_path path", "_metadata.file_size size"
        )
        copied += [row.path for row in lines.mapInArrow(partial(_write, copies), "path string").collect()]
    return copied


def _write(copies: Mapping[str, str], batches: Iterable[Any]) -> Iterator[Any]:
    """Write the lines of whole files, one file after the other. Runs on executors."""
    import pyarrow as pa  # noqa: PLC0415 - nothing of Spark is imported before it is used
    import pyarrow.compute as pc  # noqa: PLC0415 - nothing of Spark is imported before it is used

    sizes: dict[str, int] = {}
    for batch in batches:
        for found in batch["path"].unique().to_pylist():
            path, rows = _path(found), batch.filter(pc.equal(batch["path"], found))
            with Path(copies[path]).open("ab" if path in sizes else "wb") as stream:
                stream.write(b"\n".join([*rows["value"].to_pylist(), b""]))
            sizes[path] = rows["size"][0].as_py()
    for path, size in sizes.items():
        _restore(path, Path(copies[path]), size)
    yield pa.RecordBatch.from_pydict({"path": pa.array(list(sizes), pa.string())})


def _restore(path: str, file: Path, size: int) -> None:
    """Restore the end and the byte order mark of a file, which has a line feed after each line."""
    written = file.stat().st_size
    match size - written:
        case 0:
            return
        case -1:  # its last line has no end
            os.truncate(file, size)
        case 2 | 3:  # the mark, and maybe a last line without an end
            marked = file.with_suffix(".marked")
            with file.open("rb") as content, marked.open("wb") as stream:
                stream.write(_MARK)
                shutil.copyfileobj(content, stream)
            os.truncate(marked, size)
            marked.replace(file)
        case _:
            raise ValueError(f"{path} has {size} bytes, but {written} were read: the file has changed")


class CopiedFile(NamedTuple):
    """`path` is the original path without scheme and host, `file` the path of the copy; `sha256` is of the content."""

    path: str
    file: str
    sha256: str
