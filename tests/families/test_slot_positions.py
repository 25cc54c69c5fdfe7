from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.files.tables import table

from gitops_connect.families.debezium.slot_positions import slot_lines, slot_name
from gitops_connect.model.differences import Direction, Move
from gitops_connect.model.observed_state import ReplicationSlot
from gitops_connect.model.offsets import offset_text, partition_text

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
SLOT = ReplicationSlot("shop", "debezium", confirmed=0x2000, restart=0x1000, end=0x3000)
PARTITION = partition_text({"server": "shop"})


@pytest.mark.parametrize("case", table(__file__, "lines"), ids=lambda case: case["case"])
def test_what_the_slot_means_for_the_new_offset(case: Mapping[str, Any]) -> None:
    offset = case.get("offset")
    declared = None if offset is None else offset_text(offset)
    move = Move(PARTITION, offset_text({"lsn": 0x2800}), declared, Direction(case.get("direction", "rewind")))
    lines = slot_lines(replace(SLOT, **case.get("slot", {})), [move, move])
    assert [line.message for line in lines] == case["lines"]
    assert not any(line.external for line in lines)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"connector.class": CLASS}, "debezium"),
        ({"connector.class": "PostgresConnector", "slot.name": "orders"}, "orders"),
        ({"connector.class": "io.debezium.connector.mysql.MySqlConnector", "slot.name": "orders"}, None),
        ({}, None),
    ],
)
def test_the_slot_of_a_config(config: Mapping[str, str], name: str | None) -> None:
    assert slot_name(config) == name
