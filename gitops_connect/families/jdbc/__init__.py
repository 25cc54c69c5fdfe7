"""The JDBC connectors of Confluent and of Aiven. `facts.yaml` has the facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import product
from typing import Any

from gitops_connect.families.family import Config
from gitops_connect.families.field_kinds import SIGNED, FieldKind
from gitops_connect.families.kafka_use import KafkaUse
from gitops_connect.families.shapes import Shape
from gitops_connect.families.ties import Ties, translate
from gitops_connect.model.findings import KNOWN, VALUE, Finding, LazyWords, show
from gitops_connect.model.sensitivity import is_reference
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


MILLISECONDS = replace(SIGNED, words="a whole number, milliseconds since 1970", notation=Notation(_write_time))
NANOS = FieldKind(
    "a whole number from 0 to 999999999",
    _is_fraction,
    is_number=True,
    is_natural=True,
    bound=f"at most {_NANOS_IN_SECOND - 1}, the nanoseconds of a second",
)
"""The fraction of a second in nanoseconds, as in `java.sql.Timestamp`."""


def check_fraction(offset: Mapping[str, Any]) -> Iterator[Finding]:
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


def partitions_read(config: Config) -> Ties:
    return Ties(filters=(TableFilter(config).finding,))


def shape_of_mode(jdbc: Shape, config: Config) -> Shape:
    """Time if the `mode` has timestamps (ids only decide among rows with one timestamp), else ids."""
    if config.get("mode", "").strip().lower().startswith("timestamp"):
        return replace(jdbc, unit=TIME, measured=("timestamp",))
    return jdbc


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


BETWEEN_MODES = _between_modes()


# The partitions that a source reads according to its config: its tables, or its query.
#
# This follows `JdbcSourceConnector`, `TableMonitorThread` and `JdbcSourceTask`, both of Confluent and of Aiven. They
# read the offset of a table under its full name, `{"protocol": "1", "table": "public.orders"}`, and if there is none,
# under its plain name, `{"table": "orders"}`. The tables, schemas and catalogs of the database are not known here.

RULE = "manifest/table"
_QUOTES = re.compile(r'["`\[\]]')
_WITH_SCHEMA = {"jdbc:postgresql:": "PostgreSQL", "jdbc:sqlserver:": "SQL Server", "jdbc:oracle:": "Oracle"}
"""Their drivers report the schema of each table (`DatabaseMetaData.getTables`), so it is in the full name."""


@dataclass(frozen=True)
class Tables:
    """The tables that a config names. `plain`: without quotes, as in a list of the config."""

    key: str
    value: str
    plain: frozenset[str]
    patterns: tuple[re.Pattern[str], ...] = ()

    @cached_property
    def why(self) -> str:
        """The config key and its value, in words."""
        return f"its {self.key} is {show(self.value)}"

    @cached_property
    def last(self) -> frozenset[str]:
        """The tables without their schemas and catalogs."""
        return frozenset(name.rpartition(".")[2] for name in self.plain)

    @cached_property
    def ends(self) -> tuple[str, ...]:
        """The possible ends of a full name whose last parts are one of the names."""
        return tuple(f".{name}" for name in self.plain)

    @cached_property
    def joined(self) -> str:
        """Each name followed by a comma, which no name contains: one search finds any of them."""
        return "".join(f"{name}," for name in self.plain)


class TableFilter:
    """The partitions that one connector reads."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._is_bulk = config.get("mode", "") == "bulk"
        self._query = next((key for key in ("query.masked", "query") if config.get(key)), "")
        self._is_known = not any(is_reference(config.get(key, "")) for key in (*_KEYS, "mode", "query", "query.masked"))
        self._included, self._excluded = _included(config), _listed(config, "table.blacklist")
        self._is_qualified = config.get("table.names.qualify", "true").strip().lower() == "true"
        url = config.get("connection.url", "")
        self._database = next((name for start, name in _WITH_SCHEMA.items() if url.startswith(start)), "")

    def finding(self, partition: Mapping[str, Any]) -> Finding | None:
        """Why the connector certainly does not read that partition; None if it does, or if that is unknown."""
        name = "query" if "query" in partition else "table"
        value = partition.get(name)
        if not self._is_known or not isinstance(value, str):
            return None
        if self._is_bulk:
            return _finding(name, value, 'its mode is "bulk", which does not use offsets')
        return self._of_query(value) if name == "query" else self._of_name(value, partition.get("protocol"))

    def _of_name(self, value: str, protocol: Any) -> Finding | None:
        if self._query:
            why = f'its {self._query} is set, so its only partition is {{"query": "query"}}'
            return _finding("table", value, why)
        if isinstance(protocol, str) and protocol != "1":
            return _finding("protocol", protocol, 'it reads only protocol "1"')
        return self._of_table(value, is_full=protocol is not None and self._is_qualified)

    def _of_query(self, value: str) -> Finding | None:
        if not self._query:
            return _finding("query", value, "it has no query, so its partitions are tables")
        if value != "query":
            return _finding("query", value, 'the partition of its query is {"query": "query"}', "query")
        return None

    def _of_table(self, table: str, *, is_full: bool) -> Finding | None:
        if is_full and self._database and "." not in table:
            why = f"on {self._database} the full name of a table includes its schema, as in public.{table}"
            return _finding("table", table, why)
        included, excluded = self._included, self._excluded
        if included is not None and not _names(included, table, is_full=is_full):
            return _finding("table", table, included.why, *(included.plain if is_full else included.last))
        if included is None and excluded is not None and table in excluded.plain:
            return _finding("table", table, excluded.why)
        return None


_KEYS = ("table.whitelist", "table.blacklist", "table.include.list", "table.exclude.list")


def _finding(field: str, value: str, why: str, *known: str) -> Finding:
    words = LazyWords(lambda: {"found": show(value), "why": why, VALUE: value, KNOWN: "\n".join(sorted(known))})
    return Finding(RULE, f"partition.{field}", words, unread=True)


def _listed(config: Mapping[str, str], key: str) -> Tables | None:
    names = [name.strip() for name in config.get(key, "").split(",")]
    plain = frozenset(_QUOTES.sub("", name) for name in names)
    return Tables(key, config[key], plain) if any(names) else None


def _included(config: Mapping[str, str]) -> Tables | None:
    """`table.include.list` contains patterns, which only Confluent's connector supports; it precedes the whitelist."""
    name = config.get("connector.class", "")
    if not any(config.get(key, "").strip() for key in _KEYS[2:]) or name.startswith("io.aiven."):
        return _listed(config, _KEYS[0])
    value = config.get(_KEYS[2], "")
    patterns = [translate(one.strip()) for one in value.split(",")]
    if not value.strip() or not name.startswith("io.confluent.") or None in patterns:
        return None
    return Tables(_KEYS[2], value, frozenset(), tuple(one for one in patterns if one is not None))


def _names(tables: Tables, table: str, *, is_full: bool) -> bool:
    """Whether the list may include a table: by its full name (quoted or not), its plain name, or a pattern."""
    if tables.patterns:
        return not is_full or any(pattern.fullmatch(table) for pattern in tables.patterns)
    name = _QUOTES.sub("", table)
    if name in tables.plain:
        return True
    if is_full:
        return name.endswith(tables.ends)
    return "," not in name and f".{name}," in tables.joined


def topics_written(config: Config) -> KafkaUse:
    """The topic of a query, or a topic for each table, whose name ends with the name of the table."""
    named = tuple(filter(None, [config.get("topic.prefix")]))
    return KafkaUse(topics=named) if config.get("query", "").strip() else KafkaUse(prefixes=named)
