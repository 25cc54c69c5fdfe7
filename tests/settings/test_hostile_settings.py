"""Settings that make no sense: each is an error that names the setting, and none quotes a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.cluster.manual_clock import ManualClock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import UsageError
from gitops_connect.ledger.database import Database
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.git_url import parse_address

SECRET = "hunter2hunter2"  # the secret that no message may show


def load(directory: Path, text: str) -> Settings:
    file = directory / "gitops-connect.toml"
    file.write_text(text)
    return load_settings(file, {})


def use(directory: Path, text: str) -> None:
    """Load the settings, and use them as a command does first."""
    settings = load(directory, text)
    Database(settings.state.url, directory)
    for cluster in settings.clusters.values():
        client = ConnectClient(cluster, ManualClock())
        client.close()
        for credential in (cluster.token, cluster.password, *cluster.headers.values()):
            if credential is not None:
                credential.read()
    if settings.repository.url:
        parse_address(settings.repository.url)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[state]\nurl = 'postgresql+psycopg://h:port/x'", r"\[state\] url"),
        ("[state]\nurl = 'sqlite:///a.db?timeout=x'", r"\[state\] url"),
        ("[state]\nurl = 'sqlite:///~nosuchuser/a.db'", r"\[state\] url: its path begins with the name of a user"),
        (
            "[repository]\nssh_key = '~nosuchuser/key'",
            r"\[repository\] ssh_key: '~nosuchuser/key' begins with the name",
        ),
        ('[repository]\nssh_key = "a\\u0000b"', r"\[repository\] ssh_key: expected a string without NUL"),
        ("[clusters.a]\nurl = 'http://h:port'", r"\[clusters.a\] url"),
        (
            "[clusters.a]\nurl = 'http://h'\nheaders = {'Content-Length' = 'x'}",
            r"\[clusters.a\] headers: 'Content-Length'",
        ),
        ("[clusters.a]\nurl = 'http://h'\nheaders = {'X-Ü' = 'x'}", r"\[clusters.a\] headers: 'X-Ü'"),
        (f"[clusters.a]\nurl = 'http://h'\nworker_heap = {'9' * 400}", "worker_heap: expected a size"),
        (f"[clusters.a]\nurl = 'http://h'\nworker_heap = '{'9' * 400}g'", "worker_heap: expected a size"),
        (f"[clusters.a]\nurl = 'http://h'\ntimeout = {'9' * 400}", "timeout: expected a duration"),
        (f"[clusters.a]\nurl = 'http://h'\ntimeout = '{'9' * 400}s'", "timeout: expected a duration"),
        (f"[clusters.a]\nurl = 'http://h'\nparallelism = {'9' * 400}", "parallelism: expected a number"),
        (f"[clusters.a]\nurl = 'http://h'\nmax_deletions = {'9' * 400}", "max_deletions: expected a number"),
        (
            "[clusters.a]\nurl = 'http://h'\ntoken = {file = '/dev/zero'}",
            "token: '/dev/zero' is neither a file",
        ),
        ("[clusters.\"\"]\nurl = 'http://h'", r"\[clusters.''\]: expected letters"),
        ('[clusters."a\\u001b[31m"]\nurl = "http://h"', "expected letters"),
        ('[clusters."a/b"]\nurl = "http://h"', "expected letters"),
    ],
)
def test_the_setting_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        use(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        f"[state]\nurl = 'sqlite:///a.db?password={SECRET}'",
        f"[state]\nurl = 'nothing://u@h/x?password={SECRET}'",
        f"[state]\nurl = 'postgresql+nothing://u:{SECRET}@h/x?password={SECRET}'",
        f"[state]\nurl = 'postgresql+psycopg://u:{SECRET}@h:port/x'",
        f"[repository]\nurl = 'u:{SECRET}@host:r.git'",
        f"[repository]\nurl = 'http:/u:{SECRET}@host/r.git'",
        f"[repository]\nurl = ' nothing://u:{SECRET}@host/r.git'",
        f"[repository]\nurl = 'https://host/r.git?token={SECRET}'",
        f"[clusters.a]\nurl = 'http://h?token={SECRET}'",
        f"[clusters.a]\nurl = 'ftp://h?token={SECRET}'",
        f"[clusters.a]\nurl = 'http://u:{SECRET}@h'",
        f"[clusters.a]\nurl = 'http://h'\nheaders = 'Authorization: {SECRET}'",
        f"[clusters.a]\nurl = 'http://h'\nheaders = ['Authorization: {SECRET}']",
        f"[clusters.a]\nurl = 'http://h'\ntoken = ['{SECRET}']",
        f"[clusters.a]\nurl = 'http://h'\ntoken = {{env = '{SECRET}'}}",
        f"clusters = '{SECRET}'",
    ],
)
def test_no_message_quotes_a_secret(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        use(tmp_path, text)
    assert SECRET not in str(caught.value)


def test_the_ledger_is_named_without_the_parameters_of_its_url(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is an extra")
    place = Database(f"postgresql+psycopg://u:{SECRET}@h/x?password={SECRET}", tmp_path).place
    assert SECRET not in place
    assert "u:***@h/x" in place


def test_a_blank_before_the_address_is_passed_over() -> None:
    address = parse_address(f"  https://u:{SECRET}@host/r.git")
    assert (address.url, address.password) == ("https://host/r.git", SECRET)
    assert SECRET not in repr(address)


def test_a_credential_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(SECRET + "\n")
    assert Credential(file=file).read() == SECRET
    os.truncate(file, 64 * 1024**3)
    with pytest.raises(UsageError, match="at most 64 KiB") as caught:
        Credential(file=file).read()
    assert SECRET not in str(caught.value)
