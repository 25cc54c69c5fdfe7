from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gitops_connect.errors import UsageError
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.address import parse_address
from gitops_connect.source.environment import local_environment, remote_environment


def environment(settings: RepositorySettings) -> dict[str, str]:
    return remote_environment(Path("/clone"), parse_address(settings.url), settings)


def configuration(variables: dict[str, str]) -> dict[str, str]:
    count = int(variables["GIT_CONFIG_COUNT"])
    return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


def test_local_work_can_reach_nothing() -> None:
    assert local_environment(Path("/clone"))["GIT_ALLOW_PROTOCOL"] == ""


@pytest.mark.parametrize(
    ("url", "allowed"),
    [("https://h/a", "https"), ("http://h/a", "http:https"), ("h:a", "ssh"), ("git://h/a", "git"), ("/a", "file")],
)
def test_only_the_transport_of_the_settings_is_allowed(url: str, allowed: str) -> None:
    assert environment(RepositorySettings(url=url))["GIT_ALLOW_PROTOCOL"] == allowed


def test_a_password_is_for_one_host_and_in_no_configuration() -> None:
    settings = RepositorySettings(url="https://h:8/a", username="me", password=Credential(value="s3cret"))
    variables = environment(settings)
    assert "credential.https://h:8.helper" in configuration(variables)
    assert "s3cret" not in str(configuration(variables))
    assert variables["GITOPS_CONNECT_GIT_PASSWORD"] == "s3cret"


def test_a_password_is_not_sent_elsewhere_than_to_http() -> None:
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
