"""Settings that make no sense: each is an error that names the setting, and none quotes a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from support.cluster.manual_clock import ManualClock

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import UsageError
from gitops_connect.ledger.database import Database
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.git_url import parse_address

CASES = yaml.safe_load(Path(__file__).with_name("wrong_settings.yaml").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize("group", ["named", "named_with_the_file"])
def test_the_setting_is_named(tmp_path: Path, group: str) -> None:
    for case in CASES[group]:
        with pytest.raises(UsageError) as raised:
            use(tmp_path, case["text"])
        assert case["error"] in str(raised.value)
        assert group == "named" or "gitops-connect.toml" in str(raised.value), case


def test_no_message_quotes_a_secret(tmp_path: Path) -> None:
    for text in CASES["secret"]:
        with pytest.raises(UsageError) as raised:
            use(tmp_path, text)
        assert SECRET in text
        assert SECRET not in str(raised.value)


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
