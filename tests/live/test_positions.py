"""What the connectors do with offsets that are set by hand: the rules of each family are based on these facts.

The tests of each database prove more such facts, with the rules.
"""

from __future__ import annotations

import pytest

from live.sources import JdbcSource, MariaDbSource, PostgresSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("moved", "again"),
    [
        ({"lsn_proc"}, [5, 6]),
        ({"lsn_proc", "lsn"}, [5, 6]),
        ({"lsn_proc", "lsn", "lsn_commit"}, [5, 6]),
        ({"lsn"}, []),
        ({"lsn_commit"}, []),
        ({"lsn", "lsn_commit"}, []),
    ],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else "",
)
def test_lsn_proc_decides_if_it_is_there(orders: PostgresSource, moved: set[str], again: list[int]) -> None:
    orders.run(flush__lsn__source='"false"')
    first, _, last = orders.insert_each(4, 5, 6)
    orders.restart_from({**last, **dict.fromkeys(moved, first["lsn_proc"])})
    orders.insert()
    orders.await_ids(1, 2, 3, 4, 5, 6, *again, 7)


def test_when_needed_reads_the_whole_table_again(orders: PostgresSource) -> None:
    orders.run(snapshot__mode="when_needed")
    (first,) = orders.insert_each(4)
    orders.release(first)
    orders.restart_from(first)
    table = list(range(1, orders.rows + 1))
    orders.place.await_that(orders.ids, lambda found: found == [*table, *table])


def test_a_released_lsn_alone_is_not_noticed_and_nothing_before_the_slot_is_read(orders: PostgresSource) -> None:
    orders.run()
    (first,) = orders.insert_each(4)
    orders.release(first)
    orders.restart_from({"lsn": first["lsn"]})
    orders.insert()
    orders.await_last(orders.rows)
    orders.await_tasks("RUNNING")
    assert orders.ids().count(4) == 1


def test_rows_before_a_position_past_the_end_of_the_wal_are_not_read(orders: PostgresSource) -> None:
    orders.run()
    (last,) = orders.insert_each(4)
    far = 2**40
    orders.restart_from({"lsn": far, "lsn_proc": far})
    orders.insert()
    orders.await_tasks("RUNNING")
    orders.stop()
    assert orders.offset()["lsn_proc"] == far
    assert orders.ids() == [1, 2, 3, 4]
    orders.patch(last)
    orders.resume()
    orders.await_last(5)


def test_a_value_that_is_not_in_a_closed_set_fails_the_task(orders: PostgresSource) -> None:
    orders.run()
    (last,) = orders.insert_each(4)
    orders.restart_from({**last, "snapshot": "sometimes"})
    orders.await_tasks("FAILED")
    assert "No enum constant" in orders.trace()


@pytest.mark.parametrize(
    ("moved", "again"),
    [({"gtids", "pos"}, [5, 6]), ({"gtids"}, [5, 6]), ({"pos"}, [])],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else "",
)
def test_gtids_decide_if_the_server_has_them(stock: MariaDbSource, moved: set[str], again: list[int]) -> None:
    stock.run()
    first, _, last = stock.insert_each(4, 5, 6)
    stock.restart_from({**last, **{field: first[field] for field in moved}})
    stock.insert()
    stock.await_ids(1, 2, 3, 4, 5, 6, *again, 7)


def test_gtids_that_the_server_does_not_have_fail_the_task(stock: MariaDbSource) -> None:
    stock.run()
    (last,) = stock.insert_each(4)
    stock.restart_from({"file": "binlog.000001", "pos": 4, "gtids": "0-1-999999"})
    stock.await_tasks("FAILED")
    assert "no longer available on the server" in stock.trace()
    stock.restart_from(last)
    stock.insert()
    stock.await_last(5)
    stock.await_tasks("RUNNING")


def test_a_jdbc_partition_that_is_not_in_the_whitelist_is_not_read(invoices: JdbcSource) -> None:
    invoices.run()
    invoices.stop()
    invoices.patch({"incrementing": 1}, {"table": "itemss"})
    invoices.resume()
    invoices.insert()
    invoices.await_ids(1, 2, 3, 4)


def test_a_jdbc_offset_of_the_older_protocol_is_read_if_there_is_no_other(invoices: JdbcSource) -> None:
    invoices.declare("state: stopped")
    invoices.place.apply()
    invoices.patch({"incrementing": 2}, {"table": "items"})
    invoices.read_topic()
    invoices.resume()
    invoices.await_ids(3)


def test_nanoseconds_beyond_a_second_fail_the_jdbc_task(invoices: JdbcSource) -> None:
    invoices.run(mode="timestamp", timestamp__column__name="changed")
    last = invoices.offset()
    invoices.restart_from({**last, "timestamp_nanos": 1_000_000_000})
    invoices.await_tasks("FAILED")
    assert "nanos > 999999999 or < 0" in invoices.trace()
