"""Checks manifests where it is told, in a process of its own: a process has one Spark session.

It is told in JSON: the master, its options, and a folder. It says on its standard output, a line each, what it began
and how that ended; verdicts go into files.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from large_engine import READER, on_spark

from gitops_connect.errors import GitopsConnectError
from gitops_connect.settings.credentials import Credential
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.shared_session import SharedSession
from spark_parts.manifests_held import planted

DRIVER = os.getpid()
GATE = ""
"""In the folder: where it is, executors say that they are at work, and wait for ever."""


def refuse(content: bytes, is_first: bool) -> Any:
    """Pickled as it is, since nobody can import this program."""
    gate = Path(GATE)
    if gate.exists() and os.getpid() != DRIVER:
        with gate.open("w") as stream:
            stream.write("at work\n")
        with gate.with_name("never").open() as stream:
            stream.read()
    return READER.refuse(content, is_first)


def where_from(batches: Iterable[Any]) -> Iterator[Any]:
    """Where executors have our modules from."""
    import pyarrow as pa  # noqa: PLC0415 - runs on executors

    import gitops_connect  # noqa: PLC0415 - imported when it is used

    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"file": [gitops_connect.__file__]})


def bulky(batches: Iterable[Any]) -> Iterator[Any]:
    """Rows that are more, together, than a message of gRPC may have."""
    import pyarrow as pa  # noqa: PLC0415 - runs on executors

    for batch in batches:
        for _ in range(batch.num_rows):
            yield pa.RecordBatch.from_pydict({"found": [b"x" * 20_000_000]})


def start(settings: SparkSettings, environment: Mapping[str, str], say: Any, _: Path) -> Any:
    """Without the archive of classes, which takes longer to be made than it would save here."""
    from gitops_connect.spark.session import start_at  # noqa: PLC0415 - not before the first use

    return start_at(settings, environment, say, None)


def main(told: dict[str, Any]) -> None:
    """Each line of standard input is something to do."""
    global GATE  # noqa: PLW0603 - pickled along with the function that reads it
    folder = Path(told["folder"])
    GATE = str(folder / "gate")
    settings = SparkSettings(
        told["master"],
        Path(told["shared"]) if "shared" in told else None,
        {name: Credential(value=value) for name, value in told["options"].items()},
    )
    sessions = SharedSession(settings, os.environ, folder, start=start)
    manifests = planted(folder / "manifests")
    assert not {"pyspark", "py4j"} & set(sys.modules)
    for number, line in enumerate(sys.stdin):
        try:
            said = _done(line.strip(), sessions, manifests, folder / f"verdicts{number}")
        except GitopsConnectError as error:
            said = f"{type(error).__name__}: {error}"
        _say(said, sys.stdout)
    sessions.close()


def _done(task: str, sessions: SharedSession, manifests: Any, file: Path) -> str:
    with sessions.using(lambda text: _say(text, sys.stderr)) as session:
        if task == "check":
            file.write_bytes(pickle.dumps(on_spark(session, manifests, replace(READER, refuse=refuse))))
            return str(file)
        with session.working():
            if task == "where from":
                rows = session.spark.range(0, 4, 1, 4).mapInArrow(where_from, "file string").collect()
                return json.dumps(sorted({row.file for row in rows}))
            if task.startswith("option "):
                return session.spark.sparkContext.getConf().get(task.removeprefix("option ")) or ""
            rows = session.spark.range(0, 8, 1, 4).mapInArrow(bulky, "found binary").collect()
            return str(sum(len(row.found) for row in rows))


def _say(text: str, stream: TextIO) -> None:
    stream.write(f"{text}\n")
    stream.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
