"""A setting of `[forge]` that is missing or wrong is found when the program starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows

from gitops_connect.errors import UsageError
from gitops_connect.forge.opening import open_forge
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, ForgeSettings, RepositorySettings, Settings

TOKEN = Credential(value="token")
GITEA: dict[str, Any] = {"kind": ForgeKind.GITEA, "url": "https://git.example.org", "repository": "a/b", "token": TOKEN}
APP: dict[str, Any] = {"app_id": 1, "installation_id": 2, "private_key": TOKEN}


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
