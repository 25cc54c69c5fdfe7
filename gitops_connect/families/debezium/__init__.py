"""Debezium's connectors: sources that read the log of a database, and its two sinks. `facts.yaml` has the facts.

Here are the types of the positions: which of two positions in the log of a database is further.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Set
from dataclasses import replace
from functools import partial
from typing import Any

from gitops_connect.families.family import Config
from gitops_connect.families.field_kinds import (
    LONGEST,
    NUMBER,
    SIGNED,
    TEXT,
    FieldKind,
    is_digits,
    is_natural,
    whole_number,
)
from gitops_connect.families.kafka_use import KafkaUse
from gitops_connect.families.ties import Ties
from gitops_connect.model.bounded_json import parse_json
from gitops_connect.model.findings import Finding, LazyWords, show
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.units import Notation, Unit

WAL_BYTES = Unit("wal_bytes", "byte of WAL", "bytes of WAL", "wal_bytes", counts_what_is_read=False)
"""Bytes of PostgreSQL's write-ahead log, which also contains changes of tables that the connector does not read."""
BINLOG_BYTES = Unit("binlog_bytes", "byte of binlog", "bytes of binlog", "binlog_bytes", counts_what_is_read=False)
"""Bytes of a binlog of MySQL or MariaDB, which also contains changes of other tables."""

_LSN = re.compile(r"[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:(?:[0-9a-fA-F]{2}){2,12}")
_COMMIT_SCN = re.compile(r"([0-9]{1,40})(?::[0-9]{1,9}:[^:,]*|:[^:,]*:[^:,]*:[0-9]{1,9})?")
"""`CommitScn.RedoThreadCommitScn.valueOf`: number, thread and transactions; of Debezium 1 the number, or four parts."""
_BINLOG = re.compile(r"(?s:(.+))\.([0-9]{1,20})")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BSON_TOKEN = re.compile(rb"(?s:.{4})\x02_data\x00(?s:.{4})((?:[0-9a-fA-F]{2})+)\x00")
_MYSQL_GTIDS = re.compile(r"([0-9a-fA-F-]{36}(?::[A-Za-z_][A-Za-z0-9_]*)?)((?::[0-9]{1,19}(?:-[0-9]{1,19})?)+)")
_MARIADB_GTID = re.compile(r"([0-9]{1,10})-[0-9]{1,10}-([0-9]{1,20})")
_PG_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_NULL_LSN = "NULL"
"""Debezium's `Lsn` writes this if there is none; it is before all others."""
_INTERVALS = 1000
"""A set of transaction ids has a handful of intervals. Comparing thousands with each other takes too long."""

Intervals = tuple[tuple[int, int], ...]


def _is_binlog(value: Any) -> bool:
    return type(value) is str and _BINLOG.fullmatch(value) is not None


def _is_lsn(value: Any) -> bool:
    return type(value) is str and (value == _NULL_LSN or _LSN.fullmatch(value) is not None)


def _is_digits(value: Any) -> bool:
    return is_digits(value) if type(value) is str else is_natural(value)


def _is_sequence(value: Any) -> bool:
    """True for a log sequence number in the notation of Informix (`Lsn.of`)."""
    if type(value) is not str:
        return False
    return value.upper() == _NULL_LSN or (is_digits(value) and int(value) < 2**63)


def _is_commit_scn(value: Any) -> bool:
    return _fits_commit_scn(value) if type(value) is str else is_natural(value)


def _fits_commit_scn(value: str) -> bool:
    return all(_COMMIT_SCN.fullmatch(one) for one in value.split(","))


def _is_vgtid(value: Any) -> bool:
    return type(value) is str and _vgtid(value) is not None


def _rank_digits(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if is_digits(value) else None
    return whole_number(value)


def _rank_sequence(value: Any) -> int | None:
    return -1 if isinstance(value, str) and value.upper() == _NULL_LSN else _rank_digits(value)


def _rank_commit_scn(value: Any) -> int | None:
    if isinstance(value, str):
        return max(int(one.partition(":")[0]) for one in value.split(",")) if _fits_commit_scn(value) else None
    return whole_number(value)


def _rank_lsn(value: Any) -> int | None:
    if value is None or value == _NULL_LSN:
        return -1
    if not isinstance(value, str) or _LSN.fullmatch(value) is None:
        return None
    return int(value.replace(":", "").ljust(LONGEST, "0"), 16)


def write_pg_lsn(value: Any) -> str:
    """In PostgreSQL's notation; empty for what is no LSN."""
    if type(value) is not int or not 0 <= value < 2**64:
        return ""
    return f"{value >> 32:X}/{value & 0xFFFF_FFFF:X}"


def _read_pg_lsn(value: Any) -> int | None:
    found = _PG_LSN.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else int(found[1], 16) << 32 | int(found[2], 16)


def _order_servers(before: Any, after: Any) -> int | None:
    return None if isinstance(before, int) and isinstance(after, int) else 0


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
        listed = parse_json(text) if isinstance(text, str) else ()
        found = {(one["keyspace"], one["shard"]): one["gtid"] for one in listed}
    except (ValueError, TypeError, KeyError):
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


BINLOG_FILE = FieldKind(
    "a string that ends in a dot and a number, such as mysql-bin.000003", _is_binlog, compare=_order_binlogs
)
GTIDS = replace(TEXT, words="a string with a set of global transaction ids", compare=_order_gtids)
SERVER = replace(SIGNED, words="a whole number, the id of a server", compare=_order_servers)
"""Positions in two different servers cannot be compared."""
LSN = FieldKind("a string such as 0000002b:00000c70:0003", _is_lsn, rank=_rank_lsn)
"""In the notation of SQL Server and Db2."""
PG_LSN = replace(
    NUMBER,
    words="a whole number of 0 or more, or an LSN in PostgreSQL's notation, such as 0/1985390",
    notation=Notation(write_pg_lsn, _read_pg_lsn),
)
"""Connect stores the number; the notation is that of PostgreSQL's type `pg_lsn`: its upper and lower 32 bits."""
DIGITS = FieldKind("a whole number in quotes", _is_digits, is_natural=True, is_loose=True, rank=_rank_digits)
SEQUENCE = FieldKind("a whole number in quotes, or NULL", _is_sequence, is_text=True, rank=_rank_sequence)
"""The log sequence numbers of Informix, of at most 64 bits."""
COMMIT_SCN = FieldKind(
    "a string such as 2868506:1:0400050048030000, with a system change number for each redo thread",
    _is_commit_scn,
    is_natural=True,
    is_loose=True,
    rank=_rank_commit_scn,
)
VGTID = FieldKind(
    "a string with a JSON list of the keyspaces and shards of Vitess, each with its gtid",
    _is_vgtid,
    compare=_order_vgtids,
)
TOKEN = replace(TEXT, words="a string with a resume token", compare=_order_tokens)
"""A position in MongoDB's change stream."""
_TRUE = (True, "true")


def is_in_snapshot(offset: Mapping[str, Any]) -> bool:
    """Whether the offset is of an initial snapshot that did not end: the next start takes the snapshot again.

    `CommonOffsetContext.isInitialSnapshotRunning`; `last_snapshot_record` is of PostgreSQL, `initsync` of MongoDB.
    """
    if offset.get("snapshot_completed") in _TRUE or offset.get("last_snapshot_record") in _TRUE:
        return False
    return offset.get("initsync") in _TRUE or offset.get("snapshot") in (*_TRUE, "INITIAL")


_PER_TASK = "vitess.offset.storage.per.task"


def partitions_of_tasks(config: Mapping[str, str]) -> Ties:
    """Keys of tasks are read only if the offset of each task is stored separately; their values are unknown."""
    value = config.get(_PER_TASK, "false")
    if is_reference(value) or value.strip().lower() == "true":
        return Ties()
    return Ties(filters=(partial(_of_task, value),))


def _of_task(value: str, partition: Mapping[str, Any]) -> Finding | None:
    if "task_key" not in partition:
        return None
    words = LazyWords(lambda: {"found": show(partition["task_key"]), "key": _PER_TASK, "expected": show(value)})
    return Finding("manifest/task", "partition.task_key", words, unread=True)


def topics_written(config: Config) -> KafkaUse:
    """A topic for each table, whose name begins with the server's, and topics for changes of tables and heartbeats.

    Nothing is known of the topics if another class names them.
    """
    history = _HISTORY if f"{_HISTORY}kafka.topic" in config else ""
    server = config.get("topic.prefix") or config.get("database.server.name") or config.get("mongodb.name")
    if not server or config.get("topic.naming.strategy", "Default").rpartition(".")[2] not in _NAMING:
        return KafkaUse(own_clients=history)
    topics = [server] if history and config.get("include.schema.changes", "true").lower() == "true" else []
    if config.get("heartbeat.interval.ms", "0") != "0":
        prefix = config.get("topic.heartbeat.prefix") or config.get("heartbeat.topics.prefix", "__debezium-heartbeat")
        topics.append(f"{prefix}.{server}")
    if "sink" in (one.strip() for one in config.get("notification.enabled.channels", "").split(",")):
        topics += filter(None, [config.get("notification.sink.topic.name")])
    return KafkaUse(tuple(topics), (f"{server}{config.get('topic.delimiter', '.')}",), history)


_HISTORY = "schema.history.internal."
_NAMING = frozenset(("Default", "DefaultTopicNamingStrategy", "SchemaTopicNamingStrategy"))
