"""What decides where a Debezium connector resumes: taken from its source and its documentation.

The rules hold for Debezium 3.3 to 3.6, unless a version is named. `BaseSourceTask.validateSchemaHistory` compares the
offset with the server's oldest position before the task starts. If the position is gone, the task fails (`… no longer
available on the server`), or takes a new snapshot with `snapshot.mode: when_needed`
(`WhenNeededSnapshotter.shouldSnapshotOnDataError`).
"""

from __future__ import annotations

from gitops_connect.families.resume import (
    FORWARD,
    NEW,
    REMOVED,
    REWIND,
    ResumeCondition,
    ResumeRule,
    ResumeRules,
    one_of,
)

_WHEN_NEEDED = one_of("snapshot.mode", "when_needed")
_NO_DATA = one_of("snapshot.mode", "no_data", "schema_only", "never")
_RECOVERY = one_of("snapshot.mode", "recovery", "schema_only_recovery")
_GONE = "the task fails (`no longer available on the server`)"
_SNAPSHOT = "`snapshot.mode: when_needed` takes a new snapshot of all tables instead"


def _again(ways: str, *when: ResumeCondition, only_if: str = "") -> tuple[ResumeRule, ...]:
    """How to read rows again. `only_if`: the condition under which the earlier offset alone does not do it."""
    without_data = f"{only_if}run an ad hoc incremental snapshot; with this `snapshot.mode`, a reset reads no row again"
    return (
        REWIND.again(f"{only_if}{ways}", when=(*when, ~_NO_DATA)),
        REWIND.again(without_data, when=(*when, _NO_DATA)),
    )


_RESET = "reset the offsets (the next start takes a new snapshot), or run an ad hoc incremental snapshot"
_ANY_SNAPSHOT = f"set `snapshot.mode: when_needed`, or {_RESET}"
_AFTER_DELETION = "if the server has deleted that part of its log, "
_REMOVED_SNAPSHOT = REMOVED.effect(
    "the next start takes a new snapshot, as `snapshot.mode` specifies", when=(~_NO_DATA,)
)


def _log(needs: str, *, is_checked: bool = True) -> tuple[ResumeRule, ...]:
    """An offset in a log whose oldest part the server deletes. `is_checked`: Debezium checks it at the start."""
    if not is_checked:
        missing = (
            "Debezium does not check whether the log still has these changes: deleted changes are missing silently"
        )
        return ((REWIND | NEW).needs(needs), (REWIND | NEW).risk(missing))
    return (
        (REWIND | NEW).needs(f"{needs}; otherwise {_GONE}", when=(~_WHEN_NEEDED,)),
        (REWIND | NEW).needs(f"{needs}; otherwise {_SNAPSHOT}", when=(_WHEN_NEEDED,)),
    )


_STREAM_ONLY = REMOVED.decides(
    "without an offset, the server decides where reading starts: this `snapshot.mode` takes no snapshot of rows",
    when=(_NO_DATA,),
    external=True,
)
_HISTORY = (
    NEW.decides(
        "the schema history topic also decides: if it does not describe the tables at this position, the task fails"
        " (`The db history topic is missing`)",
        when=(~_RECOVERY,),
        external=True,
    ),
    NEW.needs(
        "no table definition may have changed since this position, because `snapshot.mode: recovery` rebuilds the"
        " schema history from the current tables",
        when=(_RECOVERY,),
    ),
    REWIND.needs("the schema history topic must reach back to that position"),
    FORWARD.risk("the schema history does not contain the table changes (DDL) that are skipped"),
    _REMOVED_SNAPSHOT,
    _STREAM_ONLY,
)
"""`BaseSourceTask.validateSchemaHistory`, `HistorizedRelationalDatabaseSchema.recover`, `RecoverySnapshotter`."""


def _historized(until: str, *rules: ResumeRule, again: str = _ANY_SNAPSHOT) -> ResumeRules:
    """The rules of a connector with a schema history topic. `until`: as long as the database has the position."""
    every = (*rules, *_HISTORY, *_again(again, only_if=_AFTER_DELETION))
    return ResumeRules(f"the offset, if {until}; and the schema history topic", every)


_SILENT = (
    "otherwise, or if the offset has only `lsn` or an unchanged `lsn_commit`, no row is read again, without an error"
)
"""Observed with 3.3: it compares `lsn_commit` with restart_lsn, and compares nothing if the offset has only `lsn`."""
_MANUAL_FLUSH = ResumeCondition((("lsn.flush.mode", frozenset({"manual"})), ("flush.lsn.source", frozenset({"false"}))))
_TRUSTS_SLOT = one_of("offset.mismatch.strategy", "trust_slot", "trust_greater_lsn")
POSTGRES = ResumeRules(
    "the replication slot: PostgreSQL sends nothing before its `confirmed_flush_lsn`, which advances as rows are read",
    (
        REWIND.decides(
            "the replication slot decides, not the offset: PostgreSQL sends nothing before its confirmed_flush_lsn",
            when=(~_MANUAL_FLUSH,),
            external=True,
        ),
        REWIND.needs(
            "the slot must still retain that part of the WAL; with this config, the connector does not move the slot's"
            " confirmed_flush_lsn",
            when=(_MANUAL_FLUSH,),
        ),
        REWIND.risk(
            f"with an offset before the slot's restart_lsn, {_GONE}; {_SILENT}",
            when=(~_MANUAL_FLUSH, ~_WHEN_NEEDED, ~_TRUSTS_SLOT),
        ),
        REWIND.risk(
            f"for an offset before the slot's restart_lsn, {_SNAPSHOT}; {_SILENT}",
            when=(~_MANUAL_FLUSH, _WHEN_NEEDED, ~_TRUSTS_SLOT),
        ),
        REWIND.risk(
            "no row is read again: with this `offset.mismatch.strategy`, the connector starts at the slot's position",
            when=(~_MANUAL_FLUSH, _TRUSTS_SLOT),
        ),
        *_again(_ANY_SNAPSHOT, ~_MANUAL_FLUSH),
        *_again(_ANY_SNAPSHOT, _MANUAL_FLUSH, only_if="if the slot no longer retains that part of the WAL, "),
        FORWARD.decides(
            "the WAL also decides: only PostgreSQL knows the end of the WAL (pg_current_wal_lsn())", external=True
        ),
        FORWARD.risk("if the LSN is past the end of the WAL, the connector stays RUNNING and delivers no new rows"),
        NEW.decides(
            "the replication slot also decides: it must exist, and its restart_lsn must not be after this LSN",
            external=True,
        ),
        NEW.risk(
            f"without a slot, {_GONE}; with a slot that starts later, earlier changes are missing without an error",
            when=(~_WHEN_NEEDED, ~_TRUSTS_SLOT),
        ),
        NEW.risk(f"without such a slot, {_SNAPSHOT}", when=(_WHEN_NEEDED, ~_TRUSTS_SLOT)),
        NEW.risk("with this `offset.mismatch.strategy`, an earlier LSN has no effect", when=(_TRUSTS_SLOT,)),
        _REMOVED_SNAPSHOT,
        REMOVED.decides(
            "the replication slot decides: without an offset and a snapshot, the connector continues from the slot's"
            " confirmed_flush_lsn, and no row is read again",
            when=(_NO_DATA,),
            external=True,
        ),
    ),
    unchecked="this class does not check offsets: the replication slot also decides where it resumes",
)
"""`PostgresConnection.validateLogPosition` (restart_lsn), `PostgresReplicationConnection.startStreaming`.

`PostgresConnectorConfig`: `flush.lsn.source`, and from 3.4 on `lsn.flush.mode` (which has priority) and
`offset.mismatch.strategy`; documentation page `postgresql`. PostgreSQL: START_REPLICATION begins at the requested LSN
or at `confirmed_flush_lsn`, at the later of both.
"""

BINLOG = ResumeRules(
    "the offset (its GTID set if it has one), if the server still has the binlogs; and the schema history topic",
    (
        *_log(
            "the server must still have the binlogs from that position on (with GTIDs: all transactions after the set)"
        ),
        FORWARD.risk(
            f"with a file or GTIDs that the server does not have, {_GONE}; a `pos` must be the start of an event",
            when=(~_WHEN_NEEDED,),
        ),
        FORWARD.risk(
            f"for a binlog file or GTIDs that the server does not have, {_SNAPSHOT}; a `pos` must be the start of an"
            " event",
            when=(_WHEN_NEEDED,),
        ),
        (REWIND | FORWARD | NEW).risk(
            "on a server with GTIDs, an offset needs `gtids`: without them, MariaDB's connector fails, and MySQL's"
            " starts at the oldest binlog"
        ),
        *_HISTORY,
        *_again(_ANY_SNAPSHOT, only_if=_AFTER_DELETION),
    ),
)
"""`BinlogConnectorConnection.isBinlogPositionAvailable` checks the file or the GTIDs, and not `pos`.

Documentation pages `mysql` and `mariadb`.
"""

SQL_SERVER = _historized(
    "the change tables still contain it",
    *_log("the change tables must reach back to that LSN (the CDC cleanup job deletes older changes)"),
    FORWARD.risk("nothing is read until the database reaches that LSN"),
)
"""`SqlServerConnection.validateLogPosition` (the lowest LSN of all change tables); documentation page `sqlserver`."""

DB2 = _historized(
    "the change tables still contain it",
    *_log("the change tables must reach back to that LSN (the capture agent prunes older changes)", is_checked=False),
    FORWARD.risk("nothing is read until the database reaches that LSN"),
    again=_RESET,
)
"""`Db2Connection.validateLogPosition` accepts every position; documentation page `db2`."""

INFORMIX = _historized(
    "the server still has the logical logs",
    *_log("the logical logs must reach back to that LSN (to `begin_lsn`, if the offset has it)"),
    FORWARD.risk("nothing is read until the database reaches that LSN"),
)
"""`InformixConnection.validateLogPosition`; documentation page `informix`."""

ORACLE = _historized(
    "the database still has the online and archive logs",
    *_log("the redo and archive logs must reach back to that SCN"),
    FORWARD.risk("nothing is read until the database reaches that SCN"),
)
"""`OracleConnection.validateLogPosition` (the first SCN of the logs); documentation page `oracle`."""

MONGODB = ResumeRules(
    "the offset's `resume_token`, if the oplog still has it",
    (
        *_log("the oplog must still contain the `resume_token`; `sec` and `ord` alone do not decide"),
        FORWARD.risk(f"with a `resume_token` that the server does not accept, {_GONE}"),
        *_again(_ANY_SNAPSHOT, only_if=_AFTER_DELETION),
        _REMOVED_SNAPSHOT,
        _STREAM_ONLY,
    ),
)
"""`MongoDbConnection.validateLogPosition` opens a change stream with the token; documentation page `mongodb`."""

VITESS = ResumeRules(
    "the offset's VGTID, if each shard still has the binlogs",
    (
        (REWIND | NEW).needs(
            "the binlogs of every shard must reach back to that VGTID; otherwise VStream ends with an error"
        ),
        REWIND.again(f"{_AFTER_DELETION}reset the offsets: the next start copies the tables again", when=(~_NO_DATA,)),
        _REMOVED_SNAPSHOT,
        _STREAM_ONLY,
    ),
)
"""`VitessConnectorTask` checks no position; documentation page `vitess`."""
