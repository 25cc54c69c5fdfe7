"""The partitions and offsets of Debezium's connectors, and which field decides where each of them resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gitops_connect.families.debezium.positions import (
    BINLOG_FILE,
    COMMIT_SCN,
    DIGITS,
    GTIDS,
    LSN,
    PG_LSN,
    SEQUENCE,
    SERVER,
    TOKEN,
    VGTID,
)
from gitops_connect.families.field_kinds import ANY, FLAG, NUMBER, SIGNED, SMALL, TEXT, FieldKind
from gitops_connect.families.shapes import Choice, Contradiction, Shape, ShapeFields
from gitops_connect.families.ties import Tied, Ties
from gitops_connect.model.findings import Finding, LazyWords, show
from gitops_connect.model.sensitivity import is_reference
from gitops_connect.model.units import Unit

WAL_BYTES = Unit("wal_bytes", "byte of WAL", "bytes of WAL", "wal_bytes", counts_what_is_read=False)
"""Bytes of PostgreSQL's write-ahead log, which also contains changes of tables that the connector does not read."""
BINLOG_BYTES = Unit("binlog_bytes", "byte of binlog", "bytes of binlog", "binlog_bytes", counts_what_is_read=False)
"""Bytes of a binlog of MySQL or MariaDB, which also contains changes of other tables."""

_SERVER = ShapeFields({"server": TEXT})
_LOGICAL_NAME = (Tied("server", "manifest/server", ("topic.prefix", "database.server.name")),)
_DEBEZIUM_PREFIXES = ("transaction_", "incremental_snapshot")
"""`TransactionContext.store`, `AbstractIncrementalSnapshotContext`: among them the names of tables."""
_SNAPSHOT = ("snapshot", "snapshot_completed")
_SNAPSHOT_CHOICES: Mapping[str, tuple[Choice, ...]] = {
    "snapshot": (True, "true", "INITIAL", "BLOCKING", "INCREMENTAL", None),
    "snapshot_completed": (True, False, "true", "false", None),
}
"""`OffsetContext.Loader.loadSnapshot` and `loadSnapshotCompleted`.

Any other `snapshot` ends the task; any other `snapshot_completed` counts as false. Debezium 1 and 2 wrote true, later
versions write the names in `SnapshotType`.
"""


def _debezium(
    required: Mapping[str, FieldKind],
    optional: Mapping[str, FieldKind] | None = None,
    *,
    nullable: str = "",
    any_of: tuple[str, ...] = (),
    choices: Mapping[str, tuple[Choice, ...]] | None = None,
) -> ShapeFields:
    return ShapeFields(
        required,
        {**dict.fromkeys(_SNAPSHOT, ANY), **(optional or {})},
        nullable=frozenset((*nullable.split(), *_SNAPSHOT)),
        any_of=any_of,
        prefixes=_DEBEZIUM_PREFIXES,
        choices={**_SNAPSHOT_CHOICES, **(choices or {})},
    )


_GTIDS_DECIDE = (
    "on a server with GTIDs, the connector resumes from gtids",
    "change gtids as well; without gtids, the connector reads such a server from its first binlog",
)
_IGNORE_GTIDS = "gtid.ignore.on.recovery"

BINLOG = Shape(
    "Debezium for MySQL and MariaDB",
    (_SERVER,),
    _debezium(
        {"file": BINLOG_FILE, "pos": NUMBER},
        {
            "gtids": GTIDS,
            "server_id": SERVER,
            "event": NUMBER,
            "row": NUMBER,
            "ts_sec": SIGNED,
        },
        nullable="gtids",
    ),
    ("gtids", "server_id", "file", "pos", "event", "row"),
    unit=BINLOG_BYTES,
    measured=("pos",),
    frame=_SNAPSHOT,
    skipped=("event", "row"),
    contradictions=(
        Contradiction("file", "gtids", *_GTIDS_DECIDE, unless=_IGNORE_GTIDS),
        Contradiction("pos", "gtids", *_GTIDS_DECIDE, unless=_IGNORE_GTIDS),
    ),
    tied=_LOGICAL_NAME,
)
"""`BinlogPartition`, `BinlogOffsetContext`; the order is that of `BinlogHistoryRecordComparator`.

`BinlogStreamingChangeEventSource.execute` continues from `gtids`, if the server has GTIDs and they are not ignored.
Otherwise it continues from `file` and `pos`, and skips `event` events and `row` rows there: the same numbers at every
transaction of one row. `server_id` and `ts_sec` are not read.
"""

_POSTGRES_OPERATIONS = (
    *("INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE", "BEGIN", "COMMIT", "NOOP", "ORIGIN"),
    None,
)
"""`ReplicationMessage.Operation`: the loader fails on any other value."""
POSTGRES = Shape(
    "Debezium for PostgreSQL",
    (_SERVER,),
    _debezium(
        {"lsn": PG_LSN},
        {
            "lsn_proc": PG_LSN,
            "lsn_commit": PG_LSN,
            "lsn_events_processed": NUMBER,
            "txId": NUMBER,
            "xmin": NUMBER,
            "ts_usec": SIGNED,
            "messageType": TEXT,
            "last_snapshot_record": FLAG,
        },
        nullable="lsn_proc lsn_commit txId xmin messageType",
        choices={"messageType": _POSTGRES_OPERATIONS},
    ),
    ("lsn_proc", "lsn_events_processed"),
    unit=WAL_BYTES,
    measured=("lsn_proc",),
    frame=(*_SNAPSHOT, "last_snapshot_record"),
    skipped=("lsn_events_processed",),
    instead={"lsn_proc": "lsn"},
    contradictions=(
        Contradiction("lsn", "lsn_proc", "the connector resumes from lsn_proc", "change lsn_proc, or remove it"),
    ),
    tied=_LOGICAL_NAME,
)
"""`PostgresPartition`, `PostgresOffsetContext`. `PostgresStreamingChangeEventSource.execute` resumes from `lsn_proc`,
or from `lsn` if there is none. `lsn_commit` alone moves nothing: it is compared with the slot's `restart_lsn` when the
task starts (`PostgresConnection.validateLogPosition`). `lsn_proc` may be more than `lsn`, as transactions come in the
order of their commits."""

_LSN_FIELDS = _debezium({"commit_lsn": LSN}, {"change_lsn": LSN, "event_serial_no": NUMBER}, nullable="change_lsn")
_LSN_POSITION = ("commit_lsn", "change_lsn", "event_serial_no")
_OTHER_TRANSACTION = Contradiction(
    "commit_lsn",
    "change_lsn",
    "change_lsn is a change of the transaction that commit_lsn names",
    "write the change_lsn of that transaction, or null to read all of it",
)
"""`SqlServerStreamingChangeEventSource`, `TxLogPosition`: the first transaction is read from `change_lsn` on."""

SQL_SERVER = Shape(
    "Debezium for SQL Server",
    (ShapeFields({"server": TEXT, "database": TEXT}), _SERVER),
    _LSN_FIELDS,
    _LSN_POSITION,
    frame=_SNAPSHOT,
    skipped=("event_serial_no",),
    contradictions=(_OTHER_TRANSACTION,),
    tied=(*_LOGICAL_NAME, Tied("database", "manifest/database", ("database.names", "database.dbname"), is_list=True)),
)
"""`SqlServerPartition` (the second form is that of Debezium 1), `SqlServerOffsetContext`, `TxLogPosition`, `Lsn`."""

DB2 = replace(SQL_SERVER, name="Debezium for Db2", partitions=(_SERVER,), tied=_LOGICAL_NAME)
"""`Db2Partition`, `Db2OffsetContext`."""

INFORMIX = Shape(
    "Debezium for Informix",
    (ShapeFields({"databaseName": TEXT}),),
    _debezium(
        {"commit_lsn": SEQUENCE}, {"change_lsn": SEQUENCE, "begin_lsn": SEQUENCE}, nullable="change_lsn begin_lsn"
    ),
    ("commit_lsn", "change_lsn"),
    frame=_SNAPSHOT,
    contradictions=(
        _OTHER_TRANSACTION,
        Contradiction(
            "commit_lsn",
            "begin_lsn",
            "the connector starts to read at begin_lsn",
            "change begin_lsn as well, or remove it",
            is_limit=True,
        ),
    ),
)
"""`InformixPartition`, `InformixOffsetContext`; its `Lsn` is one number, which `Lsn.of` takes only in quotes.
`InformixStreamingChangeEventSource` begins at `begin_lsn` and skips what was committed before `commit_lsn`."""

ORACLE = Shape(
    "Debezium for Oracle",
    (_SERVER,),
    _debezium(
        {},
        {
            "scn": DIGITS,
            "commit_scn": COMMIT_SCN,
            "lcr_position": TEXT,
            "scn_idx": SIGNED,
            "snapshot_scn": DIGITS,
            "snapshot_pending_tx": TEXT,
            "txId": TEXT,
            "txSeq": NUMBER,
            "window_advance_enabled": FLAG,
        },
        nullable="scn commit_scn lcr_position",
        any_of=("scn", "lcr_position"),
    ),
    ("scn",),
    frame=(*_SNAPSHOT, "lcr_position", "snapshot_scn", "snapshot_pending_tx"),
    contradictions=(
        Contradiction("scn", "lcr_position", "XStream resumes from lcr_position", "change lcr_position, or remove it"),
        Contradiction(
            "scn",
            "commit_scn",
            "the connector skips what was committed before commit_scn",
            "change commit_scn as well, or remove it",
            is_limit=True,
        ),
    ),
    tied=_LOGICAL_NAME,
)
"""`OraclePartition`, `OracleOffsetContext`, `CommitScn`. Numbers without quotes come from Debezium 1.4 and before.
LogMiner resumes from `scn` (`BufferedLogMinerStreamingChangeEventSource`), XStream from `lcr_position`, and from `scn`
if there is none (`XStreamOracleOffsetContextLoader`)."""

MONGODB = Shape(
    "Debezium for MongoDB",
    (ShapeFields({"server_id": TEXT}), ShapeFields({"server_id": TEXT, "rs": TEXT})),
    ShapeFields(
        {"sec": SMALL, "ord": SIGNED},
        {
            "resume_token": TOKEN,
            "initsync": ANY,
            "lsid": TEXT,
            "txnNumber": SIGNED,
        },
        nullable=frozenset({"resume_token", "lsid", "txnNumber"}),
        prefixes=_DEBEZIUM_PREFIXES,
    ),
    ("resume_token", "sec", "ord"),
    frame=("initsync",),
    if_both=("resume_token",),
    contradictions=tuple(
        Contradiction(
            changed,
            "resume_token",
            "the change stream is resumed after resume_token",
            "change resume_token, or remove it: then sec and ord decide",
        )
        for changed in ("sec", "ord")
    ),
    tied=(Tied("server_id", "manifest/server", ("topic.prefix", "mongodb.name")),),
)
"""`MongoDbPartition`, `MongoDbOffsetContext`.

`MongoDbStreamingChangeEventSource` resumes after the token. Without a token it resumes at the time `sec`, `ord`.
"""

_PER_TASK = "vitess.offset.storage.per.task"


def _partitions_of_tasks(config: Mapping[str, str]) -> Ties:
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


VITESS = Shape(
    "Debezium for Vitess",
    (_SERVER, ShapeFields({"server": TEXT, "task_key": TEXT})),
    ShapeFields({"vgtid": VGTID}, prefixes=_DEBEZIUM_PREFIXES),
    ("vgtid",),
    tied=_LOGICAL_NAME,
    reads=_partitions_of_tasks,
)
"""`VitessPartition`, `VitessOffsetContext`, `Vgtid.of`, `VitessConnectorConfig.offsetStoragePerTask`."""
