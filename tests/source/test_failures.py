from __future__ import annotations

import pytest

from gitops_connect.errors import SourceRefused, SourceUnavailable
from gitops_connect.source.git_program import GitFailed, GitTimedOut, explain

SSH = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"


@pytest.mark.parametrize(
    ("words", "kind", "expected"),
    [
        ("git@h: Permission denied (publickey).\n" + SSH, SourceRefused, "ssh_key"),
        ("Host key verification failed.\n" + SSH, SourceRefused, "known_hosts"),
        ("ssh: Could not resolve hostname h: Name or service not known\n" + SSH, SourceUnavailable, "resolved"),
        ("ssh: connect to host h port 22: Connection timed out\n" + SSH, SourceUnavailable, "reached"),
        ("kex_exchange_identification: Connection closed by remote host\n" + SSH, SourceUnavailable, "lost"),
        ("ERROR: Repository not found.\n" + SSH, SourceRefused, "the repository does not exist"),
        ("fatal: write error: No space left on device\nfatal: index-pack failed\n", SourceUnavailable, "disk"),
        ("error: RPC failed; curl 18\nfatal: early EOF\nfatal: index-pack failed\n", SourceUnavailable, "lost"),
        ("fatal: mismatched algorithms: client sha1; server sha256\n", SourceRefused, "SHA-256"),
        ("fatal: The requested URL returned error: 429\n", SourceUnavailable, "an error of its own"),
        ("fatal: something new\n", SourceUnavailable, "git failed: fatal: something new"),
        ("", SourceUnavailable, "git failed: nothing"),
    ],
)
def test_each_failure_says_whether_waiting_helps_and_what_to_do(words: str, kind: type, expected: str) -> None:
    error = explain("repository x", GitFailed("fetch", 128, words.encode()))
    assert type(error) is kind
    assert str(error).startswith("repository x: ")
    assert expected in str(error)


def test_a_deadline_and_a_kill_are_named() -> None:
    assert "[repository] timeout" in str(explain("x", GitTimedOut("fetch", -9, b"")))
    assert "signal 9" in str(explain("x", GitFailed("fetch", -9, b"")))


def test_what_a_server_says_can_neither_show_the_secret_nor_steer_the_terminal() -> None:
    words = b"error: RPC failed \x1b[2J s3cret/x s3cret%2Fx " + b"a" * 1000
    message = str(explain("x", GitFailed("fetch", 128, words), "s3cret/x"))
    assert "s3cret" not in message
    assert message.isprintable()
    assert len(message) < 500
