"""Files that cost `convert` memory or time, in each format: each is converted, or reported, within the limits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from hostile.place import Bounds, Place, graded

MIB = 1024 * 1024
BOUNDS = Bounds(256, 60)
"""In practice it takes a few seconds; a machine that runs other tests is slower."""
TABLES = yaml.safe_load(Path(__file__).with_name("convert_inputs.yaml").read_text())

OWN = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: c}\nspec:\n  class: A\n"
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    "metadata: {name: c, labels: {strimzi.io/cluster: c}}\nspec:\n  class: A\n"
)
DOCUMENTS = {"Jikkou": TABLES["texts"]["JIKKOU"], "Strimzi": STRIMZI, "own": OWN}
MIRRORS = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\nmetadata: {name: a}\nspec:\n  connectCluster: t\n"
    "  clusters:\n  - {alias: t, bootstrapServers: 'a:1'}\n  - alias: x\n    bootstrapServers: 'b:1'\n    config:\n"
    + "".join(f"      k{number}: v\n" for number in range(20_000))
    + "  mirrors:\n"
    + "  - {sourceCluster: x, targetCluster: t, sourceConnector: {}, checkpointConnector: {}}\n" * 3_000
)
LAUGHS = (f"  a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
TEXTS = {
    **TABLES["texts"],
    "MIRRORS": MIRRORS,
    "LAUGHS": "  a0: &a0 [x]\n" + "".join(LAUGHS),
    "DUPLICATES": "a: 1\n" * 60 + "connector.class: A\n---\n",
    "UNREADABLE": "connector.class:\n- [" + "a," * 95_000 + "\n---\n",
    "OPENED": "b = {c=" * 45,
    "CLOSED": "}" * 45,
    "MIB": "x" * MIB,
}


@dataclass(frozen=True)
class Row:
    """A file, as `convert_inputs.yaml` describes its content, and a part of what `convert` reports."""

    id: str
    file: str
    before: str = ""
    item: str = ""
    count: int = 0
    after: str = ""
    says: str = "Converted"
    encoding: str = "utf-8"

    @property
    def content(self) -> bytes:
        item = expanded(self.item)
        items = [item.replace("#", str(number)) for number in range(self.count)] if "#" in item else [item * self.count]
        return "".join([expanded(self.before), *items, expanded(self.after)]).encode(self.encoding)


def expanded(text: str) -> str:
    """The text with the other texts instead of their names; a text may contain a name of a text before it."""
    for name, other in reversed(TEXTS.items()):
        text = text.replace(f"<{name}>", other)
    return text


def rows(table: str) -> list[Row]:
    return [Row(name, **row) for name, row in TABLES[table].items()]


def flood(way: str, unit: str) -> Row:
    place: dict[str, Any] = {"size": 10 * MIB - 1000, **TABLES["places"][way]}
    room = place.pop("size") - len(expanded(place.get("before", "")) + expanded(place.get("after", "")))
    item = TABLES["units"][unit]
    return Row(f"{way}: {unit}", **place, item=item, count=room // len(item.encode()))


KEYS = rows("keys") + [
    Row(f"30,000 {what} in {name}", "a.yaml", f"{text}  config:\n", f"    k#: {value}\n", 30_000)
    for (name, text), (what, value) in product(DOCUMENTS.items(), {"lists": "[1]", "secrets": "password=x"}.items())
]
CONNECTORS = rows("connectors") + [
    Row(f"9,000 {what} in {name}", "a.yaml", item=text.replace(": c", f": {one}") + "---\n", count=9_000, says=says)
    for name, text in DOCUMENTS.items()
    for what, one, says in (("names", "c#", "Converted 9,000 connectors"), ("of one name", "c", "8,996 more"))
]
FLOODS = [flood(way, unit) for way, unit in product(TABLES["places"], TABLES["units"])]


def converted(row: Row, directory: Path, options: tuple[str, ...] = ()) -> None:
    place = Place(directory)
    (directory / row.file).write_bytes(row.content)
    ran = place.run("convert", *options, row.file, bounds=BOUNDS)
    assert row.says in ran.said, ran.said[-2000:]
    assert ran.code in (0, 4)


KINDS = (FLOODS, KEYS, CONNECTORS, rows("nested"), rows("values"))


@pytest.mark.parametrize("row", [row for kind in KINDS for row in graded(kind)])
def test_a_file(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["strimzi", "json"])
def test_the_other_targets(target: str, tmp_path: Path) -> None:
    row = Row("many", "a.json", "<JSON>", ', "a.rather.long.key.#": "password=x"', 30_000, "}}")
    converted(row, tmp_path, ("--to", target, "--cluster", "c"))


@pytest.mark.thorough
def test_many_files(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(12_000):
        place.write(f"c{number}.properties", f"name=c{number % 11_000}\nconnector.class=A\n")
    ran = place.run("convert", "repository", bounds=BOUNDS)
    assert ran.code == 64
    assert "cannot convert more than 10,000 connectors" in ran.err
