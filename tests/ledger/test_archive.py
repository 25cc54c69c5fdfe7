"""Export and restore of a ledger: no row is lost or changed, and a damaged archive changes nothing."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml
from filled_ledger import KEY, ORDERS, fill
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace
from support.planner.operation_values import LOCAL, NOON, SKIP, STOOD

from gitops_connect.errors import LedgerBusy, LedgerUnusable, UsageError
from gitops_connect.ledger.archive import TABLES, Archive, read_archive, write_archive
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import METADATA
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import OperationName
from gitops_connect.model.offsets import OffsetPatch, offset_text, partition_text
from gitops_connect.model.operations import Acknowledgement, Operation, OperationKind
from gitops_connect.model.ownership import Ownership

pytestmark = pytest.mark.slow

OTHER_KEY = b"o" * 32
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
objects = st.dictionaries(words, st.none() | st.booleans() | st.integers() | words, max_size=2)
patches: st.SearchStrategy[OffsetPatch] = st.dictionaries(
    objects.map(partition_text), st.none() | objects.map(offset_text), max_size=3
)
earlier = st.dictionaries(objects.map(partition_text), objects.map(offset_text), max_size=3)
operations = st.builds(
    Operation,
    name=words,
    connector=words,
    kind=st.sampled_from(OperationKind),
    digest=words,
    revision=words,
    offsets=patches,
    acknowledged=st.frozensets(st.sampled_from(Acknowledgement)),
)
ownerships = st.builds(
    replace,
    st.just(ORDERS),
    connector=words,
    since=times,
    desired=st.none() | words,
    applied=st.dictionaries(words, words, max_size=2),
    on_delete=st.sampled_from(OnDelete),
)


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


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ledger, Ledger]:
    directory = tmp_path_factory.mktemp("pair")
    return Ledger.open("sqlite:///here.db", directory, KEY), Ledger.open("sqlite:///there.db", directory, KEY)


@settings(max_examples=20)
@given(
    ownerships=st.lists(ownerships, max_size=3, unique_by=lambda one: one.connector),
    begun=st.lists(st.tuples(operations, earlier, st.booleans(), times), max_size=3, unique_by=lambda one: one[0].name),
)
def test_what_is_imported_is_what_was_exported(
    pair: tuple[Ledger, Ledger],
    ownerships: list[Ownership],
    begun: list[tuple[Operation, dict[Any, Any], bool, datetime]],
) -> None:
    here, there = pair
    here.restore(Archive(here.export().key_fingerprint, {table.name: () for table in TABLES}), NOON, replace=True)
    here.record(*ownerships)
    for operation, before, settled, at in begun:
        here.operations.begin(LOCAL, operation, before, at)
        if settled:
            here.operations.settle(LOCAL, operation.name, before, "w", at)
    text = write_archive(here.export())
    there.restore(read_archive(text, "a.json"), NOON, replace=True)
    assert write_archive(there.export()) == text
    assert there.ownership(LOCAL) == here.ownership(LOCAL)
    assert there.operations.records(LOCAL) == here.operations.records(LOCAL)
    for operation, before, _, _ in begun:
        assert there.operations.saved(LOCAL, operation.name) == operation
        assert there.operations.snapshot(LOCAL, operation.name) == before


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
    assert other.operations.records(LOCAL) == full.operations.records(LOCAL)
    assert other.revisions(LOCAL) == full.revisions(LOCAL)
    again = other.restore(full.export(), NOON)
    assert again.unchanged


def test_a_ledger_with_something_else_is_left_alone_or_replaced_whole(full: Ledger, other: Ledger) -> None:
    other.operations.begin(LOCAL, replace(SKIP, name=OperationName("mine")), STOOD, NOON)
    before = other.export()
    with pytest.raises(
        UsageError,
        match=r"other data \(ownership: 0, operations: 1, restarts: 0, .*, revisions: 0\).*--replace",
    ):
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
    other.operations.begin(LOCAL, replace(SKIP, name=OperationName("mine")), STOOD, NOON)
    before = other.export()
    with Database("sqlite:///other.db", tmp_path).write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON revisions BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises((LedgerUnusable, LedgerBusy)):
        other.restore(full.export(), NOON, replace=True)
    assert other.export() == before


def test_what_is_wrong_is_named_with_its_place() -> None:
    cases = yaml.safe_load(Path(__file__).with_name("wrong_exports.yaml").read_text(encoding="utf-8"))
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
