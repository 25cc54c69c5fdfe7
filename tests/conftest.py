"""Fixtures of all tests: no home directory, no network except loopback; for tests marked `e2e`, one real cluster."""

from __future__ import annotations

import gc
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import requests
from forge.descriptions import GITHUB, prepare_github
from forge.gitea_server import GITEA, GiteaMissing, GiteaServer, find_gitea, gitea_server
from hypothesis import settings as hypothesis_settings
from live.connectors import build_live_plugins, fetch_debezium
from live.databases import Server, start_postgres
from support.log_events import LOGGER, LogChecker
from support.plugins.builder import COMPILER, build_plugins
from support.shared_services import order, scope

from gitops_connect.cli.main import GC_THRESHOLDS
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions
from gitops_connect.sandbox.jars import BROKER_RELEASE, CACHE_VARIABLE, cache_directory, fetch_jars, kafka

# No deadline: a loaded machine is slow. `pytest --hypothesis-profile=thorough` tries many more examples.
hypothesis_settings.register_profile("quick", max_examples=20, deadline=None)
hypothesis_settings.register_profile("thorough", max_examples=1000, deadline=None)
hypothesis_settings.load_profile("quick")

# A shell that starts the tests in the background makes them ignore SIGINT, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ONLY_WITHOUT = re.compile(r"not \w+(?: and not \w+)*")
"""A `-m` expression that only deselects marks, such as the one of `make check`."""
MARKS_OF_A_FILE = re.compile(r"^pytestmark = (.*)", re.MULTILINE)

JAR_CACHE = cache_directory(os.environ)
"""The user's jar cache, looked up before the home directory is hidden: jars are fetched once for all test runs."""
CLONES = "clones"
FOREIGN = ("GITOPS_CONNECT_", "GIT_", "XDG_")
FOR_TESTS = ("GITOPS_CONNECT_CONTRACT_URL",)
COLOUR = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")


@pytest.fixture(autouse=True, scope="session")
def _no_machine_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the user's home, settings and git identity; refuse connections that leave this machine."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if (name.startswith(FOREIGN) or name in COLOUR) and name not in FOR_TESTS:
                patch.delenv(name)
        for name, directory in (("HOME", ""), ("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache")):
            patch.setenv(name, str(home / directory))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_TERMINAL_PROMPT", "0")
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Test")
            patch.setenv(f"GIT_{role}_EMAIL", "test@example.org")
        patch.setenv(CACHE_VARIABLE, str(_cache_without_clones(home / "cache")))
        patch.setattr(socket.socket, "connect", _loopback_only(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", _loopback_only(socket.socket.connect_ex))
        yield
    for one in (home / "cache").iterdir():
        if not one.is_symlink() and one.name != CLONES and not (JAR_CACHE / one.name).exists():
            shutil.move(one, JAR_CACHE)


def _cache_without_clones(cache: Path) -> Path:
    """The user's cache with everything that takes long to fetch, and without the clones of the tests."""
    cache.mkdir()
    for one in JAR_CACHE.iterdir() if JAR_CACHE.is_dir() else ():
        if one.name != CLONES:
            (cache / one.name).symlink_to(one)
    return cache


def _loopback_only(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host not in ("127.0.0.1", "::1", "localhost"):
            pytest.fail(f"a test tried to reach {address}: tests stay on this machine")
        return connect(self, address)

    return guarded


@contextmanager
def _said(config: pytest.Config) -> Iterator[Callable[[str, int | None, int | None], None]]:
    """Report progress to the terminal and the CI log in spite of pytest's capture; counted phases in steps of 10%."""
    capture = config.pluginmanager.getplugin("capturemanager")
    before = [""]

    def say(text: str, done: int | None = None, total: int | None = None) -> None:
        line = f"sandbox: {text}" if total is None else f"sandbox: {text}: {(done or 0) * 10 // total * 10} %"
        if line != before[0] and not text.endswith("found"):
            before[0] = line
            with capture.global_and_fixture_disabled():
                sys.stderr.write(f"\n{line}")
                sys.stderr.flush()

    yield say


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--half", type=int, choices=(0, 1), help="only one of two halves of the test files, by their names"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a file whose tests are all deselected: importing it can take longer than a hundred quick tests."""
    if collection_path.suffix != ".py":
        return None
    if config.option.half is not None and crc32(collection_path.name.encode()) % 2 != config.option.half:
        return True
    if not ONLY_WITHOUT.fullmatch(config.option.markexpr):
        return None
    marks = MARKS_OF_A_FILE.search(collection_path.read_text())
    deselected = re.findall(r"not (\w+)", config.option.markexpr)
    return True if marks and any(f"mark.{name}" in marks[1] for name in deselected) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if getattr(config.option, "loadgroup", False):
        items.sort(key=lambda item: order(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Replace `--dist loadgroup`: the groups of pytest-xdist 3.8 have no effect with pytest 9.2."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only the process that distributes the tests

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture
def without_collection() -> Iterator[None]:
    """For a test that lets a parser call itself as often as possible.

    There, no call is left for the finalizers of what other tests left behind, and each of them would fail this test.
    """
    gc.disable()
    yield
    gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch the jars before the first test: a first download takes longer than the timeout of a test."""
    # Otherwise the garbage collector scans thousands of collected tests over and over, and takes a twelfth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    if not session.config.option.collectonly and any(item.get_closest_marker("e2e") for item in session.items):
        with _said(session.config) as say:
            say(f"looking for the jars of Kafka {BROKER_RELEASE}; the first time they are downloaded")
            names = {item.name for item in session.items if item.get_closest_marker("e2e")}
            older = [release for release in ("3.6.2", "3.9.1") if any(release in name for name in names)]
            for wanted in (*map(kafka, [BROKER_RELEASE, *older]), COMPILER):
                fetch_jars(wanted, os.environ, say)
            if _has_live_tests(session) or any("try-a-connector" in item.name for item in session.items):
                fetch_debezium(os.environ, say)
    if not session.config.option.collectonly and any(map(_needs_forges, session.items)):
        session.config.stash[GITEA] = find_gitea(JAR_CACHE)
        session.config.stash[GITHUB] = prepare_github(JAR_CACHE)


def _needs_forges(item: pytest.Item) -> bool:
    """Whether the test needs the Gitea server, or the descriptions of other forges."""
    if Path(__file__).with_name("forge") in item.path.parents:
        return item.get_closest_marker("slow") is not None
    return "gitea" in getattr(item, "fixturenames", ())


def _has_live_tests(session: pytest.Session) -> bool:
    """Whether any test of tests/live is selected."""
    return any(Path(__file__).with_name("live") in item.path.parents for item in session.items)


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a new ledger and its key. A copy costs less than the transactions that create the tables."""
    directory = tmp_path_factory.mktemp("ledger")
    Ledger.open("sqlite:///state.db", directory, None).close()
    return directory


@pytest.fixture
def sqlite_ledger(tmp_path: Path, empty_ledger: Path) -> Iterator[Ledger]:
    """An empty ledger in `state.db` of the test's directory."""
    shutil.copytree(empty_ledger, tmp_path, dirs_exist_ok=True)
    with closing(Ledger.open("sqlite:///state.db", tmp_path, None)) as opened:
        yield opened


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """The one real broker and worker that all e2e tests share; both end when pytest ends, even by `kill -9`.

    A test may kill and add workers (`sandbox.kill_worker(1)`, `sandbox.start_worker()`): after the test, one worker
    runs again. Connector names come from `connector_name`, so that each test has its own connectors. In addition to
    Kafka's connectors it has those of tests/support/plugins, and those of tests/live if a test of that directory is
    selected.
    """
    plugins = [build_plugins(tmp_path_factory.mktemp("plugins"), os.environ)]
    if _has_live_tests(request.session):
        plugins.append(build_live_plugins(tmp_path_factory.mktemp("live") / "plugins", os.environ))
    directory = tmp_path_factory.mktemp("shared") / "sandbox"
    options = SandboxOptions(directory=directory, workers=1, heap=1024, plugin_path=tuple(plugins), tied=True)
    with _said(request.config) as say, Sandbox.up(options, say) as started:
        say(f"up at {started.worker_urls[0]}", None, None)
        yield started


@pytest.fixture(scope="session")
def other_sandbox(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Another Kafka cluster with a worker of its own, whose sources send at least once, as is Connect's default."""
    plugins = tuple(map(Path, sandbox.state().plugin_path))
    directory = tmp_path_factory.mktemp("other") / "sandbox"
    options = SandboxOptions(
        directory=directory, workers=1, heap=512, plugin_path=plugins, exactly_once=ExpectedSupport.DISABLED, tied=True
    )
    with Sandbox.up(options) as other:
        yield other


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server. Tests create databases of their own in it, and leave them there."""
    server = start_postgres()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def gitea(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[GiteaServer]:
    """A real Gitea server. Tests create users and repositories of their own in it, and leave them there."""
    program = request.config.stash[GITEA]
    if isinstance(program, GiteaMissing):
        pytest.skip(str(program))
    with gitea_server(program, tmp_path_factory.mktemp("gitea")) as server:
        yield server


@pytest.fixture(autouse=True)
def _one_worker_afterwards(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "sandbox" in request.fixturenames:
        shared = request.getfixturevalue("sandbox")
        parts = shared.status()
        if len(parts) != 2 or not all(part.answers for part in parts):
            Sandbox.up(SandboxOptions(directory=shared.directory, workers=1))


@pytest.fixture(autouse=True, scope="session")
def _log_checker() -> Iterator[LogChecker]:
    checker, level = LogChecker(), LOGGER.level
    LOGGER.addHandler(checker)
    LOGGER.setLevel(logging.INFO)
    yield checker
    LOGGER.removeHandler(checker)
    LOGGER.setLevel(level)


@pytest.fixture(autouse=True)
def _log_events_have_their_fields(_log_checker: LogChecker) -> Iterator[None]:
    """Fail the test if an event that it caused has no value of a field of the table, or another field."""
    _log_checker.violations.clear()
    yield
    assert not _log_checker.violations, "\n".join(_log_checker.violations)


@pytest.fixture
def connector_name(request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Make names that no other test has: `connector_name("orders")`. These connectors are deleted afterwards."""
    given: list[str] = []

    def make(stem: str = "connector") -> str:
        given.append(f"{stem}-{secrets.token_hex(4)}")
        return given[-1]

    yield make
    if "sandbox" in request.fixturenames:
        urls = request.getfixturevalue("sandbox").worker_urls
        for name in given:
            _delete_connector(urls, name)


def _delete_connector(urls: tuple[str, ...], name: str) -> None:
    """Delete it through the first worker that answers: the test may have killed one. A missing connector is fine."""
    for url in urls:
        with suppress(requests.RequestException):
            if requests.delete(f"{url}/connectors/{name}", timeout=30).status_code in (204, 404):
                return


@pytest.fixture
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory: no settings file, no sandbox."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
