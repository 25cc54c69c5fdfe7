"""The verdict on a complete manifest: exactly the violations are found, and valid entries become canonical."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.arbitrary_entries import arbitrary_entries, names
from support.files.manifests import (
    FILE,
    FILE_SOURCE,
    MIRROR,
    ORDERS,
    OTHER,
    SINK,
    UNREAD,
    context_of,
    entry,
    manifest,
    mirrored,
    offsets,
    rules,
    sunk,
    verdict,
)
from support.files.manifests import read as filed

from gitops_connect.model.diagnostics import Location, Severity
from gitops_connect.model.manifests import Manifest, ManifestFault, OffsetSchema
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import partition_text, to_json
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.rules.small import SHOWN, check

pytestmark = pytest.mark.slow

CONTEXT = context_of(MIRROR)
JDBC = {"connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector"}


def test_twenty_are_named_and_the_rest_is_counted() -> None:
    entries = [mirrored(number, -1) for number in range(SHOWN + 1235)] + [mirrored(cluster="WRONG")]
    found = verdict(entries, MIRROR)
    negative = [item for item in found.diagnostics if item.rule == "manifest/negative"]
    assert len(negative) == SHOWN + 1
    assert sorted(item.location.line for item in negative) == [1, *range(1, SHOWN + 1)]
    (rest,) = [item for item in negative if "more of this rule" in item.summary]
    assert rest.summary == "1,235 more of this rule, 1,255 in total"
    assert (rest.location, rest.severity, rest.connector) == (Location(FILE), Severity.ERROR, ORDERS)
    assert [item.location.line for item in found.diagnostics if item.rule == "manifest/alias"] == [len(entries)]
    assert found.counts == {"manifest/negative": SHOWN + 1235, "manifest/alias": 1}
    assert (found.errors, found.unread) == (SHOWN + 1236, 1)


class _Fraction(float):
    """Counts the calls of `is_integer`, which the code makes only when it explains a violation."""

    asked = 0

    def is_integer(self) -> bool:
        type(self).asked += 1
        return super().is_integer()


def test_of_very_many_findings_few_are_explained_and_all_are_counted() -> None:
    _Fraction.asked = 0
    found = verdict((mirrored(number, _Fraction(1.5)) for number in range(3000)), MIRROR)
    assert (found.counts, found.errors) == ({"manifest/type": 3000}, 3000)
    assert 0 < _Fraction.asked <= SHOWN


def test_an_error_is_not_hidden_behind_many_warnings_of_its_rule() -> None:
    entries = [mirrored(number, zone="a") for number in range(SHOWN + 5)] + [entry({"cluster": "z"}, {"offset": 1})]
    found = verdict(entries, MIRROR, acknowledged=UNREAD)
    assert [item.location.line for item in found.diagnostics.errors] == [len(entries)] * 3
    (rest,) = [item for item in found.diagnostics.warnings if "more of this rule" in item.summary]
    assert (rest.summary, rest.hint) == (f"5 more of this rule, {SHOWN + 5} in total", "")
    assert (found.errors, found.unread, found.offsets) == (3, SHOWN + 5, None)


def test_twenty_exactly_leave_no_rest() -> None:
    found = verdict([mirrored(number, -1) for number in range(SHOWN)], MIRROR)
    assert len(found.diagnostics) == SHOWN


def test_what_could_not_be_read_is_said_along_with_the_rest() -> None:
    fault = ManifestFault("manifest/syntax", "'}' where a value belongs", Location(FILE, 7, 3))
    broken = Manifest(Location(FILE), manifest([mirrored(0, -1)]).entries, (fault,))
    found = check(broken, CONTEXT, OffsetChangeKind.ALTER)
    assert rules(found) == [(1, "negative"), (7, "syntax")]
    assert found.offsets is None
    problem = found.diagnostics.items[1]
    assert problem.summary == "the offset manifest cannot be read: '}' where a value belongs"
    assert problem.location == Location(FILE, 7, 3)


def test_of_each_rule_of_the_reader_the_first_faults_are_named() -> None:
    faults = tuple(
        ManifestFault(f"manifest/{rule}", f"fault {n}", Location(FILE, n))
        for rule, first in (("syntax", 1), ("number", 100))
        for n in range(first, first + SHOWN + 2)
    )
    found = check(Manifest(Location(FILE), (), faults), CONTEXT, OffsetChangeKind.ALTER)
    named = [item.location.line for item in found.diagnostics if "more of this rule" not in item.summary]
    assert named == [*range(1, SHOWN + 1), *range(100, 100 + SHOWN)]
    assert [item.summary for item in found.diagnostics][:2] == [f"2 more of this rule, {SHOWN + 2} in total"] * 2


@given(st.permutations([mirrored(number, number * 7) for number in range(6)] + [entry(mirrored(9)["partition"], None)]))
def test_the_order_of_entries_does_not_matter(entries: list[Any]) -> None:
    assert verdict(entries, MIRROR).offsets == verdict(sorted(entries, key=str), MIRROR).offsets


configs = st.sampled_from([MIRROR, SINK, FILE_SOURCE, OTHER, None])


@given(st.lists(arbitrary_entries, max_size=5), configs, st.sampled_from([None, offsets(mirrored(), sunk())]))
def test_no_content_of_a_file_is_a_crash(entries: list[Any], config: Any, current: Any) -> None:
    found = verdict(entries, config, current)
    assert (found.offsets is None) == bool(found.diagnostics.errors)
    for item in found.diagnostics:
        assert "{" not in item.hint.replace('{"partition": {...}, "offset": {...}}', "").replace(
            '{"offsets": [...]}', ""
        )
        assert len(item.summary) < 500


lives = st.sampled_from([None, offsets(mirrored(), sunk(), mirrored(cluster="elsewhere"), sunk("other"))])


@given(st.lists(arbitrary_entries, max_size=3), configs, lives)
def test_an_acknowledgement_changes_how_grave_a_thing_is_and_not_what_is_found(
    entries: list[Any], config: Any, current: Any
) -> None:
    refused, taken = (verdict(entries, config, current, acknowledged=one) for one in (frozenset(), UNREAD))
    assert [(item.location, item.rule, item.summary) for item in refused.diagnostics] == [
        (item.location, item.rule, item.summary) for item in taken.diagnostics
    ]
    assert (refused.counts, refused.unread) == (taken.counts, taken.unread)
    pairs = list(zip(refused.diagnostics, taken.diagnostics, strict=True))
    eased = [one for one, other in pairs if one.severity is not other.severity]
    assert all("acknowledge: [unread]" in item.hint and item.severity is Severity.ERROR for item in eased)
    assert not any("acknowledge" in item.hint for item in taken.diagnostics)
    assert bool(eased) == bool(taken.unread)
    if refused.offsets is not None:
        assert refused.offsets == taken.offsets


offsets_of_all_kinds = st.dictionaries(
    names | st.text(max_size=2),
    st.none()
    | st.booleans()
    | st.integers(-5, 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    max_size=3,
)


@given(st.lists(st.tuples(offsets_of_all_kinds, offsets_of_all_kinds), max_size=6), st.data())
def test_current_offsets_may_be_written_as_they_are(pairs: list[Any], data: st.DataObject) -> None:
    """Offsets that were saved pass unchanged if the class does not check its partitions."""
    current = offsets(*(entry(partition, offset) for partition, offset in pairs))
    saved = list(to_json(current))
    kept = [one for one in saved if data.draw(st.booleans())] or [mirrored()]
    for config in (OTHER, JDBC):
        assert rules(verdict(saved, config, current)) == ([] if saved else [(1, "empty")])
    assert not verdict(kept, FILE_SOURCE, current).unread or kept == [mirrored()]


@given(arbitrary_entries, configs, lives)
def test_the_short_way_agrees_with_the_long_one(value: Any, config: Any, current: Any) -> None:
    """With a schema of the repository, here one that accepts everything, each entry is checked completely."""
    accepts_all = OffsetSchema("com.example.Any", "offset-schemas/any.json", {})
    contexts = (context_of(config, current, schema) for schema in (None, accepts_all))
    quick, thorough = (EntryChecker(context, OffsetChangeKind.ALTER) for context in contexts)
    assert quick.check(value) == thorough.check(value)


def test_the_short_way_is_taken() -> None:
    """The fast path makes large manifests fast; without it, all tests would pass, but slowly."""
    unread = mirrored(cluster="other")
    for config, value in ((MIRROR, mirrored()), (SINK, sunk()), (FILE_SOURCE, filed()), (MIRROR, unread)):
        assert EntryChecker(context_of(config), OffsetChangeKind.ALTER)._fits(value)


def test_a_deeply_nested_entry_is_an_error_and_no_crash() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert rules(verdict([entry({"a": deep}, {}), deep], OTHER)) == [(1, "type"), (2, "entry")]
    assert partition_text({"a": 1}) == '{"a":1}'
