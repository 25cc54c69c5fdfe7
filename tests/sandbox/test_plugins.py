"""The plugins of `sandbox up --plugin`: directories as they are, and artifacts through a link to their jars."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.jars import JarSet
from gitops_connect.sandbox.plugins import plugin_path

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
        JarSet("debezium-connector-postgres", (("io.debezium", "debezium-connector-postgres", "3.3.0.Final"),))
    ]
    assert artifact == sandbox / "maven" / "io.debezium_debezium-connector-postgres_3.3.0.Final"
    assert [path.name for path in artifact.iterdir()] == ["debezium-connector-postgres"]
    assert (artifact / "debezium-connector-postgres" / "connector.jar").exists()


def test_a_link_follows_the_cache(tmp_path: Path) -> None:
    sandbox = tmp_path / "sandbox"
    for cache in ("cache", "cache", "moved"):
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


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "sandbox").touch()
    with pytest.raises(SandboxFailed, match="cannot use the directory"):
        plugin_path([POSTGRES], tmp_path / "sandbox", Cache(tmp_path / "cache"))
