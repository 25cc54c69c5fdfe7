"""Offset changes of Debezium for PostgreSQL, as its users make them: what the plan says, and what then happens."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from acceptance.workplace import change

from gitops_connect.secret_values import values_read
from live.sources import PostgresSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]

MANUAL = {"flush__lsn__source": '"false"'}
"""With it, the connector does not confirm to the slot what it has read."""


def test_rows_are_read_again_if_the_slot_keeps_them(orders: PostgresSource) -> None:
    orders.run(**MANUAL)
    first, *_ = orders.insert_each(4, 5, 6)
    orders.move("back", first, "acknowledge: [rewind]")
    orders.place.apply()
    orders.await_ids(1, 2, 3, 4, 5, 6, 5, 6)
    assert orders.tasks() == ["RUNNING"]
    assert "No changes." in orders.place.apply().out


def test_the_last_rows_are_read_again_because_the_slot_lags_behind(orders: PostgresSource) -> None:
    orders.run()
    first, *_ = orders.insert_each(4, 5, 6)
    orders.move("back", {"lsn": first["lsn"]}, "acknowledge: [rewind, external]")
    orders.place.run("plan").expect(out=("usually only the last transactions are after it", "confirmed_flush_lsn"))
    orders.place.apply()
    orders.place.await_that(orders.ids, lambda found: len(found) > 6)
    orders.insert()
    orders.await_last(7)
    again = orders.ids()[6:-1]
    assert again == [4, 5, 6][-len(again) :]


def test_the_plan_reads_the_slot_and_these_rows_are_read_again(orders: PostgresSource) -> None:
    orders.place.settings(more=orders.database_settings())
    orders.run(**MANUAL)
    first, *_ = orders.insert_each(4, 5, 6)
    orders.move("back", first, "acknowledge: [rewind]")
    orders.place.run("plan").expect(
        out=(
            f"replication slot: {orders.database} is active and confirmed up to ",
            " is not before it: PostgreSQL sends",
        )
    )
    orders.place.apply()
    orders.await_ids(1, 2, 3, 4, 5, 6, 5, 6)


def test_the_plan_reads_the_slot_and_says_that_no_row_is_read_again(orders: PostgresSource) -> None:
    """The slot has confirmed everything, as after a pause that is longer than its delay."""
    orders.place.settings(more=orders.database_settings())
    orders.run()
    with orders.unfinished_transaction():
        first, *_ = orders.insert_each(4, 5, 6)
        orders.stop()
        orders.server.sql("CHECKPOINT")
        orders.advance_slot()
        _, confirmed = orders.slot()
        orders.move("back", first, "acknowledge: [rewind, external]")
        between = f"{confirmed - first['lsn_proc']:,} bytes of WAL between"
        orders.place.run("plan").expect(out=(f"{orders.database} is confirmed up to", "does not send", between))
        orders.place.apply()
        orders.insert()
        orders.await_last(7)
    assert orders.ids() == [1, 2, 3, 4, 5, 6, 7]


def test_the_plan_says_that_the_slot_was_dropped_and_the_task_fails(orders: PostgresSource) -> None:
    orders.place.settings(more=orders.database_settings())
    orders.run()
    first, *_ = orders.insert_each(4, 5)
    orders.stop()
    orders.advance_slot()
    orders.server.sql(f"SELECT pg_drop_replication_slot('{orders.database}')")
    orders.move("back", first, "acknowledge: [rewind, external]")
    orders.place.run("plan").expect(out=f"replication slot: {orders.database} does not exist: the task fails")
    orders.place.run("apply", "--yes").expect(1, said="no longer available on the server")


def test_an_unchanged_lsn_commit_skips_rows_and_the_plan_says_so(orders: PostgresSource) -> None:
    orders.run(**MANUAL)
    first, _, last = orders.insert_each(4, 5, 6)
    before = first["lsn_proc"] - 8
    orders.move("back", {**last, "lsn": before, "lsn_proc": before}, "acknowledge: [rewind]")
    orders.place.run("plan").expect(out="an unchanged `lsn_commit` skips the transactions up to that LSN")
    orders.place.apply()
    orders.insert()
    orders.await_ids(1, 2, 3, 4, 5, 6, 6, 7)


def test_an_unfinished_snapshot_is_a_rewind_and_reads_the_table_again(orders: PostgresSource) -> None:
    orders.run()
    (last,) = orders.insert_each(4)
    orders.move("again", {**last, "snapshot": "INITIAL", "snapshot_completed": False}, "acknowledge: [external]")
    orders.is_refused("rewind")
    orders.move(
        "again", {**last, "snapshot": "INITIAL", "snapshot_completed": False}, "acknowledge: [rewind, external]"
    )
    orders.place.run("plan").expect(out=("1 rewind", "the next start takes the snapshot again"))
    orders.place.apply()
    orders.await_ids(1, 2, 3, 4, 1, 2, 3, 4)


def test_a_reset_reads_the_whole_table_again(orders: PostgresSource) -> None:
    orders.run()
    orders.insert_each(4)
    orders.place.apply_change("anew", orders.stem, "operation: reset\nacknowledge: [reset]")
    orders.await_ids(1, 2, 3, 4, 1, 2, 3, 4)


def test_offsets_are_saved_and_set_with_their_types(orders: PostgresSource) -> None:
    orders.run()
    orders.insert_each(4)
    saved = orders.place.repository / "orders.json"
    orders.place.run("offsets", "get", orders.name, "--save", str(saved)).expect(0)
    (entry,) = json.loads(saved.read_text())["offsets"]
    assert entry == {"partition": orders.partition, "offset": orders.offset()}
    orders.place.commit("c.yaml", change("same", orders.name, "operation: alter\nmanifest: {path: orders.json}"))
    assert "1 same" in orders.place.run("plan").out
    orders.place.apply()
    assert orders.offset() == entry["offset"]


def test_a_database_that_is_down_makes_a_changed_connector_an_error_and_leaves_it_out_of_sync(
    orders: PostgresSource,
) -> None:
    orders.run()
    orders.server.stop()
    try:
        orders.declare(poll__interval__ms="60")
        planned, status = orders.place.run("plan"), orders.place.run("status", "--exit-code")
    finally:
        orders.server.start()
    planned.expect(err=("refused", "database.hostname"))
    status.expect(1, said="refused")
    line = next(line for line in status.out.splitlines() if orders.name in line)
    assert "OutOfSync" in line or "Unknown" in line
    orders.await_tasks("RUNNING")


def test_a_plan_before_the_merge_connects_to_nothing(orders: PostgresSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """The author of a pull request names a server of their own, and a secret of gitops-connect."""
    secret = "only-for-the-database-of-orders"
    monkeypatch.setenv("ORDERS_PASSWORD", secret)
    orders.place.settings(more='[secrets]\nenv = ["ORDERS_*"]')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        port = str(server.getsockname()[1])
        orders.declare("secrets: {database.password: {env: ORDERS_PASSWORD}}", database__port=port)
        orders.place.run("plan", "--untrusted").expect(0, out="1 to create")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
        assert secret not in values_read()
        server.settimeout(60)
        with ThreadPoolExecutor(1) as pool:
            merged = pool.submit(orders.place.run, "plan")
            server.accept()[0].close()
        assert "database.hostname" in merged.result().err
    assert secret in values_read()


def test_initial_offsets_without_a_slot_are_reported_as_failed(orders: PostgresSource) -> None:
    """The task fails in its start, which takes as long as the machine is slow: it is never called applied before."""
    entry = {"partition": orders.partition, "offset": {"lsn": orders.end_of_wal()}}
    offsets = f"offsets: [{json.dumps(entry)}]"
    orders.declare(f"initialOffsets: {{{offsets}}}")
    orders.place.run("apply", "--yes").expect(4, err="external")
    orders.declare(f"initialOffsets: {{{offsets}, acknowledge: [external]}}")
    assert "the replication slot also decides" in orders.place.run("plan").out
    orders.place.run("apply", "--yes").expect(1, said="no longer available on the server")


def test_a_position_past_the_end_of_the_wal_is_warned_of(orders: PostgresSource) -> None:
    orders.run()
    (last,) = orders.insert_each(4)
    far = last["lsn"] + 1000
    later = {**last, "lsn": far, "lsn_proc": far, "lsn_commit": far}
    orders.move("later", later)
    orders.is_refused("external")
    orders.move("later", later, "acknowledge: [external]")
    warning = "if the LSN is past the end of the WAL, the connector stays RUNNING and delivers no new rows"
    orders.place.run("plan").expect(out=(warning, "1,000 bytes of WAL"))


def test_a_position_that_was_moved_in_one_field_alone_is_an_error_of_that_field(orders: PostgresSource) -> None:
    orders.run(**MANUAL)
    first, last = orders.insert_each(4, 5)
    orders.move("back", {**last, "lsn": first["lsn"]}, "acknowledge: [rewind]")
    orders.is_refused("manifest/contradiction", "lsn_proc")


def test_an_lsn_as_postgresql_writes_it_is_a_rewind(orders: PostgresSource) -> None:
    orders.run(**MANUAL)
    first, *_ = orders.insert_each(4, 5)
    lsn = f"{first['lsn'] >> 32:X}/{first['lsn'] & 0xFFFFFFFF:X}"
    orders.move("back", {"lsn": lsn}, "acknowledge: [rewind]")
    orders.place.run("plan").expect(out=("1 rewind", lsn))
    orders.place.apply()
    orders.await_ids(1, 2, 3, 4, 5, 4, 5)


@pytest.mark.parametrize(("field", "value"), [("messageType", "UPSERT"), ("snapshot", "sometimes")])
def test_values_that_would_fail_the_task_are_errors(orders: PostgresSource, field: str, value: str) -> None:
    orders.run(**MANUAL)
    (last,) = orders.insert_each(4)
    orders.move("wrong", {**last, field: value})
    orders.is_refused("manifest/choice", f"offset.{field}", f'"{value}", expected')


def test_another_topic_prefix_reads_everything_again_and_the_history_stays_valid(orders: PostgresSource) -> None:
    orders.run(**MANUAL)
    first, *_ = orders.insert_each(4, 5)
    orders.move("back", first, "acknowledge: [rewind]")
    orders.place.apply()
    orders.await_ids(1, 2, 3, 4, 5, 5)
    new = f"{orders.name}-new"
    orders.declare(topic__prefix=new, **MANUAL)
    orders.place.run("plan").expect(out=f'the offsets of server "{orders.name}" are no longer read')
    orders.place.apply()
    orders.place.await_that(
        lambda: [entry["partition"]["server"] for entry in orders.offsets()],
        lambda found: sorted(found) == [orders.name, new],
    )
    validated = orders.place.run("validate").expect(0)
    assert "manifest/server" not in validated.out + validated.err


def test_a_task_that_failed_is_shown_by_plan_and_status(orders: PostgresSource) -> None:
    orders.run()
    (last,) = orders.insert_each(4)
    orders.restart_from({**last, "messageType": "UPSERT"})
    orders.await_tasks("FAILED")
    reason = "No enum constant io.debezium.connector.postgresql.connection.ReplicationMessage.Operation.UPSERT"
    orders.place.run("plan").expect(out=(reason, "unhealthy"))
    orders.place.run("status", "--exit-code").expect(1, out=(reason, "Degraded"))
