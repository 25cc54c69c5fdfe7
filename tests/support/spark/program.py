"""Checks manifests on a given Spark, in a separate process, because a process has one Spark session.

Its arguments are JSON: the master, its options, and a directory. It prints the result of each task as one line, and
writes verdicts to files. The session's process imports this module, and executors cannot.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from gitops_connect.errors import GitopsConnectError
from gitops_connect.offsets.formats.manifest_parser import LinesRead, read_lines
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.session import SharedSession
from support.spark.large_engine import on_spark
from support.spark.manifests_held import planted

TASK = "large manifests could not be checked because Spark failed"


def gated(gate: Path, text: str) -> LinesRead:
    """If the gate exists, executors write to it that they have started, and then never end."""
    if gate.exists() and "pyspark.worker" in sys.modules:
        with gate.open("w") as stream:
            stream.write("at work\n")
        with gate.with_name("never").open() as stream:
            stream.read()
    return read_lines(text)


def where_from(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415 - runs on executors

    import gitops_connect  # noqa: PLC0415 - imported when it is used

    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"file": [gitops_connect.__file__]})


def bulky(batches: Iterable[Any]) -> Iterator[Any]:
    """Rows that are together larger than a gRPC message can be."""
    import pyarrow as pa  # noqa: PLC0415 - runs on executors

    for batch in batches:
        for _ in range(batch.num_rows):
            yield pa.RecordBatch.from_pydict({"found": [b"x" * 20_000_000]})


def pickle_by_value(_: Any) -> None:
    """Pickle this module by value, because executors cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value  # noqa: PLC0415 - runs in the session's process

    register_pickle_by_value(sys.modules[__name__])


def modules(spark: Any) -> list[str]:
    rows = spark.range(0, 4, 1, 4).mapInArrow(where_from, "file string").collect()
    return sorted({row.file for row in rows})


def option(spark: Any, name: str) -> str:
    return spark.sparkContext.getConf().get(name) or ""


def bulk(spark: Any) -> int:
    """The size of a large result in bytes."""
    rows = spark.range(0, 8, 1, 4).mapInArrow(bulky, "found binary").collect()
    return sum(len(row.found) for row in rows)


def main(arguments: dict[str, Any]) -> None:
    directory = Path(arguments["directory"])
    settings = SparkSettings(
        arguments["master"],
        Path(arguments["shared"]) if "shared" in arguments else None,
        {name: Credential(value=value) for name, value in arguments["options"].items()},
    )
    sessions = SharedSession(settings, os.environ, directory)
    manifests = planted(directory / "manifests")
    assert not {"pyspark", "py4j"} & set(sys.modules)
    for number, line in enumerate(sys.stdin):
        try:
            said = _done(line.strip(), sessions, manifests, directory / f"verdicts{number}")
        except GitopsConnectError as error:
            said = f"{type(error).__name__}: {error}"
        _say(said, sys.stdout)
        assert not {"pyspark", "py4j"} & set(sys.modules)
    sessions.close()


def _done(task: str, sessions: SharedSession, manifests: Any, file: Path) -> str:
    with sessions.using(lambda text: _say(text, sys.stderr)) as session:
        session.run(pickle_by_value, task=TASK)
        if task == "check":
            reader = partial(gated, file.with_name("gate"))
            file.write_bytes(pickle.dumps(on_spark(session, manifests, reader)))
            return str(file)
        if task == "where from":
            return json.dumps(session.run(modules, task=TASK))
        if task.startswith("option "):
            return session.run(option, task.removeprefix("option "), task=TASK)
        return str(session.run(bulk, task=TASK))


def _say(text: str, stream: TextIO) -> None:
    stream.write(f"{text}\n")
    stream.flush()
