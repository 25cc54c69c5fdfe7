"""Settings that make no sense: each is an error that names the setting, and none quotes a secret."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.files.tables import read_yaml

from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import UsageError
from gitops_connect.forge.opening import open_forge
from gitops_connect.ledger.database import Database
from gitops_connect.model.clock import Duration
from gitops_connect.server.daemon_client import daemon_url
from gitops_connect.server.listen_address import address_of
from gitops_connect.settings.coerce import POSITIVE, Size, parse_size, section
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import (
    ClusterSettings,
    DaemonSettings,
    ForgeSettings,
    NotificationSettings,
    RepositorySettings,
    ServerSettings,
    SkipSettings,
    SparkSettings,
)
from gitops_connect.settings.settings_file import load_settings
from gitops_connect.source.git_url import parse_address

pytestmark = pytest.mark.slow

SECTIONS = (
    *(RepositorySettings, ClusterSettings, SkipSettings, SparkSettings),
    *(DaemonSettings, ServerSettings, NotificationSettings, ForgeSettings),
)
NUMBERS = (int, float, Duration, Size, int | None)
NEVER: tuple[Any, ...] = (
    *(-1, -0.5, math.nan, math.inf, -math.inf, 1e308, 10**30, 10**400, True, [], {"a": 1}, ""),
    *("-1", "nan", "inf", "1e308", "0x10", "9" * 400, "9" * 5000, "1s2", "ten", "\0", "1" * 20 + "g"),
)
CASES = read_yaml(Path(__file__).with_name("wrong_settings.yaml"))
SECRET = "hunter2hunter2"  # no message may show it


def numbers() -> Iterator[tuple[type, dataclasses.Field[Any]]]:
    for cls in SECTIONS:
        hints = typing.get_type_hints(cls)
        yield from ((cls, one) for one in dataclasses.fields(cls) if hints[one.name] in NUMBERS)


def test_a_number_that_makes_no_sense_is_rejected(tmp_path: Path) -> None:
    given = {ClusterSettings: {"name": "a", "url": ()}}
    tried = 0
    for cls, setting in numbers():
        for value in (*NEVER, *((0, "0", 0.0) if setting.metadata == POSITIVE else ())):
            with pytest.raises(UsageError, match=rf"\[x\] {setting.name}: expected"):
                section(cls, {setting.name: value}, "[x]", tmp_path, **given.get(cls, {}))
            tried += 1
    assert tried > 800


def quoted(text: str) -> str:
    return '"' + text.replace("\u0001", "\\u0001") + '"'


USES = {
    "[clusters.a] url": "[clusters.a]\nurl = {http}",
    "[forge] url": "[forge]\nkind = 'gitea'\nrepository = 'a/b'\ntoken = 'x'\nurl = {https}",
    "[server] public_url": "[server]\npublic_url = {https}",
    "[server] listen": "[server]\nlisten = {address}",
}


def use_address(directory: Path, setting: str, address: str) -> None:
    if setting == "--server":
        daemon_url(ServerSettings(), f"http://{address}")
    else:
        values = {"address": address, "http": f"http://{address}/", "https": f"https://{address}/"}
        use(directory, USES[setting].format(**{name: quoted(text) for name, text in values.items()}))


@pytest.mark.parametrize("setting", [*USES, "--server"])
def test_an_address_that_no_library_accepts_is_rejected(setting: str, tmp_path: Path) -> None:
    addresses = [f"{host}:8083" for host in (*CASES["hosts"], "h" * 2**18)]
    addresses += [f"h:{port}" for port in CASES["ports"] if port != "0" or "listen" not in setting]  # 0: any free port
    for address in addresses:
        with pytest.raises(UsageError, match=re.escape(setting)):
            use_address(tmp_path, setting, address)


@pytest.mark.parametrize("setting", [*USES, "--server"])
def test_usual_addresses_are_accepted(setting: str, tmp_path: Path) -> None:
    for address in ("127.0.0.1:8083", "[::1]:8083", "connect-1.example.com:8083", "connect_1:1", "xn--n3h.example.:80"):
        use_address(tmp_path, setting, address)


def test_sizes_are_read_as_people_and_java_write_them() -> None:
    for text, size in CASES["sizes"]:
        assert parse_size(text) == size
    for text in CASES["no_sizes"]:
        with pytest.raises(ValueError):  # noqa: PT011 - the loader says which setting it was
            parse_size(text)


def use(directory: Path, text: str) -> None:
    """Load the settings, and use them as a command does first."""
    file = directory / "gitops-connect.toml"
    file.write_text(text, encoding="utf-8")
    settings = load_settings(file, {})
    Database(settings.state.url, directory)
    for cluster in settings.clusters.values():
        client = ConnectClient(cluster, ManualClock())
        client.close()
        for credential in (cluster.token, cluster.password, *cluster.headers.values()):
            if credential is not None:
                credential.read()
    if settings.forge.kind:
        open_forge(settings, ManualClock())
    if settings.server.listen:
        address_of(settings.server.listen)
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
