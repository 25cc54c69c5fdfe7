"""Every failure of a forge, and every wrong setting, is a named error that says what to do, without the token."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from standin.connect import StandIn
from standin.fixtures import standin
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows

from forge.worlds import TOKEN, forge_of
from gitops_connect import errors
from gitops_connect.errors import ForgeRefused, ForgeUnavailable, UsageError
from gitops_connect.forge.forge import Forge
from gitops_connect.forge.opening import open_forge
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, ForgeSettings, RepositorySettings, Settings

__all__ = ["standin"]


@pytest.fixture
def forge(kind: ForgeKind, standin: StandIn) -> Iterator[Forge]:
    with closing(forge_of(kind, standin.url, TOKEN)) as found:
        yield found


def test_each_answer_is_one_request_and_one_named_error(kind: ForgeKind, standin: StandIn, forge: Forge) -> None:
    name = {ForgeKind.GITHUB: "GitHub", ForgeKind.GITLAB: "GitLab", ForgeKind.GITEA: "Gitea"}[kind]
    for name_of_error, status, text, words, headers, retry_at in rows(__file__, "answers"):
        error = getattr(errors, name_of_error)
        standin.calls.clear()
        standin.refuse("GET", ".*", status, f"{words} {TOKEN} {'-' * 440} {TOKEN}", headers=headers)
        with pytest.raises(error) as raised:
            forge.open_pull_requests()
        message = str(raised.value)
        assert type(raised.value) is error, message
        assert message.startswith(f"{name} {standin.url}, repository platform/connectors: cannot list the open "), (
            message
        )
        assert text in message
        assert words in message
        assert TOKEN[:8] not in message
        assert getattr(raised.value, "retry_at", None) == (retry_at and datetime.fromisoformat(retry_at)), message
        assert len(standin.calls) == 1


def test_an_answer_that_is_not_of_the_forge(standin: StandIn, forge: Forge) -> None:
    standin.answer("GET", ".*", 200, "<html>Please log in</html>")
    with pytest.raises(ForgeRefused, match="the answer is not that of"):
        forge.open_pull_requests()
    assert len(standin.calls) == 1


def test_a_forge_that_cannot_be_reached(kind: ForgeKind) -> None:
    for scheme in ("http", "https"):
        forge = forge_of(kind, f"{scheme}://127.0.0.1:{choose_port((), ())}", TOKEN)
        with pytest.raises(ForgeUnavailable, match="cannot be reached: Connection refused"):
            forge.open_pull_requests()


def test_tls_that_fails(kind: ForgeKind, standin: StandIn, tmp_path: Path) -> None:
    url = standin.url.replace("http:", "https:")
    for ca_file, error, words in (
        (None, ForgeRefused, "the TLS handshake failed: .*check \\[forge\\] ca_file and url"),
        (tmp_path / "missing.pem", UsageError, "\\[forge\\] ca_file: the file cannot be used: .*missing.pem"),
    ):
        with closing(forge_of(kind, url, TOKEN, ca_file=ca_file)) as forge, pytest.raises(error, match=words):
            forge.open_pull_requests()


def test_a_token_is_read_for_each_request(kind: ForgeKind, standin: StandIn, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    forge = forge_of(kind, standin.url, Credential(file=file))
    standin.answer("GET", ".*", 200, [])
    forge.open_pull_requests()
    file.write_text("not\nvalid")
    with pytest.raises(UsageError, match="cannot be sent") as raised:
        forge.open_pull_requests()
    assert "valid" not in str(raised.value)
    forge.close()


def test_a_private_key_that_is_none(standin: StandIn) -> None:
    key = Credential(value="no-key-but-a-secret")
    forge = forge_of(ForgeKind.GITHUB, standin.url, None, app_id=1, installation_id=2, private_key=key)
    for ask in (forge.user, forge.open_pull_requests):
        with pytest.raises(UsageError, match="expected the private key of a GitHub app") as raised:
            ask()
        assert "secret" not in str(raised.value)
    forge.close()


CREDENTIAL = Credential(value="token")
GITEA: dict[str, Any] = {
    "kind": ForgeKind.GITEA,
    "url": "https://git.example.org",
    "repository": "a/b",
    "token": CREDENTIAL,
}
APP: dict[str, Any] = {"app_id": 1, "installation_id": 2, "private_key": CREDENTIAL}


def settings(forge: dict[str, Any], followed: RepositorySettings | None = None) -> Settings:
    return Settings(Path(), repository=followed or RepositorySettings("unused"), forge=ForgeSettings(**forge))


def test_each_mistake_in_the_settings_is_named() -> None:
    for words, changed in rows(__file__, "wrong"):
        more = {name: Credential(**value) if isinstance(value, dict) else value for name, value in changed.items()}
        if more.get("kind"):
            more["kind"] = ForgeKind(more["kind"])
        with pytest.raises(UsageError) as raised:
            open_forge(settings({**GITEA, **more}), ManualClock())
        assert words in str(raised.value), (changed, str(raised.value))
        assert "secret" not in str(raised.value)


def test_without_settings_there_is_no_forge() -> None:
    assert open_forge(settings({}), ManualClock()) is None


def test_pull_requests_need_a_branch() -> None:
    for fixed in (RepositorySettings("unused", tag="v1"), RepositorySettings("unused", commit="a" * 40)):
        with pytest.raises(UsageError, match="needs \\[repository\\] branch"):
            open_forge(settings(GITEA, fixed), ManualClock())


def test_an_extra_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(UsageError, match="pip install 'gitops-connect\\[github\\]'"):
        open_forge(settings({**GITEA, "kind": ForgeKind.GITHUB, "token": None, **APP}), ManualClock())
