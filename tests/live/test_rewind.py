"""A rewind that Debezium for PostgreSQL cannot follow is reported and undone."""

from __future__ import annotations

import pytest

from live.sources import PostgresSource

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]


def test_a_rewind_that_the_slot_forbids_is_acknowledged_fails_is_reported_and_undone(orders: PostgresSource) -> None:
    orders.run()
    (first,) = orders.insert_each(4)
    orders.release(first)

    orders.move("back", first)
    refused = orders.place.run("apply", "--yes")
    assert refused.code == 4
    for acknowledgement in ("rewind", "external"):
        assert f"add `acknowledge: [{acknowledgement}]`" in refused.err
    assert "the replication slot decides, not the offset" in refused.out + refused.err
    assert orders.tasks() == ["RUNNING"]

    orders.move("back", first, "acknowledge: [rewind, external]")
    planned = orders.place.run("plan").out
    assert "the replication slot decides, not the offset" in planned
    assert "snapshot.mode: when_needed" in planned

    # Its task is RUNNING until Debezium has connected to the slot, which takes longer on a loaded machine.
    orders.place.settings('min_running = "60s"')
    failed = orders.place.run("apply", "--yes")
    orders.place.settings()
    assert failed.code == 1
    said = failed.out + failed.err
    assert "io.debezium.DebeziumException: The connector is trying to read change stream starting at" in said
    assert "gitops-connect offsets undo back" in said
    assert orders.tasks() == ["FAILED"]

    assert orders.undo("back").code == 0
    orders.insert()
    orders.await_last(orders.rows)
    assert orders.tasks() == ["RUNNING"]
    assert orders.ids() == list(range(1, orders.rows + 1))
