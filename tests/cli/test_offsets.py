"""`offsets get|diff|check|history|undo`, with a cluster that stores offsets."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from acceptance.workplace import MIRROR, Ran, Workplace, change
from standin.connect import StandIn
from support.files.tables import rows

pytestmark = pytest.mark.slow

Entries = Mapping[str, int | None]
NUMBERS = {"topic": "numbers"}


def stopped(at: Workplace, **positions: int) -> None:
    """Apply a stopped mirror `lines`, and set the offset of each topic."""
    at.deploy("lines.yaml", at.mirror("lines", "state: stopped"))
    if positions:
        set_offsets(at, positions)


def set_offsets(at: Workplace, positions: Entries) -> None:
    at.set_offsets("lines", *entries(positions))


def entries(positions: Entries) -> list[dict[str, Any]]:
    return [
        {
            "partition": {"cluster": "a", "partition": 0, "topic": name},
            "offset": None if position is None else {"offset": position},
        }
        for name, position in positions.items()
    ]


def status(at: Workplace) -> dict[str, int]:
    return {one["partition"]["topic"]: one["offset"]["offset"] for one in at.offsets("lines")}


def manifest(at: Workplace, positions: Entries, name: str = "m.json") -> Path:
    file = at.directory / name
    file.write_text(json.dumps({"offsets": entries(positions)}))
    return file


def wrong(at: Workplace) -> Path:
    """A manifest for a mirror of another cluster."""
    file = at.directory / "wrong.json"
    file.write_text(json.dumps(entries({"t": 1})).replace('"cluster": "a"', '"cluster": "z"'))
    return file


def apply_change(at: Workplace, name: str, offset_change: str, positions: Entries, acknowledge: str) -> None:
    offsets = f"\noffsets: {json.dumps(entries(positions))}" if positions else ""
    at.apply_change(name, "lines", f"operation: {offset_change}{offsets}\nacknowledge: [{acknowledge}]")


def offsets(at: Workplace, command: str, *arguments: object) -> Ran:
    """Run a command with the mirror."""
    return at.run("offsets", command, at.name("lines"), *map(str, arguments))


def check(at: Workplace, file: Path, *options: str) -> Ran:
    return at.run("offsets", "check", at.name("lines"), str(file), *options)


def undo(at: Workplace, *arguments: str) -> Ran:
    return at.run("offsets", "undo", *arguments)


# get


FOREIGN = {"partition": {"cluster": "z", "partition": 0, "topic": "t"}, "offset": {"offset": 7}}
ODD = {"partition": {"cluster": "a", "partition": 0, "topic": "a", "zone": "x"}, "offset": {"offset": 3}}


def test_current_offsets_are_shown_and_saved(at: Workplace) -> None:
    stopped(at, b=2, a=1)
    assert [line.split() for line in offsets(at, "get").expect(0).out.splitlines()] == [
        ["PARTITION", "OFFSET"],
        ['{"cluster":"a","partition":0,"topic":"a"}', '{"offset":1}'],
        ['{"cluster":"a","partition":0,"topic":"b"}', '{"offset":2}'],
    ]
    expected = {"offsets": entries({"a": 1, "b": 2})}
    assert json.loads(offsets(at, "get", "-o", "json").out) == expected
    assert yaml.safe_load(offsets(at, "get", "-o", "yaml").out) == expected
    whole, by_line = at.directory / "saved.json", at.directory / "saved.jsonl"
    for file in (whole, by_line):
        offsets(at, "get", "--save", file).expect(0, out="")
        check(at, file).expect(0)
        offsets(at, "diff", file, "--replace", "--detailed-exitcode").expect(0)
    assert json.loads(whole.read_text()) == expected
    assert [json.loads(one) for one in by_line.read_text().splitlines()] == expected["offsets"]
    whole.write_text("mine")
    offsets(at, "get", "--save", whole).expect(64, err=f"{whole} exists already; choose another file")
    assert whole.read_text() == "mine"
    at.set_offsets("lines", FOREIGN, ODD)
    offsets(at, "get", "--save", whole, "--force").expect(0)
    check(at, whole, "--replace").expect(0, out="no problems")
    assert check(at, whole, "--offline").code == 4, "offline, nobody can say that what nothing reads is stored"


def test_offsets_are_watched_until_a_signal(at: Workplace, standin: StandIn) -> None:
    stopped(at, a=1, b=2)
    path = f".*/{at.name('lines')}/offsets"

    def read_by_watch(answer: Any, status: int = 200) -> None:
        standin.answer("GET", path, status, answer)

    def end(*then: bytes) -> Iterator[bytes]:
        os.kill(os.getpid(), signal.SIGINT)
        yield from then

    def watch(*options: str) -> Ran:
        return offsets(at, "get", "--watch", "--interval", "1ms", *options)

    for positions in ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 4, "b": 2}):
        read_by_watch({"offsets": entries(positions)})
    standin.stream("GET", path, end)
    first, *_, changed = watch().expect(0, err="").out.splitlines()
    assert first.split() == ["PARTITION", "OFFSET"]
    assert '"topic":"a"}: {"offset":1} -> {"offset":4}  +3 records (' in changed
    for positions in ({"a": 1}, {"a": 4}):
        read_by_watch({"offsets": entries(positions)})
    standin.stream("GET", path, end)
    first, changed = map(json.loads, watch("-o", "json").expect(0).out.splitlines())
    assert (first["partition"]["topic"], first["offset"]) == ("a", {"offset": 1})
    assert {**changed, "time": 0, "partition": 0, "per_second": 0} == {
        "time": 0,
        "partition": 0,
        "offset": {"offset": 4},
        "before": {"offset": 1},
        "distance": 3,
        "unit": "records",
        "per_second": 0,
    }
    read_by_watch({"offsets": []})
    standin.refuse("GET", path, 404, f"Connector {at.name('lines')} not found")  # by a worker that has just started
    standin.stream("GET", path, end)
    watch().expect(0, err="trying again")
    read_by_watch({"offsets": []})
    standin.stream("GET", path, lambda: iter([b""][: at.rest("DELETE", f"/connectors/{at.name('lines')}")]))
    watch().expect(1, err=f"error: connector '{at.name('lines')}' was deleted from cluster local")


def test_the_cluster_of_a_connector(at: Workplace, standin: StandIn) -> None:
    stopped(at, a=1)
    with StandIn() as twin:
        at.settings(more=f'[clusters.twin]\nurl = ["{twin.url}"]')
        body = {"name": at.name("lines"), "config": at.config("lines") | {"name": at.name("lines")}}
        requests.post(f"{twin.url}/connectors", json=body, timeout=10).raise_for_status()
        offsets(at, "get").expect(64, err="exists on local and twin; choose one with --cluster")
        assert offsets(at, "get", "--cluster", "twin").expect(0).out.splitlines()[1:] == []
    at.settings(more='[clusters.gone]\nurl = ["http://127.0.0.1:1"]')
    offsets(at, "get").expect(0, err="note: connect cluster gone: ")
    at.run("offsets", "get", "nobody").expect(1, err="error: connect cluster gone: ")
    standin.cluster.version = "3.4.0"
    offsets(at, "get").expect(1, err="Kafka Connect 3.4.0 cannot return offsets (3.5 and later can)")


def test_what_is_refused_is_named(at: Workplace) -> None:
    stopped(at, a=1)
    (at.directory / "empty").mkdir()
    names = {"lines": at.name("lines"), "lnies": at.name("lnies"), "here": at.directory, "file": manifest(at, {"a": 1})}
    for line, code, message in rows(__file__, "refused"):
        at.run("offsets", *line.format(**names).split()).expect(code, out="", err=message.format(**names))


# diff


def test_diff_as_alter_and_as_replace(at: Workplace) -> None:
    at.commit("lines.yaml", at.mirror("lines"))
    offsets(at, "diff", manifest(at, {"a": 1})).expect(1, err="does not exist on cluster local")
    stopped(at, a=100, b=5, c=7)
    file = manifest(at, {"a": 90, "b": 5, "d": 1})
    altered = offsets(at, "diff", file, "--detailed-exitcode").expect(2)
    assert altered.out.splitlines()[0].strip() == "1 rewind (10 records reprocessed), 1 new, 1 same"
    moved = '< {"cluster":"a","partition":0,"topic":"a"}: {"offset":100} -> {"offset":90}  rewind 10 records'
    assert moved in altered.out
    offsets(at, "diff", file, "--replace").expect(0, out="1 new, 1 removed, 1 same")
    value = json.loads(offsets(at, "diff", file, "--replace", "-o", "json").out)
    assert value["difference"]["counts"]["removed"] == 1
    assert value["acknowledge"] == ["rewind", "tombstone"]
    many = manifest(at, {f"f{number}": number for number in range(15)})
    assert "and 5 more (--all-offsets, or -o json)" in offsets(at, "diff", many).out
    assert offsets(at, "diff", many, "--all-offsets").out.count("-> ") == 15


# check


def test_check_shows_the_content_of_a_manifest_and_its_effect(at: Workplace) -> None:
    stopped(at, a=100)
    file = manifest(at, {"a": 90})
    check(at, file, "--acknowledge", "rewind").expect(0)
    check(at, file).expect(
        4,
        out=(
            f"for {at.name('lines')} on local (as declared in the repository): 1 entry, 1 partition",
            "no problems",
            "operation alter, compared with the current offsets: 1 rewind (10 records reprocessed)",
            "acknowledge: [rewind]",
        ),
    )
    set_offsets(at, {f"t{number}": 100 for number in range(8)})
    moved = check(at, manifest(at, {f"t{number}": 90 - number for number in range(8)}, "moved.json"))
    moved.expect(4, out="8 rewind (108 records reprocessed)")
    assert moved.out.count(" -> ") == 3, "the largest of each direction"
    assert "without Spark" in moved.out.splitlines()[-1]
    some = manifest(at, {"t1": 99, "t2": 50}, "some.json")
    assert json.loads(check(at, some, "-o", "json").out)["distribution"] == {"rewind": [1, 1]}
    at.commit("lines.yaml", at.mirror("lines", "state: stopped", **{"source.cluster.alias": "elsewhere"}))
    check(at, manifest(at, {"b": 1})).expect(4, out=("[manifest/alias]", "1 error (1 manifest/alias)"))


def test_check_counts_every_violation(at: Workplace) -> None:
    stopped(at)
    ran = check(at, manifest(at, {f"t{number}": -1 for number in range(1234)})).expect(4)
    assert ran.out.count("error: ") == 21
    assert "1,234 errors (1,234 manifest/negative)" in ran.out
    file = at.directory / "bad.jsonl"
    broken = [*entries({"a": -1, "b": -2}), *entries({"c": 1, "d": None}), *entries({"c": 2}), {"partition": {}}]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in broken))
    check(at, file).expect(4, out=("errors, 1 warning:\n", "  2 manifest/negative\n  1 manifest/conflict\n"))
    value = json.loads(check(at, wrong(at), "-o", "json").expect(4).out)
    assert (value["entries"], value["partitions"], value["errors"], value["difference"]) == (1, 1, 1, None)
    assert (value["warnings"], value["rules"]) == (0, {"manifest/alias": 1})
    assert value["diagnostics"][0]["rule"] == "manifest/alias"
    sarif = json.loads(check(at, wrong(at), "-o", "sarif").out)
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["manifest/alias"]


def test_check_offline_sends_no_request_and_needs_no_settings(at: Workplace) -> None:
    stopped(at)
    file = manifest(at, {"a": 1})
    at.urls = ("http://127.0.0.1:1",)
    at.settings()
    check(at, file, "--offline").expect(0, out="not compared with the current offsets: offline", err="")
    check(at, file).expect(1, out="not compared with the current offsets: connect cluster local: ")
    (at.directory / "gitops-connect.toml").write_text("")
    check(at, file, "--offline").expect(0, out="only the rules for every connector are checked")
    file.write_text(json.dumps(entries({"/a": 1}) + entries({"/a": 2})))
    check(at, file, "--offline").expect(4)


def test_check_of_an_undeclared_connector_uses_its_config_on_the_cluster(at: Workplace) -> None:
    config = {"connector.class": MIRROR, "source.cluster.alias": "a", "target.cluster.alias": "b"}
    at.rest("POST", "/connectors", {"name": at.name("lines"), "config": config})
    good, bad = check(at, manifest(at, {"t": 1})), check(at, wrong(at))
    assert good.code == 0
    assert "(with its current config on the cluster)" in good.out
    assert (bad.code, "[manifest/alias]" in bad.out) == (4, True)


def test_check_several_manifests_with_the_documents_of_a_directory(at: Workplace) -> None:
    """As the hook of pre-commit does: without settings, with the files and documents that are not committed yet."""
    (at.directory / "gitops-connect.toml").write_text("")
    for cluster in ("east", "west"):
        at.write(f"clusters/{cluster}/lines.yaml", at.mirror("lines"))
    options = ("--offline", "--directory", str(at.repository), "--cluster", "west")
    first, second = manifest(at, {"a": 1}, "1.json"), manifest(at, {"a": 2}, "2.json")
    good = check(at, first, str(second), *options)
    assert (good.code, good.err, good.out.count("no problems")) == (0, "", 2)
    assert f"for {at.name('lines')} on west (as declared" in good.out
    bad = check(at, first, str(wrong(at)), *options, "-o", "github")
    assert (bad.code, bad.out.count("title=manifest/alias")) == (4, 1)
    (quality,) = json.loads(check(at, wrong(at), *options, "-o", "gitlab").out)
    assert quality["check_name"] == "manifest/alias"
    assert check(at, first, str(second), *options, "-o", "json").code == 64
    undeclared = check(at, first, *options[:3], "--cluster", "north")
    assert undeclared.code == 1, "otherwise a typo would turn the rules of the connector off"
    assert "declares no valid connector 'lines-" in undeclared.err


def test_check_of_a_directory_and_of_a_glob(at: Workplace) -> None:
    directory = "offsets"
    stopped(at, a=1)
    (at.directory / directory / "deep").mkdir(parents=True)
    for name, positions in {"one": {"a": 1, "b": 2}, "deep/two": {"c": 3}, "_old": {"a": 2}}.items():
        text = "".join(f"{json.dumps(one)}\n" for one in entries(positions))
        (at.directory / directory / f"{name}.jsonl").write_text(text)
    (at.directory / directory / "README.md").write_text("no manifest")
    check(at, at.directory / directory).expect(
        0, out=(f"{directory} (2 files) for {at.name('lines')}", "3 entries, 3 partitions")
    )
    value = json.loads(check(at, at.directory / directory / "*.jsonl", "-o", "json").out)
    assert [Path(one).name for one in value["files"]] == ["one.jsonl"]
    assert (value["spark"], value["entries"], value["distribution"]) == (None, 2, {})
    deep = json.loads(check(at, at.directory / "**" / "t*.jsonl", "-o", "json").out)
    assert [Path(one).name for one in deep["files"]] == ["two.jsonl"]
    manifest(at, {"a": 4}, f"{directory}/another.json")
    check(at, at.directory / directory).expect(64, err=f"has no {at.name('lines')}.json")
    named = manifest(at, {"a": 5}, f"{directory}/{at.name('lines')}.json")
    assert json.loads(check(at, at.directory / directory, "-o", "json").out)["files"] == [str(named)]


def test_check_and_diff_of_offsets_that_nothing_reads(at: Workplace) -> None:
    stopped(at, t=5)
    file = wrong(at)
    check(at, wrong(at)).expect(4, out="if this is intended, add `acknowledge: [unread]`")
    needed = "a document that makes this change must contain `acknowledge: [unread]`"
    for options in (("--acknowledge", "unread"), ("--acknowledge=unread", "--offline")):
        check(at, file, *options).expect(0, out=("1 warning (1 manifest/alias)", needed))
    assert offsets(at, "diff", file).code == 4
    assert offsets(at, "diff", file, "--acknowledge", "unread", "--detailed-exitcode").code == 2
    check(at, wrong(at), "--acknowledge", "unread", "--replace").expect(out="acknowledge: [tombstone, unread]")


# history and undo


def test_history_lists_the_changes_in_the_ledger_newest_first(at: Workplace) -> None:
    stopped(at, a=100)
    assert offsets(at, "history").out.splitlines()[1:] == []
    apply_change(at, "one", "alter", {"a": 90, "b": 1}, "rewind")
    apply_change(at, "two", "reset", {}, "reset")
    ran = offsets(at, "history")
    rows = [line.split("   ") for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [row[1].strip() for row in rows[1:]] == ["two", "one"]
    values = json.loads(offsets(at, "history", "-o", "json").out)
    assert [(one["name"], one["state"], one["offsets"]) for one in values] == [
        ("two", "applied", {"removed": 2}),
        ("one", "applied", {"new": 1, "rewind": 1}),
    ]


def skip(topic: str) -> str:
    return f"operation: alter\noffsets: {json.dumps(entries({topic: 1}))}\nacknowledge: [skip]"


def test_a_warning_of_connect_is_in_every_report(at: Workplace) -> None:
    warning = "this class does not check offsets, and may also store its position elsewhere"
    at.deploy("lines.yaml", at.document("lines", "org.example.fixtures.NumberSource", "state: stopped", NUMBERS))
    applied = at.deploy("one.yaml", change("one", at.name("lines"), skip("a"))).expect(
        out="Applied with a warning:", err=", with a warning"
    )
    assert (applied.out + applied.err).count(warning) == 1
    assert "externally" not in applied.out + applied.err
    assert "1 warning." in applied.out
    planned = at.run("plan", "-o", "json")
    (found,) = json.loads(planned.out)["clusters"][0]["offset_changes"]
    assert (found["status"], warning in found["message"]) == ("applied", False)
    at.commit("two.yaml", change("two", at.name("lines"), skip("b")))
    ran = at.run("run", "--once")
    lines = [json.loads(line) for line in ran.err.splitlines()]
    (step,) = [line for line in lines if line["event"] == "step_applied"]
    assert (step["level"], step["offset_change"], warning in step["message"]) == ("warning", "two", True)
    values = json.loads(offsets(at, "history", "-o", "json").out)
    assert [warning in one["warning"] for one in values] == [True, True]
    assert offsets(at, "history").out.count("warning: ") == 2


@pytest.mark.parametrize(
    ("before", "offset_change", "declared", "acknowledge"),
    rows(__file__, "undone"),
)
def test_undo_restores_exactly_the_offsets_before_the_change(
    at: Workplace, before: dict[str, int], offset_change: str, declared: Entries, acknowledge: str
) -> None:
    stopped(at, **before)
    apply_change(at, "one", offset_change, declared, acknowledge)
    assert status(at) != before
    out = at.repository / "undo.yaml"
    undo(at, "one", "--out", str(out)).expect(0, out="", err="Nothing was changed on the cluster")
    assert status(at) != before
    at.commit_all()
    assert at.run("validate").code == 0
    at.apply()
    assert status(at) == before
    assert "undo-one" in at.run("plan", "-v").out


def test_undo_of_a_change_until_the_cluster_is_gone(at: Workplace) -> None:
    stopped(at, a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    undo(at, "oen").expect(1, err="did you mean 'one'?")
    out = at.directory / "undo.yaml"
    out.write_text("mine")
    undo(at, "one", "--out", str(out)).expect(64)
    assert out.read_text() == "mine"
    undo(at, "one", "--out", str(at.directory / "undo.json")).expect(64)
    undo(at, "one", "--out", str(out), "--force").expect(0)
    assert yaml.safe_load(out.read_text())["kind"] == "OffsetChange"

    apply_change(at, "undo-one", "alter", {"a": 91}, "skip")
    ran = undo(at, "one")
    document = yaml.safe_load(ran.out)
    assert document["metadata"] == {"name": "undo-one-2", "cluster": "local"}
    assert (document["spec"]["operation"], document["spec"]["offsets"]) == ("replace", entries({"a": 100}))
    assert "acknowledge" not in document["spec"], "nine bytes forward are no more than max_skip"
    assert "restores the offsets from before one" in document["spec"]["reason"]
    assert "these later offset changes are undone, too: undo-one" in ran.err
    assert "Printed the document (replace, 1 offset). Nothing was changed" in ran.err

    at.rest("DELETE", f"/connectors/{at.name('lines')}")
    deleted = undo(at, "one").expect(0, err="does not exist on cluster local")
    assert yaml.safe_load(deleted.out)["spec"]["offsets"] == entries({"a": 100})
    at.urls = ("http://127.0.0.1:1",)
    at.settings()
    undo(at, "one").expect(1, out="", err="cannot determine which effects the document must acknowledge")


def test_undo_of_many_offsets_writes_a_separate_manifest(at: Workplace) -> None:
    before = {f"/data/ä\u202e{number}": number for number in range(30)}
    stopped(at, **before)
    apply_change(at, "one", "reset", {}, "reset")
    undo(at, "one").expect(64, out="", err="write to a file with --out")
    assert undo(at, "one", "--out", str(at.repository / "undo.yaml")).code == 0
    assert len((at.repository / "undo.jsonl").read_text().splitlines()) == 30
    at.commit_all()
    at.apply()
    assert status(at) == before


def test_undo_reports_what_the_rules_will_reject(at: Workplace) -> None:
    """The current offset is now a number: the rules will reject the old string, which cannot be acknowledged."""
    text = {"partition": {"shard": 1}, "offset": {"seq": "5"}}
    at.deploy("lines.yaml", at.document("lines", "org.example.fixtures.NumberSource", "state: stopped", NUMBERS))
    at.set_offsets("lines", text)
    apply_change(at, "one", "reset", {}, "reset")
    at.set_offsets("lines", {**text, "offset": {"seq": 5}})
    undo(at, "one").expect(
        0, err=("note: the document will be blocked: offset.seq is the string", "[manifest/current-type]")
    )


def test_a_change_without_effect_cannot_be_undone(at: Workplace, standin: StandIn) -> None:
    at.settings("settle_timeout = 1\nmin_running = 0")
    at.deploy("lines.yaml", at.mirror("lines", "state: stopped"))
    standin.refuse("PATCH", "/connectors/.*/offsets", 500, "Failed to alter", times=1)
    with pytest.raises(AssertionError, match="Failed to alter"):
        apply_change(at, "one", "alter", {"a": 90}, "skip")
    undo(at, "one").expect(1, out="", err="offset change one changed nothing (it failed: ")


def test_undo_of_a_change_that_was_not_applied_with_this_ledger(at: Workplace) -> None:
    stopped(at, a=100)
    at.commit("one.yaml", change("one", at.name("lines"), "operation: reset\nacknowledge: [reset]"))
    assert at.run("ledger", "resolve", "one", "--applied", "--yes").code == 0
    undo(at, "one").expect(1, err="the offsets before one are not in the ledger")
