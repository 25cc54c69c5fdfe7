"""Families of connectors for `planted`: valid entries, the faults that spoil them, and what has to be reported.

Written from docs/reference/manifest-rules.md, and not from the tables of the product, because these are tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitops_connect.model.manifests import OffsetSchema

Entry = dict[str, Any]
Path = tuple[str, ...]
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
    touches: Path
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


def put(path: str, value: Any, *says: Says, name: str = "", may_exist: bool = False) -> Plant:
    """Set a field to that value, or to the function's result for the line's number."""
    where, one = path.split(".")

    def change(entry: Entry, number: int) -> None:
        entry[where][one] = value(number) if callable(value) else value

    return Plant(f"{path} {name or value}", (where, one), says, change, may_exist)


def drop(path: str, *says: Says) -> Plant:
    where, one = path.split(".")
    return Plant(f"{path} missing", (where, one), says, lambda entry, _: entry[where].pop(one))


def misspell(path: str, wrong: str, *says: Says) -> Plant:
    where, one = path.split(".")

    def change(entry: Entry, _: int) -> None:
        entry[where][wrong] = entry[where].pop(one)

    return Plant(f"{path} misspelt", (where, one), says, change)


def put_whole(where: str, value: Any, *says: Says) -> Plant:
    return Plant(f"{where} {value}", (where,), says, lambda entry, _: entry.update({where: value}))


def unkept_fields(path: str) -> list[Plant]:
    """Values that no field of any class may have."""
    return [
        put(path, lambda n: [n], Says("type", unkept=True), name="list"),
        put(path, lambda n: {"a": n}, Says("type", unkept=True), name="mapping"),
        put(path, lambda n: 2**63 + n, Says("range", unkept=True), name="2^63"),
        put(path, lambda n: -(2**63) - n, Says("range", unkept=True), name="-2^63-1"),
        put(path, 10**30, Says("range", unkept=True)),
    ]


def natural(path: str, *, eased: bool = False) -> list[Plant]:
    """Faults for a whole number of 0 or more."""
    wrong = Says("type", eased)
    unkept = [one for one in unkept_fields(path) if not one.name.endswith("-2^63-1")]
    return [
        *unkept,
        put(path, lambda n: -(2**63) - n, Says("negative", unkept=True), name="-2^63-1"),
        put(path, lambda n: -n, Says("negative", eased), name="negative", may_exist=True),
        put(path, str, wrong, name="text", may_exist=True),
        put(path, float, wrong, name="whole float", may_exist=True),
        put(path, lambda n: n + 0.5, wrong, name="fraction", may_exist=True),
        put(path, lambda n: -n / 4, wrong, name="negative fraction", may_exist=True),
        put(path, -0.0, wrong, may_exist=True),
        put(path, True, wrong, may_exist=True),
        put(path, None, wrong, may_exist=True),
        put(path, "", wrong, name="empty text", may_exist=True),
    ]


def small(path: str, *, eased: bool = False) -> list[Plant]:
    """Faults for a whole number of 0 or more with 32 bits, as Java's `int`."""
    return [*natural(path, eased=eased), put(path, lambda n: 2**31 + n, Says("range", eased), name="2^31")]


def signed(path: str) -> list[Plant]:
    return [*unkept_fields(path), put(path, str, Says("type"), name="text"), put(path, float, Says("type"), name="1.0")]


def text(path: str, *, eased: bool = False) -> list[Plant]:
    wrong = Says("type", eased)
    return [
        *(one for one in unkept_fields(path) if one.says[0].rule == "type"),
        put(path, lambda n: n, wrong, name="number", may_exist=True),
        put(path, lambda n: n + 0.5, wrong, name="fraction", may_exist=True),
        put(path, False, wrong, may_exist=True),
        put(path, None, wrong, may_exist=True),
    ]


def lacks(path: str, wrong: str, *, eased: bool = False) -> list[Plant]:
    """A required field is missing or misspelt."""
    return [drop(path, Says("shape", eased)), misspell(path, wrong, Says("shape", eased))]


UNREAD_FIELD = [
    put("partition.zone", lambda n: f"z{n}", Says("shape", eased=True), name="extra", may_exist=True),
    put("partition.\0zone", lambda n: n, Says("shape", eased=True), name="extra", may_exist=True),
    put("partition.", lambda n: n, Says("shape", eased=True), name="without a name", may_exist=True),
]
UNKNOWN = [
    put("offset.unheard", lambda n: f"x{n}", Says("unknown-field"), name="extra"),
    put("offset.\0\x1b", lambda n: n, Says("unknown-field"), name="extra"),
]

EVERYWHERE = [
    Plant("note", ("note",), (Says("unknown-field"),), lambda entry, n: entry.update(note=n)),
    Plant("remark", ("remark",), (Says("unknown-field"),), lambda entry, _: entry.update(remark={"a": [None]})),
    Plant(
        "no partition", ("partition",), (Says("no-partition", unkept=True),), lambda entry, _: entry.pop("partition")
    ),
    Plant("no offset", ("offset",), (Says("no-offset", unkept=True),), lambda entry, _: entry.pop("offset")),
    put_whole("partition", None, Says("no-partition", unkept=True)),
    put_whole("offset", None),
    *(put_whole("partition", value, Says("type", unkept=True)) for value in ("text", 5, [], [{}], True, 1.5)),
    *(put_whole("offset", value, Says("type", unkept=True)) for value in ("text", 5, [], [{}], False, 1.5)),
]
"""Faults for any family. A null offset is a tombstone; what is reported for it depends on the kind of change."""

ODD_ENTRIES: Mapping[str, Any] = {"list": [], "text": "text", "number": 5, "null": None, "true": True, "float": 1.5}
ODD_LINES: Mapping[str, Sequence[bytes]] = {
    "syntax": (
        b'{"partition":{"a":%d}',
        b'{"partition":{"a":%d},"offset":{"b":1}},',
        b'{"partition":{"a":%d},"offset":{"b":01}}',
        b"{'partition':{'a':%d},'offset':null}",
        b'{"partition":{"a":%d},"offset":{"b":1}}{}',
        b'{"partition":{"a":"\t%d"},"offset":null}',
        b'{"partition":{"a":"\\x%d"},"offset":null}',
        b'{"partition":{"a":%d},"offset":{"b":+1}}',
        b'{"partition":{"a":%d},"offset":{"b":1.}}',
        b"[" * 60 + b"%d" + b"]" * 60,
        b'\xef\xbb\xbf\xef\xbb\xbf{"partition":{"a":%d},"offset":null}',
        b'\xe2\x80\xa8{"partition":{"a":%d},"offset":null}',
    ),
    "duplicate-key": (
        b'{"partition":{"a":1,"a":%d},"offset":{"b":1}}',
        b'{"partition":{"a":%d},"offset":{"b":1,"b":1}}',
        b'{"partition":{"a":%d},"offset":null,"offset":null}',
        b'{"partition":{"a":%d,"\\u0061":2},"offset":null}',
    ),
    "number": (
        b'{"partition":{"a":%d},"offset":{"b":1e400}}',
        b'{"partition":{"a":%d},"offset":{"b":-1e400}}',
        b'{"partition":{"a":%d},"offset":{"b":NaN}}',
        b'{"partition":{"a":%d},"offset":{"b":-Infinity}}',
        b'{"partition":{"a":%d},"offset":{"b":' + b"9" * 401 + b"}}",
    ),
    "encoding": (
        b'{"partition":{"a":"%d\\ud800"},"offset":{"b":1}}',
        b'{"partition":{"a%d\\udfff":1},"offset":{"b":1}}',
        b'{"partition":{"a":%d},"offset":{"b":"\\ude00\\ud83d"}}',
    ),
}
"""Unreadable lines, each of which affects no other line. Two byte order marks, because a file may begin with one."""


def plants(*groups: Iterable[Plant] | Plant) -> Mapping[str, Plant]:
    """These faults and those for any family, by name."""
    listed = [*EVERYWHERE]
    for group in groups:
        listed += [group] if isinstance(group, Plant) else group
    assert len({one.name for one in listed}) == len(listed), "two plants of one name"
    return {one.name: one for one in listed}


def mirrored(n: int) -> Entry:
    return {"partition": {"cluster": "source", "topic": f"t{n}", "partition": n}, "offset": {"offset": n * 7}}


OF_MIRROR = plants(
    small("partition.partition"),
    text("partition.topic"),
    text("partition.cluster"),
    lacks("partition.partition", "partitoin"),
    lacks("partition.topic", "topc"),
    lacks("partition.cluster", "Clusters"),
    UNREAD_FIELD,
    put("partition.cluster", "", Says("alias", eased=True, tie=True), name="empty", may_exist=True),
    put("partition.cluster", "SOURCE", Says("alias", eased=True, tie=True), may_exist=True),
    put("partition.cluster", "source ", Says("alias", eased=True, tie=True), name="with a blank", may_exist=True),
    put("partition.cluster", lambda n: f"c{n}", Says("alias", eased=True, tie=True), may_exist=True, name="elsewhere"),
    natural("offset.offset"),
    lacks("offset.offset", "ofset"),
    UNKNOWN,
    put("offset.offset", 2**63 - 1, may_exist=True),
    put("offset.offset", 0, may_exist=True),
    put("partition.partition", lambda n: 2**31 - n, may_exist=True, name="2^31 - n"),
    put("partition.topic", lambda n: f"\u00e9\u2028\U0001f600{n}", may_exist=True, name="not ASCII"),
    put("partition.topic", lambda n: f'"\\\n{n}', may_exist=True, name="escapes"),
)

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
        },
    },
    ("count",),
    "records",
)
