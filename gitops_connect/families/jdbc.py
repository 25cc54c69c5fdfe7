"""The JDBC connectors of Confluent and of Aiven: the source, which stores offsets, and keys of Confluent's sink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from gitops_connect.families.family import Config, ConnectorClass, Family
from gitops_connect.families.field_kinds import SIGNED, TEXT, WHOLE_PATTERN, FieldKind, is_signed
from gitops_connect.families.jdbc.jdbc_tables import TableFilter
from gitops_connect.families.offset_keys import RESET_FIRST, ListKey, OffsetKeys, Start, ValueKey
from gitops_connect.families.resume import ALL, FORWARD, REMOVED, REWIND, ResumeRules, one_of
from gitops_connect.families.shapes import Shape, ShapeFields
from gitops_connect.families.sinks import PLAIN_SINK
from gitops_connect.families.ties import Ties
from gitops_connect.model.findings import Finding, LazyWords, show
from gitops_connect.model.units import Notation, Unit

CONFLUENT_SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
IDS = Unit("ids", "id", "ids", "ids")
"""Values of a column that grows; there may be gaps between them."""
TIME = Unit("time", "millisecond", "milliseconds", "time", counts_what_is_read=False, is_time=True)

_NANOS_IN_SECOND = 1_000_000_000
_NANOS_IN_MILLISECOND = 1_000_000


def _write_time(value: Any) -> str:
    """Milliseconds since 1970-01-01, as an ISO 8601 time in UTC."""
    if type(value) is not int:
        return ""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
    except OverflowError:
        return ""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _is_fraction(value: Any) -> bool:
    return type(value) is int and 0 <= value < _NANOS_IN_SECOND


MILLISECONDS = FieldKind(
    "a whole number, milliseconds since 1970",
    is_signed,
    is_number=True,
    notation=Notation(_write_time),
    fast_pattern=WHOLE_PATTERN,
)
_NANOS = FieldKind(
    "a whole number from 0 to 999999999",
    _is_fraction,
    is_number=True,
    is_natural=True,
    bound=f"at most {_NANOS_IN_SECOND - 1}, the nanoseconds of a second",
)
"""The fraction of a second in nanoseconds, as in `java.sql.Timestamp`."""


def _check_fraction(offset: Mapping[str, Any]) -> Iterator[Finding]:
    """A time in milliseconds, and other milliseconds in the nanoseconds of its last second, which replace them."""
    time, nanos = offset.get("timestamp"), offset.get("timestamp_nanos")
    if type(time) is not int or type(nanos) is not int or not _is_fraction(nanos):
        return
    expected = time % 1000
    if nanos // _NANOS_IN_MILLISECOND != expected:
        words = LazyWords(
            lambda: {
                "found": show(nanos),
                "other": f"timestamp is {show(time)}",
                "effect": "the connector takes the fraction of the second from timestamp_nanos",
                "hint": f"write {expected * _NANOS_IN_MILLISECOND}, or leave timestamp_nanos out",
            }
        )
        yield Finding("manifest/contradiction", "offset.timestamp_nanos", words)


def _partitions_read(config: Config) -> Ties:
    return Ties(filters=(TableFilter(config).finding,))


def _of_mode(jdbc: Shape, config: Config) -> Shape:
    """The shape with the unit of the connector's `mode`: time if it reads by timestamps, else ids.

    In the mode `timestamp+incrementing` the id decides only among rows with one timestamp.
    """
    if config.get("mode", "").strip().lower().startswith("timestamp"):
        return replace(jdbc, unit=TIME, measured=("timestamp",))
    return jdbc


_SHAPE = Shape(
    "the JDBC source",
    (ShapeFields({"protocol": TEXT, "table": TEXT}), ShapeFields({"table": TEXT}), ShapeFields({"query": TEXT})),
    ShapeFields(
        optional={"incrementing": SIGNED, "timestamp": MILLISECONDS, "timestamp_nanos": _NANOS},
        any_of=("incrementing", "timestamp"),
    ),
    ("timestamp", "timestamp_nanos", "incrementing"),
    unit=IDS,
    measured=("incrementing",),
    check=_check_fraction,
    reads=_partitions_read,
)
"""`OffsetProtocols`, `TimestampIncrementingOffset`, of Confluent's and of Aiven's connector alike: `timestamp_nanos`
replaces the milliseconds of `timestamp` (`java.sql.Timestamp.setNanos`)."""

_BULK = one_of("mode", "bulk")
_RULES = ResumeRules(
    "the offset alone; `mode: bulk` uses no offsets",
    (
        ALL.decides(
            "`mode: bulk` reads whole tables at every poll, so the offset has no effect", when=(_BULK,), external=True
        ),
        REWIND.effect("rows that are still in the table are read again, with their current values"),
        FORWARD.risk("rows that are added later with a smaller id or an earlier timestamp are never read"),
        REMOVED.effect(
            "the table is read from its beginning, or from `timestamp.initial` (Aiven: `timestamp.initial.ms`)"
        ),
    ),
)
"""`TimestampIncrementingTableQuerier`, `JdbcSourceTask` of the Aiven connector; Confluent's connector is similar."""

_MODES = {
    "bulk": (),
    "incrementing": ("incrementing",),
    "timestamp": ("timestamp",),
    "timestamp+incrementing": ("timestamp", "incrementing"),
}
"""The fields of an offset that each mode reads, the most significant first (`TimestampIncrementingOffset`)."""


def _between_modes() -> Mapping[tuple[str, str], str]:
    found = {}
    for (old, had), (new, needs) in product(_MODES.items(), repeat=2):
        if not needs:
            found[old, new] = "mode bulk reads no offsets: every poll reads all rows"
        elif not had:
            found[old, new] = "mode bulk has stored no offsets: the connector {start}"
        elif needs[0] not in had:
            found[old, new] = f"the offsets of mode {{before}} have no {needs[0]}: the connector reads all rows again"
    return found


def _column(key: str) -> ValueKey:
    changed = (
        "the offset is a value of column {before} and is compared with column {after}: rows are skipped or read again"
    )
    return ValueKey((key,), changed, hint=RESET_FIRST)


_KEYS = OffsetKeys(
    Start("reads all rows, or those since its initial timestamp"),
    (
        ValueKey(
            ("query",),
            "the new query continues from the offset of the earlier one, because the partition does not name the query:"
            " rows up to that offset are not read",
            added="the offsets of tables are not read for a query: without an offset the connector {start}",
            removed="the offset of the query is not read for tables: without offsets the connector {start}",
            hint=RESET_FIRST,
        ),
        ListKey(("table.whitelist", "table.include.list"), "tables", unlimited=True),
        ListKey(("table.blacklist", "table.exclude.list"), "tables", excludes=True),
        ValueKey(("mode",), pairs=_between_modes()),
        _column("incrementing.column.name"),
        _column("timestamp.column.name"),
    ),
    unused=("mode", "bulk"),
)
"""`JdbcSourceTask`, `OffsetProtocols`, of Confluent and of Aiven: a query has the partition `{"query": "query"}`."""

_CONNECTION = {"GenericDatabaseDialect.addConnectionProperties": ("connection.*",)}
_AIVEN = ConnectorClass(
    _SHAPE,
    _RULES,
    _KEYS,
    shape_of_config=_of_mode,
    why_no_tasks="usually the database has no table that matches `table.whitelist`, `table.types` and"
    " `schema.pattern`, or the list of tables could not be read: the worker's log has the reason",
)
"""A JDBC source has no tasks if it finds no table; newer versions of Confluent's start one task without a table."""

FAMILY = Family(
    1,
    "JDBC",
    {
        CONFLUENT_SOURCE: replace(_AIVEN, undefined=_CONNECTION),
        "io.aiven.connect.jdbc.JdbcSourceConnector": _AIVEN,
        "io.aiven.connect.jdbc.JdbcSinkConnector": PLAIN_SINK,
        "io.confluent.connect.jdbc.JdbcSinkConnector": ConnectorClass(undefined=_CONNECTION),
    },
    units=(IDS, TIME),
)
"""As read in the sources of Confluent's connectors of August 2026."""
