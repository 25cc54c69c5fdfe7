"""Files of a repository that cost memory or time: each is reported, and the other documents are planned."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import change
from standin.connect import StandIn
from support.files.tables import table

from hostile.described_files import Content
from hostile.place import Bounds, Place, document, graded

SCHEMA = "offset-schemas/com.example.Counter.schema.json"
CHANGE = """operation: alter
acknowledge: [rewind, skip, tombstone, reset, unread, external]
reason: a test
manifest: {path: ../../offsets/FILE}
"""


def laughs(link: str) -> str:
    lines = [f"a{n}: &a{n} {link.format(','.join([f'*a{n - 1}'] * 10))}\n" for n in range(1, 30)]
    return "apiVersion: gitops-connect/v1\na0: &a0 {k: v}\n" + "".join(lines)


def doubling() -> dict[str, Any]:
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": {**steps, "d40": {"type": "object"}}, "$ref": "#/$defs/d0"}


TEXTS = {
    **table(__file__, "texts"),
    "LAUGHS": laughs("[{}]"),
    "MERGED LAUGHS": laughs("{{<<: [{}]}}"),
    "MEGABYTE": "k" * 1_000_000,
}
MADE: Mapping[str, Callable[[Place], Any]] = {
    "a link to /dev/zero": lambda place: (place.repository / "b.yaml").symlink_to("/dev/zero"),
    "a pipe": lambda place: os.mkfifo(place.repository / "b.yaml"),
    "500 directories in one another": lambda place: place.repository.joinpath(*["d"] * 500).mkdir(parents=True),
    "10,000 schemas": lambda place: [place.write(f"offset-schemas/a.B{n}.schema.json", "{") for n in range(10_000)],
}


def write(
    place: Place,
    *,
    made: str = "",
    file: str = "",
    manifest: str = "",
    schema: Any = True,
    **content: Any,
) -> None:
    """Write what a row describes. An offset manifest gets a change that applies it, and a schema of its class."""
    if made:
        MADE[made](place)
        return
    Content(**content).write(place.repository / (file or f"offsets/{manifest}"), TEXTS)
    if manifest:
        place.write(SCHEMA, json.dumps(doubling() if schema == "doubling" else schema))
        place.write("clusters/local/counter.yaml", document("counter", "state: stopped", kind="com.example.Counter"))
        place.write("clusters/local/change.yaml", change("move", "counter", CHANGE.replace("FILE", manifest)))


KINDS = [table(__file__, kind) for kind in ("documents", "manifests", "schemas")]


@pytest.mark.parametrize("row", [row for kind in KINDS for row in graded(kind)])
def test_a_repository(row: Mapping[str, Any], tmp_path: Path) -> None:
    described = dict(row)
    says, bounds = described.pop("says"), Bounds(described.pop("memory", 256), described.pop("seconds", 60))
    with StandIn() as worker:
        place = Place(tmp_path)
        place.settings(f'[clusters.local]\nurl = "{worker.url}"\n')
        place.write("clusters/local/a.yaml", document())
        write(place, **described)
        plan = place.run("plan", "repository", bounds=bounds)
        validated = place.run("validate", "repository", "--offline", "-o", "json", bounds=bounds)
    json.loads(validated.out)
    assert says in plan.said + validated.said
    assert "+ orders" in plan.out, "a connector of another file is planned"
