"""Units of distances, in words; and numbers of offsets in the notation of their source system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.tables import rows

from gitops_connect.families.debezium import PG_LSN as PG_LSN_KIND
from gitops_connect.families.debezium import WAL_BYTES
from gitops_connect.families.jdbc import MILLISECONDS, TIME
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.sinks import RECORDS
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, Scale, Unit, duration

assert PG_LSN_KIND.notation is not None
assert PG_LSN_KIND.notation.read is not None
assert MILLISECONDS.notation is not None
PG_LSN, parse_pg_lsn, AS_TIME = PG_LSN_KIND.notation, PG_LSN_KIND.notation.read, MILLISECONDS.notation


UNITS = {unit.key: unit for family in BUILT_IN.families for unit in family.units}


@pytest.mark.parametrize(("unit", "distance", "words"), rows(__file__, "amounts"))
def test_amounts(unit: str, distance: int, words: str) -> None:
    assert Scale(UNITS.get(unit)).amount(distance) == words


@pytest.mark.parametrize(("milliseconds", "words"), rows(__file__, "durations"))
def test_durations(milliseconds: int, words: str) -> None:
    assert duration(milliseconds) == words


def test_every_unit_has_a_limit() -> None:
    assert {unit.limit for unit in UNITS.values()} | {"other"} == DEFAULT_SKIP_LIMITS.keys()
    assert len(UNITS) == sum(len(family.units) for family in BUILT_IN.families)


@pytest.mark.parametrize(
    ("word", "unit"), [("records", RECORDS), ("time", TIME), ("pages", Unit("pages", "pages", "pages")), ("", None)]
)
def test_a_unit_of_the_repository_is_one_of_ours_by_its_key_and_else_a_word(word: str, unit: Unit | None) -> None:
    schema = OffsetSchema("com.example.Mine", "p", {}, ("at",), word)
    shape = BUILT_IN.with_schemas({"com.example.Mine": schema}).shape({"connector.class": "Mine"})
    assert shape is not None
    assert (shape.unit, shape.scale.name) == (unit, word)


def test_an_lsn_is_written_as_postgresql_writes_it() -> None:
    assert PG_LSN.write(26_760_080) == "0/1985390"
    assert parse_pg_lsn("0/1985390") == 26_760_080
    assert PG_LSN.write(0x16_B374_D848) == "16/B374D848"
    assert parse_pg_lsn("16/b374d848") == 0x16_B374_D848
    for wrong in ("", "1985390", "0/", "0/123456789", "0x0/1", "0/1\n", " 0/1", 5, None):
        assert parse_pg_lsn(wrong) is None
    for wrong in (-1, 2**64, True, "0/1", None, 1.0):
        assert PG_LSN.write(wrong) == ""


@given(st.integers(0, 2**64 - 1))
def test_an_lsn_there_and_back(number: int) -> None:
    assert parse_pg_lsn(PG_LSN.write(number)) == number


def test_a_time_is_written_in_utc() -> None:
    assert AS_TIME.write(1_763_719_200_250) == "2025-11-21T10:00:00.250Z"
    assert AS_TIME.write(-1) == "1969-12-31T23:59:59.999Z"
    assert AS_TIME.write(2**63 - 1) == ""


def test_the_notations_of_an_offset() -> None:
    scale = Scale(WAL_BYTES, notations={"lsn_proc": PG_LSN, "lsn": PG_LSN})
    assert scale.written({"lsn": 26_760_080, "lsn_proc": None, "txId": 7}) == {"lsn": "0/1985390"}
