"""Artifacts of Maven with their dependencies, from a repository on this machine, which may be hostile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.files.tables import rows, table
from support.loopback import HttpHandler, http_server
from support.maven import Repository

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.maven import Artifact, MavenResolver, order
from gitops_connect.sandbox.maven_repository import MavenRepository

pytestmark = pytest.mark.slow

LEVELS = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 30}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE x [<!ENTITY e0 "{"x" * 1000}">{LEVELS}]><x>&e11;</x>'


def repository_of(case: dict[str, Any]) -> Repository:
    repository = Repository(case["poms"])
    for name, versions in case.get("metadata", {}).items():
        listed = "".join(f"<version>{version}</version>" for version in versions)
        text = f"<metadata><versioning><versions>{listed}</versions></versioning></metadata>"
        repository.add(f"g/{name}/maven-metadata.xml", text.encode())
    return repository


def resolve(repository: Repository, directory: Path) -> list[str]:
    """The jars of `a:1`."""
    with repository.served() as url, ThreadPoolExecutor(2) as pool:
        resolver = MavenResolver(MavenRepository(directory, {"GITOPS_CONNECT_MAVEN_URL": url}), pool)
        found = resolver.artifacts([Artifact("g", "a", "1")], lambda count: None)
        return sorted(resolver.jar(one).stem for one in found)


@pytest.mark.parametrize("case", table(__file__, "resolved"), ids=lambda case: case["what"])
def test_artifacts_are_found(case: dict[str, Any], tmp_path: Path) -> None:
    assert resolve(repository_of(case), tmp_path) == case["jars"]


@pytest.mark.parametrize("case", table(__file__, "refused"), ids=lambda case: case["what"])
def test_a_pom_that_cannot_be_used_is_an_error(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SandboxFailed, match=case["error"]):
        resolve(repository_of(case), tmp_path)


@pytest.mark.parametrize(("old", "new"), rows(__file__, "older"))
def test_versions_have_an_order(old: str, new: str) -> None:
    assert order(old) < order(new)
    assert order("1.0") == order("1.0.Final") == order("1.0-GA")


def test_entities_do_not_grow(tmp_path: Path) -> None:
    repository = Repository({})
    repository.add("g/a/1/a-1.pom", BOMB.encode())
    with pytest.raises(SandboxFailed, match=r"is no XML: .*amplification"):
        resolve(repository, tmp_path)


@pytest.mark.parametrize("encoding", ["no-such", "utf-7"])
def test_a_pom_in_an_unknown_encoding_is_an_error(tmp_path: Path, encoding: str) -> None:
    repository = Repository({})
    repository.add("g/a/1/a-1.pom", f'<?xml version="1.0" encoding="{encoding}"?><project/>'.encode())
    with pytest.raises(SandboxFailed, match="is no XML"):
        resolve(repository, tmp_path)


def test_an_address_that_is_none_is_an_error(tmp_path: Path) -> None:
    with closing(MavenRepository(tmp_path, {"GITOPS_CONNECT_MAVEN_URL": "http://u:p/w@[x"})) as repository:
        assert "w@" not in repository.name
        with pytest.raises(SandboxFailed, match=r"cannot download a\.jar"):
            repository.file("a.jar", 1)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., MavenRepository]]:
    """A repository whose files are answered by this function. Its cleanup closes the server."""
    opened: list[Any] = []

    def serve(answer: Callable[[HttpHandler], None], seconds: float = 60) -> MavenRepository:
        opened.append(http_server(answer))
        url = opened[-1].__enter__().replace("//", "//user:secret@")
        opened.append(closing(MavenRepository(tmp_path, {"GITOPS_CONNECT_MAVEN_URL": url}, seconds)))
        return opened[-1].__enter__()

    yield serve
    for one in reversed(opened):
        one.__exit__(None, None, None)


def drip(request: HttpHandler) -> None:
    request.send(200, {}, bytes(1000), stop=1)
    while True:
        request.wfile.write(b"x")
        time.sleep(0.02)


def redirect(request: HttpHandler) -> None:
    target = request.path if "loop" in request.path else "/elsewhere"
    if request.path == "/elsewhere":
        request.send(200, {}, b"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 or test")
    else:
        request.send(302, {"Location": target}, b"")


def sums(request: HttpHandler) -> None:
    wrong = {"/wrong.sha1": b"0" * 40, "/empty.sha1": b"", "/good.sha1": b"A94A8FE5CCB19BA61C4C0873D391E987982FBBD3  x"}
    if request.path == "/unsummed.sha1":
        request.send(404, {}, b"")
    else:
        request.send(200, {}, wrong.get(request.path, b"test"))


@pytest.mark.parametrize(
    ("answer", "path", "error"),
    [
        (
            sums,
            "wrong",
            "wrong is damaged: its SHA-1 is a94a8fe5ccb19ba61c4c0873d391e987982fbbd3, not that of wrong.sha1",
        ),
        (sums, "empty", "empty is damaged"),
        (sums, "unsummed", "does not have the checksum unsummed.sha1"),
        (drip, "slow", "cannot download slow from .*: it did not answer in time"),
        (lambda request: request.send(200, {}, bytes(101)), "large", "it sends too many bytes"),
        (lambda request: request.send(200, {}, bytes(50), stop=10), "cut", "cannot download cut from .*: "),
        (lambda request: request.send(503, {}, b""), "busy", "busy from .*: HTTP 503. Check the network"),
        (redirect, "loop", "loop from .*: it redirects without an end"),
        (redirect, "redirected", "redirected is damaged"),
    ],
)
def test_a_hostile_server_is_an_error(
    served: Callable[..., MavenRepository], answer: Callable[[HttpHandler], None], path: str, error: str, tmp_path: Path
) -> None:
    with pytest.raises(SandboxFailed, match=error) as failure:
        served(answer, 1 if answer is drip else 60).file(path, 100)
    assert "secret" not in str(failure.value)
    assert not (tmp_path / path).exists()


def test_a_file_is_stored_once(served: Callable[..., MavenRepository]) -> None:
    repository = served(sums)
    assert repository.file("good", 100).read_bytes() == b"test"
    repository.close()
    assert repository.file("good", 100).read_bytes() == b"test"


def test_after_the_end_nothing_is_downloaded(served: Callable[..., MavenRepository]) -> None:
    repository = served(sums)
    repository.close()
    with pytest.raises(SandboxFailed, match="was stopped"):
        repository.file("good", 100)
