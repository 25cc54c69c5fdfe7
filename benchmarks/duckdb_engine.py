"""The same work by DuckDB, for comparison: a program that gets the manifest, the current offsets, and threads.

Blocks of lines are Arrow tables with line numbers, because DuckDB's own readers have no reliable ones. Lines that a
regular expression matches are valid. Others go to the strict reader and the rule function. Partitions are hashed to 128
bits. Then repeats are found, and the difference to the current offsets.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator

START = time.perf_counter()

import duckdb  # noqa: E402 - its import is part of the measured time
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

from gitops_connect.families.registry import BUILT_IN  # noqa: E402
from gitops_connect.model.names import ConnectorName  # noqa: E402
from gitops_connect.model.offset_changes import OffsetChangeKind  # noqa: E402
from gitops_connect.offsets.context import ManifestContext  # noqa: E402
from gitops_connect.offsets.formats.manifest_parser import read_lines  # noqa: E402
from gitops_connect.offsets.rules.entries import EntryChecker  # noqa: E402

CONFIG = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "source.cluster.alias": "source"}
BLOCK = 16 * 1024 * 1024
PATTERN = (
    r'^\{"partition":(\{"cluster":"source","partition":(?:0|[1-9][0-9]{0,8}),"topic":"[^"\\\x00-\x1f]*"\}),'
    r'"offset":\{"offset":(0|[1-9][0-9]{0,17})\}\}\r?\n$'
)
SCHEMA = pa.schema([("line", pa.int64()), ("text", pa.string())])
KEYS = """
    create temp table NAME as select line, hash(found.k) a, hash(found.k, 1) b, try_cast(found.v as bigint) v,
        case when found.k = '' then text end slow
    from (select line, text, regexp_extract(text, 'PATTERN', ['k', 'v']) found from NAME_lines)
"""


def blocks(path: str) -> Iterator[pa.RecordBatch]:
    """The lines with their numbers, not copied."""
    line, held = 1, b""
    with open(path, "rb") as stream:  # noqa: PTH123 - the quickest way
        while content := stream.read(BLOCK):
            content, at = held + content, content.rfind(b"\n") + 1 + len(held)
            content, held = content[:at], content[at:]
            ends = np.flatnonzero(np.frombuffer(content, np.uint8) == 10)
            if len(ends):
                yield batch(content, ends, line)
            line += len(ends)
    if held:
        yield batch(held + b"\n", np.array([len(held)]), line)


def batch(content: bytes, ends: np.ndarray, line: int) -> pa.RecordBatch:
    """The lines that end at `ends`, with their line feeds, which the regular expression allows."""
    offsets = np.concatenate(([0], ends + 1)).astype(np.int32)
    text = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(content))
    return pa.RecordBatch.from_arrays([pa.array(np.arange(line, line + len(ends))), text], schema=SCHEMA)


def load(connection: duckdb.DuckDBPyConnection, name: str, path: str) -> None:
    """One file as a table of keys."""
    reader = pa.RecordBatchReader.from_batches(SCHEMA, blocks(path))
    connection.register(f"{name}_lines", reader)
    connection.execute(KEYS.replace("NAME", name).replace("PATTERN", PATTERN))


def checked(slow: list[tuple[int, str]]) -> tuple[Counter[str], list[tuple[str, int, int]]]:
    """Check lines of other forms with the rule function: the counts of violations, and the keys of valid lines."""
    checker = EntryChecker(
        ManifestContext(ConnectorName("orders"), CONFIG, shape=BUILT_IN.shape(CONFIG)), OffsetChangeKind.ALTER
    )
    counts: Counter[str] = Counter()
    keys = []
    read = read_lines("".join(text for _, text in slow))
    counts.update(fault.rule for fault in read.faults)
    for value, number, _ in read.entries:
        found = checker.check(value)
        counts.update(finding.rule for finding in found.findings)
        if found.partition is not None and found.offset is not None:
            keys.append((found.partition, json.loads(found.offset).get("offset"), slow[number - 1][0]))
    return counts, keys


def main(manifest: str, current: str, threads: str) -> None:
    """Print the verdict and the time as JSON."""
    connection = duckdb.connect(config={"threads": int(threads)})
    load(connection, "m", manifest)
    load(connection, "l", current)
    slow = connection.sql("select line, slow from m where slow is not null order by line").fetchall()
    counts, keys = checked(slow)
    connection.execute("delete from m where slow is not null") if slow else None
    if keys:
        more = pa.table({"k": [k for k, _, _ in keys], "v": [v for _, v, _ in keys], "line": [n for _, _, n in keys]})
        connection.register("more", more)
        connection.execute("insert into m select line, hash(k), hash(k, 1), try_cast(v as bigint), null from more")
    twice = connection.sql(
        "select a, b, min(line), max(line), count(*), count(distinct v) from m group by a, b having count(*) > 1"
        " order by min(line)"
    ).fetchall()
    difference = connection.sql(
        "select sign(m.v - l.v) way, count(*), sum(abs(m.v::hugeint - l.v)),"
        " max(struct_pack(d := abs(m.v - l.v), n := m.line), 20)"
        " from m left join l using (a, b) group by way order by way"
    ).fetchall()
    found = {
        "rules": dict(counts),
        "twice": len(twice),
        "difference": [[way, count, int(total or 0)] for way, count, total, _ in difference],
        "seconds": time.perf_counter() - START,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
