"""Export and restore of a ledger: no row is lost or changed, and a damaged archive changes nothing."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from filled_ledger import KEY, fill
from hypothesis import given
from hypothesis import strategies as st
from support.cluster.manual_clock import ManualClock
from support.files.tables import read_yaml
from support.ledger.ledger_places import LedgerPlace
from support.planner.offset_change_values import EARLIER, LOCAL, NOON, SKIP

from gitops_connect.errors import LedgerBusy, LedgerUnusable, UsageError
from gitops_connect.ledger.archive import TABLES, read_archive, write_archive
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import METADATA
from gitops_connect.model.names import OffsetChangeName

pytestmark = pytest.mark.slow

OTHER_KEY = b"o" * 32


def _sample() -> str:
    with tempfile.TemporaryDirectory() as directory:
        return write_archive(fill(Ledger.open("sqlite:///full.db", Path(directory), KEY)).export())


SAMPLE = _sample()


@pytest.fixture
def other(new_place: LedgerPlace) -> Ledger:
    return replace(new_place, key=KEY).open()


@pytest.fixture
def full(tmp_path: Path) -> Ledger:
    return fill(Ledger.open("sqlite:///full.db", tmp_path, KEY))


def test_it_has_neither_the_key_nor_a_lease(full: Ledger, clock: ManualClock) -> None:
    with full.lease(LOCAL, clock, 60):
        text = write_archive(full.export())
    assert KEY.hex() not in text
    tables = {table.name for table in TABLES}
    assert set(json.loads(text)) == {"format_version", "key_fingerprint", *tables}


def test_no_table_is_forgotten(full: Ledger) -> None:
    """A new table has to be added to the archive, or to the tables that are left out."""
    left_out = {"leases", "ledger_properties", "conditions", "offset_positions", "steps"}
    assert set(METADATA.tables) - left_out == set(full.export().rows)


def test_with_another_key_digests_are_left_out_and_nothing_else(full: Ledger, new_place: LedgerPlace) -> None:
    other = replace(new_place, key=OTHER_KEY).open()
    restored = other.restore(full.export(), NOON)
    assert restored.without_digests == 1
    expected = {name: replace(one, desired=None, applied={}) for name, one in full.ownership(LOCAL).items()}
    assert other.ownership(LOCAL) == expected
    assert other.offset_changes.records(LOCAL) == full.offset_changes.records(LOCAL)
    assert other.revisions(LOCAL) == full.revisions(LOCAL)
    again = other.restore(full.export(), NOON)
    assert again.unchanged


def test_a_ledger_with_something_else_is_left_alone_or_replaced_whole(full: Ledger, other: Ledger) -> None:
    other.offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("mine")), EARLIER, NOON)
    before = other.export()
    text = r"other data \(ownership: 0, operations: 1, restarts: 0, .*, revisions: 0\).*--replace"
    with pytest.raises(UsageError, match=text):
        other.restore(full.export(), NOON)
    assert other.export() == before
    other.restore(full.export(), NOON, replace=True)
    assert other.export() == full.export()
    assert other.restore(full.export(), NOON).unchanged


def test_nothing_is_exchanged_while_somebody_works(full: Ledger, other: Ledger, clock: ManualClock) -> None:
    with other.lease(LOCAL, clock, 60), pytest.raises(LedgerBusy, match="cluster local is in use by process"):
        other.restore(full.export(), clock.now())
    assert other.ownership(LOCAL) == {}
    other.restore(full.export(), clock.now())


def test_an_import_that_fails_half_way_changes_nothing(full: Ledger, tmp_path: Path) -> None:
    other = Ledger.open("sqlite:///other.db", tmp_path, KEY)
    other.offset_changes.begin(LOCAL, replace(SKIP, name=OffsetChangeName("mine")), EARLIER, NOON)
    before = other.export()
    with Database("sqlite:///other.db", tmp_path).write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON revisions BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises((LedgerUnusable, LedgerBusy)):
        other.restore(full.export(), NOON, replace=True)
    assert other.export() == before


def test_what_is_wrong_is_named_with_its_place() -> None:
    cases = read_yaml(Path(__file__).with_name("wrong_exports.yaml"))
    for path, change, message in cases:
        document = json.loads(SAMPLE)
        *parents, last = path
        part = reduce(getitem, parents, document)
        if change == "remove":
            del part[last]
        else:
            part[last] = document["ownership"] * 2 if change == "twice" else change["value"]
        with pytest.raises(UsageError) as raised:
            read_archive(json.dumps(document), "a.json")
        text = str(raised.value)
        assert text.startswith("a.json is damaged, or is not an export of the ledger: ")
        assert text.endswith("; nothing was imported")
        assert message in text


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "NaN", "[" * 100_000, '{"name": "orders", "config": {}}'])
def test_a_foreign_file_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"a\.json is damaged, or is not an export of the ledger"):
        read_archive(text, "a.json")


@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_and_never_a_bug(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(SAMPLE)))
    end = data.draw(st.integers(begin, min(len(SAMPLE), begin + 40)))
    with suppress(UsageError):
        read_archive(SAMPLE[:begin] + data.draw(st.text(max_size=3)) + SAMPLE[end:], "a.json")
