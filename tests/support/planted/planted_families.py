"""Families of connectors for `planted`: valid entries, the faults that spoil them, and what has to be reported.

Written from docs/reference/manifest-rules.md, and not from the tables of the product, because these are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from gitops_connect.model.manifests import OffsetSchema
from support.files.manifests import entry as entry_of
from support.files.tables import read_yaml

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


FAULTS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("planted_faults.yaml"))


def _expression(text: str) -> Callable[[int], Any]:
    """The values of an expression of our own tables, which depend on the number n of a line."""
    return eval(f"lambda n: ({text})", {"str": str, "float": float})  # noqa: S307 - see above


def faults(group: str, at: str = "", *, eased: bool = False) -> Iterator[Plant]:
    """The faults of a group, for the field `at` if the group is one for any field."""
    for row in FAULTS[group]:
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
    touches = tuple(path.split("."))
    made = _expression(row["of"]) if "of" in row else None

    def change(entry: Entry, number: int) -> None:
        value = row["text"].replace("{n}", str(number)) if "text" in row else row.get("value")
        _holder(entry, touches)[touches[-1]] = value if made is None else made(number)

    return Plant(f"{path} {row.get('name', row.get('value'))}", touches, says, change, row.get("may_exist", False))


def _drop(path: str, says: tuple[Says, ...]) -> Plant:
    touches = tuple(path.split("."))
    return Plant(f"{path} missing", touches, says, lambda entry, _: _holder(entry, touches).pop(touches[-1]))


def _holder(entry: Entry, touches: FieldPath) -> Any:
    return entry[touches[0]] if len(touches) > 1 else entry


def _misspell(path: str, wrong: str, says: tuple[Says, ...]) -> Plant:
    where, one = path.split(".")

    def change(entry: Entry, _: int) -> None:
        entry[where][wrong] = entry[where].pop(one)

    return Plant(f"{path} misspelt", (where, one), says, change)


ODD_ENTRIES: Mapping[str, Any] = {"list": [], "text": "text", "number": 5, "null": None, "true": True, "float": 1.5}
ODD_LINES: Mapping[str, Sequence[bytes]] = {
    rule: tuple(line.replace("NINES", "9" * 401).encode() for line in lines)
    for rule, lines in FAULTS["unreadable lines"].items()
}
"""Unreadable lines by the rule that they violate, each with a place for a number."""


def plants(group: str) -> Mapping[str, Plant]:
    """The faults of that group and those for any family, by name."""
    listed = [*faults("everywhere"), *faults(group)]
    assert len({one.name for one in listed}) == len(listed), "two plants of one name"
    return {one.name: one for one in listed}


_LISTS = {"TOPICS": " , ".join(f"t{n}" for n in range(400)), "TABLES": ", ".join(f"t{n}" for n in range(400))}
"""Long values of config keys."""


def _faults_of(name: str, facts: Mapping[str, Any]) -> Mapping[str, Plant]:
    if name == "mirror with a schema":
        changed = ("partition.topic not ASCII", "partition.topic escapes", "offset.\0\x1b extra")
        return {one: plant for one, plant in plants("mirror").items() if one not in changed} | {**plants(name)}
    found = plants(facts.get("faults", name))
    if not facts.get("untied"):
        return found
    return {one: replace(plant, says=tuple(say for say in plant.says if not say.tie)) for one, plant in found.items()}


def _family(name: str, facts: Mapping[str, Any]) -> Family:
    config = facts["config"] and {key: _LISTS.get(value, value) for key, value in facts["config"].items()}
    halves, schema = _expression(facts["well"]), None
    if given := facts.get("schema"):
        class_name = config["connector.class"]
        path, position = f"offset-schemas/{class_name}.schema.json", tuple(given.get("position", ()))
        schema = OffsetSchema(class_name, path, given["document"], position, given.get("unit", ""))
    given = {key: facts[key] for key in ("spare", "keeps_all", "all_exist", "counted") if key in facts}
    lenient = frozenset(facts.get("lenient", ()))
    return Family(
        name, config, lambda n: entry_of(*halves(n)), _faults_of(name, facts), lenient=lenient, schema=schema, **given
    )


_READ = read_yaml(Path(__file__).with_name("planted_families.yaml"))
FAMILIES: Mapping[str, Family] = {name: _family(name, facts) for name, facts in _READ.items()}
"""All families, by name."""
