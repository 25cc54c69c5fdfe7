"""The jars of the sandbox, from a Maven repository on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.maven import Repository

from gitops_connect.cli.progress import silent
from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.jars import JarSet, cache_directory, fetch_jars, jar_directory, kafka, plugin_path
from gitops_connect.sandbox.maven import Artifact

WANTED = JarSet("wanted", (Artifact("g", "a", "1"),))


@pytest.fixture
def repository() -> Repository:
    return Repository({"a:1": {"needs": ["b:2"]}, "b:2": None})


@pytest.fixture
def environment(repository: Repository, tmp_path: Path) -> Iterator[dict[str, str]]:
    with repository.served() as url:
        yield {"GITOPS_CONNECT_CACHE": str(tmp_path / "cache"), "GITOPS_CONNECT_MAVEN_URL": url}


def test_jars_are_fetched_once_and_progress_is_counted(repository: Repository, environment: dict[str, str]) -> None:
    said: list[tuple[str, int | None, int | None]] = []
    directory = fetch_jars(WANTED, environment, lambda *words: said.append(words))
    assert {jar.name: jar.read_text() for jar in directory.iterdir()} == {"a-1.jar": "a:1 ", "b-2.jar": "b:2 "}
    found = [("1 jars found", None, None), ("2 jars found", None, None)]
    assert list(dict.fromkeys(said)) == [*found, ("jars downloaded", 1, 2), ("jars downloaded", 2, 2)]
    assert sorted(path.name for path in directory.parent.iterdir()) == [".lock", directory.name]
    repository.requested.clear()
    assert fetch_jars(WANTED, environment, silent) == directory
    assert not repository.requested


def interrupt(text: str, done: int | None, total: int | None) -> None:
    if done is not None:
        raise KeyboardInterrupt


def test_a_download_that_fails_or_is_interrupted_leaves_nothing_that_looks_whole(
    repository: Repository, environment: dict[str, str]
) -> None:
    directory = jar_directory(cache_directory(environment), WANTED)
    jar = repository.files.pop("g/b/2/b-2.jar")
    with pytest.raises(SandboxFailed, match="there is no artifact g:b:2 in http://"):
        fetch_jars(WANTED, environment, silent)
    with pytest.raises(KeyboardInterrupt):
        fetch_jars(WANTED, environment, interrupt)
    assert not directory.exists()
    repository.files["g/b/2/b-2.jar"] = jar
    repository.requested.clear()
    assert fetch_jars(WANTED, environment, silent) == directory
    assert repository.requested == ["g/b/2/b-2.jar", "g/b/2/b-2.jar.sha1"], "complete files are kept"


def test_jars_of_the_same_name_are_both_there(repository: Repository, environment: dict[str, str]) -> None:
    pom = "<project><artifactId>a</artifactId><version>1</version></project>"
    repository.add("h/a/1/a-1.pom", pom.encode())
    repository.add("h/a/1/a-1.jar", b"other")
    both = JarSet("both", (Artifact("g", "a", "1"), Artifact("h", "a", "1")))
    directory = fetch_jars(both, environment, silent)
    assert {jar.name for jar in directory.iterdir()} == {"a-1.jar", "h-a-1.jar", "b-2.jar"}


def test_a_directory_that_cannot_be_written_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the place of a directory")
    with pytest.raises(SandboxFailed, match="set GITOPS_CONNECT_CACHE to another directory"):
        fetch_jars(WANTED, environment, silent)
    with pytest.raises(SandboxFailed, match="colon"):
        fetch_jars(WANTED, {"GITOPS_CONNECT_CACHE": f"{tmp_path}/a:b"}, silent)
    (tmp_path / "sandbox").touch()
    with pytest.raises(SandboxFailed, match="cannot use the directory"):
        plugin_path([POSTGRES], tmp_path / "sandbox", Cache(tmp_path / "jars"))


@pytest.mark.parametrize("release", ["", "4.3", "latest", "4.3.1-rc0", "../4.3.1"])
def test_only_a_release_number_becomes_a_directory(release: str) -> None:
    with pytest.raises(SandboxFailed, match=r"expected a Kafka release such as 4\."):
        kafka(release)


def test_an_old_release_has_its_own_logger() -> None:
    names = {release: {one.name for one in kafka(release).artifacts} for release in ("3.6.2", "4.3.1")}
    assert names["3.6.2"] - names["4.3.1"] == {"slf4j-reload4j"}
    assert names["4.3.1"] - names["3.6.2"] == {"log4j-slf4j-impl", "kafka-tools"}


POSTGRES = "maven:io.debezium:debezium-connector-postgres:3.3.0.Final"


class Cache:
    """Replaces the download of jars."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.asked: list[JarSet] = []

    def __call__(self, wanted: JarSet) -> Path:
        self.asked.append(wanted)
        jars = self.directory / wanted.name
        jars.mkdir(parents=True, exist_ok=True)
        (jars / "connector.jar").touch()
        return jars


def test_an_artifact_is_one_plugin_in_a_directory_of_its_own(tmp_path: Path) -> None:
    cache, sandbox = Cache(tmp_path / "cache"), tmp_path / "sandbox"
    own, artifact = plugin_path([str(tmp_path / "own"), POSTGRES], sandbox, cache)
    assert own == tmp_path / "own"
    assert cache.asked == [
        JarSet("debezium-connector-postgres", (Artifact("io.debezium", "debezium-connector-postgres", "3.3.0.Final"),))
    ]
    assert artifact == sandbox / "maven" / "io.debezium_debezium-connector-postgres_3.3.0.Final"
    assert [path.name for path in artifact.iterdir()] == ["debezium-connector-postgres"]
    assert (artifact / "debezium-connector-postgres" / "connector.jar").exists()
    for cache in ("cache", "cache", "moved"):  # the link follows the cache
        (artifact,) = plugin_path([POSTGRES], sandbox, Cache(tmp_path / cache))
        assert (artifact / "debezium-connector-postgres").resolve().is_relative_to(tmp_path / cache)


@pytest.mark.parametrize(
    "plugin", ["maven:", "maven:a:b", "maven:a:b:c:d", "maven:a:../b:1", "maven:a::1", "maven:a:b:1,2", "maven:a:.:1"]
)
def test_what_names_no_artifact_is_refused_before_anything_is_fetched(tmp_path: Path, plugin: str) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(SandboxFailed, match="expected maven:GROUP:ARTIFACT:VERSION, found"):
        plugin_path([POSTGRES, plugin], tmp_path / "sandbox", cache)
    assert not cache.asked
