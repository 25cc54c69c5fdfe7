"""Both engines find exactly the planted faults, each on its line."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.files.manifests import UNREAD
from support.planted.planted import NOT_PLANTED, Planted, held_to_plants, place, violations_in
from support.planted.planted_families import FAMILIES, ODD_LINES
from support.planted.planted_lines import REPEATS, UNKEPT_LINES, Plan, is_fine
from support.planted.planting import make
from support.spark.large_engine import in_process, said_by_large

from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.offsets.rules.rules import RULES
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.offsets.spark.input_splits import SPLIT_SIZE

OF_THE_REST = re.compile(r"[0-9,]+ more of this rule, [0-9,]+ in total")
pytestmark = pytest.mark.slow

_THOROUGH = pytest.mark.thorough
KINDS = [OffsetChangeKind.ALTER, OffsetChangeKind.REPLACE, OffsetChangeKind.SEED]
EACH_KIND = [KINDS[0], *(pytest.param(kind, marks=_THOROUGH) for kind in KINDS[1:])]
"""Every family is tested with one kind in `make test`, and with all kinds before a release."""
NO_NULLS = (OffsetChangeKind.REPLACE, OffsetChangeKind.SEED)
LIVE = (0.0, 0.6, 1.0)
NAMES = [("offsets/a.jsonl",), ("offsets/a.jsonl", "offsets/b.jsonl.gz", "offsets/c.ndjson"), ("offsets/a.jsonl.zst",)]


def both(several: Sequence[Planted], verdicts: Any) -> None:
    for planted, verdict in zip(several, verdicts, strict=True):
        found, expected = said_by_large(verdict), planted.by_small()
        held_to_plants(planted, found)
        if planted.unreadable <= SHOWN:
            held_to_plants(planted, expected)
            apart = set(_at_lines(found.diagnostics)) ^ set(_at_lines(expected.diagnostics))
            assert not sorted(apart, key=Diagnostic.sort_key)


def _at_lines(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The large engine keeps no column of a repeat: it reports 1, even if the line begins with whitespace."""
    of_repeats = ("manifest/duplicate", "manifest/conflict")
    found = [
        replace(one, location=replace(one.location, column=1)) if one.rule in of_repeats else one for one in diagnostics
    ]
    return sorted(found, key=Diagnostic.sort_key)


def checked(*several: Planted, split_size: int = SPLIT_SIZE) -> None:
    with TemporaryDirectory() as directory:
        filed = [one.filed(Path(directory) / str(number)) for number, one in enumerate(several)]
        verdicts = in_process(filed, split_size=split_size, violations=Path(directory))
        violations = violations_in(Path(directory))
    both(several, verdicts)
    found = Counter(one[:4] for one in violations.elements())
    expected = sum((one.all_named() for one in several), Counter())
    assert not [*(found - expected), *(expected - found)]
    said = {(*place(one), one.location.column, one.summary) for verdict in verdicts for one in verdict.diagnostics}
    assert not [one for one in said if one not in violations and not OF_THE_REST.fullmatch(one[-1])]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", EACH_KIND, ids=lambda kind: kind.value)
@pytest.mark.parametrize("current", [*(pytest.param(one, marks=_THOROUGH) for one in (None, 0.0)), 0.5])
def test_each_plant_alone(name: str, kind: OffsetChangeKind, current: float | None) -> None:
    family = FAMILIES[name]
    chosen: list[Any] = [[]]
    for one in (*family.plants, *UNKEPT_LINES):
        chosen += [[one], []]
    chosen += [["duplicate"], ["conflict"], ["duplicate"]]
    plans = [Plan(family, kind, acknowledged, current) for acknowledged in (frozenset(), UNREAD)]
    checked(*(make(plan, chosen, random.Random(3)) for plan in plans))  # noqa: S311 - the same each time


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", EACH_KIND, ids=lambda kind: kind.value)
@pytest.mark.parametrize(
    "of",
    [[*zip(LIVE, NAMES, strict=True)], pytest.param([*product(LIVE, NAMES)], marks=_THOROUGH)],
    ids=["some", "all"],
)
def test_plants_without_errors_change_the_reported_moves(name: str, kind: OffsetChangeKind, of: list[Any]) -> None:
    family = FAMILIES[name]
    fine = [one.name for one in family.plants.values() if is_fine(one) and not (one.is_null and kind in NO_NULLS)]
    chosen: list[Any] = [[one] if rest else [] for one in fine for rest in (1, 0, 0, 0)]
    plans = [Plan(family, kind, UNREAD, current, names) for current, names in of]
    made = [make(plan, chosen, random.Random(5)) for plan in plans]  # noqa: S311 - a test needs no secure random numbers
    assert all(one.errors == 0 and (one.moves or not one.context.current) for one in made)
    checked(*made)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", EACH_KIND, ids=lambda kind: kind.value)
def test_several_plants_in_one_entry(name: str, kind: OffsetChangeKind) -> None:
    family, rnd = FAMILIES[name], random.Random(11)  # noqa: S311 - a test needs no secure random numbers
    chosen = [rnd.sample(list(family.plants), rnd.choice([2, 2, 3])) for _ in range(100)]
    checked(*(make(Plan(family, kind, UNREAD, current), chosen, rnd) for current in (None, 0.4)))


plans = st.builds(
    Plan,
    st.sampled_from(list(FAMILIES.values())),
    st.sampled_from(KINDS),
    st.sampled_from([frozenset(), UNREAD]),
    st.sampled_from([None, 0.0, 0.3, 1.0]),
    st.sampled_from(NAMES),
)


@st.composite
def manifests(draw: Any) -> Planted:
    plan = draw(plans)
    every = [*plan.family.plants, *UNKEPT_LINES, *REPEATS]
    of_line = st.lists(st.sampled_from(every), max_size=4) | st.just([])
    return make(plan, draw(st.lists(of_line, min_size=1, max_size=40)), draw(st.randoms(use_true_random=False)))


OF_ANOTHER = make(
    Plan(FAMILIES["a class of nobody, types mixed"], current=0.6),
    [["partition.shard another", "offset.seq the other type"]],
    random.Random(1),  # noqa: S311 - a test needs no secure random numbers
)
"""A partition without a current offset may have any of the types that those of other partitions have."""


@settings(max_examples=max(40, settings().max_examples // 2))
@example([OF_ANOTHER], SPLIT_SIZE)
@given(st.lists(manifests(), min_size=1, max_size=4), st.sampled_from([SPLIT_SIZE, 300, 1]))
def test_all_planted_faults_are_found(several: list[Planted], split_size: int) -> None:
    checked(*several, split_size=split_size)


def test_the_first_of_many_violations_are_named() -> None:
    """The first violations across all files are named, because the places of all violations are known."""
    family = FAMILIES["mirror"]
    names = ["offset.offset negative", "partition.cluster elsewhere", "entry: list"]
    names += ["duplicate", "note number", "offset missing"]
    chosen = [[names[number % 7]] if number % 7 < 6 else [] for number in range(400)]
    for acknowledged in (frozenset(), UNREAD):
        plan = Plan(family, OffsetChangeKind.ALTER, acknowledged, 0.5, NAMES[1])
        checked(make(plan, chosen, random.Random(7)), split_size=900)  # noqa: S311 - a test needs no secure random numbers


def test_every_rule_is_planted() -> None:
    """A new rule needs a plant, or an entry with a reason in NOT_PLANTED."""
    said = {say.rule for family in FAMILIES.values() for one in family.plants.values() for say in one.says}
    said |= {*ODD_LINES, "entry", *REPEATS, "tombstone", "nothing-to-remove"}
    assert {rule.removeprefix("manifest/") for rule in RULES} == said | NOT_PLANTED.keys()
    assert not said & NOT_PLANTED.keys()


def test_every_known_family_is_planted() -> None:
    shapes = [BUILT_IN.shape(family.config) for family in FAMILIES.values() if family.config is not None]
    assert {shape.name for shape in (one.shape for one in BUILT_IN.classes.values()) if shape} <= {
        shape.name for shape in shapes if shape
    }
