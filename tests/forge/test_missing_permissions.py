"""What the credentials lack, as far as a forge says so, and what `gitops-connect doctor` prints about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from acceptance.workplace import Workplace

from forge.conftest import described
from forge.exchanges import HUB, LAB, OPENED, exchanges
from forge.fake_forge import Exchange, FakeForge
from forge.gitea_server import GiteaServer
from forge.worlds import REPOSITORY, World, write_private_key
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow

(USER,) = exchanges(ForgeKind.GITLAB, "user")
LOGIN = Exchange("GET /user", {"login": "gitops"})
PULLS = Exchange(f"GET {HUB}/pulls?state=open&base=main&per_page=100", [])
SELF = Exchange("GET /users?username=gitops", [{"id": 5, "username": "gitops"}])
MEMBER = f"GET {LAB}/members/all/5"
ALLOWED = {"contents": "read", "metadata": "read", "pull_requests": "write", "statuses": "write"}


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


@contextmanager
def faked(kind: ForgeKind, pytestconfig: pytest.Config, exchanges: Sequence[Exchange]) -> Iterator[str]:
    """The URL of a forge that answers with these exchanges."""
    prefix = "/api/v4" if kind is ForgeKind.GITLAB else ""
    with FakeForge(described(kind, pytestconfig), prefix).running() as fake, fake.played(exchanges):
        yield fake.url + prefix


def pushing(scopes: str | None, *, push: bool) -> Exchange:
    headers = {} if scopes is None else {"X-OAuth-Scopes": scopes}
    return Exchange(f"GET {HUB}", {"permissions": {"pull": True, "push": push, "admin": False}}, headers=headers)


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        (pushing(None, push=True), None),
        (pushing("repo, gist", push=True), None),
        (pushing("read:user", push=True), "lacks the scope repo;"),
        (pushing(None, push=False), "lacks write access to the repository;"),
        (pushing("gist", push=False), "lacks write access to the repository, the scope repo;"),
    ],
)
def test_a_token_of_github(
    at: Workplace, pytestconfig: pytest.Config, repository: Exchange, expected: str | None
) -> None:
    (at.directory / "token").write_text("a-token")
    with faked(ForgeKind.GITHUB, pytestconfig, [LOGIN, repository, PULLS]) as url:
        verdict, found = doctor(at, "github", url)
    lacks = f"[forge] token: the account gitops {expected} grant this"
    assert verdict == ("ok" if expected is None else "error")
    assert found.startswith(lacks if expected else f"repository {REPOSITORY}, account gitops, open pull requests: 0")


@pytest.mark.parametrize(
    ("installation", "expected"),
    [
        ({"id": 2, "permissions": {**ALLOWED, "contents": "write"}}, None),
        (
            {"id": 2, "permissions": {**ALLOWED, "statuses": "read", "contents": None}},
            "[forge] app_id: the account our-gitops[bot] lacks the permission contents: read, the permission statuses",
        ),
        ({"id": 3, "permissions": ALLOWED}, "[forge] installation_id: expected 3, the installation for platform/"),
    ],
)
def test_an_app_of_github(
    at: Workplace, pytestconfig: pytest.Config, installation: dict[str, Any], expected: str | None
) -> None:
    write_private_key(at.directory / "key.pem")
    permissions = {name: access for name, access in installation["permissions"].items() if access}
    token = {"token": "ghs_one", "expires_at": "2099-01-01T00:00:00Z"}
    exchanges = [
        Exchange("GET /app", {"slug": "our-gitops"}),
        Exchange(f"GET {HUB}/installation", {**installation, "permissions": permissions}),
        Exchange("POST /app/installations/2/access_tokens", token, 201),
        PULLS,
    ]
    is_right = installation["id"] == 2
    with faked(ForgeKind.GITHUB, pytestconfig, exchanges if is_right else exchanges[:2]) as url:
        app = 'app_id = 1\ninstallation_id = 2\nprivate_key = {file = "key.pem"}'
        verdict, found = doctor(at, "github", url, app)
    assert verdict == ("ok" if expected is None else "error")
    assert found.startswith(expected or f"repository {REPOSITORY}, account our-gitops[bot]")


@pytest.mark.parametrize(
    ("scope", "member", "expected"),
    [
        ("read_api", Exchange(MEMBER, {"access_level": 40}), "lacks the scope api;"),
        ("api", Exchange(MEMBER, {"access_level": 20}), "lacks the role Developer in the project;"),
        ("api", Exchange(MEMBER, {"message": "404 Not found"}, 404), "lacks the role Developer"),
    ],
)
def test_a_token_of_gitlab(
    at: Workplace, pytestconfig: pytest.Config, scope: str, member: Exchange, expected: str
) -> None:
    (at.directory / "token").write_text("a-token")
    token = Exchange("GET /personal_access_tokens/self", {"scopes": [scope]})
    with faked(ForgeKind.GITLAB, pytestconfig, [USER, token, USER, SELF, member, Exchange(OPENED, [])]) as url:
        verdict, found = doctor(at, "gitlab", url)
    assert verdict == "error"
    assert found.startswith(f"[forge] token: the account gitops {expected}")


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
