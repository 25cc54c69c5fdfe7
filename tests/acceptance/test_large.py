"""Offset changes that are too large for one process, as users make them, on a real worker and on Spark."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import zstandard

from acceptance.large_place import FROM, MANY, LargePlace, line, lines, text_of, worker
from acceptance.large_place import place as at

__all__ = ["at", "worker"]

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(900)]

HALF = MANY // 2


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which each start of Java creates the file `asked`, and fails."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f'#!/bin/sh\ntouch "{tmp_path}/asked"\nexit 1\n')
    java.chmod(0o755)
    return {"JAVA_HOME": str(tmp_path), "PATH": f"{java.parent}:/usr/local/bin:/usr/bin:/bin"}


def test_a_change_is_planned_sent_in_chunks_and_done_once(at: LargePlace, no_java: dict[str, str]) -> None:
    _declare_the_first(at)
    at.apart("plan", "--detailed-exitcode").expect(
        2,
        out=(
            f"          {MANY:,} new\n",
            '+ {"cluster":"source","partition":0,"topic":"topic-00000000"}: (none) -> {"offset":1000}',
            f"worker heap: {MANY:,} partitions of 99 bytes",
        ),
    )
    assert not at.current_offsets()

    err = at.applied().err
    sent = [int(one.split()[1].replace(",", "")) for one in err.splitlines() if one.startswith("1-first: ")]
    assert sent == sorted(sent)
    assert (sent[-1], len(sent) > 2) == (MANY, True)
    assert at.states() == {"many": "RUNNING"}
    saved = at.directory / "saved.jsonl"
    assert at.run("offsets", "get", at.name("many"), "--save", str(saved)).code == 0
    assert sorted(saved.read_text().splitlines()) == lines(1_000)
    at.apart("apply", "--yes", environment=no_java).expect(0, out="No changes.")
    assert not (at.directory / "asked").exists()
    assert not list(at.spark.glob("work-*")), "nothing is left behind"


def test_a_rewind_is_refused_acknowledged_and_undone(at: LargePlace) -> None:
    _declare_the_first(at)
    at.applied()
    _record_what_is_there(at)

    _refuse_a_rewind(at)
    at.settings("task_shutdown_timeout = 1")  # the offsets are read again before they are changed
    at.commit("back.yaml", at.change("2-back", f"{FROM.format('offsets/back.jsonl')}\nacknowledge: [rewind]"))
    at.applied()
    assert at.current_offsets() == [line(0, 1), *lines(999, range(1, MANY))]

    at.run("offsets", "undo", "2-back").expect(
        64, out="", err=f"{MANY:,} offsets do not fit into one document; write to a file with --out"
    )
    out = at.repository / "undo.yaml"
    said = f"Wrote {out} and ./undo.jsonl.zst (replace, {MANY:,} offsets"
    at.apart("offsets", "undo", "2-back", "--out", str(out)).expect(0, out="", err=said)
    at.commit("undone.txt", "by now")
    at.applied()
    assert at.current_offsets() == lines(1_000)
    assert at.states() == {"many": "RUNNING"}
    for name in ("1-first", "2-back", "undo-2-back"):
        record = at.record(name)
        assert (record["state"], record["entries"], record["sent"]) == ("applied", MANY, MANY)
    assert not list(at.spark.glob("work-*")), "nothing is left behind"


def _declare_the_first(at: LargePlace) -> None:
    at.deploy("many.yaml", at.runner())
    at.manifest("offsets/first.jsonl", lines(1_000))
    at.commit("first.yaml", at.change("1-first", FROM.format("offsets/first.jsonl")))


def _record_what_is_there(at: LargePlace) -> None:
    at.commit("same.yaml", at.change("1-same", FROM.format("offsets/first.jsonl")))
    ran = at.applied().expect(err="record applied")
    assert "stop" not in ran.err
    record = at.record("1-same")
    assert (record["state"], record["message"]) == ("applied", "every offset already matched: nothing was sent")
    at.run("offsets", "undo", "1-same").expect(
        err="1-same changed nothing (every offset already matched: nothing was sent)"
    )


def _refuse_a_rewind(at: LargePlace) -> None:
    at.manifest("offsets/back.jsonl", [line(0, 1), *lines(999, range(1, MANY))])
    at.commit("back.yaml", at.change("2-back", FROM.format("offsets/back.jsonl")))
    refused = at.apart("apply", "--yes").expect(
        4, out=f"{MANY:,} rewind ({MANY - 1 + 999:,} records reprocessed)", err=("back.yaml:", "acknowledge: [rewind]")
    )
    largest = '< {"cluster":"source","partition":0,"topic":"topic-00000000"}: {"offset":1000} -> {"offset":1}'
    moves = [one.strip() for one in refused.out.splitlines() if one.strip().startswith("<")]
    assert moves[0].startswith(largest)
    assert at.states() == {"many": "RUNNING"}
    assert "stop" not in refused.err
    assert at.current_offsets() == lines(1_000)


def test_the_same_content_in_any_format_and_from_anywhere(at: LargePlace) -> None:
    """Two reconciliations, each of which changes the offsets of two connectors."""
    content, outside = lines(7), at.directory / "outside.jsonl"
    _write_in_all_formats(content, at.repository / "offsets")
    outside.write_bytes(text_of(content))
    stems = ("parquet", "directory", "seed", "elsewhere")
    at.deploy("connectors.yaml", *(at.runner(one, "state: stopped") for one in stems if one != "seed"))
    at.commit(
        "changes.yaml",
        at.change("parquet", FROM.format("offsets/all.parquet"), "parquet"),
        at.change("directory", FROM.format("offsets/parts/"), "directory"),
        at.change("elsewhere", _from_uri(outside, "0" * 64), "elsewhere"),
    )
    ran = at.apart("apply", "--yes").expect(4)
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    assert "offsets/sha256" in ran.err
    assert digest in ran.err
    assert "0" * 64 in ran.err
    assert at.current_offsets("parquet") == at.current_offsets("directory") == content
    assert not at.current_offsets("elsewhere")

    at.commit("seed.yaml", at.runner("seed", 'initialOffsets: {manifest: {path: "offsets/glob-*.jsonl"}}'))
    at.commit("changes.yaml", at.change("elsewhere", _from_uri(outside, digest), "elsewhere"))
    at.apart("plan").expect(0, out="create (stopped)")
    at.applied()
    assert at.current_offsets("seed") == at.current_offsets("elsewhere") == content
    assert at.states() == {"parquet": "STOPPED", "directory": "STOPPED", "elsewhere": "STOPPED", "seed": "RUNNING"}
    assert at.record("elsewhere", "elsewhere")["state"] == "applied"


def _write_in_all_formats(content: list[str], directory: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - imported when it is used
    from pyarrow import parquet  # noqa: PLC0415 - imported when it is used

    (directory / "parts").mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([json.loads(one) for one in content]), directory / "all.parquet")
    for name, part in (("a", content[:HALF]), ("b", content[HALF:])):
        (directory / "parts" / f"{name}.jsonl.zst").write_bytes(zstandard.compress(text_of(part)))
        (directory / f"glob-{name}.jsonl").write_bytes(text_of(part))


def _from_uri(file: Path, digest: str) -> str:
    return f'operation: alter\nmanifest: {{uri: "file:{file}", sha256: "{digest}"}}'


def test_what_is_not_listed_goes_and_all_goes_with_a_reset_or_a_deletion(at: LargePlace) -> None:
    stems = ("half", "none", "gone")
    at.deploy("connectors.yaml", *(at.runner(one, "state: stopped\nonDelete: {offsets: reset}") for one in stems))
    at.await_states(**dict.fromkeys(stems, "STOPPED"))
    for stem in stems:
        at.fill(stem, lines(5))
    kept = lines(5, range(0, MANY, 2))
    at.manifest("offsets/half.jsonl", kept)
    at.commit(
        "connectors.yaml",
        *(at.runner(one, "state: stopped\nonDelete: {offsets: reset}") for one in ("half", "none")),
        at.runner("gone", "state: absent\nonDelete: {offsets: reset}"),
    )
    replaced = "operation: replace\nmanifest: {path: offsets/half.jsonl}\nacknowledge: [tombstone]"
    at.commit(
        "changes.yaml",
        at.change("half", replaced, "half"),
        at.change("none", "operation: reset\nacknowledge: [reset]", "none"),
    )
    at.apart("plan").expect(out=(f"{HALF:,} removed, {HALF:,} same", f"{MANY:,} removed"))
    at.applied()
    assert at.current_offsets("half") == kept
    assert not at.current_offsets("none")
    assert at.states() == {"half": "STOPPED", "none": "STOPPED"}
    at.commit("connectors.yaml", at.runner("gone", "state: stopped"))
    assert "earlier connector" not in at.applied().err
    assert not at.current_offsets("gone")


def test_the_daemon_does_one_too_and_logs_how_far_it_is(at: LargePlace) -> None:
    at.manifest("offsets/first.jsonl", lines(11))
    at.commit("many.yaml", at.runner(spec="initialOffsets: {manifest: {path: offsets/first.jsonl}}"))
    ran = at.apart("run", "--once").expect(0)
    logged = [json.loads(one) for one in ran.err.splitlines()]
    sent = [one["done"] for one in logged if one["event"] == "offsets_sent"]
    assert sent == sorted(sent)
    assert (sent[-1], len(sent) > 2) == (MANY, True)
    assert at.current_offsets() == lines(11)
    assert at.states() == {"many": "RUNNING"}
