"""Pipes, devices, sockets and directories instead of a file: every command says so, and none waits or reads on."""

from __future__ import annotations

import os
import socket
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from support.files.tables import table

from gitops_connect import secret_values
from gitops_connect.cli.main import run_command
from gitops_connect.errors import LedgerUnusable, UsageError
from gitops_connect.ledger.schema import load_key
from gitops_connect.model.desired import SecretReference, SecretSource
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.settings_file import load_settings

pytestmark = pytest.mark.timeout(20)

CLUSTER = '[clusters.local]\nurl = "http://127.0.0.1:1"\n'
NEITHER = "neither a file nor a directory"
KINDS: dict[str, str] = table(__file__, "kinds")
COMMANDS: dict[str, str] = table(__file__, "commands")
OTHER_WORDS: dict[str, str] = table(__file__, "other_words")
FILES_ONLY = ("settings", "ledger import")
"""The other commands also read a directory."""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Creates `x.json` of that kind in the directory of the test."""
    monkeypatch.chdir(tmp_path)
    match request.param:
        case "pipe":
            os.mkfifo("x.json")
        case "device":
            Path("x.json").symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind("x.json")
        case _:
            Path("x.json").mkdir()
    return str(request.param)


def test_on_the_command_line(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("gitops-connect.toml").write_text(CLUSTER)
    for name in FILES_ONLY if kind == "directory" else COMMANDS:
        code = run_command(COMMANDS[name].replace("FILE", "x.json").split())
        assert (name, code) == (name, 64)
        assert OTHER_WORDS.get(name, KINDS[kind]) in capsys.readouterr().err, name


def test_in_a_directory_of_files(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["convert", "."]) == (0 if kind == "directory" else 64)
    assert kind == "directory" or KINDS[kind] in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting",
    ["clusters.local.ca_file", "clusters.local.client_certificate", "repository.ssh_key", "forge.ca_file"],
)
def test_in_the_settings(setting: str, kind: str) -> None:
    *section, name = setting.split(".")
    url = 'url = "http://h"\n' if "clusters" in setting else ""
    Path("a.toml").write_text(f"[{'.'.join(section)}]\n{url}{name} = 'x.json'\n")
    if kind == "directory":
        load_settings(Path("a.toml"), {})  # some settings are directories
        return
    with pytest.raises(UsageError, match=rf"{name}: 'x.json' is {NEITHER}"):
        load_settings(Path("a.toml"), {})


def test_as_a_credential_key_or_secret(kind: str) -> None:
    file = Path("x.json").absolute()
    Path("a.toml").write_text(f"[secrets]\nfiles = ['{file.parent}']\n")
    with pytest.raises(UsageError, match=KINDS[kind]):
        Credential(file=file).read()
    with pytest.raises(LedgerUnusable, match=rf"{KINDS[kind]}|every user"):
        load_key(file)
    with pytest.raises(secret_values.SecretMissing):
        secret_values.read(SecretReference(SecretSource.FILE, str(file)), load_settings(Path("a.toml"), {}), {})


def test_stdin_may_be_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"x" * 11 * 1024**2)))
    assert run_command(["convert", "-"]) == 4
    assert "larger than 10 MiB" in capsys.readouterr().err
