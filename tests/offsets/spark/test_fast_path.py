"""Lines of any form: the fast path agrees with the complete check, and it accepts all regular lines."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.manifests import FILE_SOURCE, MIRROR, OTHER, SINK, context_of, entry, mirrored, read, sunk
from support.spark.large_engine import DEBEZIUM, PATTERN_SINK, laid_out

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.offsets.rules.entries import EntryChecker
from gitops_connect.offsets.spark.keys import Secret, hash_fields, hash_partitions
from gitops_connect.offsets.spark.layouts import LineBuffer
from gitops_connect.offsets.spark.line_formats import (
    MAX_FORMS,
    canonical_lines,
    canonical_partitions,
    learn,
    learn_current,
    match_lines,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

numbers = st.integers(0, 10**18 - 1) | st.integers(0, 3) | st.integers(-5, 2**64)
texts = st.text(max_size=4) | st.sampled_from(["orders", "invoices", "source", "/data/orders.txt"])
values = {
    "mirror": (MIRROR, st.builds(mirrored, numbers, numbers, topic=texts)),
    "sink": (SINK, st.builds(sunk, texts, numbers, numbers)),
    "sink with a pattern": (PATTERN_SINK, st.builds(sunk, texts, numbers, numbers)),
    "file": (FILE_SOURCE, st.builds(read, texts, numbers)),
    "Debezium": (
        DEBEZIUM,
        st.builds(
            lambda lsn, snapshot, more: entry({"server": "a"}, {"lsn": lsn, "ts_usec": 5, **snapshot, **more}),
            numbers,
            st.sampled_from([{}, {"snapshot": True}]),
            st.dictionaries(texts, numbers, max_size=1),
        ),
    ),
    "other": (
        OTHER,
        st.builds(lambda a, b, c: entry({"z": a, "a": b}, {"y": c, "b": a}), texts, numbers, texts | numbers),
    ),
    "unknown": (None, st.builds(lambda a, b: entry({"a": a}, {"\u00e9": b}), texts, st.booleans())),
}
SECRET = Secret(bytes(range(16)))
forms = st.tuples(
    st.sampled_from([(",", ":"), (", ", ": "), (",\t", ":"), (" ,", " :  ")]),
    st.booleans(),
    st.sampled_from(["", " ", "\t "]),
    st.sampled_from(["\n", " \n", "\r\n"]),
)


def canonical(value: Any) -> tuple[str, str]:
    offset = "null" if value["offset"] is None else offset_text(value["offset"])
    partition = partition_text(value["partition"])
    return partition, f'{{"partition":{partition},"offset":{offset}}}\n'


@settings(max_examples=120)
@given(
    st.data(), st.sampled_from([*values]), st.lists(forms, min_size=1, max_size=5), st.randoms(use_true_random=False)
)
def test_what_is_certified_is_what_the_long_way_says(data: Any, name: str, several: Any, rnd: random.Random) -> None:
    config, strategy = values[name]
    listed = data.draw(st.lists(strategy, min_size=1, max_size=12))
    lines = []
    for value in listed:
        separators, backwards, before, behind = rnd.choice(several)
        spoiled = {**value, "offset": None} if rnd.random() < 0.2 else value
        lines.append(before + laid_out(spoiled, separators, backwards=backwards) + behind)
    content = "".join(lines).encode()
    context = context_of(config)
    line_format = learn(content.splitlines(), context, OffsetChangeKind.ALTER)
    checker = EntryChecker(context, OffsetChangeKind.ALTER)
    found = zip(
        canonical_lines(content, line_format).to_pylist(),
        canonical_partitions(content, line_format).to_pylist(),
        lines,
        strict=True,
    )
    for line, partition, text in found:
        if line is not None:
            assert (partition, line) == canonical(json.loads(text))
    for one in match_lines(LineBuffer(content), line_format)[0]:
        for row in one.rows:
            findings = checker.check(json.loads(lines[row])).findings
            if one.form.has_own_words:
                findings = tuple(found._replace(words={}) for found in findings)
            assert findings == one.form.findings
        own = hash_fields(one.partition(), len(one.rows), SECRET)
        texts_ = [partition_text(json.loads(lines[row])["partition"]) for row in one.rows]
        assert np.array_equal(own, hash_partitions(texts_, SECRET))


def test_other_partitions_have_other_hashes() -> None:
    texts = ["", "0", "\0", "\0\0", "a", "a\0", "x" * 600, "x" * 601]
    odd = [0, 1, -1, 0.0, False, True, None, 2**63 - 1, -(2**63), *texts]
    partitions: list[Any] = [{}, *({name: value} for name in ("a", "b", "") for value in odd)]
    partitions += [{"a": a, "b": b} for a in odd for b in odd]
    first, second = hash_partitions([partition_text(one) for one in partitions], SECRET)
    assert len(set(first.tolist())) == len(set(second.tolist())) == len(partitions)


PLAIN = {
    "mirror": (MIRROR, lambda n: mirrored(n, n * 7, topic=f"t{n}")),
    "sink": (SINK, lambda n: sunk("orders" if n % 2 else "invoices", n, n)),
    "sink with a pattern": (PATTERN_SINK, lambda n: sunk(f"ord{n}", n, n)),
    "file": (FILE_SOURCE, lambda n: read(position=n)),
    "Debezium": (DEBEZIUM, lambda n: entry({"server": "a"}, {"lsn": n, "ts_usec": n, "txId": 3})),
    "other": (OTHER, lambda n: entry({"z": str(n), "a": True}, {"y": n, "b": "x"})),
    "unknown": (None, lambda n: entry({"a": f"\u00e9{n}"}, {"\u00e9": n})),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("count", range(1, MAX_FORMS + 1))
def test_regular_lines_are_certified(name: str, count: int) -> None:
    """Regular lines and tombstones, in up to MAX_FORMS forms."""
    config, make = PLAIN[name]
    several = [((", ", ": "), False), ((",", ":"), True), ((",", ":"), False), ((",\t", " : "), True)][:count]
    ways = [several[n % count] for n in range(40)]
    made = [make(n) if n < 20 else {**make(n), "offset": None} for n in range(40)]
    listed = [laid_out(one, way[0], backwards=way[1]) for one, way in zip(made, ways, strict=True)]
    content = ("\n".join(listed) + "\n").encode()
    line_format = learn(content.splitlines(), context_of(config), OffsetChangeKind.ALTER)
    assert canonical_lines(content, line_format).to_pylist() == [canonical(json.loads(line))[1] for line in listed]


@pytest.mark.parametrize("name", PLAIN)
def test_current_offsets_may_have_any_layout(name: str) -> None:
    config, make = PLAIN[name]
    listed = [laid_out(make(n), backwards=True) for n in range(9)]
    content = ("\n".join(listed) + "\n").encode()
    line_format = learn_current(content.splitlines(), BUILT_IN.shape(config or {}))
    assert canonical_partitions(content, line_format).to_pylist() == [canonical(json.loads(line))[0] for line in listed]
