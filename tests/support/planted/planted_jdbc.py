"""Families of the JDBC source: one that reads all tables, and one that reads some."""

from __future__ import annotations

from support.files.manifests import entry
from support.planted.planted_families import UNKNOWN, UNREAD_FIELD, Family, Says, drop, plants, put, signed, text
from support.planted.planted_faults import WRONG

_TABLES = {
    "connector.class": "JdbcSourceConnector",
    "table.whitelist": ", ".join(f"t{n}" for n in range(400)),
    "connection.url": "jdbc:postgresql://db/shop",
}
OF_JDBC = [
    Family(
        "JDBC",
        {"connector.class": "JdbcSourceConnector"},
        lambda n: entry({"protocol": "1", "table": f"db.t{n}"}, {"incrementing": n}),
        plants(
            UNKNOWN,
            text("partition.table", eased=True),
            text("partition.protocol", eased=True),
            UNREAD_FIELD,
            drop("partition.protocol"),
            drop("partition.table", Says("shape", eased=True)),
            put("offset.incrementing", -1),
            signed("offset.incrementing"),
            drop("offset.incrementing", Says("shape")),
            put("offset.incrementing", None, Says("shape"), WRONG, name="null"),
            put("offset.timestamp", -5),
            put("offset.timestamp_nanos", -1, Says("negative")),
            put("offset.timestamp_nanos", 10**9, Says("range")),
        ),
        keeps_all=True,
    ),
    Family(
        "JDBC of some tables",
        _TABLES,
        lambda n: entry({"protocol": "1", "table": f"public.t{n}"}, {"timestamp": n * 1000, "timestamp_nanos": 0}),
        plants(
            UNKNOWN,
            put(
                "partition.table", lambda n: f"public.e{n}", Says("table", eased=True), may_exist=True, name="elsewhere"
            ),
            put("partition.table", lambda n: f"t{n}", Says("table", eased=True), may_exist=True, name="plain"),
            put("partition.table", lambda n: f"shop.public.t{n}", name="with its database"),
            put("offset.timestamp", lambda n: n * 1000 + 5, Says("contradiction"), name="in the middle of a second"),
        ),
        keeps_all=True,
    ),
]
