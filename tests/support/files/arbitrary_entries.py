"""Generated entries of manifests: valid and invalid ones, and values that are none."""

from __future__ import annotations

from hypothesis import strategies as st

from support.files.manifests import entry, mirrored, sunk

plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.integers(-2, 3), st.floats(), st.text(max_size=3)
)
names = st.sampled_from(["cluster", "topic", "partition", "offset", "kafka_topic", "kafka_partition", "kafka_offset"])
_anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner), max_leaves=6)
_halves = st.none() | st.dictionaries(names | st.text(max_size=2), plain | _anything) | plain
arbitrary_entries = st.one_of(
    _anything,
    st.dictionaries(st.sampled_from(["partition", "offset", "note"]), _halves),
    st.builds(mirrored, plain | st.integers(0, 5), plain | st.integers(0, 5)),
    st.builds(mirrored, st.integers(0, 3), st.integers(0, 5)),
    st.builds(sunk, st.sampled_from(["orders", "other"]), plain | st.integers(0, 5), plain | st.integers(0, 5)),
    st.builds(entry, st.builds(lambda n: {"shard": n}, st.integers(0, 3)), st.builds(lambda s: {"seq": s}, plain)),
)
