"""What only GitLab does, on answers that its description allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.files.tables import rows

from forge.descriptions import Description
from forge.exchanges import HEAD, LAB
from forge.fake_forge import Exchange, FakeForge
from forge.worlds import TOKEN, forge_of
from gitops_connect.errors import ForgeRefused, ForgeUnavailable
from gitops_connect.forge.forge import Forge
from gitops_connect.model.pull_requests import CommitState, CommitStatus
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
