"""Where a secret may come from, and that it goes to the connector and nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.cluster import Cluster
from standin.connect import StandIn
from support.files.tables import rows
from support.planner.situations import wanted

from gitops_connect import secret_values
from gitops_connect.model.desired import DesiredState, SecretReference, SecretSource, TargetState
from gitops_connect.model.diagnostics import INTERNAL_ERROR
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.sections import SecretsSettings, Settings
from gitops_connect.settings.settings_file import load_settings

LOCAL = ClusterName("local")
VALUE = "correct-horse-battery"


def reading(
    reference: SecretReference, settings: SecretsSettings, environment: Mapping[str, str] | None = None
) -> tuple[str | None, str]:
    """The value that reaches the config, and the problem that is reported."""
    wanting = replace(wanted("orders"), secrets={"database.password": reference})
    desired = DesiredState(LOCAL, (wanting, wanted("other")))
    resolved = secret_values.resolve(desired, Settings(Path("/nowhere"), secrets=settings), environment or {})
    problems = " ".join(problem.summary for problem in resolved.diagnostics)
    assert resolved.unresolved == ({"orders"} if problems else set()), "only this connector is blocked"
    return resolved.desired.connectors[0].config.get("database.password"), problems


def env(name: str) -> SecretReference:
    return SecretReference(SecretSource.ENV, name)


def file(path: Path | str) -> SecretReference:
    return SecretReference(SecretSource.FILE, str(path))


def test_a_variable_that_is_allowed_is_read() -> None:
    allowed = SecretsSettings(env=("ORDERS_*",))
    assert reading(env("ORDERS_PASSWORD"), allowed, {"ORDERS_PASSWORD": VALUE}) == (VALUE, "")


@pytest.mark.parametrize(("name", "allowed", "expected"), rows(__file__, "variables"))
def test_a_variable_that_is_not_allowed_is_not_read(name: str, allowed: str, expected: str) -> None:
    there = {"HOME": VALUE, "orders_password": VALUE, "GITOPS_CONNECT_STATE__KEY": VALUE}
    value, problem = reading(env(name), SecretsSettings(env=(allowed,)), there)
    assert value is None
    assert expected in problem
    assert VALUE not in problem


@pytest.mark.parametrize("content", [VALUE, f"{VALUE}\n", f"{VALUE}\r\n"])
def test_a_file_is_read_without_its_last_line_end(tmp_path: Path, content: str) -> None:
    (tmp_path / "password").write_bytes(content.encode())
    assert reading(file(tmp_path / "password"), SecretsSettings(files=(tmp_path,))) == (VALUE, "")


def test_whitespace_and_further_lines_are_part_of_a_secret(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(" one\ntwo\n\n")
    assert reading(file(tmp_path / "key.pem"), SecretsSettings(files=(tmp_path,))) == (" one\ntwo\n", "")


def test_the_links_of_a_mounted_kubernetes_secret_are_followed(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    (mount / "..2026_11_21").mkdir(parents=True)
    (mount / "..2026_11_21" / "password").write_text(VALUE)
    (mount / "..data").symlink_to("..2026_11_21")
    (mount / "password").symlink_to("..data/password")
    (tmp_path / "linked").symlink_to(mount)
    for directory in (mount, tmp_path / "linked"):
        assert reading(file(directory / "password"), SecretsSettings(files=(directory,))) == (VALUE, "")


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text(VALUE)
    (inside / "password").symlink_to(tmp_path / "outside")
    allowed = SecretsSettings(files=(inside,))
    for path in (inside / "password", inside / ".." / "outside", inside / "password" / ".." / "outside"):
        value, problem = reading(file(path), allowed)
        assert value is None
        assert "it leads out of the directories of [secrets] files" in problem


@pytest.mark.parametrize(("name", "expected"), rows(__file__, "files"))
def test_a_file_without_readable_text_is_named(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes(b"pass\xe9")
    (tmp_path / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    (tmp_path / "ring").symlink_to("ring")
    value, problem = reading(file(tmp_path / name), SecretsSettings(files=(tmp_path,)))
    assert value is None
    assert expected in problem


def test_a_relative_path_and_an_unlisted_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(VALUE)
    assert "is not an absolute path" in reading(file("password"), SecretsSettings(files=(tmp_path,)))[1]
    _, unlisted = reading(file(tmp_path / "password"), SecretsSettings(files=(tmp_path / "other",)))
    assert f'allow it with [secrets] files = ["{tmp_path}"]' in unlisted


def test_a_bug_while_a_secret_is_read_blocks_only_its_connector() -> None:
    class Broken(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            return super().__getitem__(name) if name == "GOOD" else str(1 // 0)

    connectors = tuple(replace(wanted(name), secrets={"a": env(name.upper())}) for name in ("bad", "good"))
    settings = Settings(Path("/nowhere"), secrets=SecretsSettings(env=("*",)))
    resolved = secret_values.resolve(DesiredState(LOCAL, connectors), settings, Broken(BAD=VALUE, GOOD=VALUE))
    assert resolved.unresolved == {"bad"}
    assert resolved.desired.connectors[1].config["a"] == VALUE
    (problem,) = resolved.diagnostics
    assert (problem.rule, type(problem.bug)) == (INTERNAL_ERROR, ZeroDivisionError)


SETTINGS = """
[secrets]
env = ["*"]
files = ["/"]
[state]
url = "sqlite:///ledger.db"
[repository]
password = {env = "GIT_TOKEN"}
ssh_key = "id_ed25519"
[clusters.local]
url = ["http://127.0.0.1:8083"]
token = {file = "token"}
headers = {"X-Key" = {env = "PROXY_KEY"}}
client_key = "client.pem"
"""


@pytest.mark.parametrize(
    "name",
    ["ledger.db", "ledger.db.key", "ledger.db-journal", "id_ed25519", "token", "client.pem", "gitops-connect.toml"],
)
def test_the_files_of_the_settings_are_never_sent_whatever_is_allowed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(VALUE)
    (tmp_path / "gitops-connect.toml").write_text(SETTINGS)
    settings = load_settings(tmp_path / "gitops-connect.toml", {})
    os.link(tmp_path / name, tmp_path / "another-name")
    (tmp_path / "link").symlink_to(name)
    for path in (tmp_path / name, tmp_path / "another-name", tmp_path / "link"):
        with pytest.raises(secret_values.SecretMissing, match="never sent"):
            secret_values.read(file(path), settings, {})
    (tmp_path / "other").write_text(VALUE)
    assert secret_values.read(file(tmp_path / "other"), settings, {}) == VALUE


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/cmdline", "/sys/kernel/uevent_seqnum"])
def test_the_files_of_the_system_are_never_sent(path: str) -> None:
    everything = SecretsSettings(files=(Path("/"),))
    value, problem = reading(file(path), everything)
    assert value is None
    assert "never sent" in problem or "no file" in problem or "cannot read" in problem


def test_the_variables_of_the_settings_are_never_sent_whatever_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "gitops-connect.toml").write_text(SETTINGS)
    settings = load_settings(tmp_path / "gitops-connect.toml", {})
    for name in ("GIT_TOKEN", "PROXY_KEY"):
        with pytest.raises(secret_values.SecretMissing, match="never sent"):
            secret_values.read(env(name), settings, {name: VALUE})
    assert secret_values.read(env("OTHER"), settings, {"OTHER": VALUE}) == VALUE


def test_a_connector_that_is_deleted_needs_no_secret() -> None:
    gone = replace(wanted("orders"), secrets={"database.password": env("GONE")}, state=TargetState.ABSENT)
    resolved = secret_values.resolve(DesiredState(LOCAL, (gone,)), Settings(Path("/nowhere")), {})
    assert (resolved.desired.connectors, resolved.unresolved, len(resolved.diagnostics)) == ((gone,), set(), 0)


@pytest.fixture
def masking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Workplace, StandIn]]:
    """A worker that masks passwords, and a connector with a password."""
    monkeypatch.setenv("ORDERS_PASSWORD", VALUE)
    with StandIn(Cluster(masks_passwords=True)) as standin:
        at = Workplace(tmp_path, (standin.url,))
        at.settings(more='[secrets]\nenv = ["ORDERS_*"]')
        spec = "state: stopped\nsecrets: {ssl.key.password: {env: ORDERS_PASSWORD}}"
        at.commit("orders.yaml", at.mirror("orders", spec))
        yield at, standin
        at.session.close()


def sent(standin: StandIn) -> list[str]:
    """The passwords that the connector was given, in their order; validation does not count."""
    bodies = [call.body.get("config", call.body) for call in standin.calls if call.body and "validate" not in call.path]
    return [body["ssl.key.password"] for body in bodies]


@pytest.mark.slow
def test_a_secret_reaches_its_connector_and_nothing_else(masking: tuple[Workplace, StandIn]) -> None:
    at, standin = masking
    plan = at.directory / "plan.json"
    ran = [
        at.run("validate"),
        at.run("plan", "--out", str(plan)),
        at.run("plan", "-o", "json"),
        at.run("plan", "-o", "markdown"),
        at.run("apply", str(plan)),
        at.run("describe", "connector", at.name("orders"), "-o", "yaml"),
        at.run("status", "-o", "json"),
        at.run("run", "--once"),
    ]
    assert [one.code for one in ran] == [0] * len(ran), ran
    assert sent(standin) == [VALUE]
    assert VALUE not in json.dumps([[one.out, one.err] for one in ran])
    for path in at.directory.iterdir():
        if path.is_file():
            assert VALUE.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_rotated_secret_is_sent_exactly_once_to_a_server_that_masks_it(
    masking: tuple[Workplace, StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    at, standin = masking
    at.apply()
    at.apply().expect(out="No changes.")
    monkeypatch.setenv("ORDERS_PASSWORD", "another-horse")
    shown = at.run("plan").expect(out="*** (before) -> *** (after)")
    assert "horse" not in shown.out
    at.apply()
    at.apply().expect(out="No changes.")
    assert sent(standin) == [VALUE, "another-horse"]


@pytest.mark.slow
def test_a_missing_secret_blocks_its_own_connector_only(
    masking: tuple[Workplace, StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    at, _ = masking
    monkeypatch.delenv("ORDERS_PASSWORD")
    at.commit("other.yaml", at.source("other"))
    text = ("orders.yaml:7:13: error: ssl.key.password", "[secret/missing]")
    at.run("apply", "--yes").expect(4, err=text)
    assert at.states() == {"other": "RUNNING"}


def test_values_that_were_read_are_known_to_every_report() -> None:
    reading(env("ORDERS_PASSWORD"), SecretsSettings(env=("*",)), {"ORDERS_PASSWORD": "read-a-moment-ago"})
    assert "read-a-moment-ago" in secret_values.values_read()
