"""The sums over all offset changes of a plan, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report.test_offset_changes import RECORDS, TIME, WAL, difference

from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.names import ConnectorName, OperationName
from gitops_connect.model.operations import OperationKind
from gitops_connect.model.plans import OperationStatus, PlannedOperation
from gitops_connect.model.units import Scale, Unit
from gitops_connect.report.offset_totals import totals

CHANGE = PlannedOperation(OperationName("x"), ConnectorName("orders"), OperationKind.ALTER, OperationStatus.PLANNED)
BACK, ON = Direction.REWIND, Direction.FORWARD
PAGES, ROWS, FILE = Scale(Unit.OTHER, "pages"), Scale(Unit.OTHER, "{rows}"), Scale(Unit.FILE_BYTES)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], ""),
        ([None, difference((Direction.NEW, None), (Direction.SAME, None))], ""),
        ([difference((BACK, 100)), difference((BACK, 48), (ON, 1))], "rewinds 148 records, skips 1 record"),
        ([difference((BACK, 1200)), difference((BACK, 832), scale=WAL)], "rewinds 1,200 records and 832 bytes of WAL"),
        ([difference((BACK, 7_500_000), scale=TIME)], "rewinds 2 h 5 min"),
        ([difference((ON, 5), (ON, None))], "skips at least 5 records"),
        ([difference((BACK, None), (BACK, None), scale=Scale())], "rewinds 2 partitions"),
        (
            [difference((Direction.CHANGED, None)), difference(*[(Direction.REMOVED, None)] * 2)],
            "moves 1 offset in an unknown direction, removes 2 offsets",
        ),
        ([difference((BACK, 3), scale=PAGES), difference((BACK, 2), scale=ROWS)], "rewinds <3 pages> and <2 {rows}>"),
        (
            [difference((BACK, 9 - at), scale=one) for at, one in enumerate((PAGES, RECORDS, FILE, ROWS))],
            "rewinds <9 pages> and 8 records and 7 bytes of the file and more in other units",
        ),
    ],
)
def test_sums(given: list[Difference | None], words: str) -> None:
    found = totals([replace(CHANGE, difference=one) for one in given])
    assert ", ".join(one.render("<{}>".format) for one in found) == words
