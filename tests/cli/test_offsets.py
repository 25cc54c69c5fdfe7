"""`offsets get|diff|check|history|undo`, with a cluster that stores offsets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from acceptance.workplace import MIRROR, Ran, Workplace
from standin.connect import StandIn

from gitops_connect.sandbox.cluster import Sandbox

pytestmark = pytest.mark.slow

Entries = Mapping[str, int | None]
NUMBERS = {"topic": "numbers"}


@pytest.fixture
def stopped(at: Workplace) -> Callable[..., Workplace]:
    """Returns a function that applies a stopped mirror `lines`, and sets the offset of each topic."""

    def make(**positions: int) -> Workplace:
        at.commit("lines.yaml", at.mirror("lines", "state: stopped"))
        at.apply()
        if positions:
            set_offsets(at, positions)
        return at

    return make


def set_offsets(at: Workplace, positions: Entries) -> None:
    at.rest("PATCH", f"/connectors/{at.name('lines')}/offsets", {"offsets": entries(positions)})


def entries(positions: Entries) -> list[dict[str, Any]]:
    return [
        {
            "partition": {"cluster": "a", "partition": 0, "topic": name},
            "offset": None if position is None else {"offset": position},
        }
        for name, position in positions.items()
    ]


def status(at: Workplace) -> dict[str, int]:
    found = at.rest("GET", f"/connectors/{at.name('lines')}/offsets")["offsets"]
    return {one["partition"]["topic"]: one["offset"]["offset"] for one in found}


def manifest(at: Workplace, positions: Entries, name: str = "m.json") -> Path:
    file = at.directory / name
    file.write_text(json.dumps({"offsets": entries(positions)}))
    return file


def wrong(at: Workplace) -> Path:
    """A manifest for a mirror of another cluster."""
    file = at.directory / "wrong.json"
    file.write_text(json.dumps(entries({"t": 1})).replace('"cluster": "a"', '"cluster": "z"'))
    return file


def change_document(at: Workplace, name: str, operation: str, positions: Entries, acknowledge: str) -> str:
    offsets = f"\n  offsets: {json.dumps(entries(positions))}" if positions else ""
    return (
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\n"
        f"metadata: {{name: {name}}}\nspec:\n  connector: {at.name('lines')}\n  operation: {operation}{offsets}\n"
        f"  acknowledge: [{acknowledge}]\n"
    )


def apply_change(at: Workplace, name: str, operation: str, positions: Entries, acknowledge: str) -> None:
    at.commit(f"{name}.yaml", change_document(at, name, operation, positions, acknowledge))
    at.apply()


# get


def test_get_shows_the_current_offsets(stopped: Callable[..., Workplace]) -> None:
    at = stopped(b=2, a=1)
    ran = at.run("offsets", "get", at.name("lines"))
    assert ran.code == 0
    assert [line.split() for line in ran.out.splitlines()] == [
        ["PARTITION", "OFFSET"],
        ['{"cluster":"a","partition":0,"topic":"a"}', '{"offset":1}'],
        ['{"cluster":"a","partition":0,"topic":"b"}', '{"offset":2}'],
    ]
    expected = {"offsets": entries({"a": 1, "b": 2})}
    assert json.loads(at.run("offsets", "get", at.name("lines"), "-o", "json").out) == expected
    assert yaml.safe_load(at.run("offsets", "get", at.name("lines"), "-o", "yaml").out) == expected


def test_a_saved_manifest_is_valid_and_has_no_difference(stopped: Callable[..., Workplace]) -> None:
    at = stopped(b=2, a=1)
    file = at.directory / "saved.json"
    ran = at.run("offsets", "get", at.name("lines"), "--save", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert json.loads(file.read_text()) == {"offsets": entries({"a": 1, "b": 2})}
    assert at.run("offsets", "check", str(file), "--connector", at.name("lines")).code == 0
    assert at.run("offsets", "diff", at.name("lines"), str(file), "--replace").code == 0


def test_get_overwrites_a_file_only_with_force(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=1)
    file = at.directory / "saved.json"
    file.write_text("mine")
    refused = at.run("offsets", "get", at.name("lines"), "--save", str(file))
    assert refused.code == 64
    assert f"{file} exists already; choose another file" in refused.err
    assert file.read_text() == "mine"
    assert at.run("offsets", "get", at.name("lines"), "--save", str(file), "--force").code == 0
    assert json.loads(file.read_text()) == {"offsets": entries({"a": 1})}


def test_get_saves_one_entry_per_line(stopped: Callable[..., Workplace]) -> None:
    at = stopped(b=2, a=1)
    file = at.directory / "saved.jsonl"
    assert at.run("offsets", "get", at.name("lines"), "--save", str(file)).code == 0
    assert [json.loads(line) for line in file.read_text().splitlines()] == entries({"a": 1, "b": 2})
    assert at.run("offsets", "diff", at.name("lines"), str(file), "--replace").code == 0
    nowhere = at.run("offsets", "get", at.name("lines"), "--save", str(at.directory / "nowhere" / "saved.json"))
    assert nowhere.code == 64
    assert "No such file or directory" in nowhere.err


def test_get_saves_no_json_under_a_name_of_another_format(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=1)
    ran = at.run("offsets", "get", at.name("lines"), "--save", str(at.directory / "saved.csv"))
    assert ran.code == 64
    assert "use the suffix .json" in ran.err


@pytest.mark.parametrize(
    "command",
    [("get", "{}"), ("diff", "{}", "{file}"), ("check", "{file}", "--connector", "{}")],
)
def test_an_unknown_connector_gets_a_suggestion(stopped: Callable[..., Workplace], command: Any) -> None:
    at = stopped(a=1)
    wrong = at.name("lnies")
    file = str(manifest(at, {"a": 1}))
    ran = at.run("offsets", *(part.replace("{file}", file).replace("{}", wrong) for part in command))
    assert (ran.code, ran.out) == (1, "")
    assert f"there is no connector '{wrong}' on local; did you mean '{at.name('lines')}'?" in ran.err


def test_a_connector_of_two_clusters_needs_one_named(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=1)
    with StandIn() as twin:
        at.settings(more=f'[clusters.twin]\nurl = ["{twin.url}"]')
        body = {"name": at.name("lines"), "config": at.config("lines") | {"name": at.name("lines")}}
        requests.post(f"{twin.url}/connectors", json=body, timeout=10).raise_for_status()
        ran = at.run("offsets", "get", at.name("lines"))
        assert ran.code == 64
        assert "exists on local and twin; choose one with --cluster" in ran.err
        named = at.run("offsets", "get", at.name("lines"), "--cluster", "twin")
        assert (named.code, named.out.splitlines()[1:]) == (0, [])
        assert at.run("offsets", "get", at.name("lines"), "--cluster", "twn").code == 64


def test_an_unreachable_cluster_is_reported(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=1)
    at.settings(more='[clusters.gone]\nurl = ["http://127.0.0.1:1"]')
    found = at.run("offsets", "get", at.name("lines"))
    assert found.code == 0
    assert "note: connect cluster gone: " in found.err
    lost = at.run("offsets", "get", "nobody")
    assert lost.code == 1
    assert "error: connect cluster gone: " in lost.err


def test_workers_that_are_too_old(stopped: Callable[..., Workplace], standin: StandIn) -> None:
    at = stopped(a=1)
    standin.cluster.version = "3.4.0"
    ran = at.run("offsets", "get", at.name("lines"))
    assert ran.code == 1
    assert "Kafka Connect 3.4.0 cannot return offsets (3.5 and later can)" in ran.err


# diff


def test_diff_as_alter_and_as_replace(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100, b=5, c=7)
    file = str(manifest(at, {"a": 90, "b": 5, "d": 1}))
    altered = at.run("offsets", "diff", at.name("lines"), file)
    assert altered.code == 2
    assert altered.out.splitlines()[0].strip() == "1 rewind (10 records reprocessed), 1 new, 1 same"
    assert (
        '< {"cluster":"a","partition":0,"topic":"a"}: {"offset":100} -> {"offset":90}  rewind 10 records' in altered.out
    )
    replaced = at.run("offsets", "diff", at.name("lines"), file, "--replace")
    assert replaced.code == 2
    assert "1 new, 1 removed, 1 same" in replaced.out
    value = json.loads(at.run("offsets", "diff", at.name("lines"), file, "--replace", "-o", "json").out)
    assert value["difference"]["counts"]["removed"] == 1
    assert value["acknowledge"] == ["rewind", "tombstone"]


def test_diff_shows_all_offsets_on_request(stopped: Callable[..., Workplace]) -> None:
    at = stopped(**{f"f{number}": 100 for number in range(15)})
    file = str(manifest(at, {f"f{number}": number for number in range(15)}))
    assert "and 5 more (--all-offsets, or -o json)" in at.run("offsets", "diff", at.name("lines"), file).out
    assert at.run("offsets", "diff", at.name("lines"), file, "--all-offsets").out.count("rewind") == 16


def test_diff_of_a_broken_manifest_names_the_line(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=1)
    file = at.directory / "m.jsonl"
    file.write_text('{"partition": {"filename": "a"}, "offset": {"position": 1}}\n{"partition": {"filename": "a"}\n')
    ran = at.run("offsets", "diff", at.name("lines"), str(file))
    assert ran.code == 4
    assert "m.jsonl:2:" in ran.out
    assert "[manifest/syntax]" in ran.out


def test_diff_with_a_declared_connector_that_does_not_exist(at: Workplace) -> None:
    at.commit("lines.yaml", at.mirror("lines"))
    ran = at.run("offsets", "diff", at.name("lines"), str(manifest(at, {"a": 1})))
    assert ran.code == 1
    assert "does not exist on cluster local" in ran.err


# check


def check(at: Workplace, file: Path, *more: str) -> Ran:
    return at.run("offsets", "check", str(file), "--connector", at.name("lines"), *more)


def test_check_shows_the_content_of_a_manifest_and_its_effect(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    set_offsets(at, {"a": 100})
    ran = check(at, manifest(at, {"a": 90}))
    assert ran.code == 0
    assert f"for {at.name('lines')} on local (as declared in the repository): 1 entry, 1 partition" in ran.out
    assert "no problems" in ran.out
    assert "operation alter, compared with the current offsets: 1 rewind (10 records reprocessed)" in ran.out
    assert "acknowledge: [rewind]" in ran.out


def test_check_prefers_the_declared_config_to_that_of_the_cluster(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    assert check(at, manifest(at, {"a": 1})).code == 0
    at.commit("lines.yaml", at.mirror("lines", "state: stopped", **{"source.cluster.alias": "elsewhere"}))
    ran = check(at, manifest(at, {"a": 1}))
    assert ran.code == 4
    assert "[manifest/alias]" in ran.out
    assert "1 error (1 manifest/alias)" in ran.out


def test_check_of_an_undeclared_connector_uses_its_config_on_the_cluster(at: Workplace) -> None:
    config = {"connector.class": MIRROR, "source.cluster.alias": "a", "target.cluster.alias": "b"}
    at.rest("POST", "/connectors", {"name": at.name("lines"), "config": config})
    good, bad = check(at, manifest(at, {"t": 1})), check(at, wrong(at))
    assert good.code == 0
    assert "(with its current config on the cluster)" in good.out
    assert (bad.code, "[manifest/alias]" in bad.out) == (4, True)


def test_check_offline_sends_no_request(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    file = manifest(at, {"a": 1})
    at.urls = ("http://127.0.0.1:1",)
    at.settings()
    ran = check(at, file, "--offline")
    assert (ran.code, ran.err) == (0, "")
    assert "not compared with the current offsets: offline" in ran.out
    online = check(at, file)
    assert online.code == 0
    assert "not compared with the current offsets: connect cluster local: " in online.out


def test_check_without_repository_and_cluster_uses_the_rules_for_every_connector(at: Workplace) -> None:
    (at.directory / "gitops-connect.toml").write_text("")
    good = check(at, manifest(at, {"/a": 1}), "--offline")
    assert good.code == 0
    assert "only the rules for every connector are checked" in good.out
    twice = at.directory / "twice.json"
    twice.write_text(json.dumps(entries({"/a": 1}) + entries({"/a": 2})))
    assert check(at, twice, "--offline").code == 4


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


def test_check_as_data(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    file = wrong(at)
    ran = check(at, file, "-o", "json")
    value = json.loads(ran.out)
    assert ran.code == 4
    assert (value["entries"], value["partitions"], value["errors"], value["difference"]) == (1, 1, 1, None)
    assert value["diagnostics"][0]["rule"] == "manifest/alias"
    sarif = json.loads(check(at, file, "-o", "sarif").out)
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["manifest/alias"]


def test_check_of_a_directory_and_of_a_glob(stopped: Callable[..., Workplace]) -> None:
    at, directory = stopped(a=1), "offsets"
    (at.directory / directory / "deep").mkdir(parents=True)
    for name, positions in {"one": {"a": 1, "b": 2}, "deep/two": {"c": 3}, "_old": {"a": 2}}.items():
        text = "".join(f"{json.dumps(one)}\n" for one in entries(positions))
        (at.directory / directory / f"{name}.jsonl").write_text(text)
    (at.directory / directory / "README.md").write_text("no manifest")
    everything = check(at, at.directory / directory)
    assert everything.code == 0
    assert f"{directory} (2 files) for {at.name('lines')}" in everything.out
    assert "3 entries, 3 partitions" in everything.out
    value = json.loads(check(at, at.directory / directory / "*.jsonl", "-o", "json").out)
    assert [Path(one).name for one in value["files"]] == ["one.jsonl"]
    assert (value["spark"], value["entries"], value["distribution"]) == (None, 2, {})
    deep = json.loads(check(at, at.directory / "**" / "t*.jsonl", "-o", "json").out)
    assert [Path(one).name for one in deep["files"]] == ["two.jsonl"]
    manifest(at, {"a": 4}, f"{directory}/another.json")
    doubtful = check(at, at.directory / directory)
    assert doubtful.code == 64
    assert f"has no {at.name('lines')}.json" in doubtful.err
    named = manifest(at, {"a": 5}, f"{directory}/{at.name('lines')}.json")
    assert json.loads(check(at, at.directory / directory, "-o", "json").out)["files"] == [str(named)]


def test_a_path_without_a_manifest(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    (at.directory / "empty").mkdir()
    for path, said in [
        ("empty", "no offset manifest is in the directory"),
        ("empty/*.json", "no offset manifest matches"),
        ("s3a://bucket/m.jsonl", "is not a local file; to check the manifest at a uri, run `gitops-connect plan`"),
    ]:
        ran = at.run("offsets", "check", str(at.directory / path) if "s3a" not in path else path, "--connector", "x")
        assert ran.code == 64
        assert said in ran.err


def test_the_summary_has_a_line_for_each_of_many_rules_and_the_largest_moves(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    set_offsets(at, {f"t{number}": 100 for number in range(8)})
    good = check(at, manifest(at, {f"t{number}": 90 - number for number in range(8)}))
    assert "8 rewind (108 records reprocessed)" in good.out
    assert good.out.count(" -> ") == 3, "the largest of each direction"
    assert "in this process" in good.out.splitlines()[-1]
    value = json.loads(check(at, manifest(at, {"t1": 99, "t2": 50}), "-o", "json").out)
    assert value["distribution"] == {"rewind": [1, 1]}
    file = at.directory / "bad.jsonl"
    broken = [*entries({"a": -1, "b": -2}), *entries({"c": 1, "d": None}), *entries({"c": 2}), {"partition": {}}]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in broken))
    bad = check(at, file)
    assert bad.code == 4
    assert "errors, 1 warning:\n" in bad.out
    assert "  2 manifest/negative\n  1 manifest/conflict\n" in bad.out


def test_a_manifest_that_cannot_be_read(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    ran = check(at, at.directory / "nowhere.json")
    assert ran.code == 64
    assert "cannot read the manifest" in ran.err


def test_saved_offsets_pass_the_check_even_if_nothing_reads_them(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    add_what_nothing_reads(at)
    file = at.directory / "saved.json"
    assert at.run("offsets", "get", at.name("lines"), "--save", str(file)).code == 0
    ran = check(at, file, "--replace")
    assert (ran.code, "no problems" in ran.out) == (0, True)
    assert check(at, file, "--offline").code == 4, "offline, nobody can say that it stands"


def test_check_and_diff_of_offsets_that_nothing_reads(stopped: Callable[..., Workplace]) -> None:
    at = stopped(t=5)
    file = str(wrong(at))
    refused = check(at, wrong(at))
    assert refused.code == 4
    assert "if this is intended, add `acknowledge: [unread]`" in refused.out
    for ran in (
        check(at, wrong(at), "--acknowledge", "unread"),
        check(at, wrong(at), "--acknowledge=unread", "--offline"),
    ):
        assert ran.code == 0
        assert "1 warning (1 manifest/alias)" in ran.out
        assert "a document that makes this change must contain `acknowledge: [unread]`" in ran.out
    assert at.run("offsets", "diff", at.name("lines"), file).code == 4
    assert at.run("offsets", "diff", at.name("lines"), file, "--acknowledge", "unread").code == 2
    replaced = check(at, wrong(at), "--acknowledge", "unread", "--replace")
    assert "acknowledge: [tombstone, unread]" in replaced.out
    assert check(at, wrong(at), "--acknowledge", "everything").code == 64


def test_check_counts_every_violation(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    file = manifest(at, {f"t{number}": -1 for number in range(1234)})
    ran = check(at, file)
    assert (ran.code, ran.out.count("error: ")) == (4, 21)
    assert "1,234 errors (1,234 manifest/negative)" in ran.out
    value = json.loads(check(at, file, "-o", "json").out)
    assert (value["errors"], value["warnings"], value["rules"]) == (1234, 0, {"manifest/negative": 1234})


# history and undo


def test_history_lists_the_changes_in_the_ledger_newest_first(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90, "b": 1}, "rewind")
    apply_change(at, "two", "reset", {}, "reset")
    ran = at.run("offsets", "history", at.name("lines"))
    rows = [line.split("   ") for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [row[1].strip() for row in rows[1:]] == ["two", "one"]
    values = json.loads(at.run("offsets", "history", at.name("lines"), "-o", "json").out)
    assert [(one["name"], one["state"], one["offsets"]) for one in values] == [
        ("two", "applied", {"removed": 2}),
        ("one", "applied", {"new": 1, "changed": 1}),
    ]


def test_a_warning_of_connect_is_in_every_report(at: Workplace) -> None:
    warning = "this class does not check offsets, and may also store its position elsewhere"
    at.commit("lines.yaml", at.document("lines", "org.example.fixtures.NumberSource", "state: stopped", NUMBERS))
    at.apply()
    at.commit("one.yaml", change_document(at, "one", "alter", {"a": 1}, "skip"))
    applied = at.apply()
    assert ", with a warning" in applied.err
    assert "Applied with a warning:" in applied.out
    assert (applied.out + applied.err).count(warning) == 1
    assert "externally" not in applied.out + applied.err
    assert "1 warning." in applied.out
    planned = at.run("plan", "-o", "json")
    (change,) = json.loads(planned.out)["clusters"][0]["offset_changes"]
    assert (change["status"], warning in change["message"]) == ("applied", False)
    at.commit("two.yaml", change_document(at, "two", "alter", {"b": 1}, "skip"))
    ran = at.run("run", "--once")
    lines = [json.loads(line) for line in ran.err.splitlines()]
    (step,) = [line for line in lines if line["event"] == "step_applied"]
    assert (step["level"], step["offset_change"], warning in step["message"]) == ("warning", "two", True)
    values = json.loads(at.run("offsets", "history", at.name("lines"), "-o", "json").out)
    assert [warning in one["warning"] for one in values] == [True, True]
    assert at.run("offsets", "history", at.name("lines")).out.count("warning: ") == 2


def test_history_of_a_connector_that_the_ledger_does_not_know(stopped: Callable[..., Workplace]) -> None:
    at = stopped()
    assert at.run("offsets", "history", at.name("lines")).out.splitlines()[1:] == []
    ran = at.run("offsets", "history", at.name("lnies"))
    assert (ran.code, ran.out) == (1, "")
    assert f"did you mean '{at.name('lines')}'?" in ran.err


@pytest.mark.parametrize(
    ("before", "operation", "declared", "acknowledge"),
    [
        ({"a": 100, "b": 2}, "alter", {"a": 90, "c": 1}, "rewind"),
        ({"a": 100, "b": 2}, "replace", {"c": 1}, "tombstone"),
        ({"a": 100, "b": 2}, "reset", {}, "reset"),
        ({}, "alter", {"a": 5}, "skip"),
    ],
)
def test_undo_restores_exactly_the_offsets_before_the_change(
    stopped: Callable[..., Workplace], before: dict[str, int], operation: str, declared: Entries, acknowledge: str
) -> None:
    at = stopped(**before)
    apply_change(at, "one", operation, declared, acknowledge)
    assert status(at) != before
    out = at.repository / "undo.yaml"
    ran = at.run("offsets", "undo", "one", "--out", str(out))
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing was changed on the cluster" in ran.err
    assert status(at) != before
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "undo")
    assert at.run("validate").code == 0
    at.apply()
    assert status(at) == before
    assert "undo-one" in at.run("plan", "-v").out


@pytest.mark.e2e
def test_get_and_undo_use_exactly_the_offsets_that_connect_stores(sandbox: Sandbox, tmp_path: Path) -> None:
    at = Workplace(tmp_path, sandbox.worker_urls)
    try:
        at.commit("lines.yaml", at.mirror("lines", "state: stopped"))
        at.apply()
        before = {"a": 100, "b": 2**62, "ä\u202e": 0}
        set_offsets(at, before)
        saved = at.directory / "saved.json"
        assert at.run("offsets", "get", at.name("lines"), "--save", str(saved)).code == 0
        assert check(at, saved).code == 0
        apply_change(at, "one", "replace", {"a": 90, "c": 1}, "rewind, tombstone")
        assert at.run("offsets", "diff", at.name("lines"), str(saved), "--replace").code == 2
        assert at.run("offsets", "undo", "one", "--out", str(at.repository / "undo.yaml")).code == 0
        at.commit("nothing.yaml", "")
        at.apply()
        assert status(at) == before
        assert at.run("offsets", "diff", at.name("lines"), str(saved), "--replace").code == 0
        assert at.run("offsets", "history", at.name("lines")).out.count("applied") == 2
    finally:
        at.clean()


def test_undo_writes_to_stdout_and_numbers_names_that_are_taken(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    apply_change(at, "undo-one", "alter", {"a": 91}, "skip")
    ran = at.run("offsets", "undo", "one")
    document = yaml.safe_load(ran.out)
    assert document["metadata"] == {"name": "undo-one-2", "cluster": "local"}
    assert document["spec"]["operation"] == "replace"
    assert document["spec"]["offsets"] == entries({"a": 100})
    assert "acknowledge" not in document["spec"], "nine bytes forward are no more than max_skip"
    assert "restores the offsets from before one" in document["spec"]["reason"]
    assert "these later offset changes are undone, too: undo-one" in ran.err


def test_undo_of_many_offsets_writes_a_separate_manifest(stopped: Callable[..., Workplace]) -> None:
    before = {f"/data/ä\u202e{number}": number for number in range(30)}
    at = stopped(**before)
    apply_change(at, "one", "reset", {}, "reset")
    refused = at.run("offsets", "undo", "one")
    assert (refused.code, refused.out) == (64, "")
    assert "write to a file with --out" in refused.err
    assert at.run("offsets", "undo", "one", "--out", str(at.repository / "undo.yaml")).code == 0
    assert len((at.repository / "undo.jsonl").read_text().splitlines()) == 30
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "undo")
    at.apply()
    assert status(at) == before


FOREIGN = {"partition": {"cluster": "z", "partition": 0, "topic": "t"}, "offset": {"offset": 7}}
ODD = {"partition": {"cluster": "a", "partition": 0, "topic": "a", "zone": "x"}, "offset": {"offset": 3}}


def everything(at: Workplace) -> list[Any]:
    """All current offsets, also those that the connector does not read."""
    return sorted(at.rest("GET", f"/connectors/{at.name('lines')}/offsets")["offsets"], key=str)


def add_what_nothing_reads(at: Workplace) -> list[Any]:
    at.rest("PATCH", f"/connectors/{at.name('lines')}/offsets", {"offsets": [FOREIGN, ODD]})
    return everything(at)


@pytest.mark.parametrize(
    ("operation", "declared", "acknowledge"), [("replace", {"a": 90}, "rewind, tombstone"), ("reset", {}, "reset")]
)
def test_undo_also_restores_offsets_that_nothing_reads(
    stopped: Callable[..., Workplace], operation: str, declared: Entries, acknowledge: str
) -> None:
    at = stopped(a=100)
    before = add_what_nothing_reads(at)
    apply_change(at, "one", operation, declared, acknowledge)
    assert everything(at) != before
    out = at.repository / "undo.yaml"
    ran = at.run("offsets", "undo", "one", "--out", str(out))
    assert (ran.code, "unread" in ran.err, "3 offsets" in ran.err) == (0, True, True)
    assert "unread" in yaml.safe_load(out.read_text())["spec"]["acknowledge"]
    at.git("add", "--all")
    at.git("commit", "--quiet", "--message", "undo")
    validated = at.run("validate")
    assert (validated.code, "[manifest/alias]" in validated.out, "warning" in validated.out) == (0, True, True)
    at.apply()
    assert everything(at) == before


def test_undo_acknowledges_unread_offsets_only_if_there_are_any(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    ran = at.run("offsets", "undo", "one")
    assert "acknowledge" not in yaml.safe_load(ran.out)["spec"]
    assert "Printed the document (replace, 1 offset). Nothing was changed" in ran.err


def test_undo_reports_what_the_rules_will_reject(at: Workplace) -> None:
    """The current offset is now a number: the rules will reject the old string, which cannot be acknowledged."""
    text = {"partition": {"shard": 1}, "offset": {"seq": "5"}}
    at.commit("lines.yaml", at.document("lines", "org.example.fixtures.NumberSource", "state: stopped", NUMBERS))
    at.apply()
    path = f"/connectors/{at.name('lines')}/offsets"
    at.rest("PATCH", path, {"offsets": [text]})
    apply_change(at, "one", "reset", {}, "reset")
    at.rest("PATCH", path, {"offsets": [{**text, "offset": {"seq": 5}}]})
    ran = at.run("offsets", "undo", "one")
    assert ran.code == 0
    assert "note: the document will be blocked: offset.seq is the string" in ran.err
    assert "[manifest/current-type]" in ran.err


def test_undo_of_a_change_whose_connector_was_deleted(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    at.rest("DELETE", f"/connectors/{at.name('lines')}")
    ran = at.run("offsets", "undo", "one")
    assert ran.code == 0
    assert yaml.safe_load(ran.out)["spec"]["offsets"] == entries({"a": 100})
    assert "does not exist on cluster local" in ran.err


def test_undo_if_the_cluster_does_not_answer(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    at.urls = ("http://127.0.0.1:1",)
    at.settings()
    ran = at.run("offsets", "undo", "one")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot determine which effects the document must acknowledge" in ran.err


def test_undo_writes_only_yaml_and_overwrites_a_file_only_with_force(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    out = at.directory / "undo.yaml"
    out.write_text("mine")
    assert at.run("offsets", "undo", "one", "--out", str(out)).code == 64
    assert out.read_text() == "mine"
    assert at.run("offsets", "undo", "one", "--out", str(at.directory / "undo.json")).code == 64
    assert at.run("offsets", "undo", "one", "--out", str(out), "--force").code == 0
    assert yaml.safe_load(out.read_text())["kind"] == "OffsetChange"


def test_a_change_without_effect_cannot_be_undone(at: Workplace, standin: StandIn) -> None:
    at.settings("settle_timeout = 1\nmin_running = 0")
    at.commit("lines.yaml", at.mirror("lines", "state: stopped"))
    at.apply()
    standin.refuse("PATCH", "/connectors/.*/offsets", 500, "Failed to alter", times=1)
    with pytest.raises(AssertionError, match="Failed to alter"):
        apply_change(at, "one", "alter", {"a": 90}, "skip")
    ran = at.run("offsets", "undo", "one")
    assert (ran.code, ran.out) == (1, "")
    assert "offset change one changed nothing (it failed: " in ran.err


def test_an_unknown_change_gets_a_suggestion(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    misspelt = at.run("offsets", "undo", "oen")
    assert (misspelt.code, misspelt.out) == (1, "")
    assert "the ledger has no offset change 'oen'" in misspelt.err
    apply_change(at, "one", "alter", {"a": 90}, "rewind")
    assert "did you mean 'one'?" in at.run("offsets", "undo", "oen").err


def test_undo_of_a_change_that_was_not_applied_with_this_ledger(stopped: Callable[..., Workplace]) -> None:
    at = stopped(a=100)
    at.commit(
        "one.yaml",
        "apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {name: one}\n"
        f"spec:\n  connector: {at.name('lines')}\n  operation: reset\n  acknowledge: [reset]\n",
    )
    assert at.run("ledger", "resolve", "one", "--applied", "--yes").code == 0
    ran = at.run("offsets", "undo", "one")
    assert ran.code == 1
    assert "the offsets before one are unknown" in ran.err
