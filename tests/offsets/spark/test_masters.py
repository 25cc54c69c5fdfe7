"""The same verdicts in this process, and on local, standalone and remote Sparks, also after Spark was lost."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.spark.large_engine import assert_alike, on_spark, said_by_large
from support.spark.manifests_held import planted, planted_cases
from support.spark.services import Place, connect_server, executors_python, running, standalone, without_class_archive

from gitops_connect.errors import SparkFailed, SparkUnusable
from gitops_connect.model.differences import Direction
from gitops_connect.offsets.rules.small import SHOWN
from gitops_connect.sandbox.java import find_java
from gitops_connect.settings.sections import SparkSettings
from gitops_connect.spark.session import start_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
PROGRAM = "import json, sys; from support.spark.program import main; main(json.loads(sys.argv[1]))"


class Program:
    """A process that gets tasks on its standard input and prints their results."""

    def __init__(self, master: str, options: Mapping[str, str], directory: Path, **more: str) -> None:
        directory.mkdir(parents=True)
        without_class_archive(directory)
        arguments = {"master": master, "options": dict(options), "directory": str(directory), **more}
        self._errors = (directory / "errors").open("w+")
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}"},
        )

    def tell(self, task: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{task}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, task: str) -> str:
        self.tell(task)
        return self.answer()

    def verdicts(self) -> Any:
        said = self.ask("check")
        assert said.startswith("/"), said
        return pickle.loads(Path(said).read_bytes())  # noqa: S301 - our own

    @property
    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def java(self) -> psutil.Process:
        children = psutil.Process(self.process.pid).children(recursive=True)
        (found,) = (one for one in children if one.name() == "java")
        return found

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """A check has begun, and never ends; checks that begin after it can end."""
        gate = self.directory / "gate"
        os.mkfifo(gate)
        os.mkfifo(gate.with_name("never"))
        self.tell("check")
        with gate.open() as stream:
            assert stream.readline() == "at work\n"
        gate.unlink()
        yield

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self._errors.close()


@contextlib.contextmanager
def program(master: str, options: Mapping[str, str], directory: Path, **more: str) -> Iterator[Program]:
    started = Program(master, options, directory, **more)
    try:
        yield started
    finally:
        started.close()


def where_from(master: str, options: Mapping[str, str], directory: Path, **more: str) -> str:
    """The answer of a new program that does not check manifests."""
    with program(master, options, directory, **more) as asked:
        return asked.ask("where from")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return executors_python(tmp_path_factory.mktemp("python") / "of executors")


@pytest.fixture(scope="module", params=[connect_server, standalone])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Place]:
    with running(request.param(tmp_path_factory.mktemp("place"), python)) as started:
        yield started


@pytest.fixture(scope="module")
def on_this_machine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return on_spark(spark, planted(tmp_path_factory.mktemp("local") / "manifests"))


def test_several_manifests_in_one_job_get_the_verdicts_of_the_small_engine(on_this_machine: Any) -> None:
    for case, verdict in zip(planted_cases(), on_this_machine, strict=True):
        expected, found = assert_alike(case, verdict), said_by_large(verdict)
        for direction in Direction:
            far = [move.distance for move in expected.largest if move.direction is direction][:SHOWN]
            assert [move.distance for move in found.largest if move.direction is direction] == far
        assert set(found.largest) <= set(expected.largest)


def test_the_python_of_the_executors_has_its_dependencies_but_not_gitops_connect(python: Path, tmp_path: Path) -> None:
    def said(code: str) -> str:
        return subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False).stderr

    assert said("import numpy, pandas, pyarrow, backports.zstd") == ""
    for name in ("gitops_connect", "yaml", "jsonschema"):
        assert f"No module named '{name}'" in said(f"import {name}")


@pytest.mark.thorough
def test_verdicts_are_the_same_before_and_after_an_outage_that_is_named(
    place: Place, on_this_machine: Any, tmp_path: Path
) -> None:
    with program(place.master, place.options, tmp_path / "p", shared=str(tmp_path)) as asked:
        found = asked.verdicts()
        assert len(found) == len(on_this_machine)
        for one, other in zip(found, on_this_machine, strict=True):
            assert one == other
        assert len(found[0].counts) > 8
        assert found[1].difference is not None
        (file,) = json.loads(asked.ask("where from"))
        assert file.endswith("gitops_connect.zip/gitops_connect/__init__.py")
        assert asked.ask("bulk") == "160000000"
        with asked.at_work():
            place.kill()
        said = asked.answer()
        assert said.startswith("SparkFailed: large manifests could not be checked because Spark failed: "), said
        assert "127.0.0.1" in said
        place.start()
        assert asked.verdicts() == found
        assert "Traceback" not in asked.errors


@pytest.mark.thorough
def test_verdicts_are_the_same_although_every_executor_was_killed(
    python: Path, on_this_machine: Any, tmp_path: Path
) -> None:
    """Both workers start other executors, to which Spark gives the tasks again."""
    with (
        running(standalone(tmp_path / "place", python)) as place,
        program(place.master, place.options, tmp_path / "p", shared=str(tmp_path)) as asked,
    ):
        asked.ask("where from")  # the session has started
        executors = [one for service in place.services for one in service.children("java")]
        assert len(executors) == 2
        with asked.at_work():
            for one in executors:
                one.kill()
        said = asked.answer()
        assert said.startswith("/"), said
        for found, other in zip(pickle.loads(Path(said).read_bytes()), on_this_machine, strict=True):  # noqa: S301 - our own
            assert found == other


@pytest.mark.thorough
def test_a_directory_that_is_not_shared_and_a_missing_package_are_named(tmp_path: Path, python: Path) -> None:
    lacking = executors_python(tmp_path / "python", without="backports")
    with running(standalone(tmp_path / "place", python, workers=1)) as place:
        said = where_from(place.master, place.options, tmp_path / "a", shared="/proc/self/cwd/shared")
        assert re.match(
            "SparkUnusable: the executor on .* does not see the directory /proc/self/cwd/shared, .*", said
        ), said
        options = {**place.options, "spark.pyspark.python": str(lacking)}
        said = where_from(place.master, options, tmp_path / "b")
        assert re.match(
            "SparkUnusable: the executor on .* does not have backports.zstd: install what is missing for its Python, /",
            said,
        ), said
        place.kill()
        said = where_from(place.master, options, tmp_path / "c")
        assert said == f"SparkFailed: Spark could not be started ({place.master}): it does not answer"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"without": "pyarrow"},
            "their Python has no package pyarrow: install numpy, pandas, pyarrow and backports.zstd for ",
        ),
        (
            {"version": "3, 12"},
            f"they run Python 3.12, but this process runs 3.{sys.version_info.minor}, and both must be ",
        ),
        (None, "they have no program /nowhere/python to run as their Python; "),
    ],
)
@pytest.mark.thorough
def test_an_unsuitable_python_of_the_executors_is_a_permanent_error(
    more: dict[str, str] | None, says: str, tmp_path: Path
) -> None:
    python = "/nowhere/python" if more is None else str(executors_python(tmp_path / "python", **more))
    said = where_from("local[1]", {"spark.pyspark.python": python}, tmp_path / "p")
    start = "SparkUnusable: large manifests could not be checked because Spark failed: the executors cannot run it: "
    assert said.startswith(start + says), said


def test_options_are_passed_to_spark_but_not_on_its_command_line(tmp_path: Path) -> None:
    options = {"spark.hadoop.fs.s3a.secret.key": "hu sh=:\\ #é", "spark.driver.memory": "777m"}
    with program("local[1]", options, tmp_path / "p") as asked:
        assert asked.ask("option spark.hadoop.fs.s3a.secret.key") == options["spark.hadoop.fs.s3a.secret.key"]
        command = asked.java().cmdline()
    assert "-Xmx777m" in command
    assert not [part for part in command if "hu" in part and "sh" in part and "#" in part]


def test_the_error_of_a_java_that_does_not_start_quotes_its_output(tmp_path: Path) -> None:
    said = where_from("local[1]", {"spark.driver.memory": "much"}, tmp_path / "p")
    assert said.startswith("SparkFailed: Spark could not be started (local[1]): its Java process has ended: "), said
    assert "much" in said


CLIENT = """
import os, sys
from gitops_connect.spark.session import start_session
from gitops_connect.settings.sections import SparkSettings
start_session(SparkSettings(sys.argv[1]), os.environ, lambda _: None, None)
"""


def test_missing_packages_of_spark_connect_are_named(tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    (tmp_path / "grpc.py").write_text("raise ModuleNotFoundError(\"No module named 'grpc'\", name='grpc')")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        master = f"sc://127.0.0.1:{listening.getsockname()[1]}/;token=secret"
        where = {"capture_output": True, "text": True, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
        done = subprocess.run([sys.executable, client, master], check=False, **where)
    said = done.stderr.splitlines()[-1]
    shown = master.partition("/;")[0]
    assert f"UsageError: Spark Connect ({shown}) needs more packages on this machine: " in said
    assert "pip install 'gitops-connect[spark-connect]'" in said
    assert "grpc" in said
    assert "secret" not in said


def test_a_missing_java_is_a_permanent_error(tmp_path: Path) -> None:
    with pytest.raises(SparkUnusable, match=r"Spark could not be started \(local\[1\]\): Java 17 or newer is required"):
        start_session(SparkSettings("local[1]"), {"JAVA_HOME": str(tmp_path)}, lambda _: None, None)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("java", "its Java process has ended"),
        pytest.param("python", "its process has ended (-9)", marks=pytest.mark.thorough),
    ],
)
def test_a_killed_process_is_named_and_another_one_started(
    name: str, says: str, on_this_machine: Any, tmp_path: Path
) -> None:
    with program("local[2]", {}, tmp_path / "p") as asked:
        assert asked.verdicts() == on_this_machine
        with asked.at_work():
            (asked.java() if name == "java" else asked.java().parent()).kill()
        said = asked.answer()
        assert said.endswith(f"because Spark failed: {says}"), said
        assert asked.verdicts() == on_this_machine
        java = find_java(os.environ)
        started = f"Spark has started with Java {java.version} ({java.path})"
        assert asked.errors == f"starting Spark (local[2])\n{started}\n" * 2


JAVA = """#!/bin/sh
case "$*" in
*-version*) echo 'openjdk version "{version}"' >&2;;
*launcher.Main*) exec "{java}" "$@";;
*) echo "$*" > "{arguments}"; echo "java.lang.Error: no" >&2; exit 1;;
esac
"""


def java_home(directory: Path, script: str, **values: str | Path) -> str:
    """A new JAVA_HOME, whose Java is a script that gets these values and the path of the real Java."""
    java = directory / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(script.format(java=find_java(os.environ).path.resolve(), **values))
    java.chmod(0o755)
    return str(java.parent.parent)


def test_java_gets_an_archive_of_its_classes(tmp_path: Path) -> None:
    arguments, cache = tmp_path / "arguments", tmp_path / "a cache"
    cache.mkdir()
    environment = {**os.environ, "JAVA_HOME": java_home(tmp_path, JAVA, version="17.0.1", arguments=arguments)}
    reason = r"Spark could not be started \(local\[1\]\): its Java process has ended: java.lang.Error: no"
    with pytest.raises(SparkFailed, match=reason):
        start_session(SparkSettings("local[1]"), environment, lambda _: None, cache)
    assert f"-XX:ArchiveClassesAtExit={cache}/spark/classes-" in arguments.read_text()
    assert not [*cache.rglob("*.jsa")], "Java has written none"


@pytest.mark.thorough  # Java takes a quarter of a minute to write it
def test_a_session_leaves_an_archive_with_which_the_next_one_starts_and_a_broken_one_is_ignored(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for has_archive in (False, True, True):
        session = start_session(SparkSettings("local[1]"), os.environ, lambda _: None, cache)
        assert session.run(_answer, task="asked") == 1
        (java,) = (one for one in psutil.Process(session._process.pid).children(recursive=True) if one.name() == "java")
        options = [one.partition("=")[0] for one in java.cmdline()]
        assert ("-XX:SharedArchiveFile" in options, "-XX:ArchiveClassesAtExit" in options) == (
            has_archive,
            not has_archive,
        )
        session.close()
        session._process.wait(120)
        (archive,) = cache.rglob("*.jsa")
        if has_archive:
            archive.write_bytes(b"no archive")


def _answer(spark: Any) -> int:
    return int(spark.range(1).count())


SLOW_JAVA = """#!/bin/sh
case "$*" in *-version*) exec "{java}" "$@";; esac
echo "at work" > "{gate}"
exec sleep 1000
"""


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param(signal.SIGTERM, marks=pytest.mark.thorough),
        signal.SIGKILL,
    ],
)
@pytest.mark.parametrize("is_started", [True, False])
def test_nothing_is_left_when_the_program_ends(
    number: signal.Signals, is_started: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "temporary"
    left.mkdir()
    monkeypatch.setenv("TMPDIR", str(left))
    options = {"spark.local.dir": str(left), "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={left}"}
    if not is_started:
        monkeypatch.setenv("JAVA_HOME", java_home(tmp_path, SLOW_JAVA, gate=tmp_path / "p" / "gate"))
    with program("local[2]", options, tmp_path / "p") as asked, asked.at_work():
        processes = psutil.Process(asked.process.pid).children(recursive=True)
        assert len(processes) >= 2
        asked.process.send_signal(number)
        asked.process.wait(60)
        assert psutil.wait_procs(processes, 60)[1] == []
    assert list(left.iterdir()) == []
