"""The sandbox commands as a user runs them: as processes, with their output and exit codes."""

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest
from acceptance.workplace import Ran, run_apart, run_here

from gitops_connect.sandbox.cluster import Sandbox

PROGRAM = (sys.executable, "-m", "gitops_connect.cli.main", "sandbox")
ALL = ("--from-beginning", "--timeout-ms", "10000", "--max-messages")


def run(directory: Path, *arguments: str, given: str = "") -> Ran:
    return run_apart([*PROGRAM, *arguments, "--dir", str(directory)], input=given)


def test_without_a_sandbox_there_are_no_topics_and_nothing_ends(empty_directory: Path) -> None:
    missing = f"error: there is no sandbox in {empty_directory}; run `gitops-connect sandbox up` to create one"
    for command in ("produce", "consume"):
        run_here("sandbox", command, "orders", "--dir", str(empty_directory)).expect(1, out="", err=missing)
    run_here("sandbox", "produce", "orders", "--key-separator", "").expect(64)
    run_here("sandbox", "down").expect(0, out="", err="There is no sandbox")
    assert not list(empty_directory.iterdir())


@pytest.mark.e2e
def test_up_status_down(tmp_path: Path) -> None:
    """In the default directory."""

    def here(*arguments: str) -> Ran:
        return run_apart([*PROGRAM, *arguments], cwd=tmp_path)

    up = here("up", "--workers", "1", "--heap", "512").expect(0, out="")
    assert not (tmp_path / "gitops-connect.toml").exists()
    try:
        status = json.loads(here("status", "-o", "json").out)
        assert [(part["part"], part["state"]) for part in status] == [("broker", "up"), ("worker-1", "up")]
        snippet = up.err.partition("gitops-connect.toml:")[2].partition("To stop the sandbox")[0]
        assert tomllib.loads(snippet)["clusters"]["local"]["url"] == [status[1]["address"]]
        table = here("status").expect(0).out
        assert table.splitlines()[0].split() == ["PART", "STATE", "ADDRESS", "PID", "LOG"]
        psutil.Process(status[1]["pid"]).kill()
        here("status").expect(1)
    finally:
        down = here("down", "--purge")
    down.expect(0, out="")
    assert not [part["pid"] for part in status if psutil.pid_exists(part["pid"])]
    assert not (tmp_path / ".sandbox").exists()


@pytest.mark.e2e
def test_records_with_keys_and_tombstones_come_back_with_their_offsets(sandbox: Sandbox) -> None:
    given = "a:1\nb:<null>\n<null>:x:y\n"
    sent = run(sandbox.directory, "produce", "round-trip", "--key-separator", ":", given=given)
    assert sent == Ran(0, "", "3 records sent to round-trip.\n")
    assert run(sandbox.directory, "consume", "round-trip", *ALL, "2") == Ran(0, "1\n<null>\n", "")
    consumed = run(sandbox.directory, "consume", "round-trip", "--offsets", "--keys", *ALL, "3").expect(0)
    assert [line.split("\t") for line in consumed.out.splitlines()] == [
        ["Partition:0", "Offset:0", "a", "1"],
        ["Partition:0", "Offset:1", "b", "<null>"],
        ["Partition:0", "Offset:2", "<null>", "x:y"],
    ]
    half = "line 2 of the input does not contain the key separator ':'; 1 record sent before it"
    run(sandbox.directory, "produce", "half", "--key-separator", ":", given="a:1\nb\nc:3\n").expect(64, err=half)
    assert run(sandbox.directory, "consume", "half", *ALL, "1") == Ran(0, "1\n", "")


@pytest.mark.e2e
def test_a_record_that_kafka_rejects_and_a_topic_that_does_not_exist_are_errors(sandbox: Sandbox) -> None:
    failed = ("error: Kafka's console producer failed for topic large: ", "RecordTooLargeException")
    run(sandbox.directory, "produce", "large", given="x" * 2_000_000).expect(1, out="", err=failed)
    missing = ("error: the topic nowhere does not exist in the sandbox; existing topics: ", "connect-configs")
    for _ in range(2):  # reading does not create it
        run(sandbox.directory, "consume", "nowhere").expect(1, out="", err=missing)


@pytest.mark.e2e
def test_ctrl_c_ends_a_consumer_quietly(sandbox: Sandbox) -> None:
    run(sandbox.directory, "produce", "followed", given="1\n")
    command = [*PROGRAM, "consume", "followed", "--from-beginning", "--dir", str(sandbox.directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "1\n"
        run(sandbox.directory, "produce", "followed", given="2\n")
        assert consumer.stdout.readline() == "2\n"
        consumer.send_signal(signal.SIGINT)
        assert consumer.communicate() == ("", "")
    assert consumer.returncode == 130
