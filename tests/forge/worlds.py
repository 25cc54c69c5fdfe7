"""One repository with its pull requests, on each of the forges.

    1  "Add orders", by wendy, who may write
    2  "Rewind orders", a draft from the fork of rita, who may read
    3  from the same branch as 1 to the branch `next`
    4  merged to `main`

The token belongs to gitops. Pull request 1 has comments of wendy, on more than one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support.cluster.manual_clock import ManualClock
from support.waiting import await_that

from forge.descriptions import Description
from forge.exchanges import FORKED, HEAD, MERGED, OTHER, exchanges
from forge.fake_forge import FakeForge
from forge.gitea_server import GiteaServer
from gitops_connect.forge.forge import Forge
from gitops_connect.forge.opening import open_forge
from gitops_connect.model.names import Revision
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind, ForgeSettings, RepositorySettings, Settings

TOKEN = "a-token-of-the-tests"
REPOSITORY = "platform/connectors"
_COMMENTS = 52
FILE = "".join(f"line{number}: {number}\n" for number in range(1, 5))


@dataclass(frozen=True, slots=True)
class World:
    """The forge, and the names in it. `playing` is for one test: it checks the requests that a fake forge has got."""

    forge: Forge
    url: str
    kind: ForgeKind
    playing: Callable[[str], AbstractContextManager[None]]
    head: Revision
    forked: Revision
    merged: Revision
    other: Revision
    """The first commit of `main`, without a pull request. The next one is `merged`."""
    comment: int
    """The number of a comment of pull request 1."""
    comments: int
    """How many comments pull request 1 has at the beginning."""
    begin: datetime = datetime(2026, 11, 21, 9, tzinfo=UTC)
    """A time before one of these comments."""

    @property
    def head_ref(self) -> str:
        return "refs/merge-requests/1/head" if self.kind is ForgeKind.GITLAB else "refs/pull/1/head"


def forge_of(
    kind: ForgeKind, url: str, token: str | Credential | None, repository: str = REPOSITORY, **more: Any
) -> Forge:
    credential = Credential(value=token) if isinstance(token, str) else token
    settings = ForgeSettings(kind, url, repository, credential, **more)
    found = open_forge(Settings(Path(), repository=RepositorySettings(url="unused"), forge=settings), ManualClock())
    assert found is not None
    return found


def write_private_key(file: Path) -> rsa.RSAPrivateKey:
    key = rsa.generate_private_key(65537, 2048)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return key


@contextmanager
def faked_world(kind: ForgeKind, description: Description) -> Iterator[World]:
    with FakeForge(kind, description).running() as fake:
        forge = forge_of(kind, fake.url, TOKEN)

        def playing(test: str) -> AbstractContextManager[None]:
            return fake.played(exchanges(kind, test))

        yield World(forge, fake.url, kind, playing, HEAD, FORKED, MERGED, OTHER, comment=1, comments=102)
        forge.close()


@contextmanager
def gitea_world(server: GiteaServer) -> Iterator[World]:
    head, forked, merged, token = _fill(server)
    comment = server.ask("GET", f"/repos/{REPOSITORY}/issues/1/comments")[0]["id"]
    forge = forge_of(ForgeKind.GITEA, server.url, token)
    main = server.ask("GET", f"/repos/{REPOSITORY}/commits?sha=main&limit=1&path=README.md")[0]["sha"]
    commits = map(Revision, (head, forked, merged, main))
    begin = datetime.now(UTC) - timedelta(hours=1)
    yield World(forge, server.url, ForgeKind.GITEA, lambda test: nullcontext(), *commits, comment, _COMMENTS, begin)
    forge.close()


def _fill(server: GiteaServer) -> tuple[str, str, str, str]:
    """The heads of pull requests 1 and 2, the merge commit of 4, and the token."""
    for name in ("platform", "wendy", "rita"):
        server.add_user(name)
    token = server.add_user("gitops", "write:repository", "write:issue", "read:user")
    content = {"name": "connectors", "auto_init": True, "default_branch": "main", "readme": "Default"}
    server.ask("POST", "/user/repos", content, user="platform")
    for name, permission in (("wendy", "write"), ("rita", "read"), ("gitops", "admin")):
        server.ask("PUT", f"/repos/{REPOSITORY}/collaborators/{name}", {"permission": permission})
    server.ask("POST", f"/repos/{REPOSITORY}/branches", {"new_branch_name": "next", "old_ref_name": "main"})
    head = server.write_file(REPOSITORY, "orders.yaml", FILE, new_branch="orders")
    server.ask("POST", "/repos/platform/connectors/forks", {}, user="rita")
    forked = server.write_file("rita/connectors", "rewind.yaml", FILE, new_branch="rewind")
    server.write_file(REPOSITORY, "sinks.yaml", FILE, new_branch="sinks")
    for user, title, source, target in (
        ("wendy", "Add orders", "orders", "main"),
        ("rita", "WIP: Rewind orders", "rita:rewind", "main"),
        ("wendy", "Add orders to next", "orders", "next"),
        ("wendy", "Add sinks", "sinks", "main"),
    ):
        server.ask("POST", f"/repos/{REPOSITORY}/pulls", {"title": title, "head": source, "base": target}, user=user)
    merge(server, REPOSITORY, 4)
    merged = server.ask("GET", f"/repos/{REPOSITORY}/pulls/4")["merge_commit_sha"]
    for number in range(_COMMENTS):
        server.ask("POST", f"/repos/{REPOSITORY}/issues/1/comments", {"body": f"comment {number}"}, user="wendy")
    return head, forked, merged, token


def merge(server: GiteaServer, repository: str, number: int, how: str = "merge") -> None:
    """Merge a pull request."""
    response = try_merge(server, repository, number, how=how)
    assert response.ok, response.text


def try_merge(
    server: GiteaServer, repository: str, number: int, user: str | None = None, *, how: str = "merge"
) -> requests.Response:
    """The answer to a merge, as soon as Gitea has checked that there are no conflicts, also after other merges."""
    path = f"/repos/{repository}/pulls/{number}"

    def merged() -> requests.Response | None:
        is_checked = server.ask("GET", path)["mergeable"]
        return server.send("POST", f"{path}/merge", {"Do": how}, user=user) if is_checked else None

    return await_that(merged, lambda answer: answer is not None and "try again later" not in answer.text)
