"""The page about the resume position of each known connector class, from the rules of the plan."""

from __future__ import annotations

import re

from generated_tables import NOTICE, cell

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.resume import ALL, ResumeCondition, ResumeRule, ResumeRules
from gitops_connect.families.sinks import ANY_SINK, PLAIN
from gitops_connect.model.differences import Direction, ResumeAspect

CONNECTORS_INTRODUCTION = """\
Connect stores the offsets of a connector, but the offset alone often does not decide where the connector resumes. A
replication slot, the logs that the database still has, or a schema history topic also decide. This page lists the lines
that `plan`, `offsets diff` and `offsets check` show for each known connector class.

| line | meaning |
| --- | --- |
| `replication slot` | What a replication slot of PostgreSQL is, and what PostgreSQL sends from the new offset. \
`plan` shows it if the settings [name the database](offset-plans.md#read-the-replication-slot). |
| `resume position` | What decides besides the offset. If the line is marked **external**, the document must contain \
`acknowledge: [external]`. |
| `needs` | What the source system must still have. |
| `risk` | What can go wrong. |
| `effect` | What the connector does. |
| `to read rows again` | How to read rows again if the earlier offset alone is not enough. |

This table names what decides for each class. Follow the link to see the lines for each change of an offset. If a
condition there names two keys, the first key that the config sets decides.
"""
_TITLES = {
    "io.debezium.connector.mysql.MySqlConnector": "Debezium for MySQL, MariaDB",
    "io.debezium.connector.postgresql.PostgresConnector": "Debezium for PostgreSQL",
    "io.debezium.connector.sqlserver.SqlServerConnector": "Debezium for SQL Server",
    "io.debezium.connector.db2.Db2Connector": "Debezium for Db2",
    "io.debezium.connector.informix.InformixConnector": "Debezium for Informix",
    "io.debezium.connector.oracle.OracleConnector": "Debezium for Oracle",
    "io.debezium.connector.mongodb.MongoDbConnector": "Debezium for MongoDB",
    "io.debezium.connector.vitess.VitessConnector": "Debezium for Vitess",
    "io.confluent.connect.jdbc.JdbcSourceConnector": "JDBC source (Confluent, Aiven)",
    "io.confluent.connect.s3.S3SinkConnector": "S3 sink (Confluent)",
    "io.confluent.connect.hdfs.HdfsSinkConnector": "HDFS sink (Confluent)",
    "org.apache.iceberg.connect.IcebergSinkConnector": "Iceberg sink (Apache)",
    "io.tabular.iceberg.connect.IcebergSinkConnector": "Iceberg sink (Databricks, Tabular)",
    "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector": "Snowflake sink from version 4 on",
    "com.snowflake.kafka.connector.SnowflakeSinkConnector": "Snowflake sink up to version 3",
}
"""Titles by the first class of a section, in the words of the other pages. Other sections have the names of classes."""
_DIRECTION_WORDS = {
    Direction.REWIND: "rewind",
    Direction.FORWARD: "skip",
    Direction.NEW: "new",
    Direction.REMOVED: "removed",
}


def connectors() -> str:
    """What decides where each class resumes."""
    by_rules: dict[ResumeRules, list[str]] = {}
    plain: list[str] = []
    for name, known in BUILT_IN.classes.items():
        if known.resume is not None:
            (plain if known.resume == PLAIN else by_rules.setdefault(known.resume, [])).append(name)
    sinks = {PLAIN: sorted(plain), ANY_SINK.resume: ["Every other sink"]}
    by_rules |= {rules: names for rules, names in sinks.items() if rules is not None}
    lines = ["# Where connectors resume", "", NOTICE, CONNECTORS_INTRODUCTION]
    lines += ["| connector | class | what decides where it resumes |", "| --- | --- | --- |"]
    for rules, names in by_rules.items():
        title = _title(names)
        classes = "<br>".join(f"`{name}`" for name in names if "." in name) or "any other"
        lines.append(f"| [{title}](#{_anchor(title)}) | {classes} | {cell(rules.decides)} |")
    for rules, names in by_rules.items():
        lines += ["", f"## {_title(names)}", "", "| change of the offset | line in the plan | shown if |"]
        lines += ["| --- | --- | --- |", *map(_resume_row, rules.rules)]
    return "\n".join(lines) + "\n"


def _title(names: list[str]) -> str:
    if BUILT_IN.classes.get(names[0], ANY_SINK).resume == PLAIN:
        return "Sinks that store no position of their own"
    return _TITLES.get(names[0]) or ", ".join(name.rpartition(".")[2] for name in names)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _said(aspect: ResumeAspect, message: str, *, external: bool) -> str:
    return cell(f"{aspect.value}: {message}{' (**external**)' if external else ''}")


def _resume_row(rule: ResumeRule) -> str:
    words = [word for one, word in _DIRECTION_WORDS.items() if one in rule.directions]
    directions = "any" if rule.directions == ALL.directions else ", ".join(words)
    said = _said(rule.aspect, rule.message, external=rule.external)
    shown = [*map(_condition, rule.when), *(["an offset is of an unfinished snapshot"] if rule.of_snapshot else [])]
    return f"| {directions} | {said} | {cell(' and '.join(shown) or 'always')} |"


def _condition(condition: ResumeCondition) -> str:
    tests = [f"`{key}` {_is(values, negated=condition.negated)}" for key, values in condition.keys]
    if len(tests) == 1:
        return tests[0]
    return " and ".join(tests) if condition.negated else f"({' or '.join(tests)})"


def _is(values: frozenset[str], *, negated: bool) -> str:
    *most, last = (f"`{value}`" for value in sorted(values))
    listed = f"{', '.join(most)} or {last}" if most else last
    return f"is not {listed}" if negated else f"is {listed}"
