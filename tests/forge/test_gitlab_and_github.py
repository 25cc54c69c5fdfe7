"""What only GitLab does, and how a GitHub app gets its tokens, on answers that the descriptions of the forges allow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jwt
import pytest
from support.cluster.manual_clock import START
from support.files.tables import rows

from forge.conftest import described
from forge.descriptions import Description
from forge.exchanges import HEAD, HUB, LAB
from forge.fake_forge import Exchange, FakeForge
from forge.worlds import TOKEN, forge_of, write_private_key
from gitops_connect.errors import ForgeRefused, ForgeUnavailable
from gitops_connect.forge.forge import Forge
from gitops_connect.model.pull_requests import CommitState, CommitStatus
from gitops_connect.settings.credential_sources import Credential
from gitops_connect.settings.sections import ForgeKind

pytestmark = pytest.mark.slow

STATUS = CommitStatus("gitops-connect/plan", CommitState.SUCCESS, "1 change", "https://x.example/1")
CONTENT = {"name": "gitops-connect/plan", "state": "success", "description": "1 change"}


@contextmanager
def gitlab(*exchanges: Exchange) -> Iterator[Forge]:
    """A GitLab that answers with these exchanges."""
    with FakeForge(ForgeKind.GITLAB, Description.of_gitlab()).running() as fake, fake.played(exchanges):
        forge = forge_of(ForgeKind.GITLAB, fake.url, TOKEN)
        yield forge
        forge.close()


def rejection(status: int, message: object) -> Exchange:
    content = {**CONTENT, "target_url": STATUS.url}
    return Exchange(f"POST {LAB}/statuses/{HEAD}", {"message": message}, status, content)


@pytest.mark.parametrize(("member", "expected"), rows(__file__, "members"))
def test_a_member_who_may_write(member: dict[str, object], expected: bool) -> None:
    found = Exchange("GET /users?username=wendy", [{"id": 3, "username": "wendy"}])
    with gitlab(found, Exchange(f"GET {LAB}/members/all/3", member)) as forge:
        assert forge.can_write("wendy") is expected


def test_a_status_that_gitlab_rejects() -> None:
    """GitLab answers 409 while another request sets the status of the commit, and names each invalid field."""
    busy = rejection(409, "Another update to this commit status is in progress")
    with gitlab(busy) as forge, pytest.raises(ForgeUnavailable, match="HTTP 409: Another update"):
        forge.set_status(HEAD, STATUS)
    invalid = rejection(400, {"description": ["is too long"]})
    with gitlab(invalid) as forge, pytest.raises(ForgeRefused, match=r"HTTP 400: .*description.*is too long"):
        forge.set_status(HEAD, STATUS)


def test_a_url_that_is_too_long_for_a_status_is_left_out() -> None:
    start = "https://x.example/"
    longest = start.ljust(255, "x")
    with gitlab(
        Exchange(f"POST {LAB}/statuses/{HEAD}", {}, 201, {**CONTENT, "target_url": longest}),
        Exchange(f"POST {LAB}/statuses/{HEAD}", {}, 201, CONTENT),
    ) as forge:
        for url in (longest, longest + "x"):
            forge.set_status(HEAD, CommitStatus(STATUS.context, STATUS.state, STATUS.description, url))


OPEN = Exchange(f"GET {HUB}/pulls?state=open&base=main&per_page=100", [])


def access(token: str, expires: str) -> Exchange:
    answer = {"token": token, "expires_at": expires}
    return Exchange("POST /app/installations/2/access_tokens", answer, 201)


def test_an_app_uses_tokens_of_its_installation(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    key = write_private_key(file)
    with FakeForge(ForgeKind.GITHUB, described(ForgeKind.GITHUB, pytestconfig)).running() as fake:
        app = {"app_id": 1, "installation_id": 2, "private_key": Credential(file=file)}
        forge = forge_of(ForgeKind.GITHUB, fake.url, None, **app)
        expired, valid = access("ghs_expired", "2020-01-01T00:00:00Z"), access("ghs_valid", "2099-01-01T00:00:00Z")
        with fake.played([Exchange("GET /app", {"slug": "our-gitops"}), expired, OPEN, valid, OPEN, OPEN]):
            assert forge.user() == "our-gitops[bot]"
            for _ in range(3):
                assert list(forge.open_pull_requests()) == []
        forge.close()
    signed, asked, first, again, second, third = fake.authorizations
    for header in (signed, asked, again):
        signature, options = header.removeprefix("Bearer "), {"verify_exp": False}  # the clock is one of the tests
        claims = jwt.decode(signature, key.public_key(), ["RS256"], options=options)
        assert claims["iss"] == "1"
        assert claims["iat"] < START.timestamp() < claims["exp"] <= START.timestamp() + 600
    assert [first, second, third] == ["Bearer ghs_expired", "Bearer ghs_valid", "Bearer ghs_valid"]


def test_what_is_not_described_is_found() -> None:
    described = Description.of_gitlab()
    described.check_request("GET", "/projects/a%2Fb/merge_requests", {"state": "opened", "per_page": "100"}, None)
    for words, method, path, query, body in rows(__file__, "not described"):
        with pytest.raises(AssertionError, match=words):
            described.check_request(method, f"/projects/a%2Fb/{path}", query, body)
    with pytest.raises(AssertionError, match="'7' is not of type 'integer'"):
        described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"author": {"id": "7"}}])
    (found,) = described.answer("GET", "/projects/a%2Fb/merge_requests", 200, [{"sha": "c"}])
    assert (found["sha"], found["merge_commit_sha"], found["author"]["state"]) == ("c", None, "active")
