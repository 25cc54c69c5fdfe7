"""Files that cost `convert` memory or time, in each format: each is converted, or reported, within the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from hostile.place import Bounds, Place, graded

MIB = 1024 * 1024
BOUNDS = Bounds(256, 60)
"""In practice it takes a few seconds; a machine that runs other tests is slower."""

SQL = "CREATE SOURCE CONNECTOR a WITH ('connector.class'='A'"
PROPERTIES = "name=a\nconnector.class=A\n"
JSON = '{"name": "a", "config": {"connector.class": "A"'
JIKKOU = "apiVersion: kafka.jikkou.io/v1beta2\nkind: KafkaConnector\nmetadata: {name: c}\nspec:\n"
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n"
    "metadata: {name: c, labels: {strimzi.io/cluster: c}}\nspec:\n"
)
OWN = "apiVersion: gitops-connect/v1\nkind: Connector\nmetadata: {name: c}\nspec:\n"
DOCUMENTS = {
    "Jikkou": f"{JIKKOU}  connectorClass: A\n",
    "Strimzi": f"{STRIMZI}  class: A\n",
    "own": f"{OWN}  class: A\n",
}
MIRRORS = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\nmetadata: {name: a}\nspec:\n  connectCluster: t\n"
    "  clusters:\n  - {alias: t, bootstrapServers: 'a:1'}\n  - alias: x\n    bootstrapServers: 'b:1'\n    config:\n"
    + "".join(f"      k{number}: v\n" for number in range(20_000))
    + "  mirrors:\n"
    + "  - {sourceCluster: x, targetCluster: t, sourceConnector: {}, checkpointConnector: {}}\n" * 3_000
)
RESOURCE = 'resource "kafka-connect_connector" "x" {\n  name = "c"\n'
MAP = RESOURCE + '  config = {\n    "connector.class" = "A"\n'


@dataclass(frozen=True)
class Row:
    """A function that returns the content of a file, and a part of what `convert` reports."""

    id: str
    file: str
    content: Callable[[], str | bytes]
    says: str = "Converted"


@dataclass(frozen=True)
class Way:
    """A place in a file that gets a flood: the text around it, and the size of the file."""

    file: str
    before: str = ""
    after: str = ""
    size: int = 10 * MIB - 1000


UNITS = {
    "comments": "/*",
    "line comments": "--",
    "single quotes": "'",
    "double quotes": '"',
    "backquotes": "`",
    "variables": "${",
    "closed variables": "${a}",
    "references": "password=${:",
    "templates": "{{",
    "directives": "%{",
    "backslashes": "\\",
    "escapes": "\\u00e4",
    "continued lines": "a\\\n",
    "CR": "\r",
    "LF": "\n",
    "U+2028": "\u2028",
    "NUL": "\0",
    "spaces": " ",
    "parentheses": "(",
    "braces": "{",
    "heredocs": "<<A\n",
    "statements": "create ;",
    "equals signs": "=\n",
    "digits": "9",
    "emoji": "\U0001f600",
    "passwords": "password=x&",
    "addresses": "http://a:b@c ",
}
WAYS = {
    "no suffix": Way("a"),
    "SQL": Way("a.sql"),
    "SQL statement": Way("a.sql", f"{SQL}, 'b'="),
    "SQL string": Way("a.sql", f"{SQL}, 'b'='", "');"),
    "properties": Way("a.properties", PROPERTIES),
    "properties value": Way("a.properties", f"{PROPERTIES}b="),
    "JSON": Way("a.json", '{"connector.class": '),
    "JSON value": Way("a.json", f'{JSON}, "b": "', '"}}'),
    "JSON value of 1 MB": Way("a.json", f'{JSON}, "b": "', '"}}', 1_000_000),
    "YAML": Way("a.yaml"),
    "YAML value": Way("a.yaml", DOCUMENTS["Jikkou"] + '  config:\n    b: "', '"\n'),
    "HCL": Way("a.tf", size=MIB),
    "HCL map": Way("a.tf", MAP, "\n}\n}\n", MIB),
    "HCL string": Way("a.tf", f'{MAP}b = "', '"\n}\n}\n', MIB),
    "HCL value": Way("a.tf", f"{MAP}b = ", "\n}\n}\n", MIB),
}


def flood(way: str, unit: str) -> Row:
    place, text = WAYS[way], UNITS[unit]

    def content() -> str:
        room = place.size - len(place.before) - len(place.after)
        return place.before + text * (room // len(text.encode())) + place.after

    return Row(f"{way}: {unit}", place.file, content)


def numbered(count: int, text: str) -> str:
    """The text so many times, with the number instead of `#`."""
    return "".join(text.replace("#", str(number)) for number in range(count))


def many(name: str, file: str, item: str, count: int, says: str, *around: str) -> Row:
    """A file with many items; `around` is the text before them and after them."""
    before, after = around or ("", "")
    return Row(name, file, lambda: before + numbered(count, item) + after, says)


def config(file: str, before: str, item: str, after: str) -> list[Row]:
    """The same key 500,000 times, and as many different keys: in JSON, the limit of values is lower."""
    return [
        Row(f"one key in {file}", file, lambda: before + item.replace("#", "") * 500_000 + after),
        many(f"many keys in {file}", file, item, 500_000, "more than ", before, after),
    ]


TOO_MANY = "more than 10,000 connectors or 100,000 config keys"
VALUES = "more than 150,000 values"
SINK = "CREATE SINK CONNECTOR c WITH('connector.class'='A');"
ONE = '{"name": "c#", "config": {"connector.class": "A"}},'
KEYS = [
    *config("a.properties", PROPERTIES, "k#=1\n", ""),
    *config("a.sql", SQL, ",'k#'='1'", ");"),
    *config("a.json", JSON, ',"k#":1', "}}"),
    *config("a.yaml", DOCUMENTS["Jikkou"] + "  config:\n", "    k#: 1\n", ""),
    many("many keys in HCL", "a.tf", "k#=1\n", 100_000, "config keys", MAP, "}\n}\n"),
    Row("one key in HCL", "a.tf", lambda: MAP + "k=1\n" * 200_000 + "}\n}\n"),
    *(
        many(f"30,000 {what} in {name}", "a.yaml", f"    k#: {value}\n", 30_000, "Converted", f"{text}  config:\n", "")
        for (name, text), (what, value) in product(DOCUMENTS.items(), {"lists": "[1]", "secrets": "password=x"}.items())
    ),
    many("40,000 unknown fields", "a.json", ',"k#":1', 40_000, "39,900 more problems of this rule", JSON + "}", "}"),
    many("20,000 secrets", "a.json", ',"password.#":"x"', 20_000, "A_PASSWORD_19999", JSON, "}}"),
]
CONNECTORS = [
    Row("200,000 of one name", "a.json", lambda: "[" + ONE.replace("#", "") * 200_000 + "1]", VALUES),
    Row("20,000 of one name", "a.json", lambda: "[" + ONE.replace("#", "") * 20_000 + "1]", TOO_MANY),
    Row("9,000 of one name", "a.json", lambda: "[" + ONE.replace("#", "") * 9_000 + "1]", "and 8,996 more"),
    many("180,000 names", "a.json", ONE, 180_000, VALUES, "[", "1]"),
    many("9,000 names", "a.json", ONE, 9_000, "Converted 9,000 connectors", "[", "1]"),
    many("200,000 in SQL", "a.sql", SINK.replace(" c ", " c# "), 180_000, TOO_MANY),
    many("9,000 in SQL", "a.sql", SINK, 9_000, "8,996 more"),
    many("400,000 bad ones in SQL", "a.sql", "CREATE SINK CONNECTOR C;", 400_000, "399,900 more problems"),
    many("Terraform", "a.tf", MAP.replace('"c"', '"c#"') + "}\n}\n", 8_000, "Converted 8,000 connectors"),
    many("a state", "a.tfstate", '{"type":"x"},', 200_000, "no conn", '{"terraform_version":"1","resources":[', "1]}"),
    *(
        many(f"9,000 {what} in {name}", "a.yaml", text.replace(": c", f": {one}") + "---\n", 9_000, says)
        for name, text in DOCUMENTS.items()
        for what, one, says in (("names", "c#", "Converted 9,000 connectors"), ("of one name", "c", "8,996 more"))
    ),
    many("keys of 9,000 documents twice", "a.yaml", "a: 1\n" * 60 + "connector.class: A\n---\n", 9_000, "more"),
    many("50 unreadable documents", "a.yaml", "connector.class:\n- [" + "a," * 95_000 + "\n---\n", 50, "11 errors"),
]
NESTED = [
    Row("lists in JSON", "a.json", lambda: '["connector.class", ' + "[" * 1_000_000, "nested deeper than 50 levels"),
    Row("objects in JSON", "a.json", lambda: '{"connector.class":' * 500_000, "nested deeper than 50 levels"),
    Row("lists in YAML", "a.yaml", lambda: "connector.class: " + "[" * 1_000_000, "nested deeper than 50 levels"),
    Row("dashes", "a.yaml", lambda: "connector.class:\n" + "- " * 1_000_000, "nested deeper than 50 levels"),
    Row("aliases", "a.yaml", lambda: DOCUMENTS["Jikkou"] + laughs(), "with its aliases resolved"),
    Row("mirrors of one cluster", "a.yaml", lambda: MIRRORS, "would have more than 100,000 config keys"),
    Row("blocks", "a.tf", lambda: RESOURCE + "a {\n" * 100_000, "nested deeper than 50 levels"),
    Row("parentheses", "a.tf", lambda: MAP + "b = " + "(" * 100_000, "nested deeper than 50 levels"),
    Row("interpolations", "a.tf", lambda: MAP + "b = " + '"${' * 100_000, "nested deeper than 50 levels"),
    Row("maps", "a.tf", lambda: MAP + "b = {c=" * 45 + "()" * 400_000 + "}" * 45 + "\n}\n}\n", "expected a string"),
    Row("a heredoc with a long word", "a.tf", lambda: MAP + "b = <<" + "A" * 1_000_000 + "\n", "is not closed"),
]
VALUES_OF = [
    Row("5,000 digits in SQL", "a.sql", lambda: f"{SQL}, 'b'={'9' * 5000});", "expected a shorter number"),
    Row("1e999 in SQL", "a.sql", lambda: f"{SQL}, 'b'=1e999);", "expected a number that fits into a DOUBLE"),
    Row(
        "a million digits in JSON", "a.json", lambda: f'{JSON}, "b": {"9" * 1_000_000}}}}}', "cannot be written as JSON"
    ),
    Row("a million digits in YAML", "a.yaml", lambda: f"connector.class: A\nname: a\nb: {'9' * 1_000_000}", "as JSON"),
    Row("a million digits in HCL", "a.tf", lambda: f"{MAP}b = {'9' * 1_000_000}\n}}\n}}\n", "from C_B"),
    Row("exponents in HCL", "a.tf", lambda: f"{MAP}b = 1e999999999\nc = -1e-999999999\n}}\n}}\n", "1 connector"),
    Row("variables that grow", "a.sql", lambda: f"DEFINE a='{'x' * MIB}';{SQL}, 'b'='{'${a}' * MIB}');", "than 10 MiB"),
    Row("10 MB of a value", "a.json", lambda: f'{JSON}, "b": "{"x" * 9_900_000}"}}}}', "expected at most 1,048,576"),
    Row(
        "1 MB of a name",
        "a.json",
        lambda: JSON.replace('"a"', f'"{"n" * 900_000}"') + ', "token": "x"}}',
        "longer than 249 characters",
    ),
    Row("11 MiB", "a.json", lambda: " " * 11 * MIB, "larger than 10 MiB"),
    Row("2 MiB of HCL", "a.tf", lambda: " " * 2 * MIB, "larger than 1 MiB"),
    Row("UTF-16", "a.yaml", lambda: ("a: b\n" * 900_000).encode("utf-16"), "UTF-16"),
]


def laughs() -> str:
    lines = (f"  a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
    return "  a0: &a0 [x]\n" + "".join(lines)


def converted(row: Row, directory: Path, options: tuple[str, ...] = ()) -> None:
    place = Place(directory)
    content = row.content()
    (directory / row.file).write_bytes(content.encode() if isinstance(content, str) else content)
    ran = place.run("convert", *options, row.file, bounds=BOUNDS)
    assert row.says in ran.said, ran.said[-2000:]
    assert ran.code in (0, 4)


@pytest.mark.parametrize("row", graded(flood(way, unit) for way, unit in product(WAYS, UNITS)))
def test_floods(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.parametrize("row", graded(KEYS))
def test_many_keys(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.parametrize("row", graded(CONNECTORS))
def test_many_connectors(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.parametrize("row", graded(NESTED))
def test_nested_values(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.parametrize("row", graded(VALUES_OF))
def test_long_values(row: Row, tmp_path: Path) -> None:
    converted(row, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["strimzi", "json"])
def test_the_other_targets(target: str, tmp_path: Path) -> None:
    body = JSON + "".join(f', "a.rather.long.key.{n}": "password=x"' for n in range(30_000)) + "}}"
    converted(Row("many", "a.json", lambda: body), tmp_path, ("--to", target, "--cluster", "c"))


@pytest.mark.thorough
def test_many_files(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(12_000):
        place.write(f"c{number}.properties", f"name=c{number % 11_000}\nconnector.class=A\n")
    ran = place.run("convert", "repository", bounds=BOUNDS)
    assert ran.code == 64
    assert "cannot convert more than 10,000 connectors" in ran.err
