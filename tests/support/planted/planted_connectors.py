"""The families for `planted_families`: one for each known connector, and some for unknown classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from support.files.manifests import MIRROR, OTHER
from support.files.manifests import entry as _entry
from support.planted.planted_families import COUNTER, PATTERN, Entry, Family, Plant, plants


def _mirrored(n: int) -> Entry:
    return _entry({"cluster": "source", "topic": f"t{n}", "partition": n}, {"offset": n * 7})


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
_TABLES = {
    "connector.class": "JdbcSourceConnector",
    "table.whitelist": ", ".join(f"t{n}" for n in range(400)),
    "connection.url": "jdbc:postgresql://db/shop",
}
_OF_PATTERN = {
    **{
        name: one
        for name, one in plants("mirror").items()
        if name not in ("partition.topic not ASCII", "partition.topic escapes", "offset.\0\x1b extra")
    },
    **plants("mirror with a schema"),
}
_KNOWN: Any = [
    Family("mirror", MIRROR, _mirrored, plants("mirror"), counted="offset"),
    Family(
        "mirror, alias unknown",
        {**MIRROR, "source.cluster.alias": "${env:A}"},
        _mirrored,
        _untied(plants("mirror")),
        counted="offset",
    ),
    Family("mirror with a schema", MIRROR, _mirrored, _OF_PATTERN, counted="offset", schema=PATTERN),
    Family("sink", _config("com.example.MySink", topics=_TOPICS), _sunk, plants("sink"), **_SINK),
    Family("sink of a pattern", _config("com.example.MySink", topics_regex="t[0-9]+"), _sunk, plants("sink"), **_SINK),
    Family("sink, Java", _config("S", topics_regex=r"t\p{Digit}+"), _sunk, _untied(plants("sink")), **_SINK),
    Family(
        "checkpoints",
        _config("MirrorCheckpoint"),
        lambda n: _entry({"group": f"g{n}", "topic": "t", "partition": n}, {"offset": 0}),
        plants("checkpoints"),
    ),
    Family(
        "heartbeats",
        _config("MirrorHeartbeatConnector"),
        lambda n: _entry({"sourceClusterAlias": f"c{n}", "targetClusterAlias": "target"}, {"offset": 0}),
        plants("heartbeats"),
    ),
    Family(
        "heartbeats of one",
        _config("MirrorHeartbeat", source_cluster_alias="eu", target_cluster_alias="us"),
        lambda _: _entry({"sourceClusterAlias": "eu", "targetClusterAlias": "us"}, {"offset": 0}),
        plants("heartbeats of one"),
        spare="partition.sourceClusterAlias elsewhere",
    ),
    Family(
        "files",
        _config("FileStreamSource"),
        lambda n: _entry({"filename": f"/data/{n}"}, {"position": n * 9}),
        plants("files"),
        counted="position",
    ),
    Family(
        "its own file",
        _config("FileStreamSourceConnector", file="/data/orders.txt"),
        lambda n: _entry({"filename": "/data/orders.txt"}, {"position": n * 9}),
        plants("its own file"),
        spare="partition.filename elsewhere",
        counted="position",
    ),
    Family("MySQL", _config("MySql"), _logged, plants("MySQL"), keeps_all=True),
    Family(
        "MySQL of a name",
        _config("io.debezium.connector.mysql.MySqlConnector", topic_prefix="shop"),
        lambda n: {**_logged(n), "partition": {"server": "shop"}},
        plants("MySQL of a name"),
        spare="partition.server elsewhere",
        keeps_all=True,
    ),
    Family(
        "MariaDB of Debezium 1",
        _config("MariaDb", database_server_name="shop"),
        lambda n: {**_logged(n), "partition": {"server": "shop"}},
        plants("MariaDB of Debezium 1"),
        spare="partition.server elsewhere",
        keeps_all=True,
    ),
    Family(
        "PostgreSQL",
        _config("PostgresConnector"),
        lambda n: _entry({"server": f"s{n}"}, {"lsn": n * 100, "ts_usec": -n}),
        plants("PostgreSQL"),
        keeps_all=True,
    ),
    Family(
        "SQL Server",
        _config("SqlServer", topic_prefix="shop"),
        lambda n: _entry({"server": "shop", "database": f"db{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}),
        plants("SQL Server"),
        keeps_all=True,
    ),
    Family(
        "Db2",
        _config("Db2"),
        lambda n: _entry({"server": f"s{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}),
        plants("Db2"),
        keeps_all=True,
    ),
    Family(
        "Informix",
        _config("Informix"),
        lambda n: _entry({"databaseName": f"d{n}"}, {"commit_lsn": str(n * 4)}),
        plants("Informix"),
        keeps_all=True,
    ),
    Family(
        "Oracle",
        _config("Oracle"),
        lambda n: _entry({"server": f"s{n}"}, {"scn": str(n * 4)}),
        plants("Oracle"),
        keeps_all=True,
    ),
    Family(
        "MongoDB",
        _config("MongoDb", topic_prefix="shop"),
        lambda n: _entry({"server_id": "shop", "rs": f"rs{n}"}, {"sec": n, "ord": -n, "resume_token": None}),
        plants("MongoDB"),
        keeps_all=True,
    ),
    Family(
        "Vitess",
        _config("Vitess", topic_prefix="shop", vitess_offset_storage_per_task="true"),
        lambda n: _entry({"server": "shop", "task_key": f"k{n}"}, {"vgtid": _shard(n)}),
        plants("Vitess"),
        keeps_all=True,
    ),
    Family(
        "JDBC",
        {"connector.class": "JdbcSourceConnector"},
        lambda n: _entry({"protocol": "1", "table": f"db.t{n}"}, {"incrementing": n}),
        plants("JDBC"),
        keeps_all=True,
    ),
    Family(
        "JDBC of some tables",
        _TABLES,
        lambda n: _entry({"protocol": "1", "table": f"public.t{n}"}, {"timestamp": n * 1000, "timestamp_nanos": 0}),
        plants("JDBC of some tables"),
        keeps_all=True,
    ),
    Family("a class of nobody", OTHER, _free, plants("a class of nobody"), keeps_all=True),
    Family("a config that is not known", None, _free, plants("a class of nobody"), keeps_all=True),
    Family(
        "a class of nobody, types mixed",
        OTHER,
        lambda n: _entry({"shard": n}, {"seq": str(n) if n % 2 else n}),
        plants("a class of nobody, types mixed"),
        keeps_all=True,
        all_exist=True,
    ),
    Family(
        "a class of one's own",
        OTHER,
        lambda n: _entry({"shard": n}, {"count": n}),
        plants("a class of one's own"),
        keeps_all=True,
        counted="count",
        schema=COUNTER,
    ),
]
FAMILIES: Mapping[str, Family] = {one.name: one for one in _KNOWN}
"""All families, by name."""
