"""Random mutants of plan, apply, ledger and daemon: the tests, the types and the simulation must notice 95 % of them.

`MUTANTS=50 SEED=7 pytest -s tests/mutants` tries other ones. A mutant runs in a copy of the tree, first with the
tests that execute its function.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from random import randrange
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory

import pytest
from coverage import CoverageData

from mutants.sample import Mutant, lines_of_function, sample

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(7200)]
ROOT = Path(__file__).parents[2]
MUTANTS = int(os.environ.get("MUTANTS", "100"))
SEED = int(os.environ.get("SEED") or randrange(10**6))
TIMEOUT = 600
"""Seconds. A mutant that runs longer is noticed."""
_FILE = 2 * 1024 * 1024
"""The size of a file that a mutant may write, in blocks of 512 bytes: it must not fill the disk.

A soft limit, because git gets one of its own. Without a mutant there is none: some tests make huge sparse files.
"""
PYTEST = ("pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "-o", "timeout=60")
DAYS = """
from pathlib import Path
from tempfile import gettempdir
from simulation.schedules import Beginnings, live, schedule_of
beginnings = Beginnings(Path(gettempdir()))
for seed in range(200):
    live(schedule_of(seed), beginnings)
"""

Lines = Mapping[int, list[str]]
"""The ids of the tests that execute each line."""


class Copy:
    """A copy of the tree, in which one mutant after another is tried. Temporary files of tests are never copied."""

    def __init__(self, directory: Path) -> None:
        self.tree = directory / "tree"
        self.output = directory / "output.txt"
        self._temporary = directory / "temporary"

    def run(self, *arguments: str, limit: int | str = "unlimited", **more: str) -> bool:
        """Whether this command of Python succeeds in time."""
        self._temporary.mkdir()
        path = f"{self.tree}{os.pathsep}{self.tree / 'tests'}"
        environment = os.environ | {"PYTHONPATH": path, "TMPDIR": str(self._temporary)} | more
        with (
            self.output.open("w") as output,
            subprocess.Popen(
                ("sh", "-c", f'ulimit -S -f {limit}; exec "$0" "$@"', sys.executable, *arguments),
                cwd=self.tree,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            ) as process,
        ):
            try:
                return process.wait(TIMEOUT) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False
            finally:
                rmtree(self._temporary)

    def notices(self, mutant: Mutant, lines: Lines, lines_of_daemon: Lines) -> str:
        """What notices the mutant first; empty if nothing does. The tests of the daemon come last: they often wait."""
        file = self.tree / mutant.file
        original, times = file.read_bytes(), file.stat()
        near, far = _tests(mutant, original.decode(), lines)
        slow = sorted(chain(*_tests(mutant, original.decode(), lines_of_daemon)))
        if mutant.room == "daemon":  # some of its tests are about another process, whose lines are not known
            slow = ["-m", "not e2e and not thorough", "tests/daemon"]
        checks = {
            **({"tests of the room": ("-m", *PYTEST, *near)} if near else {}),
            **({"other tests": ("-m", *PYTEST, *far)} if far else {}),
            "types": ("-m", "mypy"),
            "simulation": ("-c", DAYS),
            **({"daemon": ("-m", *PYTEST, *slow)} if slow else {}),
        }
        file.write_text(mutant.code)
        try:
            return next((name for name, command in checks.items() if not self.run(*command, limit=_FILE)), "")
        finally:
            file.write_bytes(original)
            os.utime(file, (times.st_atime, times.st_mtime))  # its bytecode is still right


def _tests(mutant: Mutant, code: str, lines: Lines) -> tuple[list[str], list[str]]:
    """The tests that execute its function: those of its room that execute its line, and the others."""
    function = {test for line in lines_of_function(code, mutant.line) for test in lines.get(line, ()) if test}
    near = {test for test in lines.get(mutant.line, ()) if test.startswith(f"tests/{mutant.room}/")}
    return sorted(near), sorted(function - near)


@pytest.fixture
def copies() -> Iterator[list[Copy]]:
    """For each processor one, with bytecode, the cache of mypy, and the lines that tests execute.

    Not in `tmp_path`: the paths of sockets must be short, and one test is carried out by another user.
    """
    listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        first, *others = (Path(directory) / str(number) for number in range(os.cpu_count() or 1))
        copy = Copy(first)
        copy.tree.mkdir(parents=True)
        subprocess.run(("xargs", "-0", "cp", "--parents", "-t", str(copy.tree)), cwd=ROOT, input=files, check=True)
        subprocess.run(("git", "init", "-q"), cwd=copy.tree, check=True)
        run = (*PYTEST, "-p", "mutants.executed_lines", "-m")
        quick = (*run, "not slow and not e2e and not thorough")
        # Nearly all tests of the ledger are slow, because each needs a file. Those on PostgreSQL are not tried.
        of_ledger = (*run, "slow and not thorough", "-k", "not postgres", "tests/ledger")
        of_daemon = (*run, "slow and not e2e and not thorough", "tests/daemon")
        for command in (quick, of_ledger, of_daemon, ("mypy",)):
            file = copy.tree / ("executed-of-daemon" if command == of_daemon else "executed")
            succeeds = copy.run("-m", *command, EXECUTED_LINES=str(file))
            assert succeeds, f"{command[0]} fails without a mutant: {copy.output.read_text()[-5000:]}"
        for one in others:
            copytree(copy.tree, one / "tree")
        yield [copy, *map(Copy, others)]


def test_at_least_95_percent_are_noticed(copies: list[Copy]) -> None:
    faulthandler.cancel_dump_traceback_later()  # pytest's own, which ends any test after 1000 s
    executed, of_daemon = (CoverageData(str(copies[0].tree / name)) for name in ("executed", "executed-of-daemon"))
    executed.read()
    of_daemon.read()
    free = SimpleQueue[Copy]()
    for one in copies:
        free.put(one)

    def missed(make: Callable[[], Mutant]) -> Mutant | None:
        copy, mutant = free.get(), make()
        lines = (one.contexts_by_lineno(str(copies[0].tree / mutant.file)) for one in (executed, of_daemon))
        try:
            by = copy.notices(mutant, *lines)
        finally:
            free.put(copy)
        print(f"{by or 'NOT NOTICED'}: {mutant}", flush=True)
        return None if by else mutant

    print(f"SEED={SEED}")
    with ThreadPoolExecutor(len(copies)) as threads:
        survivors = [one for one in threads.map(missed, sample(copies[0].tree, MUTANTS, SEED)) if one]
    told = f"SEED={SEED}: {len(survivors)} of {MUTANTS} mutants are not noticed:"
    assert len(survivors) <= 0.05 * MUTANTS, "\n".join([told, *map(str, survivors)])
