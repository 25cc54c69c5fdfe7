"""Families of connectors for `planted`: valid entries, the faults that spoil them, and what has to be reported.

Written from docs/reference/manifest-rules.md, and not from the tables of the product, because these are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gitops_connect.model.manifests import OffsetSchema

Entry = dict[str, Any]
FieldPath = tuple[str, ...]
"""The field that a fault changes: `("partition", "topic")`; empty: the entry as a whole."""


class Says(NamedTuple):
    """A rule that has to be reported, without its prefix.

    `eased`: Connect accepts that partition, so that it can be acknowledged. `unkept`: the entry has no canonical form,
    and nothing else is reported for its partition and offset. `current`: reported only if the current offsets are
    known. `tie`: the config determines the value.
    """

    rule: str
    eased: bool = False
    unkept: bool = False
    current: bool = False
    tie: bool = False


@dataclass(frozen=True)
class Plant:
    """A fault: `change` takes an entry and the number of its line, and spoils the entry.

    `may_exist`: the current offsets may have the fault, and it says nothing about the types of other offsets.
    """

    name: str
    touches: FieldPath
    says: tuple[Says, ...]
    change: Callable[[Entry, int], Any]
    may_exist: bool = False

    @property
    def is_null(self) -> bool:
        """Whether the fault is a tombstone."""
        return self.name == "offset None"


@dataclass(frozen=True)
class Family:
    """`well` makes a valid entry from a number; `spare` is the change to another partition if there is only one.

    `lenient`: the partition fields of a sink, which ignores other fields. `keeps_all`: Connect accepts any partition.
    `all_exist`: each valid partition exists, with the offset of that number. `counted`: the field that is the position
    of an offset, if one number is.
    """

    name: str
    config: Mapping[str, str] | None
    well: Callable[[int], Entry]
    plants: Mapping[str, Plant]
    spare: str = ""
    lenient: frozenset[str] = frozenset()
    keeps_all: bool = False
    all_exist: bool = False
    counted: str = ""
    schema: OffsetSchema | None = field(default=None, repr=False)


_FAULTS: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("planted_faults.yaml").read_text())
_OF: Mapping[str, Callable[[int], Any]] = {
    "n": lambda n: n,
    "-n": lambda n: -n,
    "n + 0.5": lambda n: n + 0.5,
    "-n / 4": lambda n: -n / 4,
    "n + 10 ** 6": lambda n: n + 10**6,
    "n * 1000 + 5": lambda n: n * 1000 + 5,
    "2 ** 31 + n": lambda n: 2**31 + n,
    "2 ** 31 - n": lambda n: 2**31 - n,
    "2 ** 63 + n": lambda n: 2**63 + n,
    "-2 ** 63 - n": lambda n: -(2**63) - n,
    "str(n)": str,
    "float(n)": float,
    "n if n % 2 else str(n)": lambda n: n if n % 2 else str(n),
    "[n]": lambda n: [n],
    "{'a': n}": lambda n: {"a": n},
}
"""The values that depend on the number of the line."""


def faults(group: str, at: str = "", *, eased: bool = False) -> Iterator[Plant]:
    """The faults of a group, for the field `at` if the group is one for any field."""
    for row in _FAULTS[group]:
        if isinstance(row, str):
            yield from faults(row)
            continue
        what, field_ = next(iter(row.items()))
        path = field_.replace("FIELD", at)
        says = tuple(_says(one, eased) for one in _listed(row.get("says", ())))
        match what:
            case "put":
                yield _put(path, row, says)
            case "drop":
                yield _drop(path, says)
            case "lacks":
                shape = (Says("shape", row.get("eased", False)),)
                yield from (_drop(path, shape), _misspell(path, row["wrong"], shape))
            case _:
                inner = row.get("eased", False)
                yield from faults(what, path, eased=eased if inner == "inherited" else inner)


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _says(words: str, eased: bool) -> Says:
    rule, *flags = words.split()
    given = {flag: True for flag in flags if flag != "eased?"}
    return Says(rule, **given) if "eased?" not in flags else Says(rule, eased, **given)


def _put(path: str, row: Mapping[str, Any], says: tuple[Says, ...]) -> Plant:
    where, one = path.split(".")

    def change(entry: Entry, number: int) -> None:
        if "of" in row:
            entry[where][one] = _OF[row["of"]](number)
        else:
            entry[where][one] = row["text"].replace("{n}", str(number)) if "text" in row else row["value"]

    return Plant(f"{path} {row.get('name', row.get('value'))}", (where, one), says, change, row.get("may_exist", False))


def _drop(path: str, says: tuple[Says, ...]) -> Plant:
    where, one = path.split(".")
    return Plant(f"{path} missing", (where, one), says, lambda entry, _: entry[where].pop(one))


def _misspell(path: str, wrong: str, says: tuple[Says, ...]) -> Plant:
    where, one = path.split(".")

    def change(entry: Entry, _: int) -> None:
        entry[where][wrong] = entry[where].pop(one)

    return Plant(f"{path} misspelt", (where, one), says, change)


def _put_whole(where: str, value: Any, *says: Says) -> Plant:
    return Plant(f"{where} {value}", (where,), says, lambda entry, _: entry.update({where: value}))


EVERYWHERE = [
    Plant("note", ("note",), (Says("unknown-field"),), lambda entry, n: entry.update(note=n)),
    Plant("remark", ("remark",), (Says("unknown-field"),), lambda entry, _: entry.update(remark={"a": [None]})),
    Plant(
        "no partition", ("partition",), (Says("no-partition", unkept=True),), lambda entry, _: entry.pop("partition")
    ),
    Plant("no offset", ("offset",), (Says("no-offset", unkept=True),), lambda entry, _: entry.pop("offset")),
    _put_whole("partition", None, Says("no-partition", unkept=True)),
    _put_whole("offset", None),
    *(_put_whole("partition", value, Says("type", unkept=True)) for value in ("text", 5, [], [{}], True, 1.5)),
    *(_put_whole("offset", value, Says("type", unkept=True)) for value in ("text", 5, [], [{}], False, 1.5)),
]
"""Faults for any family. A null offset is a tombstone; what is reported for it depends on the kind of change."""

ODD_ENTRIES: Mapping[str, Any] = {"list": [], "text": "text", "number": 5, "null": None, "true": True, "float": 1.5}
ODD_LINES: Mapping[str, Sequence[bytes]] = {
    rule: tuple(line.replace("NINES", "9" * 401).encode() for line in lines)
    for rule, lines in _FAULTS["unreadable lines"].items()
}
"""Unreadable lines by the rule that they violate, each with a place for a number."""


def plants(group: str) -> Mapping[str, Plant]:
    """The faults of that group and those for any family, by name."""
    listed = [*EVERYWHERE, *faults(group)]
    assert len({one.name for one in listed}) == len(listed), "two plants of one name"
    return {one.name: one for one in listed}


PATTERN = OffsetSchema(
    "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "offset-schemas/org.apache.kafka.connect.mirror.MirrorSourceConnector.schema.json",
    {"properties": {"partition": {"properties": {"topic": {"pattern": "^t"}}}, "offset": {"maxProperties": 1}}},
)
COUNTER = OffsetSchema(
    "com.example.Counter",
    "offset-schemas/com.example.Counter.schema.json",
    {
        "properties": {
            "partition": {
                "required": ["shard"],
                "properties": {"shard": {"type": "integer"}, "zone": {"type": "string"}},
                "additionalProperties": False,
            },
            "offset": {
                "required": ["count"],
                "properties": {"count": {"type": "integer", "minimum": 0}},
                "additionalProperties": False,
            },
        }
    },
    ("count",),
    "records",
)
