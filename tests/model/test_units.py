"""Units of distances, in words; and numbers of offsets in the notation of their source system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, Notation, Scale, Unit, duration, parse_pg_lsn, unit_named


@pytest.mark.parametrize(
    ("unit", "distance", "words"),
    [
        (Unit.RECORDS, 1, "1 record"),
        (Unit.RECORDS, 1200, "1,200 records"),
        (Unit.FILE_BYTES, 1, "1 byte of the file"),
        (Unit.WAL_BYTES, 832, "832 bytes of WAL"),
        (Unit.BINLOG_BYTES, 2, "2 bytes of binlog"),
        (Unit.IDS, 1, "1 id"),
        (Unit.TIME, 7_500_000, "2 h 5 min"),
        (None, 5, "5"),
    ],
)
def test_amounts(unit: Unit | None, distance: int, words: str) -> None:
    assert Scale(unit).amount(distance) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0 ms"), (250, "250 ms"), (61_000, "1 min 1 s"), (93_784_005, "1 d 2 h"), (3_600_000, "1 h")],
)
def test_durations(milliseconds: int, words: str) -> None:
    assert duration(milliseconds) == words


def test_every_unit_has_a_limit_and_words() -> None:
    assert DEFAULT_SKIP_LIMITS.keys() == set(Unit)
    for unit in Unit:
        assert any(character.isalpha() for character in Scale(unit, "pages").amount(2))


def test_a_unit_of_the_repository_is_one_of_ours_by_its_key_and_else_a_word() -> None:
    assert unit_named("records") == (Unit.RECORDS, "")
    assert unit_named("time") == (Unit.TIME, "")
    assert unit_named("pages") == (Unit.OTHER, "pages")
    assert unit_named("other") == (Unit.OTHER, "other")
    assert unit_named("") == (None, "")
    assert Scale(Unit.OTHER, "pages").name == "pages"
    assert Scale(Unit.WAL_BYTES).name == "wal_bytes"


def test_an_lsn_is_written_as_postgresql_writes_it() -> None:
    assert Notation.PG_LSN.write(26_760_080) == "0/1985390"
    assert parse_pg_lsn("0/1985390") == 26_760_080
    assert Notation.PG_LSN.write(0x16_B374_D848) == "16/B374D848"
    assert parse_pg_lsn("16/b374d848") == 0x16_B374_D848
    for wrong in ("", "1985390", "0/", "0/123456789", "0x0/1", "0/1\n", " 0/1", 5, None):
        assert parse_pg_lsn(wrong) is None
    for wrong in (-1, 2**64, True, "0/1", None, 1.0):
        assert Notation.PG_LSN.write(wrong) == ""


@given(st.integers(0, 2**64 - 1))
def test_an_lsn_there_and_back(number: int) -> None:
    assert parse_pg_lsn(Notation.PG_LSN.write(number)) == number


def test_a_time_is_written_in_utc() -> None:
    assert Notation.MILLISECONDS.write(1_763_719_200_250) == "2025-11-21T10:00:00.250Z"
    assert Notation.MILLISECONDS.write(-1) == "1969-12-31T23:59:59.999Z"
    assert Notation.MILLISECONDS.write(2**63 - 1) == ""


def test_the_notations_of_an_offset() -> None:
    scale = Scale(Unit.WAL_BYTES, notations={"lsn_proc": Notation.PG_LSN, "lsn": Notation.PG_LSN})
    assert scale.written({"lsn": 26_760_080, "lsn_proc": None, "txId": 7}) == {"lsn": "0/1985390"}
