"""Files that cost `convert` memory or time, in each format: each is converted, or reported, within the limits."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import table

from hostile.described_files import Content, expanded
from hostile.place import Bounds, Place, graded

MIB = 1024 * 1024
BOUNDS = Bounds(256, 60)
"""In practice it takes a few seconds; a machine that runs other tests is slower."""

OWN = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: c}\nspec:\n  class: A\n"
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    "metadata: {name: c, labels: {strimzi.io/cluster: c}}\nspec:\n  class: A\n"
)
DOCUMENTS = {"Jikkou": table(__file__, "texts")["JIKKOU"], "Strimzi": STRIMZI, "own": OWN}
MIRRORS = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\nmetadata: {name: a}\nspec:\n  connectCluster: t\n"
    "  clusters:\n  - {alias: t, bootstrapServers: 'a:1'}\n  - alias: x\n    bootstrapServers: 'b:1'\n    config:\n"
    + "".join(f"      k{number}: v\n" for number in range(20_000))
    + "  mirrors:\n"
    + "  - {sourceCluster: x, targetCluster: t, sourceConnector: {}, checkpointConnector: {}}\n" * 3_000
)
LAUGHS = (f"  a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
TEXTS = {
    **table(__file__, "texts"),
    "MIRRORS": MIRRORS,
    "LAUGHS": "  a0: &a0 [x]\n" + "".join(LAUGHS),
    "DUPLICATES": "a: 1\n" * 60 + "connector.class: A\n---\n",
    "UNREADABLE": "connector.class:\n- [" + "a," * 95_000 + "\n---\n",
    "OPENED": "b = {c=" * 45,
    "CLOSED": "}" * 45,
    "MIB": "x" * MIB,
    "LOCAL": "x" * (MIB // 2),
    "KIB": "x" * 1024,
}
UNITS, PLACES = table(__file__, "units"), table(__file__, "places")


def flood(way: str, unit: str) -> dict[str, Any]:
    place = {"limit": 10 * MIB - 1000, **PLACES[way]}
    room = place.pop("limit") - len(expanded(place.get("before", "") + place.get("after", ""), TEXTS))
    return {**place, "item": UNITS[unit], "count": room // len(UNITS[unit].encode())}


KEYS = table(__file__, "keys") | {
    f"30,000 {what} in {name}": {
        "file": "a.yaml",
        "before": f"{text}  config:\n",
        "item": f"    k#: {value}\n",
        "count": 30_000,
    }
    for (name, text), (what, value) in product(DOCUMENTS.items(), {"lists": "[1]", "secrets": "password=x"}.items())
}
CONNECTORS = table(__file__, "connectors") | {
    f"9,000 {what} in {name}": {
        "file": "a.yaml",
        "item": text.replace(": c", f": {one}") + "---\n",
        "count": 9_000,
        "says": says,
    }
    for name, text in DOCUMENTS.items()
    for what, one, says in (("names", "c#", "Converted 9,000 connectors"), ("of one name", "c", "8,996 more"))
}
FLOODS = {f"{way}: {unit}": flood(way, unit) for way, unit in product(PLACES, UNITS)}
KINDS = (FLOODS, KEYS, CONNECTORS, table(__file__, "nested"), table(__file__, "values"))


@pytest.mark.parametrize("row", [row for kind in KINDS for row in graded(kind)])
def test_a_file(row: Mapping[str, Any], tmp_path: Path) -> None:
    converted(tmp_path, **row)


def converted(
    directory: Path, file: str, says: str = "Converted", options: tuple[str, ...] = (), **content: Any
) -> None:
    Content(**content).write(directory / file, TEXTS)
    ran = Place(directory).run("convert", *options, file, bounds=BOUNDS)
    assert says in ran.said, ran.said[-2000:]
    assert ran.code in (0, 4)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["strimzi", "json"])
def test_the_other_targets(target: str, tmp_path: Path) -> None:
    many = {"before": "<JSON>", "item": ', "a.rather.long.key.#": "password=x"', "count": 30_000, "after": "}}"}
    converted(tmp_path, "a.json", options=("--to", target, "--cluster", "c"), **many)


@pytest.mark.thorough
def test_many_files(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(12_000):
        place.write(f"c{number}.properties", f"name=c{number % 11_000}\nconnector.class=A\n")
    ran = place.run("convert", "repository", bounds=BOUNDS)
    assert ran.code == 64
    assert "cannot convert more than 10,000 connectors" in ran.err
