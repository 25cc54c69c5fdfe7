"""Plans with a real PostgreSQL server that the settings name, for a connector of the stand-in."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from acceptance.workplace import Workplace, change
from live.databases import Server
from standin.fixtures import standin
from support.workplaces import at

from gitops_connect.model.observed_state import ReplicationSlot
from gitops_connect.replication_slots import read_slots
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import DatabaseSettings

__all__ = ["at", "standin"]

pytestmark = pytest.mark.slow

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
ROLE = "only_connects"


@pytest.fixture(scope="module")
def slot(postgres: Server) -> Iterator[tuple[str, int]]:
    """A logical slot, and its confirmed_flush_lsn; a role without privileges may connect."""
    postgres.sql(f"CREATE ROLE {ROLE} LOGIN")
    postgres.sql("SELECT pg_create_logical_replication_slot('orders_slot', 'pgoutput')")
    query = "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = 'orders_slot'"
    yield "orders_slot", int(postgres.sql(query))
    postgres.sql(f"SELECT pg_drop_replication_slot('orders_slot'); DROP ROLE {ROLE}")


def url_of(server: Server) -> str:
    return f"postgresql://{ROLE}@127.0.0.1:{server.port}/postgres"


def declare(place: Workplace, slot_name: str, offset: int, url: str, spec: str = "state: stopped") -> None:
    """Settings with the database; the stopped connector `orders`, and a change of its offset that waits."""
    place.settings(more=f'[clusters.local.databases.shop]\nurl = "{url}"\nconnectors = ["orders-*", "other-*"]')
    config = {"topic.prefix": "shop", "slot.name": slot_name}
    place.deploy("orders.yaml", place.document("orders", CLASS, spec, config))
    entry = {"partition": {"server": "shop"}, "offset": {"lsn": offset}}
    place.set_offsets("orders", {**entry, "offset": {"lsn": offset + 1000}})
    spec = f"operation: alter\noffsets: {json.dumps([entry])}\nacknowledge: [rewind, external]"
    place.commit("change.yaml", change("back", place.name("orders"), spec))


def test_the_plan_says_what_postgresql_sends(at: Workplace, postgres: Server, slot: tuple[str, int]) -> None:
    name, confirmed = slot
    declare(at, name, confirmed - 8, url_of(postgres))
    at.run("plan").expect(
        out=(f"replication slot: {name} is confirmed up to 0/", "does not send transactions again that ended in the 8 ")
    )
    planned = json.loads(at.run("plan", "-o", "json").out)["clusters"][0]["offset_changes"][0]
    assert planned["difference"]["resume"][0]["aspect"] == "slot"
    at.run("plan", "--untrusted").expect(out=f"replication slot: {name} is confirmed up to 0/")
    at.apply()


def test_the_server_is_not_asked_for_what_an_unmerged_document_names(
    at: Workplace, postgres: Server, slot: tuple[str, int]
) -> None:
    declare(at, slot[0], slot[1], url_of(postgres))
    at.commit(
        "orders.yaml", at.document("orders", CLASS, "state: stopped", {"topic.prefix": "shop", "slot.name": "theirs"})
    )
    assert "replication slot:" not in at.run("plan", "--untrusted").out
    at.run("plan").expect(out="replication slot: theirs does not exist: the task fails")


def test_a_secret_and_a_placeholder_are_no_names(
    at: Workplace, postgres: Server, slot: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(at, "${env:SLOT}", slot[1], url_of(postgres))
    at.run("plan").expect(out="replication slot: could not be read: `slot.name` is not the name of a slot")
    monkeypatch.setenv("ORDERS_SLOT", "hunter2")
    with (at.directory / "gitops-connect.toml").open("a") as settings:
        settings.write('[secrets]\nenv = ["ORDERS_*"]\n')
    spec = "state: stopped\nsecrets: {slot.name: {env: ORDERS_SLOT}}"
    at.commit("orders.yaml", at.document("orders", CLASS, spec, {"topic.prefix": "shop"}))
    planned = at.run("plan").expect(out="replication slot: could not be read: `slot.name` is not the name of a slot")
    assert "hunter2" not in planned.out + planned.err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://user:hunter2@127.0.0.1:1/db", "database shop: connection failed"),
        ("postgresql+psycopg://user:hunter2@127.0.0.1/db", "database shop: url is not valid"),
        ("postgresql://user:hunter2@127.0.0.1/db?hunter2=1", "database shop: url is not valid"),
    ],
)
def test_a_server_that_cannot_be_asked_is_a_note(at: Workplace, url: str, words: str) -> None:
    declare(at, "debezium", 100, url)
    planned = at.run("plan").expect(out=("replication slot: could not be read: " + words, "1 rewind", "1 to change"))
    assert "hunter2" not in planned.out + planned.err


def test_without_the_driver_the_extra_is_named(at: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(at, "debezium", 100, "postgresql://127.0.0.1/db")
    monkeypatch.delitem(sys.modules, "gitops_connect.replication_slots")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    at.run("plan").expect(64, err=("[clusters.NAME.databases]", "gitops-connect[postgresql]"))


def read(url: str, *names: str) -> list[ReplicationSlot]:
    settings = DatabaseSettings(Credential(value=url), ("*",))
    return sorted(read_slots({"shop": names}, {"shop": settings}), key=lambda slot: slot.name)


def test_all_slots_of_a_server_are_read_at_once(postgres: Server, slot: tuple[str, int]) -> None:
    name, confirmed = slot
    before = int(postgres.sql("SELECT pg_current_wal_lsn() - '0/0'"))
    missing, found = read(url_of(postgres), name, "missing")
    assert missing == ReplicationSlot("shop", "missing", exists=False)
    assert (found.confirmed, found.exists, found.active, found.unread) == (confirmed, True, False, "")
    assert found.restart is not None
    assert found.restart <= confirmed <= before <= (found.end or 0)


def test_an_environment_variable_that_is_missing_is_a_note() -> None:
    settings = DatabaseSettings(Credential(env="NOT_THERE"), ("*",))
    (found,) = read_slots({"shop": ["a"]}, {"shop": settings})
    assert found.unread == "database shop: the environment variable NOT_THERE is not set"


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        (found,) = read(f"postgresql://127.0.0.1:{server.getsockname()[1]}/db", "debezium")
    assert "timeout" in found.unread


@pytest.mark.thorough
@pytest.mark.usefixtures("slot")
def test_a_server_that_never_answers_the_query_is_given_up(postgres: Server) -> None:
    """As a server process that is stopped while its machine acknowledges all packets: it keeps no timeout."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(2) as pool:
        url = f"postgresql://{ROLE}@127.0.0.1:{server.getsockname()[1]}/postgres?sslmode=disable"
        asked = pool.submit(read, url, "debezium")
        client, _ = server.accept()
        with client, socket.create_connection(("127.0.0.1", postgres.port)) as real:
            pool.submit(relay, real, client)
            while (sent := client.recv(65536)) and b"pg_replication_slots" not in sent:
                real.sendall(sent)
            assert sent, "the query was sent, and now nothing is"
            (found,) = asked.result()
            real.shutdown(socket.SHUT_RDWR)
    assert "server closed the connection" in found.unread


def relay(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while received := source.recv(65536):
            target.sendall(received)
