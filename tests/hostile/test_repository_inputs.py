"""Files of a repository that cost memory or time: each is reported, and the other documents are planned."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from standin.connect import StandIn

from hostile.packed import gzip_of_zeros, zstd_of
from hostile.place import BOUNDS, Bounds, Place, document, graded

GIB = 1024**3
ENTRY = '{"partition": {"filename": "/tmp/in.txt"}, "offset": {"position": 1}}'
SCHEMA = "offset-schemas/com.example.Counter.schema.json"
CHANGE = """apiVersion: gitops-connect/v1
kind: OffsetChange
metadata: {name: move}
spec:
  connector: counter
  operation: alter
  acknowledge: [rewind, skip, tombstone, reset, unread, external]
  reason: a test
  manifest: {path: ../../offsets/FILE}
"""


@dataclass(frozen=True)
class Row:
    """A function that writes files, and a part of what `plan` and `validate` report about them."""

    id: str
    write: Callable[[Place], Any]
    says: str
    bounds: Bounds = BOUNDS


def file(path: str, content: str | bytes) -> Callable[[Place], Any]:
    return lambda place: place.write(path, content)


def built(path: str, make: Callable[[], str | bytes]) -> Callable[[Place], Any]:
    """Write a file whose content is created when the row runs."""
    return lambda place: place.write(path, make())


def sparse(path: str, size: int) -> Callable[[Place], Any]:
    return lambda place: os.truncate(place.write(path, b"apiVersion: gitops-connect/v1\n"), size)


def changed_by(name: str, make: Callable[[], str | bytes], schema: Any = True) -> Callable[[Place], Any]:
    """Write an offset manifest, the offset change that applies it, and the schema of its connector class."""

    def write(place: Place) -> None:
        place.write(SCHEMA, schema if isinstance(schema, str | bytes) else json.dumps(schema))
        place.write(f"offsets/{name}", make())
        place.write("clusters/local/counter.yaml", document("counter", "state: stopped", kind="com.example.Counter"))
        place.write("clusters/local/change.yaml", CHANGE.replace("FILE", name))

    return write


def entry(partition: str, offset: str = '{"position": 1}') -> str:
    return f'{{"partition": {partition}, "offset": {offset}}}'


def one_entry() -> str:
    return f"[{ENTRY}]"


def digits(count: int) -> Callable[[], str]:
    """A manifest with a number of so many digits."""
    number = f'{{"n": {"9" * count}}}'
    return lambda: f"[{entry('{}', number)}]"


def many_fields() -> str:
    fields = ", ".join(f'"k{number}": 1' for number in range(60_000))
    return f'{{"offsets": [{entry("{" + fields + ", " + chr(34) + "k59999" + chr(34) + ": 2}")}]}}'


def partitions(count: int) -> str:
    return "\n".join(entry(f'{{"n": {number}}}', '{"a": 1}') for number in range(count))


def doubling() -> dict[str, Any]:
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": {**steps, "d40": {"type": "object"}}, "$ref": "#/$defs/d0"}


def directories(place: Place, depth: int) -> None:
    """Create `depth` nested directories, each of which has to be listed."""
    directory = place.repository
    for _ in range(depth):
        directory = directory / "d"
    directory.mkdir(parents=True)


def laughs(link: str) -> str:
    lines = [f"a{n}: &a{n} {link.format(','.join([f'*a{n - 1}'] * 10))}\n" for n in range(1, 30)]
    return "apiVersion: gitops-connect/v1\na0: &a0 {k: v}\n" + "".join(lines)


def long_key() -> str:
    """If all keys were aligned to the longest one, the plan would have 5 GB."""
    keys = "".join(f"    k{number}: a\n" for number in range(5_000))
    return (
        document("wide")
        .replace("config: {", f"config:\n    ? {'k' * 1_000_000}\n    : a\n{keys}    ")
        .replace("file: /tmp/in.txt, topic: lines}", "file: /tmp/in.txt\n    topic: lines")
    )


OURS = "apiVersion: gitops-connect/v1\n"
STRIMZI = """apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {{name: formatted, labels: {{strimzi.io/cluster: local}}}}
spec: {{class: org.apache.kafka.connect.file.FileStreamSourceConnector, "{field}": 1}}
"""
WITH_B = {"properties": {"offset": {"required": ["b"]}}}
WITH_X = {"properties": {"offset": {"required": ["{x}"]}}}
CIRCLE = {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
DIGITS_IN_YAML = f"- partition: {{n: {'9' * 350}}}\n  offset: {{n: 1}}\n"
EVIL = "^(a+)+$"
EVIL_SCHEMA = {"properties": {"partition": {"properties": {"n": {"pattern": EVIL}}}}}

DOCUMENTS = [
    Row("400,000 documents", built("b.yaml", lambda: OURS + "---\na: 1\n" * 400_000), "more than 10,000 documents"),
    Row("1,100,000 documents", built("b.yaml", lambda: OURS + "---\na\n" * 1_100_000), "more than 10,000 documents"),
    Row("10,000 documents", built("b.yaml", lambda: (OURS + "---\n") * 9_990), "error", Bounds(512)),
    Row("laughs", built("b.yaml", lambda: laughs("[{}]")), "b.yaml:"),
    Row("merged laughs", built("b.yaml", lambda: laughs("{{<<: [{}]}}")), "b.yaml:"),
    Row("deep lists", built("b.yaml", lambda: OURS + "a: " + "[" * 1_000_000), "b.yaml:2"),
    Row("deep objects", built("b.yaml", lambda: OURS + "a: " + "{a: " * 1_000_000), "b.yaml:2"),
    Row("an integer of 350 digits", file("b.yaml", document("big") + "  extra: " + "9" * 350 + "\n"), "b.yaml:"),
    Row("350 digits in the config", file("b.yaml", document("big", file="9" * 350)), "it is infinite"),
    Row(
        "350 digits in tasks", file("b.yaml", document("big").replace("lines}", f"l, tasks.max: {'9' * 350}}}")), "big"
    ),
    Row("a float of 350 digits", file("b.yaml", document("big", file="9" * 350 + ".5")), "big"),
    Row("5,000 digits", file("b.yaml", document("big", file="9" * 5000)), "big"),
    Row("200 GiB of a document", sparse("b.yaml", 200 * GIB), "larger than 4 GiB"),
    Row("200 GiB of anything", sparse("image.bin", 200 * GIB), "larger than 4 GiB"),
    Row("200 GiB of an offset manifest", sparse("offsets/x.json", 200 * GIB), "larger than 4 GiB"),
    Row("a tag of Python", file("b.yaml", OURS + "a: !!python/object/apply:os.system ['exit 3']\n"), "b.yaml:2"),
    Row(
        "a link to /dev/zero",
        lambda place: (place.repository / "b.yaml").symlink_to("/dev/zero"),
        "outside of the directory",
    ),
    Row("a pipe", lambda place: os.mkfifo(place.repository / "b.yaml"), "b.yaml"),
    Row("500 directories in one another", partial(directories, depth=500), "+ orders"),
    Row("names that drive a terminal", file("b.yaml", document('"\\e[31mred\\a"')), "b.yaml:"),
    Row("half a surrogate pair", file("b.yaml", document('"\\uD800"')), "b.yaml:"),
    Row("a null", file("b.yaml", document("seeded", "initialOffsets:")), "spec.initialOffsets is empty"),
    Row("a field that is a format string", file("b.yaml", STRIMZI.format(field="{:>1500000000}")), "is unknown"),
    Row("a field that is a replacement field", file("b.yaml", STRIMZI.format(field="{x}")), "is unknown"),
    Row("a key of 1 MB beside 5,000 others", built("clusters/local/b.yaml", long_key), "+ wide", Bounds(512)),
]

MANIFESTS = [
    Row("60,000 fields", changed_by("a.json", many_fields), "an object with 60,000 fields"),
    Row("60,000 fields in a line", changed_by("a.jsonl", lambda: many_fields()[13:-2]), "an object with 60,000 fields"),
    Row("10 GB of zeros, gzip", changed_by("a.json.gz", partial(gzip_of_zeros, 10 * 10**9)), "a.json.gz"),
    Row("10 GB of zeros, zstd", changed_by("a.json.zst", partial(zstd_of, b"\0", 10 * 10**9)), "a.json.zst"),
    Row("350 digits", changed_by("a.json", digits(350)), "a.json"),
    Row("5,000 digits", changed_by("a.json", digits(5000)), "a.json"),
    Row("350 digits in YAML", changed_by("a.yaml", lambda: DIGITS_IN_YAML), "+ orders"),
    Row("350 digits in CSV", changed_by("a.csv", lambda: f"partition.n,offset.n\n1,{'9' * 350}\n"), "+ orders"),
    Row("deep", changed_by("a.json", lambda: "[" * 1_000_000), "a.json"),
    Row("deep lines", changed_by("a.jsonl", lambda: '{"a":' * 100_000), "a.jsonl:1"),
    Row("a field that is a replacement field", changed_by("a.json", one_entry, WITH_X), "'{x}' is a required property"),
    Row("deep YAML", changed_by("a.yaml", lambda: "- " * 100_000), "a.yaml"),
    Row("20,000 findings", changed_by("a.jsonl", partial(partitions, 20_000), WITH_B), "offset", Bounds(384)),
    Row("200,000 entries", changed_by("a.jsonl", partial(partitions, 200_000)), "alter", Bounds(1024, 100)),
    Row("200,000 findings", changed_by("a.jsonl", partial(partitions, 200_000), WITH_B), "offset", Bounds(1024, 100)),
]

SCHEMAS = [
    Row(
        "a catastrophic regular expression",
        changed_by("a.json", lambda: f"[{entry(json.dumps({'n': 'a' * 60 + 'b'}))}]", EVIL_SCHEMA),
        EVIL,
    ),
    Row("references that double", changed_by("a.json", one_entry, doubling()), "more than 5,000 values"),
    Row("a schema of 1 GiB", sparse(SCHEMA, GIB), "larger than 256 KiB"),
    Row("a schema of 3 GiB", sparse(SCHEMA, 3 * GIB), "larger than 256 KiB"),
    Row("a schema of 200 GiB", sparse(SCHEMA, 200 * GIB), "larger than 4 GiB"),
    Row("a deep schema", file(SCHEMA, "[" * 100_000), "nested too deeply"),
    Row("a circle", changed_by("a.json", one_entry, CIRCLE), "is circular"),
    Row(
        "10,000 schemas",
        lambda place: [place.write(f"offset-schemas/a.B{n}.schema.json", "{") for n in range(10_000)],
        "error",
        Bounds(512),
    ),
]


@pytest.mark.parametrize("row", [row for kind in (DOCUMENTS, MANIFESTS, SCHEMAS) for row in graded(kind)])
def test_a_repository(row: Row, tmp_path: Path) -> None:
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[clusters.local]\nurl = "{worker.url}"\n')
        place.write("clusters/local/a.yaml", document())
        row.write(place)
        plan = place.run("plan", "repository", bounds=row.bounds)
        validated = place.run("validate", "repository", "--offline", "-o", "json", bounds=row.bounds)
    json.loads(validated.out)
    assert row.says in plan.said + validated.said
    assert "+ orders" in plan.out, "a connector of another file is planned"
