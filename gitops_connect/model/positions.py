"""Compares two offsets of a partition in the order of the connector itself: which is further, and by how much."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Set
from typing import Any

from gitops_connect.model.canonical import canonical
from gitops_connect.model.differences import Direction
from gitops_connect.model.shape_fields import FieldType, Shape

_LONGEST = 40
"""No position has more digits, and converting strings to numbers gets slow with their length."""
_LSN = re.compile(r"[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:(?:[0-9a-fA-F]{2}){2,12}")
_COMMIT_SCN = re.compile(r"([0-9]{1,40})(?::[0-9]{1,9}:[^:,]*|:[^:,]*:[^:,]*:[0-9]{1,9})?")
"""`CommitScn.RedoThreadCommitScn.valueOf`: number, thread and transactions; of Debezium 1 the number, or four parts."""
_BINLOG = re.compile(r"(?s:(.+))\.([0-9]{1,20})")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BSON_TOKEN = re.compile(rb"(?s:.{4})\x02_data\x00(?s:.{4})((?:[0-9a-fA-F]{2})+)\x00")
_MYSQL_GTIDS = re.compile(r"([0-9a-fA-F-]{36}(?::[A-Za-z_][A-Za-z0-9_]*)?)((?::[0-9]{1,19}(?:-[0-9]{1,19})?)+)")
_MARIADB_GTID = re.compile(r"([0-9]{1,10})-[0-9]{1,10}-([0-9]{1,20})")
_NULL_LSN = "NULL"
"""Debezium's `Lsn` writes this if there is none; it is before all others."""
_INTERVALS = 1000
"""A set of transaction ids has a handful of intervals. Comparing thousands with each other takes too long."""

Intervals = tuple[tuple[int, int], ...]


def compare(
    shape: Shape | None, current: Mapping[str, Any], declared: Mapping[str, Any]
) -> tuple[Direction, int | None]:
    """The direction in which an offset moves, and the distance in the shape's `unit`, or None.

    The distance is None if it does not depend on one number alone. SAME means that nothing differs at all. CHANGED
    means that the direction is unknown: the class is unknown, a field of the position is missing or cannot be ordered,
    or another field than those of the position differs and may matter more.
    """
    if current == declared and canonical(current) == canonical(declared):
        return Direction.SAME, None
    if shape is None or any(_value(current, name) != _value(declared, name) for name in shape.frame):
        return Direction.CHANGED, None
    types = shape.offset.types
    for name in shape.position:
        before, after = _operand(shape, current, name), _operand(shape, declared, name)
        if name in shape.if_both and (before is None or after is None):
            continue
        if before == after and type(before) is type(after):
            continue
        order = _order(types.get(name, FieldType.ANY), before, after)
        if order is None:
            return Direction.CHANGED, None
        if order:
            distance = abs(after - before) if shape.unit is not None and name in shape.measured else None
            return (Direction.FORWARD if order > 0 else Direction.REWIND), distance
    return Direction.CHANGED, None


def fits_binlog(value: str) -> bool:
    """True for the name of a binlog file."""
    return _BINLOG.fullmatch(value) is not None


def fits_lsn(value: str) -> bool:
    """True for a log sequence number in the notation of SQL Server and Db2."""
    return value == _NULL_LSN or _LSN.fullmatch(value) is not None


def fits_digits(value: str) -> bool:
    """True for a string that is a whole number of 0 or more."""
    return value.isascii() and value.isdigit() and len(value) <= _LONGEST


def fits_sequence(value: str) -> bool:
    """True for a log sequence number in the notation of Informix (`Lsn.of`)."""
    return value.upper() == _NULL_LSN or (fits_digits(value) and int(value) < 2**63)


def fits_commit_scn(value: str) -> bool:
    """True for the system change numbers of the redo threads, in the notation of Oracle's connector."""
    return all(_COMMIT_SCN.fullmatch(one) for one in value.split(","))


def fits_vgtid(value: str) -> bool:
    """True for a position in Vitess."""
    return _vgtid(value) is not None


def _value(offset: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The value with its type, so that 1, 1.0 and true are three values."""
    value = offset.get(name)
    return type(value).__name__, value


def _operand(shape: Shape, offset: Mapping[str, Any], name: str) -> Any:
    value = offset.get(name)
    if value is None and name in shape.instead:
        value = offset.get(shape.instead[name])
    return 0 if value is None and name in shape.skipped else value


def _order(kind: FieldType, before: Any, after: Any) -> int | None:
    """Positive if `after` is further, negative if it is before, 0 if both are equal, None if the order is unknown."""
    match kind:
        case FieldType.SERVER:
            return None if isinstance(before, int) and isinstance(after, int) else 0
        case FieldType.GTIDS:
            return _order_gtids(before, after)
        case FieldType.BINLOG:
            return _order_binlogs(before, after)
        case FieldType.TOKEN:
            return _order_tokens(before, after)
        case FieldType.VGTID:
            return _order_vgtids(before, after)
        case _:
            ranks = rank(kind, before), rank(kind, after)
            return None if ranks[0] is None or ranks[1] is None else ranks[1] - ranks[0]


def rank(kind: FieldType, value: Any) -> int | None:
    """The position of a value of that type, as a number; None if it has no such number."""
    if kind is FieldType.LSN:
        return _rank_lsn(value)
    if isinstance(value, str):
        if kind is FieldType.SEQUENCE and value.upper() == _NULL_LSN:
            return -1
        if kind is FieldType.COMMIT_SCN and fits_commit_scn(value):
            return max(int(one.partition(":")[0]) for one in value.split(","))
        return int(value) if kind in (FieldType.DIGITS, FieldType.SEQUENCE) and fits_digits(value) else None
    return value if type(value) is int else None


def _rank_lsn(value: Any) -> int | None:
    if value is None or value == _NULL_LSN:
        return -1
    if not isinstance(value, str) or _LSN.fullmatch(value) is None:
        return None
    return int(value.replace(":", "").ljust(_LONGEST, "0"), 16)


def _order_binlogs(before: Any, after: Any) -> int | None:
    """By the number of the file, if the rest of both names is the same."""
    found = [_BINLOG.fullmatch(value) if isinstance(value, str) else None for value in (before, after)]
    if found[0] is None or found[1] is None or found[0][1] != found[1][1]:
        return None
    return int(found[1][2]) - int(found[0][2])


def _order_tokens(before: Any, after: Any) -> int | None:
    """MongoDB's tokens sort by their bytes in the order of the stream. Tokens in older formats cannot be compared."""
    first, second = _token(before), _token(after)
    return None if first is None or second is None else (second > first) - (second < first)


def _token(value: Any) -> bytes | None:
    """The bytes of a token, or None if it is in no known format.

    A token is in hexadecimal digits, or since Debezium 2 it is BSON in Base64 (`ResumeTokens.toBase64`) with `{"_data":
    digits}`.
    """
    if not isinstance(value, str):
        return None
    if _HEX.fullmatch(value) is None:
        try:
            found = _BSON_TOKEN.match(base64.b64decode(value, validate=True))
        except ValueError:
            return None
        value = found[1].decode() if found else ""
    return bytes.fromhex(value) or None


def _order_vgtids(before: Any, after: Any) -> int | None:
    """Further if both have the same shards, and no shard is before its current position."""
    first, second = _vgtid(before), _vgtid(after)
    if first is None or second is None or first.keys() != second.keys():
        return None
    orders = {_order_gtids(first[shard].partition("/")[2], second[shard].partition("/")[2]) for shard in first}
    if None in orders:
        return None
    return 0 if orders <= {0} else 1 if orders <= {0, 1} else -1 if orders <= {0, -1} else None


def _vgtid(text: Any) -> Mapping[tuple[str, str], str] | None:
    """The `flavor/gtid` of each keyspace and shard (`Vgtid.of`); None if one appears twice or the text is invalid."""
    try:
        listed = json.loads(text)
        found = {(one["keyspace"], one["shard"]): one["gtid"] for one in listed}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    are_strings = all(isinstance(word, str) for shard, gtid in found.items() for word in (*shard, gtid))
    return found if isinstance(listed, list) and are_strings and len(found) == len(listed) else None


def _order_gtids(before: Any, after: Any) -> int | None:
    """The further set contains the other one."""
    first, second = _gtids(before), _gtids(after)
    if first is None or second is None:
        return None
    behind, ahead = _contains(second, first), _contains(first, second)
    if behind and ahead:
        return 0
    return 1 if behind else -1 if ahead else None


def _gtids(text: Any) -> Mapping[str, Intervals] | None:
    """MySQL's `uuid:1-5:7,…` or MariaDB's `domain-server-number,…` (all up to that number), by source or domain."""
    if not isinstance(text, str):
        return None
    sets: dict[str, list[tuple[int, int]]] = {}
    for part in "".join(text.split()).split(","):
        if maria := _MARIADB_GTID.fullmatch(part):
            sets.setdefault(maria[1], []).append((0, int(maria[2])))
        elif mysql := _MYSQL_GTIDS.fullmatch(part):
            pairs = (interval.partition("-") for interval in mysql[2][1:].split(":"))
            sets.setdefault(mysql[1].lower(), []).extend((int(low), int(high or low)) for low, _, high in pairs)
        else:
            return None
    return {source: _joined(intervals) for source, intervals in sets.items()}


def _joined(intervals: list[tuple[int, int]]) -> Intervals:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        elif low <= high:
            joined.append((low, high))
    return tuple(joined)


def _contains(large: Mapping[str, Intervals], small: Mapping[str, Intervals]) -> bool:
    sources: Set[str] = small.keys()
    if sources - large.keys() or max(map(len, (*large.values(), *small.values())), default=0) > _INTERVALS:
        return False
    return all(_covers(large[source], intervals) for source, intervals in small.items())


def _covers(large: Intervals, small: Intervals) -> bool:
    return all(any(low >= start and high <= end for start, end in large) for low, high in small)
