"""The archive of Java's classes: used if it fits, and else created when Java ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_connect.sandbox.java import Java
from gitops_connect.spark.class_archive import ClassArchive


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    directory = tmp_path / "jars"
    directory.mkdir()
    (directory / "spark-core.jar").write_bytes(b"1")
    return directory


@pytest.fixture
def java(tmp_path: Path) -> Java:
    path = tmp_path / "java" / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"1")
    return Java(path, 17)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "a cache"


def written(archive: ClassArchive) -> ClassArchive:
    """Java has ended, and has written what its options named."""
    option, value = archive.options[0].split("=")
    assert option == "-XX:ArchiveClassesAtExit"
    Path(value.strip('"')).write_bytes(b"classes")
    return archive


def uses(archive: ClassArchive) -> bool:
    return archive.options[0] == f'-XX:SharedArchiveFile="{archive.file}"'


def test_it_is_used_once_java_has_ended(java: Java, jars: Path, cache: Path) -> None:
    archive = written(ClassArchive.of(java, jars, cache))
    assert archive.file.parent.stat().st_mode & 0o077 == 0, "nobody else may write classes for this user's Java"
    assert not uses(ClassArchive.of(java, jars, cache)), "it is not complete"
    archive.keep()
    assert uses(ClassArchive.of(java, jars, cache))
    archive.keep()
    assert archive.file.read_bytes() == b"classes"


@pytest.mark.parametrize("part", ["jar", "another jar", "Java"])
def test_another_jar_or_java_replaces_it(java: Java, jars: Path, cache: Path, part: str) -> None:
    written(ClassArchive.of(java, jars, cache)).keep()
    changed = {"jar": jars / "spark-core.jar", "another jar": jars / "spark-sql.jar", "Java": java.path}
    changed[part].write_bytes(b"22")
    newer = ClassArchive.of(java, jars, cache)
    assert not uses(newer)
    written(newer).keep()
    assert [*cache.rglob("*.jsa")] == [newer.file]


def test_the_archive_of_another_java_is_kept(java: Java, jars: Path, cache: Path, tmp_path: Path) -> None:
    written(ClassArchive.of(java, jars, cache)).keep()
    other = tmp_path / "other" / "java"
    other.parent.mkdir()
    other.write_bytes(b"1")
    written(ClassArchive.of(Java(other, 25), jars, cache)).keep()
    assert len([*cache.rglob("*.jsa")]) == 2


def test_what_a_killed_process_has_left_is_removed(java: Java, jars: Path, cache: Path) -> None:
    archive = written(ClassArchive.of(java, jars, cache))
    archive.file.with_suffix(".1").write_bytes(b"classes")
    archive.keep()
    assert [*archive.file.parent.iterdir()] == [archive.file]


def test_a_killed_java_leaves_what_there_was(java: Java, jars: Path, cache: Path) -> None:
    archive = written(ClassArchive.of(java, jars, cache))
    archive.keep()
    ClassArchive.of(java, jars, cache).keep()
    assert uses(ClassArchive.of(java, jars, cache))
