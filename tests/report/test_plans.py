"""Plans in each rendering: what is done, what is blocked and why, the symbols above and the last line below."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.files.goldens import FOLDER, assert_golden
from support.files.tables import rows, table
from support.planner.situations import (
    NOW,
    REVISION,
    change,
    current_offsets,
    record,
    seen,
    situation,
    situation_of,
    wanted,
)

from gitops_connect.families.debezium import BINLOG_BYTES, WAL_BYTES
from gitops_connect.families.file_stream import FILE_BYTES
from gitops_connect.families.jdbc import TIME
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.families.sinks import RECORDS
from gitops_connect.model.desired import OnDelete
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.differences import Difference, Direction, Move
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChange, OffsetChangeKind, seed_name
from gitops_connect.model.offsets import Offsets, OffsetText, PartitionText, offset_text, partition_text
from gitops_connect.model.outcomes import ReconciliationOutcome, Result, StepOutcome
from gitops_connect.model.ownership import Origin
from gitops_connect.model.plans import Action, OffsetChangeStatus, Plan, PlannedOffsetChange, Step
from gitops_connect.model.reviewed_plans import ReviewMode, Reviews
from gitops_connect.model.units import Scale, Unit
from gitops_connect.plan.offset_review import find_difference
from gitops_connect.plan.ownership_records import remember
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import OffsetSituation, Situation, Unfinished
from gitops_connect.report import markdown, offset_lines, plan_json, plan_view
from gitops_connect.report.offset_lines import (
    also_written,
    counts,
    difference_lines,
    move_lines,
    offset_words,
    partition_words,
)
from gitops_connect.report.plan_json import difference_value
from gitops_connect.report.printable import LONGEST
from gitops_connect.report.receipt import Receipt
from gitops_connect.report.summary import totals
from gitops_connect.report.text import TextReport
from gitops_connect.report.words import left_stopped

SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": "orders"}
ORIGIN = plan_json.PlanOrigin(datetime(2026, 11, 21, tzinfo=UTC), REVISION, directory="connect")
CONTROL = "\x1b[2J\x9b31m\u202e"
"""Characters that clear a terminal, colour it, or reverse the text."""


def of_topic(offsets: Mapping[int, int | None]) -> dict[PartitionText, OffsetText | None]:
    return {
        partition_text({"kafka_topic": "orders", "kafka_partition": number}): None
        if offset is None
        else offset_text({"kafka_offset": offset})
        for number, offset in offsets.items()
    }


def status(offsets: Mapping[int, int]) -> Offsets:
    return {partition: offset for partition, offset in of_topic(offsets).items() if offset is not None}


def every_offset_change() -> Situation:
    """One change of each kind.

    Alter, replace, reset, seed, already there, withdrawn, rejected, waiting, without a connector, applied.
    """
    given = table(__file__, "offset changes")
    changes = [change(**one) for one in given["changes"]]
    changes[0] = replace(changes[0], reason="see INC-4711")
    old = [change(f"2026-10-{day:02}-old", "many") for day in range(1, 13)]
    made = situation_of({**given["situation"], "changes": [*changes, *old]})
    seed = change(seed_name(ConnectorName("seeded")), "seeded", kind="seed")
    desired = tuple(
        replace(one, initial_offsets=seed) if one.name == "seeded" else one for one in made.desired.connectors
    )
    name, connector = OffsetChangeName("2026-10-30-cut-off"), ConnectorName("unfinished")
    withdrawn = OffsetChange(name, connector, OffsetChangeKind.ALTER, Digest("d3"), REVISION, current_offsets(a=7))
    many = [f"f{number:02}" for number in range(12)]
    strange = {partition_text({"filename": f"/{CONTROL}"}): offset_text({"position": 1})}
    current = {ConnectorName(name): offsets_of(one) for name, one in given["current"].items()}
    current[ConnectorName("cleaned")] |= strange
    current[ConnectorName("many")] = current_offsets(**dict.fromkeys(many, 100)) | strange
    replaced = current_offsets(**{name: number for number, name in enumerate(many)})
    offsets = OffsetSituation(
        records={
            one.name: record(one, "applied", since=NOW - timedelta(days=index)) for index, one in enumerate(old[::-1])
        },
        unfinished={name: Unfinished(withdrawn, current_offsets(a=1))},
        manifests={
            **{OffsetChangeName(name): offsets_of(one) for name, one in given["manifests"].items()},
            OffsetChangeName("2026-11-05-replace"): replaced,
            seed.name: current_offsets(a=20),
        },
        current=current,
        shapes={one.name: shape for one in desired if (shape := BUILT_IN.shape(one.config)) is not None},
    )
    return replace(made, desired=replace(made.desired, connectors=desired), offsets=offsets)


def offsets_of(given: Mapping[Any, Any]) -> dict[PartitionText, Any]:
    """Offsets of partitions of a topic, which are numbers, or of files."""
    return dict(current_offsets(**given) if "a" in given else of_topic(given))


@pytest.fixture
def moving() -> Plan:
    """The plan of these changes."""
    return replace(plan(every_offset_change()), digest=Digest("d" * 64), fingerprint=Digest("f" * 64))


def test_each_rendering_of_offset_changes(moving: Plan) -> None:
    errors = len(moving.diagnostics.errors)
    assert_golden("offsets.txt", TextReport(coloured=False).plans([moving], errors))
    assert_golden("offsets.md", markdown.render([moving], errors=errors))
    text = plan_json.render([moving], moving.diagnostics, ORIGIN)
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    assert_golden("offsets.json", text)


def test_every_partition_is_shown_where_that_is_asked_for(moving: Plan) -> None:
    assert "and 3 more (plan --all-offsets, or -o json)" in TextReport(coloured=False).plans([moving])
    assert "and 3 more (plan --all-offsets, or -o json)" in markdown.render([moving])
    for text in (TextReport(coloured=False, moves=None).plans([moving]), markdown.render([moving], None)):
        assert "--all-offsets" not in text
        assert all(f'"/{name}"' in text or f'"{name}"' in text for name in (f"f{number:02}" for number in range(12)))


def test_colour_adds_nothing_but_colour(moving: Plan) -> None:
    coloured = TextReport(coloured=True).plans([moving])
    assert "\x1b[31m<\x1b[0m" in coloured
    assert "\x1b[32m+\x1b[0m" in coloured
    for sequence in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        coloured = coloured.replace(sequence, "")
    assert coloured == TextReport(coloured=False).plans([moving])


def test_only_what_waits_is_no_match() -> None:
    waits = [change("a", "orders")]
    given = situation([wanted("orders", "absent")], [], changes=waits)
    text = TextReport(coloured=False).plans([plan(given)])
    assert "match the configuration" not in text
    assert "No changes can be applied now. Offset changes: 1 blocked (the plan gives the reasons)." in text
    assert "offset change a (alter) is blocked: its connector is declared absent" in text


def test_what_was_applied_is_no_change() -> None:
    one = change("a", "orders")
    offsets = OffsetSituation(records={one.name: record(one, "applied")})
    given = situation([wanted("orders")], [seen("orders")], owned=["orders"], changes=[one], offsets=offsets)
    text = TextReport(coloured=False).plans([plan(given)])
    assert "\n\n  1 offset change was applied before; `gitops-connect ledger show` lists it\n" in text
    assert "a (alter)" not in text
    listed = TextReport(coloured=False, applied=True).plans([plan(given)])
    assert "      a (alter) of orders: applied 2026-11-21 09:30:00 UTC, commit 1a2b3c4" in listed
    assert "applied before;" not in listed
    assert text.endswith("No changes. Your connectors match the configuration.\n")


def test_a_suspended_connector_has_no_changes_to_apply() -> None:
    one = change("a", "orders", acknowledge=["rewind"])
    current = {ConnectorName("orders"): current_offsets(a=9)}
    offsets = OffsetSituation(manifests={one.name: current_offsets(a=1)}, current=current)
    given = situation(
        [wanted("orders", suspend=True)], [seen("orders")], owned=["orders"], changes=[one], offsets=offsets
    )
    value = json.loads(plan_json.render([plan(given)], plan(given).diagnostics, ORIGIN))
    assert (value["summary"]["offset_changes"], value["summary"]["offset_changes_blocked"]) == (0, 0)
    (shown,) = value["clusters"][0]["offset_changes"]
    assert (shown["status"], shown["due"]) == (OffsetChangeStatus.PLANNED.value, False)


@pytest.mark.parametrize(("partition", "words"), rows(__file__, "partitions"))
def test_two_partitions_never_look_alike(partition: Mapping[str, Any], words: str) -> None:
    shown = partition_words(partition_text(partition))
    assert shown == words
    if shown.startswith("{"):
        assert json.loads(shown) == partition


@pytest.mark.parametrize(("offset", "words"), rows(__file__, "offsets"))
def test_two_offsets_never_look_alike(offset: Mapping[str, Any], words: str) -> None:
    assert offset_words(offset_text(offset)) == words
    assert offset_words(None) == "(none)"


@pytest.mark.parametrize(
    "secret", ["https://ana:hunter2hunter2@db.example/a", 'x":{\n-----BEGIN PRIVATE KEY-----hunter2']
)
def test_a_secret_in_an_offset_is_masked_wherever_the_text_is_cut(secret: str) -> None:
    for length in range(LONGEST - 60, LONGEST):
        offset = {"a": "x" * length, "url": secret}
        move = Move(partition_text(offset), offset_text(offset), None, Direction.REMOVED)
        answers = (Receipt(difference=Difference(moves=(move,))).value(), plan_json.without_secrets(move.current))
        assert isinstance(answers[1], dict)
        for shown in (partition_words(move.partition), offset_words(move.current), *map(str, answers)):
            assert "hunter2" not in shown


SCALES = {
    **{unit.key: Scale(unit) for unit in (RECORDS, WAL_BYTES, BINLOG_BYTES, FILE_BYTES, TIME)},
    **{name: Scale(Unit(name, name, name)) for name in ("pages", "{rows}")},
    "unknown": Scale(),
}


def difference(moves: Iterable[tuple[str, int | None]], scale: str = "records") -> Difference:
    """The difference of these moves, each the name of a direction with a distance."""
    made = [
        Move(PartitionText(f'{{"p":{index}}}'), None, None, Direction[name], distance)
        for index, (name, distance) in enumerate(moves)
    ]
    found = Counter(one.direction for one in made)
    far: Counter[Direction] = Counter()
    for one in made:
        if one.distance:
            far[one.direction] += one.distance
    return Difference(found, far, tuple(made), SCALES[scale])


@pytest.mark.parametrize(("words", "moves", "scale"), rows(__file__, "counts"))
def test_counts(words: str, moves: list[tuple[str, int | None]], scale: str) -> None:
    assert counts(difference(moves, scale)) == words


@pytest.mark.parametrize(("current", "declared", "written"), rows(__file__, "notations"))
def test_a_second_notation_is_of_a_field_that_both_offsets_have_if_there_is_one(
    current: dict[str, Any], declared: dict[str, Any], written: str
) -> None:
    move = Move(partition_text({"server": "shop"}), offset_text(current), offset_text(declared), Direction.REWIND, 832)
    postgres = BUILT_IN.classes["io.debezium.connector.postgresql.PostgresConnector"].shape
    assert postgres is not None
    assert also_written(move, postgres.scale) == written


def test_a_move_is_also_written_as_its_source_system_writes_it() -> None:
    for config, before, after, end in rows(__file__, "written"):
        partition = partition_text({"table": "orders"})
        current = {} if before is None else {partition: offset_text(before)}
        made = find_difference(current, {partition: offset_text(after)}, BUILT_IN.shape(config))
        (line,) = move_lines(made.moves, made.scale)
        assert line.text.endswith(end)
    assert difference_value(made)["unit"] == "time"
    assert difference_value(made)["moves"][0]["also_written"].startswith("timestamp 2025-11-21T10")


def test_what_decides_is_said_once_below_all_moves() -> None:
    postgres = BUILT_IN.shape({"connector.class": "PostgresConnector"})
    servers = [partition_text({"server": name}) for name in ("a", "b")]
    before = {one: offset_text({"lsn": 100}) for one in servers}
    made = find_difference(before, {one: offset_text({"lsn": 90}) for one in servers}, postgres)
    texts = [line.text for line in difference_lines(made, None)]
    aspects = [text.partition(":")[0] for text in texts[3:]]
    assert aspects == ["resume position", "needs", "risk", "risk", "to read rows again"]
    assert "the replication slot decides, not the offset" in texts[3]


def test_a_move_into_an_unfinished_snapshot_and_out_of_it_says_what_is_read() -> None:
    streaming, snapshot = {"file": "a.1", "pos": 4}, {"file": "a.1", "pos": 4, "snapshot": "INITIAL"}
    said = []
    for before, after in ((streaming, snapshot), (snapshot, streaming), (streaming, {**streaming, "pos": 2})):
        current, declared = ({partition_text({"server": "a"}): offset_text(one)} for one in (before, after))
        made = find_difference(current, declared, BUILT_IN.shape({"connector.class": "MySql"}))
        said.append([line.message for line in made.resume if "unfinished snapshot" in line.message])
    assert said == [
        ["the offset is of an unfinished snapshot, so that the next start takes the snapshot again"],
        ["the current offset is of an unfinished snapshot, whose remaining rows are not read"],
        [],
    ]


def test_what_connect_warns_of_is_no_plain_success(moving: Plan) -> None:
    offset_change = next(step.offset_change for step in moving.steps if step.action is Action.ALTER)
    step = Step(ConnectorName("moved"), Action.ALTER, "offset change x", offset_change=offset_change)
    warned = StepOutcome(step, Result.APPLIED, "managed externally\x1b[2J", 0.5)
    report = TextReport(coloured=False)
    assert report.step(warned) == "  ~ moved: alter applied after 0.5 s, with a warning"
    plain = replace(warned, message="")
    cycle = ReconciliationOutcome(ClusterName("local"), REVISION, moving, moving.diagnostics, (warned, plain))
    assert report.outcome([cycle]) == (
        "Applied with a warning:\n"
        f"  moved: alter ({offset_change.name if offset_change else ''}): warning: managed externally [2J\n"
        "\n"
        "Apply: 2 of 2 steps applied, 0 failed, 0 skipped, 1 warning.\n"
    )


def test_what_is_not_confirmed_yet_is_not_called_applied(moving: Plan) -> None:
    resume = Step(ConnectorName("moved"), Action.RESUME, "declared running")
    unconfirmed = StepOutcome(resume, Result.UNCONFIRMED, "it runs without tasks: no topic", 5.0)
    report, line = TextReport(coloured=False), "  ^ moved: resume not confirmed yet: it runs without tasks: no topic"
    assert report.step(unconfirmed) == line
    cycle = ReconciliationOutcome(ClusterName("local"), REVISION, moving, moving.diagnostics, (unconfirmed,))
    assert report.outcome([cycle]) == (
        f"Not confirmed yet (`gitops-connect status` shows whether they work):\n{line}\n\n"
        "Apply: 0 of 1 step applied, 0 failed, 0 skipped, 1 not confirmed yet.\n"
    )


SCHEMA = Path(__file__).parents[2] / "schemas" / "plan.schema.json"
PROBLEM = Diagnostic(Severity.ERROR, "schema/type", "tasksMax: expected a number", Location("a.yaml", 3, 9), "write 1")


def everything() -> Situation:
    made = situation_of(table(__file__, "everything"))
    record = remember(made, wanted("drifting", config={"file": "/a"}), Origin.CREATED, NOW)
    return replace(made, ownership={**made.ownership, record.connector: record})


@pytest.fixture
def made() -> Plan:
    return replace(plan(everything()), digest=Digest("d" * 64), fingerprint=Digest("f" * 64))


def test_each_rendering(made: Plan) -> None:
    """Also: no secret is in any of them."""
    origin = plan_json.PlanOrigin(datetime(2026, 11, 21, tzinfo=UTC), REVISION)
    text = plan_json.render([made], Diagnostics.of([PROBLEM]), origin)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema, jsonschema.Draft202012Validator)
    assert_golden("plan.json", text)
    assert_golden("plan.txt", TextReport(coloured=False).plans([made], errors=1))
    assert_golden("plan.md", markdown.render([made], errors=1))
    assert "hunter" not in repr(made)
    assert not [name for name in ("plan.json", "plan.txt", "plan.md") if "hunter" in (FOLDER / name).read_text()]


def test_json_says_what_nobody_has_reviewed() -> None:
    blocked = seen("paused", "PAUSED"), wanted("paused", "paused", config={"topic": "new"})
    drifted = seen("drifted", "PAUSED"), wanted("drifted")
    observed, desired = zip(blocked, drifted, strict=True)
    before = situation(desired, observed, owned=["paused", "drifted"], reviews=Reviews(ReviewMode.MANUAL))
    record = remember(before, drifted[1], Origin.CREATED, NOW)
    made = plan(replace(before, ownership={**before.ownership, record.connector: record}))
    text = plan_json.render([made], Diagnostics(), plan_json.PlanOrigin(NOW, REVISION))
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
    found = {one["name"]: one for one in json.loads(text)["clusters"][0]["resource_changes"]}
    assert (found["drifted"]["applicable"], found["drifted"]["unreviewed"]) == (True, None)
    assert not found["paused"]["applicable"]
    assert found["paused"]["unreviewed"] == {"planned": ["configure: 1 key differs"], "reviewed": []}


def test_nothing_is_claimed_of_clusters_that_could_not_be_planned() -> None:
    assert TextReport(coloured=False).plans([]) == "No plan could be made.\n"
    assert markdown.render([]) == "**No plan could be made.**\n"


def test_the_line_names_the_connector_and_both_ways_out() -> None:
    assert left_stopped(ConnectorName("orders"), "http://one:8083/") == (
        "connector orders is still stopped, because this process ended before it could resume the connector:"
        " run `gitops-connect apply` to finish its steps, or resume it with its current offsets:"
        " curl -X PUT http://one:8083/connectors/orders/resume"
    )
    assert left_stopped(ConnectorName("a b?"), "http://one:8083").endswith("/connectors/a%20b%3F/resume")


ORDERS = ConnectorName("orders")


def text(made: Plan, errors: int = 0) -> str:
    return TextReport(coloured=False).plans([made], errors)


def last_line(made: Plan, errors: int = 0) -> str:
    return text(made, errors).splitlines()[-1]


def rewound(**more: Any) -> Plan:
    """A plan with one change that rewinds, which its document does not acknowledge."""
    one = change("back", "orders", **more)
    about = OffsetSituation(manifests={one.name: current_offsets(a=1)}, current={ORDERS: current_offsets(a=9)})
    return plan(situation([wanted("orders")], [seen("orders")], owned=["orders"], changes=[one], offsets=about))


def test_every_symbol_has_a_meaning_and_is_in_the_legend_only_if_the_plan_has_it() -> None:
    assert {action.symbol for action in Action} | set(offset_lines.SYMBOLS.values()) <= plan_view.MEANINGS.keys()
    assert len(set(plan_view.MEANINGS.values())) == len(plan_view.MEANINGS)
    created = plan(situation([wanted("orders", config={"topic": "t"})]))
    assert text(created).startswith("Symbols: + create\n\nconnect cluster: ")
    assert "\n\nSymbols: `+` create\n\n" in markdown.render([created])
    moved = rewound(acknowledge=["rewind"])
    assert text(moved).startswith("Symbols: ~ change in place  # stop  ^ resume  ? direction unknown\n\n")
    assert text(moved).count("Symbols") == 1
    made = plan(situation([wanted("orders")], [seen("orders")], owned=["orders"]))
    assert "Symbols" not in text(made) + markdown.render([made])
    assert last_line(made) == "No changes. Your connectors match the configuration."


def test_a_connector_that_is_stopped_and_reset_and_deleted_is_marked_as_deleted() -> None:
    gone = replace(wanted("orders", "absent"), on_delete=OnDelete.RESET)
    made = plan(situation([gone], [seen("orders")], owned=["orders"]))
    assert [step.action for step in made.steps] == [Action.STOP, Action.RESET, Action.DELETE]
    assert "\n  - orders  " in text(made)


def test_an_error_that_was_printed_before_is_not_repeated_in_the_plan() -> None:
    made = rewound()
    (error,) = made.diagnostics.errors
    (blocked,) = made.offset_changes
    assert blocked.message in error.summary
    shown = text(made, 1)
    assert blocked.message not in shown
    assert "= offset change back (alter) is blocked: see the error above [offsets/unacknowledged]\n" in shown
    assert last_line(made, 1) == (
        "No changes can be applied now. Offset changes: 1 blocked. 1 error: fix it, then plan again."
    )
    assert blocked.message in markdown.render([made]), "a document has no lines before it"


@pytest.mark.parametrize(("line", "given"), rows(__file__, "no_match"))
def test_a_match_is_claimed_of_nothing_that_differs(line: str, given: dict[str, Any]) -> None:
    assert last_line(plan(situation_of({"owned": ["orders"], **given}))) == line


# The sums over all offset changes of a plan

CHANGE = PlannedOffsetChange(
    OffsetChangeName("x"), ConnectorName("orders"), OffsetChangeKind.ALTER, OffsetChangeStatus.PLANNED
)


@pytest.mark.parametrize(("words", "given"), rows(__file__, "sums"))
def test_sums(words: str, given: list[dict[str, Any] | None]) -> None:
    found = totals([replace(CHANGE, difference=one and difference(**one)) for one in given])
    assert ", ".join(one.render("<{}>".format) for one in found) == words
