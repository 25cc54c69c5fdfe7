"""The families for `planted_families`: one for each known connector, and some for unknown classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

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


_LISTS = {"TOPICS": " , ".join(f"t{n}" for n in range(400)), "TABLES": ", ".join(f"t{n}" for n in range(400))}
"""Long values of config keys."""
_SCHEMAS = {"mirror with a schema": PATTERN, "a class of one's own": COUNTER}
_VALID_ENTRIES: Mapping[str, Callable[[int], Entry]] = {
    "mirror": _mirrored,
    "mirror, alias unknown": _mirrored,
    "mirror with a schema": _mirrored,
    "sink": _sunk,
    "sink of a pattern": _sunk,
    "sink, Java": _sunk,
    "checkpoints": lambda n: _entry({"group": f"g{n}", "topic": "t", "partition": n}, {"offset": 0}),
    "heartbeats": lambda n: _entry({"sourceClusterAlias": f"c{n}", "targetClusterAlias": "target"}, {"offset": 0}),
    "heartbeats of one": lambda _: _entry({"sourceClusterAlias": "eu", "targetClusterAlias": "us"}, {"offset": 0}),
    "files": lambda n: _entry({"filename": f"/data/{n}"}, {"position": n * 9}),
    "its own file": lambda n: _entry({"filename": "/data/orders.txt"}, {"position": n * 9}),
    "MySQL": _logged,
    "MySQL of a name": lambda n: {**_logged(n), "partition": {"server": "shop"}},
    "MariaDB of Debezium 1": lambda n: {**_logged(n), "partition": {"server": "shop"}},
    "PostgreSQL": lambda n: _entry({"server": f"s{n}"}, {"lsn": n * 100, "ts_usec": -n}),
    "SQL Server": lambda n: _entry(
        {"server": "shop", "database": f"db{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}
    ),
    "Db2": lambda n: _entry({"server": f"s{n}"}, {"commit_lsn": f"0000002b:00000c70:{n:04}"}),
    "Informix": lambda n: _entry({"databaseName": f"d{n}"}, {"commit_lsn": str(n * 4)}),
    "Oracle": lambda n: _entry({"server": f"s{n}"}, {"scn": str(n * 4)}),
    "MongoDB": lambda n: _entry({"server_id": "shop", "rs": f"rs{n}"}, {"sec": n, "ord": -n, "resume_token": None}),
    "Vitess": lambda n: _entry({"server": "shop", "task_key": f"k{n}"}, {"vgtid": _shard(n)}),
    "JDBC": lambda n: _entry({"protocol": "1", "table": f"db.t{n}"}, {"incrementing": n}),
    "JDBC of some tables": lambda n: _entry(
        {"protocol": "1", "table": f"public.t{n}"}, {"timestamp": n * 1000, "timestamp_nanos": 0}
    ),
    "a class of nobody": _free,
    "a config that is not known": _free,
    "a class of nobody, types mixed": lambda n: _entry({"shard": n}, {"seq": str(n) if n % 2 else n}),
    "a class of one's own": lambda n: _entry({"shard": n}, {"count": n}),
}
"""A valid entry of each family."""


def _faults(name: str, facts: Mapping[str, Any]) -> Mapping[str, Plant]:
    if name == "mirror with a schema":
        changed = ("partition.topic not ASCII", "partition.topic escapes", "offset.\0\x1b extra")
        return {one: plant for one, plant in plants("mirror").items() if one not in changed} | {**plants(name)}
    found = plants(facts.get("faults", name))
    return _untied(found) if facts.get("untied") else found


def _family(name: str, facts: Mapping[str, Any]) -> Family:
    config = facts["config"] and {key: _LISTS.get(value, value) for key, value in facts["config"].items()}
    return Family(
        name,
        config,
        _VALID_ENTRIES[name],
        _faults(name, facts),
        facts.get("spare", ""),
        frozenset(facts.get("lenient", ())),
        facts.get("keeps_all", False),
        facts.get("all_exist", False),
        facts.get("counted", ""),
        _SCHEMAS.get(name),
    )


_READ = yaml.safe_load(Path(__file__).with_name("planted_families.yaml").read_text())
FAMILIES: Mapping[str, Family] = {name: _family(name, facts) for name, facts in _READ.items()}
"""All families, by name."""
