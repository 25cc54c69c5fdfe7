"""Export and restore of a ledger: no row is lost or changed, and a damaged archive changes nothing."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filled_ledger import KEY, ORDERS, fill
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cluster.manual_clock import ManualClock
from support.ledger.ledger_places import LedgerPlace
from support.planner.operation_values import LOCAL, NOON, SKIP, STOOD, offsets

from gitops_connect.errors import LedgerBusy, LedgerUnusable, UsageError
from gitops_connect.ledger.archive import TABLES, Archive, read_archive, write_archive
from gitops_connect.ledger.database import Database
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.ledger.tables import METADATA
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.names import OperationName
from gitops_connect.model.offsets import OffsetPatch, offset_text, pack, partition_text
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


@pytest.mark.slow
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


def put(table: str, number: int, column: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document[table][number].update({column: value})


def packed(value: OffsetPatch) -> str:
    return base64.b64encode(pack(value)).decode()


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no version": (lambda one: one.pop("format_version"), "expected an object with a format_version"),
    "a newer version": (lambda one: one.update(format_version=7), "has format_version 7, but this .* reads 6"),
    "no operations": (lambda one: one.pop("operations"), "the document has no operations"),
    "a foreign field": (lambda one: one.update(spec={}), "the document has an unknown field 'spec'"),
    "no list": (lambda one: one.update(revisions={}), "revisions: expected a list"),
    "no row": (lambda one: one.update(revisions=[1]), r"revisions\[0\]: expected an object"),
    "a column less": (lambda one: one["operations"][1].pop("since"), r"operations\[1\] has no since"),
    "a column more": (put("operations", 0, "colour", "red"), r"operations\[0\] has an unknown field 'colour'"),
    "a state": (
        put("operations", 0, "state", "done"),
        "expected one of intended, in_progress, applied, .*, found 'done'",
    ),
    "a kind": (put("revisions", 0, "kind", "seen"), "expected one of attempted, applied, found 'seen'"),
    "a time": (put("operations", 0, "since", "yesterday"), "expected a time such as .*, found 'yesterday'"),
    "a time without a zone": (put("operations", 0, "since", "2026-11-21T10:00:00"), "expected a time such as"),
    "a null": (put("ownership", 0, "revision", None), r"ownership\[0\].revision: expected a string, found None"),
    "a truth": (put("operations", 0, "final", "no"), "expected true or false, found 'no'"),
    "a number": (put("operations", 0, "failures", -1), "expected a number from 0 to 2147483647, found -1"),
    "a huge number": (put("operations", 0, "failures", 10**20), "expected a number"),
    "digests": (put("ownership", 0, "applied", {"a": 1}), r"ownership\[0\].applied.a: expected a string"),
    "an acknowledgement": (put("operations", 0, "acknowledged", ["all"]), "expected one of rewind, skip"),
    "no base64": (put("operations", 0, "declared", "*"), r"operations\[0\].declared: expected packed offsets"),
    "no offsets": (put("operations", 0, "declared", "AAAA"), "expected packed offsets"),
    "no objects": (put("operations", 0, "declared", packed({"1": "2"})), "'1' is not a canonical JSON object"),  # type: ignore[dict-item]
    "another snapshot": (put("operations", 0, "snapshot", packed(offsets(3))), "are not those of digest_before"),
    "nothing to finish": (
        put("operations", 0, "snapshot", None),
        r"operations\[0\] is in_progress, but has no snapshot",
    ),
    "a history": (put("config_histories", 0, "history", {"healthy": 1}), "expected the configs of a connector"),
    "a reviewed plan": (put("reviewed_plans", 0, "plan", {"head": 1}), "expected a reviewed plan"),
    "an approved plan": (put("approvals", 0, "plan", []), r"approvals\[0\].plan: expected a reviewed plan"),
    "half a pair": (put("operations", 0, "message", "\ud83d"), "surrogates not allowed"),
    "twice": (lambda one: one["ownership"].append(one["ownership"][0]), "orders of local occurs 2 times"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_wrong_is_named_with_its_place(name: str) -> None:
    document = json.loads(SAMPLE)
    damage, message = DAMAGE[name]
    damage(document)
    with pytest.raises(
        UsageError, match=f"a.json is damaged, or is not an export of the ledger: .*{message}.*; nothing was imported"
    ):
        read_archive(json.dumps(document), "a.json")


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
