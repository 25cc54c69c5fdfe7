"""Both engines give the same verdict on the same file, and find exactly the planted faults."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.arbitrary_entries import arbitrary_entries
from support.files.manifests import FILE_SOURCE, MIRROR, OTHER, SINK, UNREAD, entry, mirrored, offsets, sunk
from support.spark.large_engine import (
    PATTERN_SINK,
    Case,
    by_small,
    checked,
    checked_in_each_way,
    filed,
    in_process,
    jsonl,
    laid_out,
    line_of,
    said_by_large,
)

from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.offsets.spark.check import prepare
from gitops_connect.offsets.spark.check_job import OffsetForm
from gitops_connect.offsets.spark.input_splits import SPLIT_SIZE
from gitops_connect.offsets.spark.job_files import job_directories
from gitops_connect.offsets.spark.join import TIES

pytestmark = pytest.mark.slow
PACKED = [pytest.param(suffix, marks=pytest.mark.thorough) for suffix in (".gz", ".zst")]


POSTGRES = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
ODD_LINES = {
    "latin-1 among other faults": jsonl([mirrored(1, -1), mirrored(2)])
    + b'\n{"partition":{"cluster":"\xe9"}}\n\xff\xfe\n'
    + jsonl([mirrored(2), mirrored(3, "4", topic="\u00e9")])
    + b"{}\0\n" * (SHOWN + 1)
    + b'{"partition":{"cluster":"source","partition":1,"topic":"\xed\xa0\x80"},"offset":{"offset":1}}\r\n',
    "digits": jsonl([mirrored(n, 10**n) for n in range(19)]) + jsonl([mirrored(10**n) for n in range(10)]),
    "long": jsonl([mirrored(1), mirrored(2, topic="x" * 3_000_000), mirrored(3), mirrored(3)]),
    "long keys": jsonl([mirrored(1, topic="x" * 600 + str(n % 3)) for n in range(5)]),
    "in several forms": b"".join(
        laid_out(mirrored(n % 7, n % 3 if n % 4 else None), separators, backwards=backwards).encode() + b"\r\n"
        for n in range(9)
        for separators in ((",", ":"), (", ", ": "), ("\t,", " :"))
        for backwards in (False, True)
    ),
    "megabytes of blanks": jsonl([mirrored(1), mirrored(2), mirrored(1)]).replace(
        b'"offset"', b" " * 1_000_000 + b'"offset"'
    ),
    "marks in names": jsonl(mirrored(n, **{'say "\\u0022"': '"' * (n % 2)}) for n in range(4))
    + jsonl(entry({'\u00e9"': f"\u00e9{n % 2}"}, {"\U0001f600": n}) for n in range(4)),
    "topics": jsonl(sunk(topic, n % 2) for n, topic in enumerate(["orders", "invoices", "others", "innnvoices"] * 2)),
}


@pytest.mark.parametrize("kind", [OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE])
@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_of_moves_that_tie_the_first_by_partition_are_named(kind: OffsetChangeKind, suffix: str) -> None:
    """This must not depend on their lines, unless too many moves tie."""
    rnd = random.Random(1)  # noqa: S311 - the same each time
    for config, make in ((MIRROR, mirrored), (OTHER, lambda n, at: entry({"shard": n}, {"seq": at}))):
        current = [make(n, 50) for n in range(2 * TIES)]
        lines = [make(n, 50 + rnd.choice([5, 5, 5, 5, 6, 7, 1]) * (-1) ** (n % 2)) for n in range(TIES)]
        lines += [make(n, 1) for n in range(1000, 1120)]
        rnd.shuffle(lines)
        checked(Case(jsonl(lines), config, offsets(*current), kind, name=f"m.jsonl{suffix}"), split_size=2000)


@pytest.mark.parametrize("name", ODD_LINES)
@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_odd_lines(name: str, suffix: str) -> None:
    checked_in_each_way(ODD_LINES[name], f"m.jsonl{suffix}")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_file_that_is_cut_off_or_damaged(suffix: str) -> None:
    whole = Case(jsonl(mirrored(n) for n in range(5000)), MIRROR, name=f"m.jsonl{suffix}").stored
    damaged = whole[: len(whole) // 2] + b"damage!!" + whole[len(whole) // 2 + 8 :]
    contents = [whole[:-3], whole[: len(whole) // 2], damaged, whole + b"rest", whole + whole, b"", b"plain"]
    checked(*(Case(content, MIRROR, name=f"m.jsonl{suffix}", packed=True) for content in contents))


def test_many_offenders_of_a_rule_are_counted() -> None:
    lines = [mirrored(n, -1) for n in range(50)] + [mirrored(n, 3) for n in range(100, 160)] * 2
    checked(Case(jsonl([*lines, *(mirrored(n, 4) for n in range(100, 150))]), MIRROR))
    checked(
        Case(b'{"partition":\n' * 30 + b"[NaN]\n" * (SHOWN + 1) + b"{}}\n" * 9 + b"[1e999]\n" * 2, MIRROR),
        split_size=50,
    )


OWN_WORDS: dict[str, Any] = {
    "a misspelt field of the partition": (
        MIRROR,
        lambda n: entry({"cluster": "source", f"topi{n}": "a", "partition": n}, {"offset": n}),
    ),
    "a misspelt field of the offset": (MIRROR, lambda n: entry(mirrored(n)["partition"], {f"offse{n}": n})),
    "an unknown field of the offset": (MIRROR, lambda n: entry(mirrored(n)["partition"], {"offset": n, f"note{n}": n})),
    "an unknown field of the entry": (MIRROR, lambda n: {**mirrored(n), f"note{n}": n}),
    "a field and a value that nothing reads": (FILE_SOURCE, lambda n: entry({"filename": f"/{n}"}, {f"positio{n}": n})),
    "an offset that contradicts its current offset": (
        POSTGRES,
        lambda n: entry({"server": f"s{n % 997}"}, {"lsn": n, "lsn_proc": 7, "ts_usec": n, f"nte{n}": n}),
    ),
    "another type than its current offset": (OTHER, lambda n: entry({"shard": n}, {"seq": f"x{n}"})),
}
"""For each entry, other words explain what is wrong with it."""
NUMBERS = {str(FILE_SOURCE): {"position": 7}, str(POSTGRES): {"lsn": 7, "lsn_proc": 7}, str(OTHER): {"seq": 7}}


@pytest.mark.parametrize("name", OWN_WORDS)
@pytest.mark.parametrize(
    "same",
    [pytest.param((), id="other offsets", marks=pytest.mark.thorough), pytest.param((0, 3), id="some equal offsets")],
)
@pytest.mark.parametrize(
    "acknowledged", [frozenset(), pytest.param(UNREAD, marks=pytest.mark.thorough)], ids=["nothing", "unread"]
)
def test_entries_that_are_each_wrong_in_words_of_their_own(
    name: str, same: tuple[int, ...], acknowledged: frozenset[Acknowledgement], tmp_path: Path
) -> None:
    """More field names than are cached. A third of the partitions have current offsets."""
    config, make = OWN_WORDS[name]
    lines = [make(n) for n in range(1200)]
    current = [
        entry(line["partition"], line["offset"] if n % 9 in same else NUMBERS.get(str(config), {"offset": 7}))
        for n, line in enumerate(lines)
        if n % 3 == 0
    ]
    cases = [Case(jsonl(lines), config, one, acknowledged=acknowledged) for one in (None, {}, offsets(*current))]
    expected = [replace(by_small(case), largest=()) for case in cases]
    assert expected[-1].counts
    manifests = [filed(case, tmp_path / str(n)) for n, case in enumerate(cases)]
    for split_size in (SPLIT_SIZE, 9000):
        verdicts = in_process(manifests, split_size=split_size)
        # Moves of equal distance are not compared: there are more than TIES.
        assert [replace(said_by_large(one), largest=()) for one in verdicts] == expected


def test_only_findings_that_a_current_offset_may_change_wait_for_it_and_only_a_file_needs_their_words(
    tmp_path: Path,
) -> None:
    """Without this, everything would be found, but slowly."""
    found = {}
    for name in ("a misspelt field of the offset", "a field and a value that nothing reads"):
        config, make = OWN_WORDS[name]
        manifest = filed(Case(jsonl(make(n) for n in range(9)), config, offsets(make(10))), tmp_path / name)
        for violations in (None, tmp_path / f"violations of {name}"):
            job = replace(prepare([manifest], 1), directories=job_directories(None, violations))
            batches = job.read([pa.RecordBatch.from_pydict({"id": range(len(job.splits))})])
            rows = [pa.ipc.open_stream(row).read_all() for batch in batches for row in batch.column("rows").to_pylist()]
            waiting = [json.loads(row["text"]) for row in rows[-1].to_pylist() if row["form"] == OffsetForm.DEFERRED]
            found[name, violations is None] = (
                len(waiting),
                any(words for *_, said in waiting for _, _, words, _ in said),
            )
    assert list(found.values()) == [(0, False), (0, False), (9, False), (9, True)]


blanks = st.sampled_from([(",", ":"), (", ", ": "), (",\t", ":"), (" ,", " :  ")])
texts = st.one_of(
    st.builds(
        lambda value, separators, ascii_only: line_of(value, separators, ascii_only=ascii_only),
        arbitrary_entries,
        st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]),
        st.booleans(),
    ),
    st.builds(
        lambda value, separators, backwards: laid_out(value, separators, backwards=backwards),
        arbitrary_entries,
        blanks,
        st.booleans(),
    ),
)
lives = st.sampled_from(
    [
        None,
        {},
        offsets(mirrored(), sunk(), mirrored(cluster="elsewhere"), sunk("other")),
        offsets(entry({"shard": 1}, {"seq": 1}), entry({"shard": 2}, {"seq": 1.5}), entry({"shard": 3}, {"seq": None})),
        offsets(entry({"shard": 1}, {"seq": "1"}), entry({"shard": 2}, {"seq": "x", "more": True})),
    ]
)
cases = st.builds(
    lambda lines, config, current, kind, acknowledged: Case(
        "\n".join(lines).encode("utf-8", "surrogatepass"), config, current, kind, acknowledged
    ),
    st.lists(texts, max_size=8),
    st.sampled_from([MIRROR, SINK, PATTERN_SINK, FILE_SOURCE, OTHER, None]),
    lives,
    st.sampled_from([OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE, OffsetChangeKind.SEED]),
    st.sampled_from([frozenset(), UNREAD]),
)


@settings(max_examples=max(40, settings().max_examples // 2))
@given(
    st.lists(cases, min_size=1, max_size=4),
    st.sampled_from([SPLIT_SIZE, 1, 50, 300]),
    st.sampled_from(["", ".gz", ".zst"]),
)
def test_both_engines_give_the_same_verdict_on_any_file(several: list[Case], split_size: int, suffix: str) -> None:
    checked(*(replace(case, name=f"{case.name}{suffix}") for case in several), split_size=split_size)


def test_lsns_as_postgresql_writes_them_are_the_same_offsets_as_their_numbers() -> None:
    config = {"connector.class": "PostgresConnector"}
    lsns = [100, "0/64", "0/1985390", "x/1", "0/123456789", -1]
    lines = [entry({"server": f"s{n}"}, {"lsn": lsns[n % len(lsns)]}) for n in range(60)]
    current = offsets(*(entry({"server": f"s{n}"}, {"lsn": 100 + n % 2}) for n in range(30)))
    checked(
        Case(jsonl(lines), config, current),
        Case(jsonl(line for n, line in enumerate(lines) if n % 6 < 3), config, current),
    )
