"""Debezium's connectors, as data: the partitions and offsets of each, and which field decides where it resumes."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_connect.model.shape_fields import Choice, Contradiction, FieldType, Shape, ShapeFields, Tie, Tied
from gitops_connect.model.units import Unit

_TEXT, _NUMBER, _SMALL, _SIGNED = FieldType.TEXT, FieldType.NUMBER, FieldType.SMALL, FieldType.SIGNED
_LSN, _DIGITS, _FLAG, _ANY = FieldType.LSN, FieldType.DIGITS, FieldType.FLAG, FieldType.ANY

_SERVER = ShapeFields({"server": _TEXT})
_LOGICAL_NAME = (Tied("server", Tie.SERVER, ("topic.prefix", "database.server.name")),)
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
    required: Mapping[str, FieldType],
    optional: Mapping[str, FieldType] | None = None,
    *,
    nullable: str = "",
    any_of: tuple[str, ...] = (),
    choices: Mapping[str, tuple[Choice, ...]] | None = None,
) -> ShapeFields:
    return ShapeFields(
        required,
        {**dict.fromkeys(_SNAPSHOT, _ANY), **(optional or {})},
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
        {"file": FieldType.BINLOG, "pos": _NUMBER},
        {
            "gtids": FieldType.GTIDS,
            "server_id": FieldType.SERVER,
            "event": _NUMBER,
            "row": _NUMBER,
            "ts_sec": _SIGNED,
        },
        nullable="gtids",
    ),
    ("gtids", "server_id", "file", "pos", "event", "row"),
    unit=Unit.BINLOG_BYTES,
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
        {"lsn": FieldType.PG_LSN},
        {
            "lsn_proc": FieldType.PG_LSN,
            "lsn_commit": FieldType.PG_LSN,
            "lsn_events_processed": _NUMBER,
            "txId": _NUMBER,
            "xmin": _NUMBER,
            "ts_usec": _SIGNED,
            "messageType": _TEXT,
            "last_snapshot_record": _FLAG,
        },
        nullable="lsn_proc lsn_commit txId xmin messageType",
        choices={"messageType": _POSTGRES_OPERATIONS},
    ),
    ("lsn_proc", "lsn_events_processed"),
    unit=Unit.WAL_BYTES,
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

_LSN_FIELDS = _debezium({"commit_lsn": _LSN}, {"change_lsn": _LSN, "event_serial_no": _NUMBER}, nullable="change_lsn")
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
    (ShapeFields({"server": _TEXT, "database": _TEXT}), _SERVER),
    _LSN_FIELDS,
    _LSN_POSITION,
    frame=_SNAPSHOT,
    skipped=("event_serial_no",),
    contradictions=(_OTHER_TRANSACTION,),
    tied=(*_LOGICAL_NAME, Tied("database", Tie.DATABASE, ("database.names", "database.dbname"))),
)
"""`SqlServerPartition` (the second form is that of Debezium 1), `SqlServerOffsetContext`, `TxLogPosition`, `Lsn`."""

DB2 = Shape(
    "Debezium for Db2",
    (_SERVER,),
    _LSN_FIELDS,
    _LSN_POSITION,
    frame=_SNAPSHOT,
    skipped=("event_serial_no",),
    contradictions=(_OTHER_TRANSACTION,),
    tied=_LOGICAL_NAME,
)
"""`Db2Partition`, `Db2OffsetContext`."""

_SEQUENCE = FieldType.SEQUENCE
INFORMIX = Shape(
    "Debezium for Informix",
    (ShapeFields({"databaseName": _TEXT}),),
    _debezium(
        {"commit_lsn": _SEQUENCE}, {"change_lsn": _SEQUENCE, "begin_lsn": _SEQUENCE}, nullable="change_lsn begin_lsn"
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
            "scn": _DIGITS,
            "commit_scn": FieldType.COMMIT_SCN,
            "lcr_position": _TEXT,
            "scn_idx": _SIGNED,
            "snapshot_scn": _DIGITS,
            "snapshot_pending_tx": _TEXT,
            "txId": _TEXT,
            "txSeq": _NUMBER,
            "window_advance_enabled": _FLAG,
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
    (ShapeFields({"server_id": _TEXT}), ShapeFields({"server_id": _TEXT, "rs": _TEXT})),
    ShapeFields(
        {"sec": _SMALL, "ord": _SIGNED},
        {
            "resume_token": FieldType.TOKEN,
            "initsync": _ANY,
            "lsid": _TEXT,
            "txnNumber": _SIGNED,
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
    tied=(Tied("server_id", Tie.SERVER, ("topic.prefix", "mongodb.name")),),
)
"""`MongoDbPartition`, `MongoDbOffsetContext`.

`MongoDbStreamingChangeEventSource` resumes after the token. Without a token it resumes at the time `sec`, `ord`.
"""

VITESS = Shape(
    "Debezium for Vitess",
    (_SERVER, ShapeFields({"server": _TEXT, "task_key": _TEXT})),
    ShapeFields({"vgtid": FieldType.VGTID}, prefixes=_DEBEZIUM_PREFIXES),
    ("vgtid",),
    tied=(*_LOGICAL_NAME, Tied("task_key", Tie.TASKS, ("vitess.offset.storage.per.task",))),
)
"""`VitessPartition`, `VitessOffsetContext`, `Vgtid.of`, `VitessConnectorConfig.offsetStoragePerTask`."""
