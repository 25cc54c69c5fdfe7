from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.files.tables import rows
from support.waiting import await_that

from gitops_connect.errors import SourceRefused, UsageError
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.git_program import (
    GitFailed,
    GitTimedOut,
    Program,
    explain,
    git_version,
    local_environment,
    remote_environment,
)
from gitops_connect.source.git_url import parse_address

Stub = Callable[[str], Program]


@pytest.fixture
def stub(fake_program: Callable[[str, str], None]) -> Stub:
    def made(script: str, timeout: float = 20) -> Program:
        fake_program("git", script)
        return Program({"GIT_DIR": "/ours"}, timeout)

    return made


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or only waits to be reaped."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_output_is_bytes_and_a_failure_has_gits_words(stub: Stub) -> None:
    program = stub('test "$1" = ok && cat || { echo "fatal: no" >&2; exit 3; }')
    assert program.run("ok", stdin=b"\xff\n") == b"\xff\n"
    with pytest.raises(GitFailed) as caught:
        program.run("bad")
    assert (caught.value.status, caught.value.stderr) == (3, "fatal: no\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param('sh -c "sleep 600 & echo \\$! >{}/pid; wait"', id="git waits"),
        pytest.param("sleep 600 & echo $! >{}/pid", id="a child keeps the pipes open"),
    ],
)
def test_at_the_deadline_git_ends_with_all_that_it_started(stub: Stub, tmp_path: Path, script: str) -> None:
    with pytest.raises(GitTimedOut):
        stub(script.format(tmp_path), 0.5).run("anything")
    await_that(lambda: has_ended(int((tmp_path / "pid").read_text())))


def test_git_has_no_terminal_and_nothing_of_our_own_git_variables(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_SSL_NO_VERIFY", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("GIT_SSL_CAPATH", "kept")
    said = stub("env; if (exec </dev/tty) 2>/dev/null; then echo terminal; fi").run("x").decode()
    variables = dict(line.split("=", 1) for line in said.splitlines() if line.startswith("GIT_"))
    assert variables == {"GIT_DIR": "/ours", "GIT_SSL_CAPATH": "kept"}
    assert "terminal" not in said.splitlines()


def test_a_git_that_is_missing_or_would_read_the_users_configuration_is_refused(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub("echo git version 2.31.9")
    with pytest.raises(SourceRefused, match=r"git 2\.31\.9 is too old"):
        git_version()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceRefused, match="install git"):
        git_version()


def test_the_environment_is_in_no_repr(tmp_path: Path) -> None:
    program = Program({**local_environment(tmp_path), "X": "s3cret"}, 1)
    assert "s3cret" not in repr(program)


def environment(settings: RepositorySettings) -> dict[str, str]:
    return remote_environment(Path("/clone"), parse_address(settings.url), settings)


def configuration(variables: dict[str, str]) -> dict[str, str]:
    count = int(variables["GIT_CONFIG_COUNT"])
    return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


@pytest.mark.parametrize(
    ("url", "allowed"),
    [("https://h/a", "https"), ("http://h/a", "http:https"), ("h:a", "ssh"), ("git://h/a", "git"), ("/a", "file")],
)
def test_only_the_transport_of_the_settings_is_allowed(url: str, allowed: str) -> None:
    assert environment(RepositorySettings(url=url))["GIT_ALLOW_PROTOCOL"] == allowed
    assert local_environment(Path("/clone"))["GIT_ALLOW_PROTOCOL"] == "", "local work can reach nothing"


def test_a_password_is_for_one_host_and_in_no_configuration() -> None:
    settings = RepositorySettings(url="https://h:8/a", username="me", password=Credential(value="s3cret"))
    variables = environment(settings)
    assert "credential.https://h:8.helper" in configuration(variables)
    assert "s3cret" not in str(configuration(variables))
    assert variables["GITOPS_CONNECT_GIT_PASSWORD"] == "s3cret"
    for url in ("ssh://h/a", "git://h/a", "/a"):
        assert "s3cret" not in str(environment(RepositorySettings(url=url, password=Credential(value="s3cret"))))


def test_a_password_of_two_lines_is_refused_without_showing_it() -> None:
    with pytest.raises(UsageError, match="line break") as caught:
        environment(RepositorySettings(url="https://h/a", password=Credential(value="s3\ncret")))
    assert "cret" not in str(caught.value)


def test_the_files_of_ssh_survive_any_name(tmp_path: Path) -> None:
    key, hosts = tmp_path / "my key' $(x) %h", tmp_path / "known hosts"
    key.touch()
    hosts.touch()
    settings = RepositorySettings(url="git@h:a", ssh_key=key, known_hosts=hosts)
    words = shlex.split(environment(settings)["GIT_SSH_COMMAND"])
    assert words[words.index("-i") + 1] == str(key).replace("%", "%%")
    assert f'-oUserKnownHostsFile="{hosts}"' in words
    assert {"-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oIdentitiesOnly=yes"} <= set(words)


@pytest.mark.parametrize(("url", "setting"), [("h:a", "ssh_key"), ("h:a", "known_hosts"), ("https://h/a", "ca_file")])
def test_a_file_that_is_not_there_is_named(url: str, setting: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"{setting}: the file .*none does not exist"):
        environment(RepositorySettings(url=url, **{setting: tmp_path / "none"}))  # type: ignore[arg-type]  # all are paths


SSH = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n"


@pytest.mark.parametrize(("words", "kind", "expected"), rows(__file__, "failures"))
def test_each_failure_says_whether_waiting_helps_and_what_to_do(words: str, kind: str, expected: str) -> None:
    error = explain("repository x", GitFailed("fetch", 128, words.replace("{ssh}", SSH).encode()))
    assert type(error).__name__ == kind
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
