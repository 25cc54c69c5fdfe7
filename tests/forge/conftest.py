"""One repository with pull requests, on each of the forges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forge.descriptions import GITHUB, Description, DescriptionMissing
from forge.gitea_server import GiteaServer
from forge.worlds import World, faked_world, gitea_world
from gitops_connect.settings.sections import ForgeKind


@pytest.fixture(scope="session")
def on_gitea(gitea: GiteaServer) -> Iterator[World]:
    """On a real Gitea."""
    with gitea_world(gitea) as made:
        yield made


@pytest.fixture(scope="session", params=ForgeKind, ids=lambda kind: kind.value)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """GitHub and GitLab are simulated: their answers are those of `exchanges.py`."""
    kind: ForgeKind = request.param
    if kind is ForgeKind.GITEA:
        yield request.getfixturevalue("on_gitea")
        return
    with faked_world(kind, described(kind, request.config)) as made:
        yield made


@pytest.fixture(params=ForgeKind, ids=lambda kind: kind.value)
def kind(request: pytest.FixtureRequest) -> ForgeKind:
    found: ForgeKind = request.param
    return found


def described(kind: ForgeKind, config: pytest.Config) -> Description:
    """The description of the forge. Skips the test if it could not be fetched."""
    if kind is ForgeKind.GITLAB:
        return Description.of_gitlab()
    file = config.stash[GITHUB]
    if isinstance(file, DescriptionMissing):
        pytest.skip(str(file))
    return Description.of_github(file)
