"""The page of `offsets check --report`: complete, self-contained, and safe from hostile values in manifests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from report.test_values_from_outside import with_values
from support.files.goldens import assert_golden
from support.files.manifests import MIRROR, mirrored, verdict
from support.server.markup import Markup

from gitops_connect.families.debezium import WAL_BYTES
from gitops_connect.families.sinks import RECORDS
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Direction, Move, ResumeAspect, ResumeLine
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import offset_text, partition_text
from gitops_connect.model.units import Scale, Unit
from gitops_connect.report.manifest_check import CheckedManifest
from gitops_connect.report.manifest_page import PageOrigin, bars, render

ORIGIN = PageOrigin("gitops-connect 0.1.0", datetime(2026, 11, 21, 16, 0, tzinfo=UTC))
CONNECTOR = ConnectorName("orders-source")
FOREIGN = '</code><script>alert("1")</script>\u202e&amp;\ud800'


def move(name: str, current: int | None, declared: int | None, direction: Direction) -> Move:
    distance = abs(current - declared) if current is not None and declared is not None else None
    texts = [None if one is None else offset_text({"offset": one}) for one in (current, declared)]
    partition = partition_text({"cluster": "a", "partition": 0, "topic": name})
    return Move(partition, texts[0], texts[1], direction, distance)


MOVES = (
    move("orders", 5_000_000, 12, Direction.REWIND),
    move("returns", 700, 690, Direction.REWIND),
    move("old", 4, None, Direction.REMOVED),
    move("refunds", 20, 1_000, Direction.FORWARD),
    move("added", None, 0, Direction.NEW),
)
DIFFERENCE = Difference(
    {Direction.REWIND: 12_034, Direction.REMOVED: 1, Direction.FORWARD: 310, Direction.NEW: 1, Direction.SAME: 987_000},
    {Direction.REWIND: 9_123_456, Direction.FORWARD: 310_200},
    MOVES,
    Scale(RECORDS),
)
CLEAN = CheckedManifest(
    file="offsets/orders.jsonl",
    connector=CONNECTOR,
    cluster=ClusterName("local"),
    basis="as declared",
    kind=OffsetChangeKind.REPLACE,
    entries=1_000_000,
    partitions=1_000_000,
    difference=DIFFERENCE,
    acknowledge=(Acknowledgement.REWIND, Acknowledgement.TOMBSTONE),
    distribution={Direction.REWIND: (11_000, 0, 1_030, 3, 0, 0, 1), Direction.FORWARD: (0, 10, 300)},
    files=("offsets/orders.jsonl",),
    spark="local[*]",
    seconds=4.83,
)


def with_errors() -> CheckedManifest:
    foreign = [mirrored(number, cluster="elsewhere") for number in range(30)]
    found = verdict([*foreign, mirrored(offset=-5), mirrored(offset="x")], MIRROR)
    return replace(
        CLEAN,
        difference=None,
        distribution={},
        acknowledge=(),
        diagnostics=found.diagnostics,
        counts=found.counts,
        errors=found.errors,
        files=("offsets/one.jsonl", "offsets/two.csv.gz"),
    )


@pytest.mark.parametrize(
    ("golden", "checked"), [("manifest_page.html", CLEAN), ("manifest_page_errors.html", with_errors())]
)
def test_it_needs_nothing_from_elsewhere_and_runs_nothing(golden: str, checked: CheckedManifest) -> None:
    text = render(checked, ORIGIN)
    assert_golden(golden, text)
    page = Markup(text)
    assert not page.open, "all that is opened is closed"
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags)
    assert {*page.attributes["href"], *page.attributes["src"]} <= {"violations.parquet"}
    assert page.attributes["lang"] == ["en"]
    assert any(value.startswith("default-src 'none'") for value in page.attributes["content"])


def test_bytes_of_a_log_are_a_distance_and_no_rows() -> None:
    one = move("orders", 5_000_000, 12, Direction.REWIND)
    line = ResumeLine(ResumeAspect.RISK, "nothing <is> read again", external=True)
    wal = Difference({Direction.REWIND: 1}, {Direction.REWIND: 832}, (one,), Scale(WAL_BYTES), resume=(line,))
    page = Markup(render(replace(CLEAN, difference=wal), ORIGIN))
    assert "832 bytes of WAL earlier" in page.texts
    assert "risk: nothing <is> read again" in page.texts
    assert not any("come again" in text for text in page.texts)


def foreign() -> CheckedManifest:
    """A check with problems in which every string is from outside."""
    diagnostic = Diagnostic(Severity.ERROR, "rule", "summary", Location("file", 3), "hint")
    difference = replace(DIFFERENCE, scale=Scale(Unit("pages", "pages", "pages")))
    made = replace(CLEAN, difference=difference, diagnostics=Diagnostics.of([diagnostic]), counts={"rule": 1}, errors=1)
    found: CheckedManifest = with_values(made, lambda _: FOREIGN)
    return found


@pytest.mark.parametrize("checked", [foreign(), replace(foreign(), difference=None, why_not=FOREIGN)])
def test_foreign_text_is_text_wherever_it_is(checked: CheckedManifest) -> None:
    text = render(checked, PageOrigin(FOREIGN, ORIGIN.when))
    page, usual = Markup(text), Markup(render(CLEAN, ORIGIN))
    assert not page.open
    assert not set(page.tags) - {*usual.tags, "a", "ul", "li", "br"}
    assert 'alert("1")' in page.text
    assert not {"\u202e", "\ud800"} & set(text)
    assert {*page.attributes["href"], *page.attributes["src"]} <= {"violations.parquet"}
    text.encode()


def test_a_page_without_offenders_and_without_offsets_to_compare_with() -> None:
    text = Markup(render(replace(CLEAN, difference=None, why_not="offline"), ORIGIN)).text
    assert "No problems" in text
    assert "Not compared with the current offsets: offline." in text
    assert "No entry violates a rule" in text


def test_the_bars_of_a_distribution() -> None:
    def drawn(*counts: int) -> list[tuple[str, float, str]]:
        """For each row its label, the length of its bar, and the number at its end."""
        return [(bar["label"], float(bar["length"] or 0), str(bar["count"])) for bar in bars(counts)["rows"]]

    (_, first, _), (_, second, _) = drawn(50, 100)
    assert second == pytest.approx(2 * first, rel=0.01)
    many, one = drawn(1_000_000, 1)
    assert many[1] > one[1] > 10, "a single move is seen beside a million"
    found = [(label, count) for label, _, count in drawn(0, 0, 3, 0, 5)]
    assert found == [("100 to 999", "3"), ("1 k to 10 k", "0"), ("10 k to 100 k", "5")]
    assert drawn(*[0] * 18, 1)[0][0] == "1 E to 10 E"
