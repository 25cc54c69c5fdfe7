"""The families for `planted_families`: one for each known connector, and some for unknown classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from support.files.manifests import MIRROR, OTHER
from support.planted.planted_families import (
    COUNTER,
    OF_MIRROR,
    PATTERN,
    UNKNOWN,
    UNREAD_FIELD,
    Entry,
    Family,
    Plant,
    Says,
    drop,
    lacks,
    mirrored,
    natural,
    plants,
    put,
    signed,
    small,
    text,
)
from support.planted.planted_faults import (
    BINLOG,
    COUNTS,
    DEBEZIUM,
    FILENAME,
    FREE,
    LSNS,
    MIXED,
    POSITION,
    SINKS,
    WRONG,
    ZEROS,
    digits,
    elsewhere,
    name_only,
    sequence,
)
from support.planted.planted_jdbc import OF_JDBC


def _entry(partition: Entry, offset: Entry) -> Entry:
    return {"partition": partition, "offset": offset}


def _sunk(n: int) -> Entry:
    return _entry({"kafka_topic": f"t{n}", "kafka_partition": n % 4}, {"kafka_offset": n * 3})


def _logged(n: int) -> Entry:
    return _entry({"server": f"s{n}"}, {"file": f"mysql-bin.{n:06}", "pos": n * 5})


def _shard(n: int) -> str:
    return json.dumps([{"keyspace": "shop", "shard": str(n), "gtid": f"MySQL56/{_UUID}:1-{n}"}])


_UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def _free(n: int) -> Entry:
    return _entry({"shard": n, "zone": f"z{n % 3}"}, {"seq": n, "name": f"x{n}", "ratio": n + 0.5, "done": n % 2 == 0})


def _untied(given: Mapping[str, Plant]) -> dict[str, Plant]:
    """The same faults, for a config that does not say what is read."""
    return {name: replace(one, says=tuple(say for say in one.says if not say.tie)) for name, one in given.items()}


def _config(class_name: str, **more: str) -> dict[str, str]:
    return {"connector.class": class_name, **{key.replace("_", "."): value for key, value in more.items()}}


_SINK: Any = {"lenient": frozenset({"kafka_topic", "kafka_partition"}), "counted": "kafka_offset"}
_TOPICS = " , ".join(f"t{n}" for n in range(400))
_OF_PATTERN = {
    **{
        name: one
        for name, one in OF_MIRROR.items()
        if name not in ("partition.topic not ASCII", "partition.topic escapes", "offset.\0\x1b extra")
    },
    **plants(
        put("partition.topic", lambda n: f"x{n}", Says("own-schema", eased=True), may_exist=True, name="pattern"),
        put("offset.unheard", 1, Says("unknown-field"), Says("own-schema"), name="extra"),
    ),
}
_KNOWN: Any = [
    Family("mirror", MIRROR, mirrored, OF_MIRROR, counted="offset"),
    Family(
        "mirror, alias unknown",
        {**MIRROR, "source.cluster.alias": "${env:A}"},
        mirrored,
        _untied(OF_MIRROR),
        counted="offset",
    ),
    Family("mirror with a schema", MIRROR, mirrored, _OF_PATTERN, counted="offset", schema=PATTERN),
    Family("sink", _config("com.example.MySink", topics=_TOPICS), _sunk, SINKS, **_SINK),
    Family("sink of a pattern", _config("com.example.MySink", topics_regex="t[0-9]+"), _sunk, SINKS, **_SINK),
    Family("sink, Java", _config("S", topics_regex=r"t\p{Digit}+"), _sunk, _untied(SINKS), **_SINK),
    Family(
        "checkpoints",
        _config("MirrorCheckpoint"),
        lambda n: _entry({"group": f"g{n}", "topic": "t", "partition": n}, {"offset": 0}),
        plants(
            ZEROS, text("partition.group"), small("partition.partition"), lacks("partition.topic", "topc"), UNREAD_FIELD
        ),
    ),
    Family(
        "heartbeats",
        _config("MirrorHeartbeatConnector"),
        lambda n: _entry({"sourceClusterAlias": f"c{n}", "targetClusterAlias": "target"}, {"offset": 0}),
        plants(
            ZEROS,
            text("partition.sourceClusterAlias"),
            elsewhere("partition.targetClusterAlias", "alias"),
            UNREAD_FIELD,
        ),
    ),
    Family(
        "heartbeats of one",
        _config("MirrorHeartbeat", source_cluster_alias="eu", target_cluster_alias="us"),
        lambda _: _entry({"sourceClusterAlias": "eu", "targetClusterAlias": "us"}, {"offset": 0}),
        plants(ZEROS, elsewhere("partition.sourceClusterAlias", "alias"), UNREAD_FIELD),
        spare="partition.sourceClusterAlias elsewhere",
    ),
    Family(
        "files",
        _config("FileStreamSource"),
        lambda n: _entry({"filename": f"/data/{n}"}, {"position": n * 9}),
        plants(FILENAME, POSITION),
        counted="position",
    ),
    Family(
        "its own file",
        _config("FileStreamSourceConnector", file="/data/orders.txt"),
        lambda n: _entry({"filename": "/data/orders.txt"}, {"position": n * 9}),
        plants(FILENAME, POSITION, elsewhere("partition.filename", "file", "/data/")),
        spare="partition.filename elsewhere",
        counted="position",
    ),
    Family("MySQL", _config("MySql"), _logged, plants(name_only(), BINLOG), keeps_all=True),
    Family(
        "MySQL of a name",
        _config("io.debezium.connector.mysql.MySqlConnector", topic_prefix="shop"),
        lambda n: {**_logged(n), "partition": {"server": "shop"}},
        plants(name_only(), BINLOG, elsewhere("partition.server", "server")),
        spare="partition.server elsewhere",
        keeps_all=True,
    ),
    Family(
        "MariaDB of Debezium 1",
        _config("MariaDb", database_server_name="shop"),
        lambda n: {**_logged(n), "partition": {"server": "shop"}},
        plants(name_only(), BINLOG, elsewhere("partition.server", "server")),
        spare="partition.server elsewhere",
        keeps_all=True,
    ),
    Family(
        "PostgreSQL",
        _config("PostgresConnector"),
        lambda n: _entry({"server": f"s{n}"}, {"lsn": n * 100, "ts_usec": -n}),
        plants(
            name_only(),
            DEBEZIUM,
            natural("offset.lsn"),
            signed("offset.ts_usec"),
            lacks("offset.lsn", "lsm"),
            put("offset.lsn_proc", None, name="null"),
            put("offset.lsn_proc", "5", WRONG),
            put("offset.lsn_proc", "0/123456789", WRONG, name="no LSN"),
            put("offset.lsn_commit", "0/1985390", name="LSN"),
            put("offset.last_snapshot_record", "true", WRONG),
            put("offset.last_snapshot_record", True),
            put("offset.messageType", None, name="null"),
            put("offset.messageType", "UPSERT", Says("choice")),
            put("offset.messageType", "INSERT"),
        ),
        keeps_all=True,
    ),
    Family(
        "SQL Server",
        _config("SqlServer", topic_prefix="shop"),
        lambda n: _entry({"server": "shop", "database": f"db{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}),
        plants(
            LSNS,
            name_only(),
            text("partition.database", eased=True),
            elsewhere("partition.server", "server"),
            drop("partition.database"),
        ),
        keeps_all=True,
    ),
    Family(
        "Db2",
        _config("Db2"),
        lambda n: _entry({"server": f"s{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}),
        plants(LSNS, name_only()),
        keeps_all=True,
    ),
    Family(
        "Informix",
        _config("Informix"),
        lambda n: _entry({"databaseName": f"d{n}"}, {"commit_lsn": str(n * 4)}),
        plants(
            DEBEZIUM,
            name_only("databaseName"),
            sequence("offset.commit_lsn"),
            drop("offset.commit_lsn", Says("shape")),
            put("offset.begin_lsn", None, name="null"),
        ),
        keeps_all=True,
    ),
    Family(
        "Oracle",
        _config("Oracle"),
        lambda n: _entry({"server": f"s{n}"}, {"scn": str(n * 4)}),
        plants(
            DEBEZIUM,
            name_only(),
            digits("offset.scn"),
            drop("offset.scn", Says("shape")),
            put("offset.scn", None, Says("shape"), name="null"),
            put("offset.commit_scn", "1:1:2"),
            put("offset.commit_scn", "1:1", WRONG),
            put("offset.commit_scn", [], Says("type", unkept=True)),
            put("offset.txSeq", -1, Says("negative")),
        ),
        keeps_all=True,
    ),
    Family(
        "MongoDB",
        _config("MongoDb", topic_prefix="shop"),
        lambda n: _entry({"server_id": "shop", "rs": f"rs{n}"}, {"sec": n, "ord": -n, "resume_token": None}),
        plants(
            UNKNOWN,
            name_only("server_id"),
            text("partition.rs", eased=True),
            elsewhere("partition.server_id", "server"),
            drop("partition.rs"),
            small("offset.sec"),
            signed("offset.ord"),
            lacks("offset.sec", "secs"),
            put("offset.resume_token", 5, WRONG),
            put("offset.txnNumber", 1.0, WRONG),
            put("offset.initsync", True),
        ),
        keeps_all=True,
    ),
    Family(
        "Vitess",
        _config("Vitess", topic_prefix="shop", vitess_offset_storage_per_task="true"),
        lambda n: _entry({"server": "shop", "task_key": f"k{n}"}, {"vgtid": _shard(n)}),
        plants(
            UNKNOWN,
            name_only(),
            text("partition.task_key", eased=True),
            elsewhere("partition.server", "server"),
            drop("partition.task_key"),
            text("offset.vgtid"),
            put("offset.vgtid", "[1]", WRONG),
            lacks("offset.vgtid", "gtid"),
        ),
        keeps_all=True,
    ),
    *OF_JDBC,
    Family("a class of nobody", OTHER, _free, FREE, keeps_all=True),
    Family("a config that is not known", None, _free, FREE, keeps_all=True),
    Family(
        "a class of nobody, types mixed",
        OTHER,
        lambda n: _entry({"shard": n}, {"seq": str(n) if n % 2 else n}),
        MIXED,
        keeps_all=True,
        all_exist=True,
    ),
    Family(
        "a class of one's own",
        OTHER,
        lambda n: _entry({"shard": n}, {"count": n}),
        COUNTS,
        keeps_all=True,
        counted="count",
        schema=COUNTER,
    ),
]
FAMILIES: Mapping[str, Family] = {one.name: one for one in _KNOWN}
"""All families, by name."""
