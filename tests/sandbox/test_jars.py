"""Jars and certificates: a fake Java replaces Ivy's download, and the tests check the files that it leaves."""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support.files.tables import table

from gitops_connect.cli.progress import silent
from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.jars import (
    JarSet,
    Retrieval,
    cache_directory,
    encode,
    fetch_jars,
    jar_directory,
    kafka,
    plugin_path,
    retrieve,
    write_trust_store,
)
from gitops_connect.sandbox.java import Java, find_java

KAFKA = kafka("4.3.1")


def pretend(directory: Path, program: str) -> Java:
    """A fake Java that runs this program as Ivy."""
    java = directory / "java"
    lines = [
        f"#!{sys.executable}",
        "import pathlib, sys",
        "target = pathlib.Path(sys.argv[sys.argv.index('-retrieve') + 1]).parent",
    ]
    java.write_text("\n".join([*lines, table(__file__, "programs")[program]]))
    java.chmod(0o755)
    return Java(java, 17)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"GITOPS_CONNECT_CACHE": str(tmp_path / "cache")}


def test_jars_are_fetched_once_and_progress_is_counted(tmp_path: Path, environment: dict[str, str]) -> None:
    said: list[tuple[str, int | None, int | None]] = []
    java = pretend(tmp_path, "downloads")
    directory = fetch_jars(KAFKA, java, environment, lambda *words: said.append(words))
    assert [jar.name for jar in directory.iterdir()] == ["kafka-clients-4.3.1.jar"]
    assert said == [("1 jars found", None, None), ("2 jars found", None, None), ("jars downloaded", 1, 2)]
    java.path.unlink()
    assert fetch_jars(KAFKA, java, environment, silent) == directory, "the second time needs no Java and no network"


def interrupt(text: str, done: int | None, total: int | None) -> None:
    raise KeyboardInterrupt


def test_a_download_that_fails_or_is_interrupted_leaves_nothing_that_looks_whole(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    directory = jar_directory(cache_directory(environment), KAFKA)
    with pytest.raises(KeyboardInterrupt):
        fetch_jars(KAFKA, pretend(tmp_path, "downloads"), environment, interrupt)
    assert not directory.exists()
    with pytest.raises(SandboxFailed, match=r"module not found: org.apache.kafka#kafka_2.13;9.9.9") as failure:
        fetch_jars(KAFKA, pretend(tmp_path, "fails"), environment, silent)
    assert "GITOPS_CONNECT_MAVEN_URL" in str(failure.value)
    assert not directory.exists()
    assert fetch_jars(KAFKA, pretend(tmp_path, "downloads"), environment, silent) == directory
    assert not (directory / "half.jar").exists()


def test_an_artifact_that_does_not_exist_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    gone, java = JarSet("gone", (("org.example", "gone", "1.0"),)), pretend(tmp_path, "misses")
    with pytest.raises(
        SandboxFailed, match=r"there is no artifact org\.example:gone:1\.0 in Maven Central: "
    ) as failure:
        fetch_jars(gone, java, environment, silent)
    assert "network" not in str(failure.value)
    with pytest.raises(SandboxFailed, match=r"in http://localhost/own: "):
        fetch_jars(gone, java, {**environment, "GITOPS_CONNECT_MAVEN_URL": "http://localhost/own"}, silent)


def test_the_systems_certificates_are_tried_where_javas_own_do_not_do(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    directory = fetch_jars(KAFKA, pretend(tmp_path, "untrusted"), environment, silent)
    assert (directory / "kafka-clients-4.3.1.jar").exists()


@pytest.mark.slow
def test_ivy_has_limits_of_time_memory_and_disk(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        retrieval = Retrieval((), tmp_path, tmp_path, pretend(tmp_path, "endless"), {}, lock.fileno(), seconds=5)
        with pytest.raises(SandboxFailed, match="Server access error"):
            retrieve(retrieval, silent)
    assert (tmp_path / "limits").read_text() == f"-Xmx512m {512 * 1024**2}"


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file stands in the way")
    with pytest.raises(SandboxFailed, match="set GITOPS_CONNECT_CACHE to another directory"):
        fetch_jars(KAFKA, pretend(tmp_path, "downloads"), {"GITOPS_CONNECT_CACHE": str(tmp_path / "cache")}, silent)
    with pytest.raises(SandboxFailed, match="colon"):
        fetch_jars(KAFKA, Java(tmp_path, 17), {"GITOPS_CONNECT_CACHE": f"{tmp_path}/a:b"}, silent)
    (tmp_path / "sandbox").touch()
    with pytest.raises(SandboxFailed, match="cannot use the directory"):
        plugin_path([POSTGRES], tmp_path / "sandbox", Cache(tmp_path / "jars"))


@pytest.mark.parametrize("release", ["", "4.3", "latest", "4.3.1-rc0", "../4.3.1"])
def test_only_a_release_number_becomes_a_directory(release: str) -> None:
    with pytest.raises(SandboxFailed, match=r"expected a Kafka release such as 4\."):
        kafka(release)


def test_ivy_comes_with_pyspark_and_pyspark_is_not_imported() -> None:
    code = (
        "import sys; from gitops_connect.sandbox import jars; print(jars.ivy_jar().exists(), 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_an_old_release_has_its_own_logger() -> None:
    names = {release: {artifact for _, artifact, _ in kafka(release).modules} for release in ("3.6.2", "4.3.1")}
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
        JarSet("debezium-connector-postgres", (("io.debezium", "debezium-connector-postgres", "3.3.0.Final"),))
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


def test_a_store_is_sealed_and_holds_the_certificates() -> None:
    store = encode([b"first", b"second"])
    assert struct.unpack(">III", store[:12]) == (0xFEEDFEED, 2, 2)
    assert b"\x00\x00\x00\x06second" in store
    seal = hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + store[:-20]).digest()  # noqa: S324 - JKS has it so
    assert store[-20:] == seal


def test_it_is_what_python_trusts(tmp_path: Path) -> None:
    options = write_trust_store(tmp_path / "trust.jks")
    trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not trusted and not options:
        pytest.skip("this machine has no certificates at all")
    store = (tmp_path / "trust.jks").read_bytes()
    assert all(certificate in store for certificate in trusted)
    assert f"-Djavax.net.ssl.trustStore={tmp_path / 'trust.jks'}" in options


@pytest.mark.slow
def test_java_reads_it(tmp_path: Path) -> None:
    keytool = find_java(os.environ).path.resolve().with_name("keytool")
    if not keytool.exists():
        pytest.skip("this Java has no keytool")
    write_trust_store(tmp_path / "trust.jks")
    command = [str(keytool), "-list", "-storepass", "changeit", "-keystore", str(tmp_path / "trust.jks")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "trustedCertEntry" in listed.stdout
