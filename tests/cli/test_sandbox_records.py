"""`sandbox produce` and `sandbox consume` as processes, most of them against the real broker."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_connect.cli.main import run_command
from gitops_connect.sandbox.cluster import Sandbox

PROGRAM = (sys.executable, "-m", "gitops_connect.cli.main", "sandbox")
ALL = ("--from-beginning", "--timeout-ms", "10000", "--max-messages")


def run(directory: Path, *arguments: str, given: str = "") -> tuple[int, str, str]:
    command = [*PROGRAM, *arguments, "--dir", str(directory)]
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("command", ["produce", "consume"])
def test_without_a_sandbox_there_are_no_topics(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command(["sandbox", command, "orders", "--dir", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert f"error: there is no sandbox in {tmp_path}; run `gitops-connect sandbox up` to create one" in err


def test_a_separator_has_a_character(tmp_path: Path) -> None:
    assert run_command(["sandbox", "produce", "orders", "--dir", str(tmp_path), "--key-separator", ""]) == 64


@pytest.mark.e2e
def test_records_with_keys_and_tombstones_come_back_with_their_offsets(sandbox: Sandbox) -> None:
    given = "a:1\nb:<null>\n<null>:x:y\n"
    sent = run(sandbox.directory, "produce", "round-trip", "--key-separator", ":", given=given)
    assert sent == (0, "", "3 records sent to round-trip.\n")
    assert run(sandbox.directory, "consume", "round-trip", *ALL, "2") == (0, "1\n<null>\n", "")
    code, out, _ = run(sandbox.directory, "consume", "round-trip", "--offsets", "--keys", *ALL, "3")
    assert code == 0
    assert [line.split("\t") for line in out.splitlines()] == [
        ["Partition:0", "Offset:0", "a", "1"],
        ["Partition:0", "Offset:1", "b", "<null>"],
        ["Partition:0", "Offset:2", "<null>", "x:y"],
    ]
    code, _, err = run(sandbox.directory, "produce", "half", "--key-separator", ":", given="a:1\nb\nc:3\n")
    assert code == 64
    assert "line 2 of the input does not contain the key separator ':'; 1 record sent before it" in err
    assert run(sandbox.directory, "consume", "half", *ALL, "1") == (0, "1\n", "")


@pytest.mark.e2e
def test_a_record_that_kafka_rejects_and_a_topic_that_does_not_exist_are_errors(sandbox: Sandbox) -> None:
    code, out, err = run(sandbox.directory, "produce", "large", given="x" * 2_000_000)
    assert (code, out) == (1, "")
    assert "error: Kafka's console producer failed for topic large: " in err
    assert "RecordTooLargeException" in err
    for _ in range(2):
        code, out, err = run(sandbox.directory, "consume", "nowhere")
        assert (code, out) == (1, ""), "reading does not create it"
        assert "error: the topic nowhere does not exist in the sandbox; existing topics: " in err
        assert "connect-configs" in err


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
