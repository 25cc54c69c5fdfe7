"""The sandbox with real Kafka: one sandbox for the whole file, damaged in many ways."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from support.files.tables import table

from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox import processes
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.jars import plugin_path
from gitops_connect.sandbox.launch import marker
from gitops_connect.sandbox.sandbox_state import TopicTracking

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory, _no_machine_around: None) -> SandboxOptions:
    return SandboxOptions(directory=tmp_path_factory.mktemp("own") / "sand bøx", heap=512, tied=True)


@pytest.fixture(scope="module")
def own(options: SandboxOptions) -> Iterator[Sandbox]:
    with Sandbox.up(options) as sandbox:
        yield sandbox


@pytest.fixture
def again(own: Sandbox, options: SandboxOptions) -> Callable[..., Sandbox]:
    """Run `up` on the same directory again; the processes stay tied to the first handle."""

    def up(workers: int | None = None) -> Sandbox:
        return Sandbox.up(SandboxOptions(directory=options.directory, workers=workers))

    up(workers=1)
    return up


def get(url: str) -> Any:
    answer = requests.get(url, timeout=30)
    answer.raise_for_status()
    return answer.json()


def pids(sandbox: Sandbox) -> list[int | None]:
    return [part.pid for part in sandbox.status()]


def test_it_answers_has_its_plugins_and_is_started_once(own: Sandbox, again: Callable[..., Sandbox]) -> None:
    assert [(part.name, part.running, part.answers) for part in own.status()] == [
        ("broker", True, True),
        ("worker-1", True, True),
    ]
    classes = {plugin["class"].rpartition(".")[2] for plugin in get(f"{own.worker_urls[0]}/connector-plugins")}
    assert {"FileStreamSourceConnector", "FileStreamSinkConnector", "MirrorSourceConnector"} <= classes
    before = pids(own)
    assert pids(again()) == before


def test_what_was_killed_comes_back_on_the_same_data_and_ports(own: Sandbox, again: Callable[..., Sandbox]) -> None:
    connectors = f"{own.worker_urls[0]}/connectors"
    config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "t"}
    requests.put(f"{connectors}/kept/config", json=config | {"file": "/nowhere"}, timeout=30).raise_for_status()
    before = own.status()
    for part in before:
        assert part.pid is not None
        os.kill(part.pid, signal.SIGKILL)
    while any(part.running for part in own.status()):
        os.sched_yield()  # a killed process takes a moment to be gone
    again()
    after = own.status()
    assert [part.address for part in after] == [part.address for part in before]
    assert set(pids(own)).isdisjoint({part.pid for part in before})
    assert "kept" in get(connectors)


@pytest.mark.thorough
def test_a_broker_that_was_killed_alone_comes_back_alone(own: Sandbox, again: Callable[..., Sandbox]) -> None:
    broker, worker = pids(own)
    assert broker is not None
    os.kill(broker, signal.SIGKILL)
    again()
    assert own.status()[0].answers
    assert pids(own)[1] == worker


@pytest.mark.thorough
def test_a_broker_that_was_dying_when_it_was_looked_at_comes_back(own: Sandbox) -> None:
    broker = own.status()[0].pid
    assert broker is not None
    dying = [broker]

    def kill(text: str, done: int | None, total: int | None) -> None:
        if text.startswith("waiting for broker") and dying:
            os.kill(dying.pop(), signal.SIGKILL)
            while own.status()[0].pid == broker and own.status()[0].running:
                os.sched_yield()

    Sandbox.up(SandboxOptions(directory=own.directory, workers=1), kill)
    assert not dying
    assert all(part.answers for part in own.status())
    assert pids(own)[0] != broker


@pytest.mark.thorough
def test_workers_come_and_go(own: Sandbox, again: Callable[..., Sandbox]) -> None:
    second = own.start_worker()
    assert own.worker_urls[1] == second
    own.kill_worker(2)
    assert [part.running for part in own.status()] == [True, True, False]
    assert own.start_worker() == second, "the dead one is revived where it was"
    own.remove_worker(1)
    assert own.worker_urls == (second,)
    assert isinstance(get(f"{second}/connectors"), list)
    again(workers=1)
    assert own.worker_urls == (second,)


def test_one_that_cannot_start_says_why_and_leaves_nothing(own: Sandbox, again: Callable[..., Sandbox]) -> None:
    before = pids(own)
    with pytest.raises(
        SandboxFailed, match=r"worker-\d of the sandbox ended while it started; last lines of .*worker-\d\.log"
    ) as e:
        start_with_broken_heap(own)
    assert "heap" in str(e.value), "Java's own words"
    assert pids(own) == before
    assert len(processes.marked(marker(own.state()))) == 2


def start_with_broken_heap(own: Sandbox) -> None:
    """Write a heap that no Java accepts into the state, as if the machine were too small for it."""
    file = own.directory / "state.json"
    whole = file.read_text()
    state = json.loads(whole)
    file.write_text(json.dumps({**state, "heap": 1}))
    try:
        own.start_worker()
    finally:
        file.write_text(whole)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"heap": 768}, "stop them first"),
        ({"plugin_path": (Path("/usr"),)}, "and plugins from /usr, stop them first"),
        (
            {"exactly_once": ExpectedSupport.PREPARING},
            "exactly-once support preparing, topic tracking enabled, stop",
        ),
        ({"topic_tracking": TopicTracking.DISABLED}, "topic tracking disabled, stop them first"),
    ],
)
def test_running_workers_are_not_taken_for_others(
    own: Sandbox, options: SandboxOptions, other: dict[str, Any], message: str
) -> None:
    with pytest.raises(SandboxFailed, match=message):
        Sandbox.up(SandboxOptions(directory=options.directory, **other))


@pytest.mark.thorough
def test_a_broker_may_be_alone(tmp_path: Path) -> None:
    with Sandbox.up(SandboxOptions(directory=tmp_path, workers=0, tied=True)) as sandbox:
        assert [(part.name, part.answers) for part in sandbox.status()] == [("broker", True)]
        assert sandbox.worker_urls == ()


def test_a_stray_that_nobody_wrote_down_is_ended(own: Sandbox, again: Callable[..., Sandbox], tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(600)", marker(own.state()))
    stray = processes.start(command, tmp_path / "log", dict(os.environ))
    again()
    assert not processes.is_running(stray)


@pytest.mark.parametrize("word", ["up", pytest.param("waiting for worker-1", marks=pytest.mark.thorough)])
def test_a_tied_sandbox_goes_with_its_process(tmp_path: Path, word: str) -> None:
    killed_at(tmp_path, word, signal.SIGKILL)
    state = Sandbox.load(tmp_path).state()
    while processes.marked(marker(state)):
        os.sched_yield()  # pytest's time-out is the deadline


def test_an_interrupted_up_leaves_nothing(tmp_path: Path) -> None:
    killed_at(tmp_path, "waiting for worker-1", signal.SIGINT)
    sandbox = Sandbox.load(tmp_path)
    assert processes.marked(marker(sandbox.state())) == ()
    assert not any(part.running for part in sandbox.status())


def killed_at(directory: Path, word: str, number: int) -> None:
    """Run `up` in a separate process, and send it that signal when it prints that word."""
    command = [sys.executable, "-c", table(__file__, "tied"), str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.decode().strip() == word:
                process.send_signal(number)
                break
        process.wait()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param({}, "its jars contain no plugin of Connect", marks=pytest.mark.thorough),
        ({"META-INF/services/org.apache.kafka.connect.source.SourceConnector": "com.example.Gone"}, "com.example.Gone"),
    ],
)
def test_an_artifact_that_the_worker_did_not_load_is_an_error_with_its_reason(
    content: dict[str, str], reason: str, tmp_path: Path
) -> None:
    jars, sandbox = tmp_path / "jars", tmp_path / "sandbox"
    jars.mkdir()
    plugins = plugin_path(["maven:org.example:broken:1.0"], sandbox, lambda _: jars)
    with zipfile.ZipFile(jars / "broken-1.0.jar", "w") as jar:
        for name, text in content.items():
            jar.writestr(name, text)
    with pytest.raises(SandboxFailed, match=f"no plugin of the artifact org.example_broken_1.0: .*{reason}"):
        Sandbox.up(SandboxOptions(directory=sandbox, heap=512, plugin_path=plugins, tied=True))
    assert processes.marked(marker(Sandbox.load(sandbox).state())) == ()


@pytest.mark.thorough
def test_after_down_nothing_runs_and_up_gives_up_ports_that_were_taken(
    own: Sandbox, again: Callable[..., Sandbox]
) -> None:
    """Another program takes each port after the sandbox has checked it, and before its process listens on it."""
    own.start_worker()
    before = pids(own)
    Sandbox.load(own.directory).down()
    assert not [pid for pid in before if pid is not None and psutil.pid_exists(pid)]
    assert processes.marked(marker(own.state())) == ()
    Sandbox.load(own.directory).down()
    parts = Sandbox.load(own.directory).state().parts
    ports = {f"starting {part.name}": part.port for part in parts}
    with contextlib.ExitStack() as squatters:

        def squat(text: str, done: int | None, total: int | None) -> None:
            if port := ports.pop(text, None):
                squatters.enter_context(socket.create_server(("127.0.0.1", port)))

        Sandbox.up(SandboxOptions(directory=own.directory), squat)
        assert not ports
    assert len(own.worker_urls) == 2, "as many as before"
    assert all(part.answers for part in own.status())
    assert {part.port for part in own.state().parts}.isdisjoint({part.port for part in parts})
