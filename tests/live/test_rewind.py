"""A rewind that Debezium for PostgreSQL cannot follow is reported and undone."""

from __future__ import annotations

import pytest

from live.sources import PostgresSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(600)]


def test_a_rewind_that_the_slot_forbids_is_acknowledged_fails_is_reported_and_undone(orders: PostgresSource) -> None:
    orders.run()
    (first,) = orders.insert_each(4)
    orders.release(first)

    orders.move("back", first)
    needed = [f"add `acknowledge: [{one}]`" for one in ("rewind", "external")]
    orders.place.run("apply", "--yes").expect(4, err=needed, said="the replication slot decides, not the offset")
    assert orders.tasks() == ["RUNNING"]

    orders.move("back", first, "acknowledge: [rewind, external]")
    out = ("the replication slot decides, not the offset", "snapshot.mode: when_needed")
    orders.place.run("plan").expect(out=out)

    # Its task is RUNNING until Debezium has connected to the slot, which takes longer on a loaded machine.
    orders.place.settings('min_running = "60s"')
    failed = orders.place.run("apply", "--yes")
    orders.place.settings()
    cause = "io.debezium.DebeziumException: The connector is trying to read change stream starting at"
    failed.expect(1, said=(cause, "gitops-connect offsets undo back"))
    assert orders.tasks() == ["FAILED"]

    orders.place.undo("back")
    orders.place.apply()
    orders.insert()
    orders.await_last(orders.rows)
    assert orders.tasks() == ["RUNNING"]
    assert orders.ids() == list(range(1, orders.rows + 1))
