"""Families of connectors for `planted`: entries that are surely well, and what spoils them, with what is to be said.

Written from docs/reference/manifest-rules.md, and not from the tables of the product: those are what is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitops_connect.model.manifests import OffsetSchema

Entry = dict[str, Any]
Path = tuple[str, ...]
"""Of what a plant changes: `("partition", "topic")`; empty: the entry as a whole."""


class Says(NamedTuple):
    """A rule that has to be named, without its prefix.

    `eased`: Connect takes that partition, so that it may be acknowledged. `unkept`: the entry has no canonical form,
    and nothing else is said of its halves. `current`: said only where the current offsets are known. `tie`: the
    config fixes it.
    """

    rule: str
    eased: bool = False
    unkept: bool = False
    current: bool = False
    tie: bool = False


@dataclass(frozen=True)
class Plant:
    """`change` takes an entry and the number of its line, and spoils it. `standable`: the offsets that stand may have
    it, and tell nothing about the types of others."""

    name: str
    touches: Path
    says: tuple[Says, ...]
    change: Callable[[Entry, int], Any]
    standable: bool = False

    @property
    def is_null(self) -> bool:
        """A tombstone."""
        return self.name == "offset None"


@dataclass(frozen=True)
class Family:
    """`well` makes the entry of a number; `spare` is the plant that makes it another partition, where there is but one.

    `lenient`: of a sink, which leaves out what it does not know. `keeps_all`: Connect takes whatever partition it is.
    `all_stand`: each well partition stands, with the offset of that number. `counted`: the field that says how far an
    offset is, where one number does.
    """

    name: str
    config: Mapping[str, str] | None
    well: Callable[[int], Entry]
    plants: Mapping[str, Plant]
    spare: str = ""
    lenient: frozenset[str] = frozenset()
    keeps_all: bool = False
    all_stand: bool = False
    counted: str = ""
    schema: OffsetSchema | None = field(default=None, repr=False)


def put(path: str, value: Any, *says: Says, name: str = "", standable: bool = False) -> Plant:
    """A field gets that value, or what the function makes of the line's number."""
    where, one = path.split(".")

    def change(entry: Entry, number: int) -> None:
        entry[where][one] = value(number) if callable(value) else value

    return Plant(f"{path} {name or value}", (where, one), says, change, standable)


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
    """What no field of any class may be."""
    return [
        put(path, lambda n: [n], Says("type", unkept=True), name="list"),
        put(path, lambda n: {"a": n}, Says("type", unkept=True), name="mapping"),
        put(path, lambda n: 2**63 + n, Says("range", unkept=True), name="2^63"),
        put(path, lambda n: -(2**63) - n, Says("range", unkept=True), name="-2^63-1"),
        put(path, 10**30, Says("range", unkept=True)),
    ]


def natural(path: str, *, eased: bool = False) -> list[Plant]:
    """A whole number of 0 or more."""
    wrong = Says("type", eased)
    unkept = [one for one in unkept_fields(path) if not one.name.endswith("-2^63-1")]
    return [
        *unkept,
        put(path, lambda n: -(2**63) - n, Says("negative", unkept=True), name="-2^63-1"),
        put(path, lambda n: -n, Says("negative", eased), name="negative", standable=True),
        put(path, str, wrong, name="text", standable=True),
        put(path, float, wrong, name="whole float", standable=True),
        put(path, lambda n: n + 0.5, wrong, name="fraction", standable=True),
        put(path, lambda n: -n / 4, wrong, name="negative fraction", standable=True),
        put(path, -0.0, wrong, standable=True),
        put(path, True, wrong, standable=True),
        put(path, None, wrong, standable=True),
        put(path, "", wrong, name="empty text", standable=True),
    ]


def small(path: str, *, eased: bool = False) -> list[Plant]:
    """Of 32 bits, as Java's `int`."""
    return [*natural(path, eased=eased), put(path, lambda n: 2**31 + n, Says("range", eased), name="2^31")]


def signed(path: str) -> list[Plant]:
    return [*unkept_fields(path), put(path, str, Says("type"), name="text"), put(path, float, Says("type"), name="1.0")]


def text(path: str, *, eased: bool = False) -> list[Plant]:
    wrong = Says("type", eased)
    return [
        *(one for one in unkept_fields(path) if one.says[0].rule == "type"),
        put(path, lambda n: n, wrong, name="number", standable=True),
        put(path, lambda n: n + 0.5, wrong, name="fraction", standable=True),
        put(path, False, wrong, standable=True),
        put(path, None, wrong, standable=True),
    ]


def lacks(path: str, wrong: str, *, eased: bool = False) -> list[Plant]:
    """A field that has to be there is not, or goes by another name."""
    return [drop(path, Says("shape", eased)), misspell(path, wrong, Says("shape", eased))]


UNREAD_FIELD = [
    put("partition.zone", lambda n: f"z{n}", Says("shape", eased=True), name="extra", standable=True),
    put("partition.\0zone", lambda n: n, Says("shape", eased=True), name="extra", standable=True),
    put("partition.", lambda n: n, Says("shape", eased=True), name="without a name", standable=True),
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
"""Of any family. A null offset is a tombstone; what is said of it depends on the kind of change."""

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
"""Lines that cannot be read, each of which spoils no other. Two byte order marks: a file may begin with one."""


def plants(*groups: Iterable[Plant] | Plant) -> Mapping[str, Plant]:
    """By their names, with those of any family."""
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
    put("partition.cluster", "", Says("alias", eased=True, tie=True), name="empty", standable=True),
    put("partition.cluster", "SOURCE", Says("alias", eased=True, tie=True), standable=True),
    put("partition.cluster", "source ", Says("alias", eased=True, tie=True), name="with a blank", standable=True),
    put("partition.cluster", lambda n: f"c{n}", Says("alias", eased=True, tie=True), standable=True, name="elsewhere"),
    natural("offset.offset"),
    lacks("offset.offset", "ofset"),
    UNKNOWN,
    put("offset.offset", 2**63 - 1, standable=True),
    put("offset.offset", 0, standable=True),
    put("partition.partition", lambda n: 2**31 - n, standable=True, name="2^31 - n"),
    put("partition.topic", lambda n: f"\u00e9\u2028\U0001f600{n}", standable=True, name="not ASCII"),
    put("partition.topic", lambda n: f'"\\\n{n}', standable=True, name="escapes"),
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
