"""Offsets as text, and patches between sets of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitops_connect.model.offsets import (
    merged,
    offset_text,
    offsets_digest,
    pack,
    partition_text,
    patch_between,
    unpack,
)

keys = st.sampled_from([partition_text({"filename": name}) for name in "abcde"])
values = st.integers(0, 3).map(lambda position: offset_text({"position": position}))
sets = st.dictionaries(keys, values)


@given(sets, sets)
def test_a_patch_between_two_sets_leads_from_one_to_the_other_and_touches_nothing_else(current, wanted) -> None:
    patch = patch_between(current, wanted)
    assert merged(current, patch) == wanted
    assert all(current.get(one) != offset for one, offset in patch.items())


@given(sets)
def test_what_is_packed_is_unpacked(offsets) -> None:
    shuffled = dict(reversed(offsets.items()))
    assert unpack(pack(offsets)) == offsets
    assert pack(offsets) == pack(shuffled)
    assert offsets_digest(offsets) == offsets_digest(shuffled)


def test_equal_is_what_connect_would_keep_as_equal() -> None:
    assert offset_text({"b": 1, "a": 2}) == offset_text({"a": 2, "b": 1})
    assert len({offset_text({"position": value}) for value in (1, 1.0, "1", True)}) == 4
    assert offset_text({"at": [-0.0, {"x": -0.0}], "text": "-0.0"}) == '{"at":[0.0,{"x":0.0}],"text":"-0.0"}'
