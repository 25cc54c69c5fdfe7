"""Debezium's connectors: sources that read the log of a database, and its two sinks.

The facts are from the classes that write and load the offsets. A field that a later version adds causes a warning, not
an error.
"""

from __future__ import annotations

from dataclasses import replace

from gitops_connect.families.debezium import config_keys, databases, resume_rules
from gitops_connect.families.family import ConnectorClass, Family, UndefinedKeys
from gitops_connect.families.offset_keys import OffsetKeys
from gitops_connect.families.resume import ResumeRules
from gitops_connect.families.shapes import Shape
from gitops_connect.families.sinks import PLAIN_SINK


def _source(shape: Shape, resume: ResumeRules, keys: OffsetKeys, undefined: UndefinedKeys) -> ConnectorClass:
    return ConnectorClass(shape, resume, keys, undefined, config_keys.SECTIONS)


_BINLOG = _source(databases.BINLOG, resume_rules.BINLOG, config_keys.BINLOG, config_keys.READ_ONLY)
_RELATIONAL = config_keys.RELATIONAL

FAMILY = Family(
    1,
    "Debezium",
    {
        "io.debezium.connector.mysql.MySqlConnector": _BINLOG,
        "io.debezium.connector.mariadb.MariaDbConnector": _BINLOG,
        "io.debezium.connector.postgresql.PostgresConnector": _source(
            databases.POSTGRES, resume_rules.POSTGRES, config_keys.POSTGRES, config_keys.OF_POSTGRES
        ),
        "io.debezium.connector.sqlserver.SqlServerConnector": _source(
            databases.SQL_SERVER, resume_rules.SQL_SERVER, config_keys.SQL_SERVER, config_keys.OF_SQL_SERVER
        ),
        "io.debezium.connector.db2.Db2Connector": _source(
            databases.DB2, resume_rules.DB2, config_keys.DATABASE, _RELATIONAL
        ),
        "io.debezium.connector.informix.InformixConnector": _source(
            databases.INFORMIX, resume_rules.INFORMIX, config_keys.DATABASE, _RELATIONAL
        ),
        "io.debezium.connector.oracle.OracleConnector": _source(
            databases.ORACLE, resume_rules.ORACLE, config_keys.DATABASE, config_keys.OF_ORACLE
        ),
        "io.debezium.connector.mongodb.MongoDbConnector": _source(
            databases.MONGODB, resume_rules.MONGODB, config_keys.MONGODB, config_keys.OF_MONGODB
        ),
        "io.debezium.connector.vitess.VitessConnector": _source(
            databases.VITESS, resume_rules.VITESS, config_keys.VITESS, _RELATIONAL
        ),
        "io.debezium.connector.jdbc.JdbcSinkConnector": replace(PLAIN_SINK, undefined=config_keys.OF_JDBC_SINK),
        "io.debezium.connector.mongodb.MongoDbSinkConnector": PLAIN_SINK,
    },
    units=(databases.WAL_BYTES, databases.BINLOG_BYTES),
    transforms=config_keys.TRANSFORMS,
)
