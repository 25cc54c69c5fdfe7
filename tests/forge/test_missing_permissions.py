"""What the credentials lack, as far as a forge says so, and what `gitops-connect doctor` prints about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from support.files.tables import table

from forge.conftest import described
from forge.fake_forge import Exchange, FakeForge
from forge.gitea_server import GiteaServer
from forge.worlds import REPOSITORY, World, write_private_key
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Workplace]:
    workplace = Workplace(tmp_path, ("http://127.0.0.1:1",))
    yield workplace
    workplace.session.close()


def doctor(at: Workplace, kind: str, url: str, credentials: str = 'token = {file = "token"}') -> tuple[str, str]:
    """The verdict of `doctor` on the forge, and what it has found."""
    at.settings(more=f'[forge]\nkind = "{kind}"\nurl = "{url}"\nrepository = "{REPOSITORY}"\n{credentials}')
    found = json.loads(at.run("doctor", "-o", "json").out)
    ((verdict, text),) = [(one["verdict"], one["found"]) for one in found if one["part"] == "forge"]
    return verdict, text


@pytest.mark.parametrize("name", table(__file__, "credentials"))
def test_credentials_of_github_and_gitlab(at: Workplace, pytestconfig: pytest.Config, name: str) -> None:
    case = table(__file__, "credentials")[name]
    kind = ForgeKind(case["forge"])
    (at.directory / "token").write_text("a-token")
    credentials = 'token = {file = "token"}'
    if case.get("app"):
        write_private_key(at.directory / "key.pem")
        credentials = 'app_id = 1\ninstallation_id = 2\nprivate_key = {file = "key.pem"}'
    exchanges = [Exchange(**one) for one in case["exchanges"]]
    with FakeForge(kind, described(kind, pytestconfig)).running() as fake, fake.played(exchanges):
        verdict, found = doctor(at, kind.value, fake.url, credentials)
    assert verdict == case.get("verdict", "error")
    assert found.startswith(case["found"])


def test_tokens_of_a_real_gitea(at: Workplace, on_gitea: World, gitea: GiteaServer) -> None:
    admin = gitea.add_user("keeper", "write:repository", "write:issue", "read:user")
    writer = gitea.add_user("pusher", "write:repository", "write:issue", "read:user")
    narrow = gitea.add_user("narrow", "write:repository", "read:user")
    stranger = gitea.add_user("stranger", "write:repository", "write:issue", "read:user")
    for user, permission in (("keeper", "admin"), ("pusher", "write"), ("narrow", "admin")):
        gitea.ask("PUT", f"/repos/{REPOSITORY}/collaborators/{user}", {"permission": permission})
    gitea.ask("PATCH", f"/repos/{REPOSITORY}", {"private": True})
    needs = "docs/reference/forges.md lists all"
    cases = (
        (admin, "ok", f"repository {REPOSITORY}, account keeper, open pull requests: ", ""),
        (writer, "error", "[forge] token: the account pusher lacks the role of an administrator of the repo", needs),
        (narrow, "error", f"Gitea {on_gitea.url}, repository {REPOSITORY}: cannot read the permissions", needs),
        (stranger, "error", f"Gitea {on_gitea.url}, repository {REPOSITORY}: cannot", "[forge] url and reposi"),
        ("0" * 40, "error", f"Gitea {on_gitea.url}, repository {REPOSITORY}: cannot", "set [forge] token"),
    )
    try:
        for token, expected, start, way in cases:
            (at.directory / "token").write_text(token)
            verdict, found = doctor(at, "gitea", on_gitea.url)
            assert (verdict, found.startswith(start), way in found) == (expected, True, True), found
            assert token not in found
    finally:
        gitea.ask("PATCH", f"/repos/{REPOSITORY}", {"private": False})


def test_settings_that_are_wrong(at: Workplace) -> None:
    verdict, found = doctor(at, "gitea", "http://127.0.0.1:1", 'token = {env = "NOT_SET_BY_ANYONE"}')
    assert (verdict, "NOT_SET_BY_ANYONE is not set" in found) == ("error", True), found
    (at.directory / "token").write_text("a-token")
    verdict, found = doctor(at, "gitea", "http://127.0.0.1:1")
    assert (verdict, found.endswith("Connection refused; check [forge] url")) == ("error", True), found
