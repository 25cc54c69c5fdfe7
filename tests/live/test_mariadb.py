"""Offset changes of Debezium for MariaDB, as its users make them."""

from __future__ import annotations

import pytest

from live.sources import MariaDbSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]

LONG = 'min_running = "60s"'
"""For a task that will fail: on a busy machine, Debezium needs more than 5 s from RUNNING to its failure."""


def test_rows_are_read_again_if_the_binlog_has_them(stock: MariaDbSource) -> None:
    stock.run()
    first, *_ = stock.insert_each(4, 5, 6)
    stock.move("back", first, "acknowledge: [rewind]")
    stock.place.run("plan").expect(0, out="1 rewind")
    stock.place.apply()
    stock.await_ids(1, 2, 3, 4, 5, 6, 5, 6)
    assert stock.tasks() == ["RUNNING"]


def test_a_reset_reads_the_whole_table_again(stock: MariaDbSource) -> None:
    stock.run()
    stock.insert_each(4)
    stock.place.apply_change("anew", stock.stem, "operation: reset\nacknowledge: [reset]")
    stock.await_ids(1, 2, 3, 4, 1, 2, 3, 4)


def test_a_binlog_that_does_not_exist_fails_is_reported_and_undone(stock: MariaDbSource) -> None:
    stock.run()
    stock.insert_each(4)
    stock.place.settings(LONG)
    stock.move("wrong", {"file": "binlog.000999", "pos": 4}, "acknowledge: [rewind, skip, external]")
    said = ("gitops-connect offsets undo wrong", "no longer available on the server")
    stock.place.run("apply", "--yes").expect(1, said=said)
    assert stock.tasks() == ["FAILED"]
    stock.place.settings("")
    stock.place.undo("wrong")
    stock.place.apply()
    stock.insert()
    stock.await_ids(1, 2, 3, 4, 5)
    assert stock.tasks() == ["RUNNING"]


def test_a_task_that_runs_for_a_moment_and_then_fails_is_reported(stock: MariaDbSource) -> None:
    """Debezium fails a second after its task was RUNNING: the binlog client needs GTIDs from this server."""
    stock.run()
    first, *_ = stock.insert_each(4, 5)
    stock.place.settings(LONG)
    stock.move("back", {"file": first["file"], "pos": first["pos"]}, "acknowledge: [rewind, skip, external]")
    stock.place.run("apply", "--yes").expect(1, said=("gitops-connect offsets undo back", "gtidSet"))


def test_a_position_beside_other_gtids_is_an_error(stock: MariaDbSource) -> None:
    stock.run()
    first, last = stock.insert_each(4, 5)
    stock.move("back", {**last, "pos": first["pos"]}, "acknowledge: [rewind]")
    stock.is_refused("manifest/contradiction", "gtids")
