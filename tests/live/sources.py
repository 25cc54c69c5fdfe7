"""A table in its own database, the connector that captures it, and the records that arrive in Kafka."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from acceptance.workplace import SINK, Workplace, change

from live.databases import HOST, USER, Server

Offset = dict[str, Any]


class CapturedTable(ABC):
    """A table of three rows (ids 1, 2, 3), and a connector that is named after its `stem`."""

    plugin: str
    stem: str

    def __init__(self, place: Workplace, server: Server) -> None:
        self.place = place
        self.server = server
        self.name = place.name(self.stem)
        self.database = self.name.replace("-", "_")
        self.copy = place.directory / f"{self.stem}.copy.txt"
        self.rows = 0
        self.server.sql(f"CREATE DATABASE {self.database}")
        self.create_table()
        self.insert(3)

    @abstractmethod
    def create_table(self) -> None:
        """Create the table, without rows."""

    @abstractmethod
    def config(self) -> dict[str, str]:
        """The connector's config as YAML values."""

    @property
    @abstractmethod
    def topic(self) -> str:
        """The topic of the table's rows."""

    @property
    def partition(self) -> dict[str, str]:
        """The partition of the connector's one offset."""
        return {"server": self.name}

    @abstractmethod
    def id_of(self, line: str) -> int:
        """The id of the row that a record of the topic is about."""

    def insert(self, rows: int = 1) -> None:
        """Insert rows; their ids continue after the last one, which is `self.rows`."""
        self.rows += rows
        self.server.sql("".join("INSERT INTO items (name) VALUES ('thing');" for _ in range(rows)), self.database)

    def document(self, spec: str = "", **config: str) -> str:
        """The connector's document. Dots in config keys are written as two underscores."""
        more = {key.replace("__", "."): value for key, value in config.items()}
        return self.place.document(self.stem, self.plugin, spec, {**self.config(), **more})

    def declare(self, spec: str = "", **config: str) -> None:
        """Commit the connector."""
        self.place.commit(f"{self.stem}.yaml", self.document(spec, **config))

    def run(self, **config: str) -> None:
        """Declare and apply the connector, and wait until all rows have arrived and its offset is stored."""
        self.declare(**config)
        self.place.apply()
        self.read_topic()
        self.await_ids(1, 2, 3)
        self.place.await_that(self.offsets, bool)

    def insert_each(self, *ids: int) -> list[Offset]:
        """Insert one row per transaction; the offset after each of them."""
        stored = []
        for row in ids:
            before = self.offset()
            self.insert()
            self.await_last(row)
            self.place.await_that(self.offset, lambda found, before=before: found != before)
            stored.append(self.offset())
        return stored

    def read_topic(self) -> None:
        """Copy the records of the topic to a file, with a connector that is not declared in Git."""
        config = {"connector.class": SINK, "tasks.max": "1", "topics": self.topic, "file": str(self.copy)}
        read = {"consumer.override.auto.offset.reset": "earliest"}
        self.place.rest("PUT", f"/connectors/{self.place.name('copy')}/config", {**config, **read})

    def ids(self) -> list[int]:
        """The ids of all records that have arrived, in their order."""
        text = self.copy.read_text() if self.copy.exists() else ""
        return [self.id_of(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def await_ids(self, *ids: int) -> None:
        self.place.await_that(self.ids, lambda found: found == list(ids))

    def await_last(self, row: int) -> None:
        self.place.await_that(self.ids, lambda found: found[-1:] == [row])

    def offsets(self) -> list[dict[str, Any]]:
        """All partitions with their offsets, as Connect returns them."""
        found: list[dict[str, Any]] = self.place.offsets(self.stem)
        return found

    def offset(self) -> Offset:
        """The offset of the connector's partition."""
        return next(entry["offset"] for entry in self.offsets() if entry["partition"] == self.partition)

    def move(self, name: str, offset: Offset | None, more: str = "", partition: dict[str, str] | None = None) -> None:
        """Commit an offset change that sets the offset."""
        entry = {"partition": partition or self.partition, "offset": offset}
        spec = f"operation: alter\noffsets: {json.dumps([entry])}\n{more}"
        self.place.commit(f"{name}.yaml", change(name, self.name, spec))

    def is_refused(self, *words: str) -> None:
        """Assert that the repository has errors with these words, and that nothing was applied."""
        self.place.run("apply", "--yes").expect(4, err=words)
        assert self.tasks() in ([], ["RUNNING"])

    def stop(self) -> None:
        """Stop the connector by hand."""
        self.place.by_hand("stop", self.stem)
        self.place.await_that(self.tasks, lambda found: found == [])

    def resume(self) -> None:
        """Resume the connector by hand, and wait until it has a task that runs or has failed."""
        self.place.by_hand("resume", self.stem)
        self.place.await_that(self.tasks, lambda found: found in (["RUNNING"], ["FAILED"]))

    def restart_from(self, offset: Offset) -> None:
        """Stop the connector, set its offset and resume it, all by hand."""
        self.stop()
        self.patch(offset)
        self.resume()

    def patch(self, offset: Offset, partition: dict[str, str] | None = None) -> None:
        """Set the offset by hand."""
        self.place.set_offsets(self.stem, {"partition": partition or self.partition, "offset": offset})

    def tasks(self) -> list[str]:
        """The state of each task."""
        return self.place.tasks(self.stem)

    def trace(self) -> str:
        """The stack trace of the failed task."""
        return str(self.place.rest("GET", f"/connectors/{self.name}/status")["tasks"][0]["trace"])

    def await_tasks(self, *states: str) -> None:
        self.place.await_that(self.tasks, lambda found: found == list(states))


class DebeziumSource(CapturedTable):
    """A connector of Debezium."""

    def config(self) -> dict[str, str]:
        return {
            "database.hostname": HOST,
            "database.port": str(self.server.port),
            "database.user": USER,
            "topic.prefix": self.name,
            "poll.interval.ms": "50",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": '"false"',
        }

    def id_of(self, line: str) -> int:
        return int(json.loads(line)["after"]["id"])


class PostgresSource(DebeziumSource):
    """Debezium for PostgreSQL, with its own slot."""

    plugin = "io.debezium.connector.postgresql.PostgresConnector"
    stem = "orders"

    def create_table(self) -> None:
        self.server.sql("CREATE TABLE items (id serial PRIMARY KEY, name text)", self.database)

    def config(self) -> dict[str, str]:
        return super().config() | {
            "database.dbname": self.database,
            "plugin.name": "pgoutput",
            "slot.name": self.database,
            "table.include.list": "public.items",
        }

    @property
    def topic(self) -> str:
        return f"{self.name}.public.items"

    def slot(self) -> tuple[int, int]:
        """The slot's `restart_lsn` and `confirmed_flush_lsn`, as numbers."""
        positions = "restart_lsn - '0/0', confirmed_flush_lsn - '0/0'"
        # The test made the name.
        query = f"SELECT {positions} FROM pg_replication_slots WHERE slot_name = '{self.database}'"  # noqa: S608
        rows = self.server.sql(query)
        restart, confirmed = rows.split("|")
        return int(restart), int(confirmed)

    @contextmanager
    def unfinished_transaction(self) -> Iterator[None]:
        """It keeps the restart_lsn of the slot, which PostgreSQL may advance every 15 seconds. It changes no row."""
        message = "SELECT pg_logical_emit_message(true, 'unfinished', '')"
        self.server.sql(f"BEGIN; {message}; PREPARE TRANSACTION 'unfinished'", self.database)
        try:
            yield
        finally:
            self.server.sql("ROLLBACK PREPARED 'unfinished'", self.database)

    def advance_slot(self) -> None:
        """Let the slot of the stopped connector confirm everything."""
        active = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{self.database}'"  # noqa: S608 - as above
        self.place.await_that(lambda: self.server.sql(active), lambda found: found == "f")
        self.server.sql(f"SELECT pg_replication_slot_advance('{self.database}', pg_current_wal_lsn())", self.database)

    def database_settings(self) -> str:
        """Settings with which plans read the slot, as a role without privileges."""
        self.server.sql("DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        url = f"postgresql://reader@{HOST}:{self.server.port}/postgres"
        return f'[clusters.local.databases.any]\nurl = "{url}"\nconnectors = ["{self.stem}-*"]'

    def end_of_wal(self) -> int:
        return int(self.server.sql("SELECT pg_current_wal_lsn() - '0/0'"))

    def release(self, offset: Offset) -> None:
        """Write rows and checkpoints until the slot has released the position of `offset` and all rows have arrived."""

        def beyond() -> bool:
            self.insert()
            self.server.sql("CHECKPOINT")
            return self.slot()[0] > offset["lsn"]

        self.place.await_that(beyond, bool)
        self.await_last(self.rows)


class MariaDbSource(DebeziumSource):
    """Debezium for MariaDB, with its own schema history."""

    plugin = "io.debezium.connector.mariadb.MariaDbConnector"
    stem = "stock"

    def __init__(self, place: Workplace, server: Server, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        super().__init__(place, server)

    def create_table(self) -> None:
        self.server.sql("CREATE TABLE items (id int PRIMARY KEY AUTO_INCREMENT, name text)", self.database)

    def config(self) -> dict[str, str]:
        return super().config() | {
            "database.server.id": str(10_000 + int(self.place.suffix, 16)),
            "database.include.list": self.database,
            "schema.history.internal.kafka.bootstrap.servers": self.bootstrap,
            "schema.history.internal.kafka.topic": f"{self.name}.history",
        }

    @property
    def topic(self) -> str:
        return f"{self.name}.{self.database}.items"


class JdbcSource(CapturedTable):
    """The JDBC source over PostgreSQL, in the mode `incrementing`."""

    plugin = "io.aiven.connect.jdbc.JdbcSourceConnector"
    stem = "invoices"

    def create_table(self) -> None:
        columns = "id serial PRIMARY KEY, name text, changed timestamp(3) DEFAULT clock_timestamp()"
        self.server.sql(f"CREATE TABLE items ({columns})", self.database)

    def config(self) -> dict[str, str]:
        return {
            "connection.url": f"jdbc:postgresql://{HOST}:{self.server.port}/{self.database}?user={USER}",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "public.items",
            "topic.prefix": f"{self.name}.",
        }

    @property
    def topic(self) -> str:
        return f"{self.name}.items"

    @property
    def partition(self) -> dict[str, str]:
        return {"protocol": "1", "table": "public.items"}

    def id_of(self, line: str) -> int:
        return int(line.split("|", maxsplit=1)[0])
