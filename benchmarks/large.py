"""Large manifests on Spark, compared with DuckDB, which does the same work, and with jsonschema for each entry.

The manifests are of a MirrorSourceConnector, with an error and a repeat in every 10,000 lines. The first run creates an
archive of classes with which Spark starts quicker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from jsonschema import Draft202012Validator
from pyarrow.json import read_json
from pyarrow.parquet import ParquetWriter

from benchmarks.figures import Figure, NotMeasured, compared, median
from benchmarks.planning import PROGRAM
from benchmarks.spark_engine import CONFIG
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.formats.manifest_parser import parse
from gitops_connect.offsets.rules import small

TITLE = "Large manifests: the complete verdict"
FEW, MANY, CURRENT, SAMPLE = 1_000_000, 10_000_000, 1_000_000, 200_000
RUNS = {FEW: 3, MANY: 2}
SMALL = 5_000
COLD, WARM, SLOWER, COMMAND, QUICKER, PARQUET = 1.0, 0.6, 2.0, 5.0, 1 / 30, 0.6
READY, ELSEWHERE, AT_ONCE = 1.9, 2.0, 0.5
TESTS = Path(__file__).parents[1] / "tests"
SCHEMA = {
    "type": "object",
    "required": ["partition", "offset"],
    "additionalProperties": False,
    "properties": {
        "partition": {
            "type": "object",
            "required": ["cluster", "topic", "partition"],
            "additionalProperties": False,
            "properties": {
                "cluster": {"const": "source"},
                "topic": {"type": "string"},
                "partition": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
            },
        },
        "offset": {
            "type": ["object", "null"],
            "required": ["offset"],
            "properties": {"offset": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}},
        },
    },
}


def measure(directory: Path) -> Iterator[Figure]:
    """Both sizes, then other files, masters and forms of lines."""
    current = _written(directory / "current.jsonl", CURRENT, "valid")
    rate = _schema_rate(directory)
    warm, memory, best = {}, {}, {}
    for count in (FEW, MANY):
        manifest = _written(directory / f"{count}.jsonl", count, "clean")
        duck, spark, processes = _side_by_side(directory, manifest, current, RUNS[count])
        words = f"{count:,} entries"
        others = [one["seconds"] for one in duck]
        limits = (COLD, WARM, QUICKER) if count == MANY else (None, None, None)
        for who, runs in (("Spark", spark), ("without Spark", processes)):
            for key, state, limit in zip(("cold", "warm"), ("from the start", "once more"), limits, strict=False):
                figure = Figure(f"{who}, {state}, {words}", 0, "s", limit)
                yield compared(figure, [one[key] for one in runs], "DuckDB", others)
        figure = Figure(f"Spark, from the start, {words}", 0, "s", limits[2])
        yield compared(figure, [one["cold"] for one in spark], "jsonschema, extrapolated", [count * rate] * len(spark))
        warm[count], memory[count] = min(one["warm"] for one in spark), max(one["memory"] for one in spark)
        best[count] = min(one["warm"] for one in processes)
    own = Figure("memory of the process itself, 10,000,000 entries", 0, "KiB", 1.1)
    yield compared(own, [memory[MANY]], "1,000,000 entries", [memory[FEW]])
    yield from _commands(directory)
    yield from _ready(directory, current)
    yield from _elsewhere(directory, current)
    for form, words in _FORMS.items():
        manifest = _written(directory / f"{form}.jsonl", MANY, form)
        yield _against_best(Figure(f"{words}, {MANY:,}", 0, "s", SLOWER), manifest, "the clean file", warm[MANY])
        manifest.unlink()
    columns = _columns(directory / f"{MANY}.parquet", directory / f"{MANY}.jsonl")
    for who, master, anchor in (("without Spark", "", best), ("Spark", "local[*]", warm)):
        figure = Figure(f"Parquet, {who}, once more, {MANY:,}", 0, "s", PARQUET)
        yield _against_best(figure, columns, "JSON Lines", anchor[MANY], master)


def _against_best(figure: Figure, manifest: Path, anchor: str, best: float, master: str = "local[*]") -> Figure:
    """The second check of another file, compared with the fastest of some checks."""
    directory = manifest.parent
    found = _run("spark_engine", str(manifest), str(directory / "current.jsonl"), str(directory / "cache"), master)
    return compared(figure, [found["warm"]], anchor, [best])


def _commands(directory: Path) -> Iterator[Figure]:
    """`gitops-connect offsets check`, from the start of its process to its end."""
    (directory / "repo").mkdir()
    (directory / "repo" / "mirror.yaml").write_text(_DOCUMENT)
    (directory / "gitops-connect.toml").write_text('[clusters.local]\nurl = ["http://127.0.0.1:1"]\n')
    few = _written(directory / "small.jsonl", SMALL, "valid")
    for path, limit, words in (
        (directory / f"{FEW}.jsonl", COMMAND, f"the command, cold, {FEW:,} entries"),
        (few, None, f"the command, {SMALL:,} entries"),
    ):
        seconds = [_command(directory, path) for _ in range(RUNS[FEW])]
        yield median(Figure(words, 0, "s", limit), seconds)
    seconds = [_decided(few) for _ in range(RUNS[FEW])]
    yield median(Figure(f"a manifest of {SMALL:,} entries, checked in this process", 0, "s", AT_ONCE), seconds)


def _decided(path: Path) -> float:
    """The time to read and check a manifest in this process."""
    context = ManifestContext(ConnectorName("orders"), CONFIG, shape=BUILT_IN.shape(CONFIG))
    begun = time.perf_counter()
    verdict = small.check(parse(Blob(path.name, "", path.read_bytes())), context, OffsetChangeKind.ALTER)
    if verdict.offsets is None or "pyspark" in sys.modules:
        raise NotMeasured("it was not decided, or not in this process")
    return time.perf_counter() - begun


_DOCUMENT = """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: orders, cluster: local}
spec:
  class: org.apache.kafka.connect.mirror.MirrorSourceConnector
  state: stopped
  config: {source.cluster.alias: source, topics: orders.*}
"""


def _command(directory: Path, path: Path) -> float:
    arguments = ("offsets", "check", "orders", str(path), "--offline")
    environment = {
        **os.environ,
        "GITOPS_CONNECT_CACHE": str(directory / "cache"),
        "GITOPS_CONNECT_CONFIG": str(directory / "gitops-connect.toml"),
        "GITOPS_CONNECT_REPOSITORY__URL": str(directory / "repo"),
    }
    begun = time.perf_counter()
    done = subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode not in (0, 4):
        raise NotMeasured(f"offsets check failed: {done.stderr.strip().splitlines()[-1:]}")
    return seconds


def _ready(directory: Path, current: Path) -> Iterator[Figure]:
    """A manifest without errors: only offsets of such a manifest are sent."""
    manifest = _written(directory / "sound.jsonl", MANY, "sound")
    duck = _run("duckdb_engine", str(manifest), str(current), "2")["seconds"]
    spark = _run("spark_engine", str(manifest), str(current), str(directory / "cache"), "local[*]", "ready")
    if spark["sent"] != MANY:
        raise NotMeasured(f"{spark['sent']:,} entries would be sent")
    figure = Figure(f"check and preparing the offsets, session running, {MANY:,}", 0, "s", READY)
    yield compared(figure, [spark["ready"]], "DuckDB, only the check", [duck])
    manifest.unlink()


def _elsewhere(directory: Path, current: Path) -> Iterator[Figure]:
    """The same work on the masters of the tests, compared with a local one, each with a running session."""
    sys.path.insert(0, str(TESTS))
    from support.spark.services import connect_server, running, standalone  # noqa: PLC0415 - of the tests

    manifest, cache = directory / f"{FEW}.jsonl", str(directory / "cache")
    here = _run("spark_engine", str(manifest), str(current), cache)
    for words, place in (
        ("a standalone master with two workers", standalone(directory / "standalone", Path(sys.executable))),
        ("Spark Connect", connect_server(directory / "connect", Path(sys.executable))),
    ):
        with running(place):
            there = _run("spark_engine", str(manifest), str(current), cache, place.master)
        yield compared(Figure(f"{words}, {FEW:,}", 0, "s", ELSEWHERE), [there["warm"]], "local", [here["warm"]])
    times = []
    for workers in (1, 2):
        with running(standalone(directory / f"workers-{workers}", Path(sys.executable), workers)) as place:
            found = _run("spark_engine", str(directory / f"{MANY}.jsonl"), str(current), cache, place.master)
        times.append(found["warm"])
    yield compared(Figure(f"two standalone workers, {MANY:,}", 0, "s"), times[1:], "one", times[:1])


def _columns(path: Path, lines: Path) -> Path:
    """The same manifest as Spark would write it: structs, in row groups of a million."""
    writer = None
    with lines.open("rb") as stream:
        while block := b"".join(islice(stream, FEW)):
            table = read_json(pa.BufferReader(block))
            writer = writer or ParquetWriter(path, table.schema)
            writer.write_table(table)
    if writer is not None:
        writer.close()
    return path


def _side_by_side(directory: Path, manifest: Path, current: Path, runs: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Run DuckDB, Spark and the check without Spark in turns, so that other work of the machine affects all."""
    duck, spark, processes, cache = [], [], [], str(directory / "cache")
    for _ in range(runs):
        duck.append(_run("duckdb_engine", str(manifest), str(current), "2"))
        spark.append(_run("spark_engine", str(manifest), str(current), cache))
        processes.append(_run("spark_engine", str(manifest), str(current), cache, ""))
    for one in (spark[0], processes[0]):
        if duck[0]["rules"] != {rule: n for rule, n in one["rules"].items() if rule not in _REPEATS}:
            raise NotMeasured("the two do not find the same")
    return duck, spark, processes


_FORMS = {
    "tenth": "every tenth line not canonical",
    "dumped": "every line as json.dumps writes it",
    "half": "half of them repeats",
}
_REPEATS = ("manifest/duplicate", "manifest/conflict")


def _run(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"{module} failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout)


def _schema_rate(directory: Path) -> float:
    """Seconds for each entry."""
    lines = _written(directory / "sample.jsonl", SAMPLE, "valid").read_text().splitlines()
    validator = Draft202012Validator(SCHEMA)
    begun = time.process_time()
    for line in lines:
        validator.is_valid(json.loads(line))
    return (time.process_time() - begun) / SAMPLE


def _written(path: Path, count: int, form: str) -> Path:
    with path.open("w") as stream:
        for start in range(0, count, 100_000):
            stream.writelines(_line(number, form) for number in range(start, min(start + 100_000, count)))
    return path


def _line(number: int, form: str) -> str:
    offset = number * 7919 % 100_000_000
    if form == "valid":
        offset += number % 3 - 1 if offset else 0
    elif form == "sound":
        pass
    elif form == "half":
        number -= number % 2
    elif number % 10_000 == 9_999:
        offset = -5
    elif number % 10_000 == 5_000:
        number -= 1
    partition = f'{{"cluster":"source","partition":{number % 32},"topic":"orders.region-{number // 32:07d}"}}'
    if form == "dumped":
        return f"{json.dumps({'partition': json.loads(partition), 'offset': {'offset': offset}})}\n"
    if form == "tenth" and number % 10 == 3:
        return f'{{"offset": {{"offset": {offset}}}, "partition": {partition}}}\n'
    return f'{{"partition":{partition},"offset":{{"offset":{offset}}}}}\n'
