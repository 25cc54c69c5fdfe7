"""Configures and starts the parts of a sandbox, waits until each answers, and ends what it started if that fails.

The configurations are templates in `properties/`. They change what only matters for a larger cluster (replication, many
partitions, waiting for members), and keep all other defaults, so that the sandbox behaves like other clusters.
"""

from __future__ import annotations

import dataclasses
import http.client
import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox import processes
from gitops_connect.sandbox.jars import BROKER_RELEASE, Progress, plugin_discovery
from gitops_connect.sandbox.java import Java
from gitops_connect.sandbox.sandbox_state import HOST, SandboxPart, State, TopicTracking, write_state

BROKER = 0
"""The index of the broker among the parts; workers count from 1."""
READY_TIMEOUT = 120.0
"""Seconds until a part must answer; on an idle machine a part takes 2 s."""
STOP_TIMEOUT = 20.0
"""Seconds that a part may take to end by itself."""
_POLL = 0.05
_BROKER_PORTS, _CONTROLLER_PORTS, _WORKER_PORTS = (9092,), (9093,), tuple(range(8083, 8100))
_BROKER_HEAP = 512
_LAST_LINES = 10
_LAST_BYTES = 262_144
_FIRST_ERRORS = 5
_ERROR = re.compile(r" (ERROR|FATAL) |^Caused by: |^Exception in thread ")
_MOVES = 3
_PORT_TAKEN = "Address already in use"
# The C1 compiler, the small collector: measured in docs/contributing/sandbox.md. A worker without memory ends, instead
# of staying up without answers (connect-facts: all its threads die, but the process does not).
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
# No other variable of our environment reaches the workers, where `${env:…}` in a connector could read it.
_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "LD_LIBRARY_PATH")
_TIMEOUT = 5.0
"""Seconds for a connection, and for each answer."""
_METADATA, _METADATA_VERSION = 3, 4


@dataclass(frozen=True, slots=True)
class Tools:
    """A Java, the jars of each release, and our environment. `usual_ports`: Kafka's customary ports are tried first."""

    java: Java
    jars: Mapping[str, Path]
    environment: Mapping[str, str]
    usual_ports: bool = False


class Launch:
    """One start of some parts; `state` always equals the state that is stored in the directory."""

    def __init__(self, directory: Path, state: State, tools: Tools, progress: Progress) -> None:
        self.directory = directory
        self.state = state
        self._tools = tools
        self._progress = progress
        self._moves = _MOVES
        self._begun: set[int] = set()
        self._before = {process.pid for process in processes.marked(marker(state))}

    def ensure(self, indices: Iterable[int]) -> None:
        """Start those of the parts that do not run, all at once, and wait until all of them answer.

        Raises SandboxFailed, with the last lines of its log, for a part that ends or does not answer in time.
        """
        wanted = tuple(indices)
        for index in wanted:
            if not self._part(index).running:
                self._revive(index)
        self._wait(wanted)

    def _revive(self, index: int) -> None:
        """Start a part on its earlier port, or for the first time."""
        usual = _WORKER_PORTS if index else _BROKER_PORTS
        port = self._part(index).port
        self._start(index, (port,) if port else usual if self._tools.usual_ports else ())

    def take_back(self) -> None:
        """End every process that this launch started, recorded or not, and no other.

        A process that was only just started may be recorded and not yet marked: its parent continues before the kernel
        has set up its command line.
        """
        recorded = [part.process for part in self.state.parts if part.process]
        found = {process.pid: process for process in (*processes.marked(marker(self.state)), *recorded)}
        processes.end((process for pid, process in found.items() if pid not in self._before), 0)
        for part in self.state.parts:
            if part.process and part.process.pid not in self._before:
                self._save(dataclasses.replace(part, process=None))

    def _part(self, index: int) -> SandboxPart:
        return next((part for part in self.state.parts if part.index == index), SandboxPart(index, 0))

    def _save(self, part: SandboxPart) -> None:
        self.state = self.state.with_part(part)
        write_state(self.directory, self.state)

    def _start(self, index: int, preferred: tuple[int, ...]) -> None:
        known = self._part(index)
        part = SandboxPart(index, choose_port(preferred, self.state.ports - {known.port}))
        self._progress(f"starting {part.name}", None, None)
        if index == BROKER:
            self._prepare_broker(part, known)
            command = self._java(BROKER_RELEASE, _BROKER_HEAP, "kafka.Kafka")
        else:
            plugins = (str(self.directory / "plugins"), *self.state.plugin_path)
            text = worker_config(self.state, part.port, plugins)
            self._config(part).write_text(text, encoding="ascii")
            command = self._java(self.state.release, self.state.heap, "org.apache.kafka.connect.cli.ConnectDistributed")
        process = processes.start(
            (*command, str(self._config(part))),
            log_file(self.directory, part),
            java_environment(self._tools.environment),
        )
        self._begun.add(index)
        self._save(dataclasses.replace(part, process=process))

    def _prepare_broker(self, part: SandboxPart, known: SandboxPart) -> None:
        """Write the broker's configuration and format its storage. Ends workers that use another port of the broker."""
        if part.port != known.port:
            processes.end((worker.process for worker in self.state.workers if worker.process), STOP_TIMEOUT)
        controller = self.state.controller_port
        controllers = (controller,) if controller else _CONTROLLER_PORTS if self._tools.usual_ports else ()
        chosen = choose_port(controllers, self.state.ports - {controller} | {part.port})
        self.state = dataclasses.replace(self.state, controller_port=chosen)
        data = self.directory / "data"
        self._config(part).write_text(broker_config(data, part.port, chosen), encoding="ascii")
        if not (data / "meta.properties").exists():
            self._format(part)

    def _format(self, part: SandboxPart) -> None:
        command = self._java(BROKER_RELEASE, _BROKER_HEAP, "kafka.tools.StorageTool")
        arguments = ["format", "--ignore-formatted", "-t", self.state.id, "-c", str(self._config(part))]
        result = subprocess.run(  # noqa: S603 - our own Java and arguments
            [*command, *arguments],
            capture_output=True,
            text=True,
            env=java_environment(self._tools.environment),
            timeout=READY_TIMEOUT,
            check=False,
        )
        if result.returncode != 0:
            raise SandboxFailed(
                f"Kafka cannot format {self.directory / 'data'}: {(result.stderr or result.stdout).strip()}"
            )

    def _java(self, release: str, heap: int, main: str) -> tuple[str, ...]:
        # Loggers find their configuration on the class path, which accepts every character of a path.
        path = f"{self.directory / 'conf'}:{self._tools.jars[release]}/*"
        return (str(self._tools.java.path), f"-Xmx{heap}m", *JAVA_OPTIONS, marker(self.state), "-cp", path, main)

    def _config(self, part: SandboxPart) -> Path:
        return self.directory / "conf" / f"{part.name}.properties"

    def _wait(self, indices: Iterable[int]) -> None:
        deadline = time.monotonic() + READY_TIMEOUT
        waiting = list(indices)
        while waiting:
            self._progress("waiting for " + ", ".join(self._part(index).name for index in waiting), None, None)
            waiting = [index for index in waiting if not self._ready(self._part(index))]
            if waiting and time.monotonic() > deadline:
                raise self._failure(self._part(waiting[0]), f"did not answer within {READY_TIMEOUT:.0f}s")
            time.sleep(_POLL if waiting else 0)

    def _ready(self, part: SandboxPart) -> bool:
        if not part.running and part.index not in self._begun:
            self._revive(part.index)  # it ran at the first check, and was already killed
            return False
        if not part.running:
            self._moves -= 1
            lost_its_port = any(_PORT_TAKEN in line for line in recent(log_file(self.directory, part)))
            if self._moves < 0 or not lost_its_port:
                raise self._failure(part, "ended while it started")
            self._start(part.index, ())  # another process took its port before it could
            return False
        return answers_at(part)

    def _failure(self, part: SandboxPart, what: str) -> SandboxFailed:
        log = log_file(self.directory, part)
        return SandboxFailed(f"the {part.name} of the sandbox {what}; last lines of {log}:\n{excerpt(log)}")


def marker(state: State) -> str:
    return f"-Dgitops.connect.sandbox={state.id}"


def java_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name in _VARIABLES}


def log_file(directory: Path, part: SandboxPart) -> Path:
    """The log of the part; the log of its previous process is next to it, as `.previous.log`."""
    return directory / "logs" / f"{part.name}.log"


def excerpt(log: Path) -> str:
    """The first errors at the end of the log, and its last lines: a broker logs much more after the fatal error."""
    lines = recent(log)
    last = lines[-_LAST_LINES:]
    errors = [line for line in lines[:-_LAST_LINES] if _ERROR.search(line)][:_FIRST_ERRORS]
    return "\n".join([*errors, *(["…"] if errors else []), *last]) or "(the log is empty)"


def recent(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def broker_config(data: Path, port: int, controller_port: int) -> str:
    return _filled("broker", data=data, port=port, controller_port=controller_port)


def worker_config(state: State, port: int, plugins: Collection[str]) -> str:
    """A distributed Connect worker of the sandbox, whose plugins are in these directories."""
    has_more = any(Path(one).is_dir() and any(Path(one).iterdir()) for one in plugins)
    return _filled(
        "worker",
        port=port,
        broker_port=state.broker.port,
        support=state.exactly_once,
        tracking=str(state.topic_tracking is not TopicTracking.DISABLED).lower(),
        reset=str(state.topic_tracking is TopicTracking.ENABLED).lower(),
        discovery=plugin_discovery(state.release, has_more=has_more),
        plugins=",".join(plugins),
    )


def write_loggers(directory: Path) -> None:
    """Write the files of Log4j 2 for Kafka 4, and of reload4j (Log4j 1) for older releases: each reads its own."""
    for name in ("log4j2", "log4j"):
        (directory / f"{name}.properties").write_text(template_text(name), encoding="ascii")


def template_text(name: str) -> str:
    return files("gitops_connect.sandbox").joinpath("properties", f"{name}.properties").read_text(encoding="ascii")


def _filled(name: str, **values: object) -> str:
    lines = [line for line in template_text(name).splitlines(keepends=True) if not line.startswith("#")]
    return Template("".join(lines)).substitute({key: _escape(f"{value}") for key, value in values.items()}, host=HOST)


def _escape(value: str) -> str:
    """The value as `java.util.Properties` reads it: Latin-1 with escapes in UTF-16, which begin with a backslash."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)


def is_free(port: int) -> bool:
    """Whether a server could listen on the port. Binds and connects: macOS allows two binds, one to all addresses."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((HOST, port))
        except OSError:
            return False
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((HOST, port)) != 0


def choose_port(preferred: Iterable[int], taken: Collection[int]) -> int:
    """The first of `preferred` that is free and not in `taken`, else any that the kernel knows to be free."""
    for port in preferred:
        if port not in taken and is_free(port):
            return port
    while True:
        with socket.socket() as server:
            server.bind((HOST, 0))
            port = int(server.getsockname()[1])
        if port not in taken:
            return port


def answers_at(part: SandboxPart) -> bool:
    return worker_answers(part.port) if part.index else broker_answers(part.port)


def broker_answers(port: int) -> bool:
    """Whether the broker answers a Metadata request (version 4, for no topic) and counts itself among the brokers."""
    client = b"sandbox"
    request = struct.pack(">hhih", _METADATA, _METADATA_VERSION, 1, len(client)) + client + struct.pack(">ib", 0, 0)
    try:
        with socket.create_connection((HOST, port), timeout=_TIMEOUT) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                header = answer.read(16)
    except OSError:
        return False
    if len(header) < 16:
        return False
    _, correlation, _, brokers = struct.unpack(">iiii", header)
    return bool(correlation == 1 and brokers > 0)


def worker_answers(port: int) -> bool:
    """Whether the herder answers for a connector that does not exist: it does once it has read the config topic.

    The list of connectors is available earlier, and empty at first. Before that, Jetty answers 404 to every request.
    """
    connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/connectors/sandbox/config")
        answer = connection.getresponse()
        return answer.status in (200, 404) and "json" in answer.getheader("Content-Type", "")
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
