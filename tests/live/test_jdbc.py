"""Offset changes of a JDBC source, as its users make them."""

from __future__ import annotations

import pytest

from live.sources import JdbcSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]

TIMESTAMP = {"mode": "timestamp", "timestamp__column__name": "changed"}


def test_the_ids_after_an_earlier_one_are_read_again(invoices: JdbcSource) -> None:
    invoices.run()
    invoices.move("back", {"incrementing": 1}, "acknowledge: [rewind]")
    assert "2 ids" in invoices.place.run("plan").out
    invoices.place.apply()
    invoices.await_ids(1, 2, 3, 2, 3)
    assert invoices.offset() == {"incrementing": 3}


def test_rows_that_changed_after_an_earlier_time_are_read_again(invoices: JdbcSource) -> None:
    invoices.run(**TIMESTAMP)
    last = invoices.offset()
    assert last.keys() == {"timestamp", "timestamp_nanos"}
    invoices.move("back", {"timestamp": last["timestamp"] - 7_500_000}, "acknowledge: [rewind]")
    assert "2 h 5 min" in invoices.place.run("plan").out
    invoices.place.apply()
    invoices.await_ids(1, 2, 3, 1, 2, 3)


def test_a_table_that_nobody_reads_is_an_error_with_a_suggestion(invoices: JdbcSource) -> None:
    invoices.run()
    partition = {"table": "itmes"}
    invoices.move("typo", {"incrementing": 1}, partition=partition)
    invoices.is_refused("manifest/table", "did you mean 'items'?")
    invoices.move("typo", {"incrementing": 1}, "acknowledge: [unread]", partition)
    invoices.place.apply()
    assert {"partition": partition, "offset": {"incrementing": 1}} in invoices.offsets()


def test_nanoseconds_that_are_not_those_of_the_timestamp_are_an_error(invoices: JdbcSource) -> None:
    invoices.run(**TIMESTAMP)
    last = invoices.offset()
    invoices.move("wrong", {**last, "timestamp": last["timestamp"] - 1}, "acknowledge: [rewind]")
    invoices.is_refused("timestamp_nanos")


def test_a_password_in_the_url_is_masked_and_warned_of(invoices: JdbcSource) -> None:
    url = f"{invoices.config()['connection.url']}&password=hunter2"
    invoices.declare(connection__url=url)
    planned = invoices.place.run("plan").expect(err="connector/clear-secret", out="password=***")
    applied = invoices.place.apply()
    shown = [planned, applied, invoices.place.run("status"), invoices.place.run("plan", "-o", "json")]
    assert "hunter2" not in "".join(ran.out + ran.err for ran in shown)
