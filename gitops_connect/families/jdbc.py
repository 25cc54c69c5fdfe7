"""The JDBC connectors of Confluent and of Aiven. `jdbc.yaml` has the facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from gitops_connect.families.family import Config
from gitops_connect.families.field_kinds import WHOLE_PATTERN, FieldKind, is_signed
from gitops_connect.families.jdbc_tables import TableFilter
from gitops_connect.families.shapes import Shape
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
    """The shape with the unit of the connector's `mode`: time if it reads by timestamps, else ids.

    In the mode `timestamp+incrementing` the id decides only among rows with one timestamp.
    """
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
