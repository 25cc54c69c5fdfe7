"""1,000,000 offsets into a real worker: requests of a fixed size compared with `gitops-connect apply`.

Each measurement has a new worker, and both ways take turns. A fixed size is a POST, PATCHes one after another, and a
GET of all offsets at the end. It is compared with the two steps of `apply`, as `apply` reports their time, with
everything that they do in addition: they read the current offsets, save both sides in the ledger, and compare what was
read back. The whole process also plans, and starts Spark.

Workers without support for exactly-once sources have 2 GiB of heap, as Kafka's scripts set it. Workers with this
support have 3 GiB, as the plan requires, because they hold every offset three times
(docs/contributing/worker-memory.md). With 1 GiB, the plan must be blocked; without the limit, `apply` must continue the
same change once the worker has more memory.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.planning import PROGRAM
from gitops_connect.errors import SandboxFailed
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

TITLE = "A million offsets, applied on the sandbox"
COUNT = 1_000_000
LIMIT = 1.3
SMALL_HEAP = 1024
"""MiB."""
BLOCKED_BY = "worker_heap"
"""The setting that the error message names."""
_TIMEOUT = 300
_NAME = "large"
_NOT_YET = (400, 409)
_STEP = re.compile(r" applied after ([0-9.]+) s")
"""What `apply` prints about each step."""
_MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
"""Its offsets may be of any topics; a class with one file of its own would have a violation in each entry."""
_DOCUMENT = f"""\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {{name: {_NAME}}}
spec:
  class: {_MIRROR}
  state: stopped
  config: {{source.cluster.alias: a, target.cluster.alias: b, topics: "t-.*"}}
  initialOffsets:
    manifest: {{path: offsets.jsonl}}
"""


@dataclass(frozen=True)
class Setting:
    """The workers, the fixed sizes that are sent to them, and how often `apply` runs. `heap` is in MiB."""

    heap: int
    chunks: tuple[int, ...]
    runs: int
    exactly_once: ExpectedSupport = ExpectedSupport.DISABLED
    words: str = ""


DEFAULT = Setting(2048, (50_000, 100_000, 250_000, COUNT), 5)
EXACTLY_ONCE = Setting(
    3072, (100_000, 250_000, 500_000, COUNT), 4, exactly_once=ExpectedSupport.ENABLED, words="exactly-once: "
)


@dataclass(frozen=True)
class Applied:
    """The seconds until all offsets were read back, until all were `sent`, and of the `whole` process.

    `failure` is the reason if they were not applied.
    """

    read_back: float = 0.0
    sent: float | None = None
    whole: float | None = None
    failure: str = ""


Apply = Callable[[Sandbox, Path], Applied]
"""Applies the lines of a file to the worker of a sandbox, which has a directory of its own."""


def measure(directory: Path) -> Iterator[Figure]:
    """Raises NotMeasured if no real Connect can be started here."""
    lines = written(directory / "offsets.jsonl")
    for setting in (DEFAULT, EXACTLY_ONCE):
        yield from _compared(directory, lines, setting)
    yield from _too_small(directory, lines)


def _compared(directory: Path, lines: Path, setting: Setting) -> Iterator[Figure]:
    """Fixed sizes and runs of `apply`, in turns."""
    words, fixed, ours = setting.words, [], []
    for chunk, number in itertools.zip_longest(setting.chunks, range(setting.runs)):
        if chunk is not None:
            fixed.append(once(directory, lines, in_chunks(chunk), setting))
            yield from _figures(f"{words}in requests of {chunk:,}", fixed[-1])
        if number is not None:
            ours.append(once(directory, lines, apply_with(f"{setting.heap}MiB"), setting))
            yield from _figures(f"{words}apply, run {number + 1}", ours[-1])
    failed = sum(bool(one.failure) for one in ours)
    yield Figure(f"{words}runs of apply that failed, of {setting.runs}", failed, limit=0)
    good = [one for one in ours if not one.failure]
    best = min((one.read_back for one in fixed if not one.failure), default=0.0)
    if good and best:
        steps = [one.read_back / best for one in good]
        yield median(Figure(f"{words}apply compared with the best fixed size", 0, "times", LIMIT), steps)
        whole = [one.whole / best for one in good if one.whole is not None]
        yield median(Figure(f"{words}the whole process compared with the best fixed size", 0, "times"), whole)


def written(path: Path, count: int = COUNT) -> Path:
    """Entries of about 94 bytes, one per line."""
    with path.open("w", encoding="ascii") as stream:
        for number in range(count):
            partition = f'{{"cluster":"a","partition":0,"topic":"t-{number:09}"}}'
            stream.write(f'{{"partition":{partition},"offset":{{"offset":{number + 10_000_000}}}}}\n')
    return path


@contextmanager
def worker(directory: Path, heap: int, *, exactly_once: ExpectedSupport) -> Iterator[Sandbox]:
    """A new broker with one worker. Raises NotMeasured if they cannot be started."""
    try:
        sandbox = Sandbox.up(
            SandboxOptions(directory=directory, workers=1, heap=heap, exactly_once=exactly_once, tied=True)
        )
    except SandboxFailed as error:
        raise NotMeasured(f"no sandbox: {error}") from error
    try:
        yield sandbox
    finally:
        sandbox.down(purge=True)


def once(directory: Path, lines: Path, apply: Apply, setting: Setting) -> Applied:
    """One attempt on a new worker, which must work afterwards."""
    with worker(directory / "sandbox", setting.heap, exactly_once=setting.exactly_once) as sandbox:
        applied = apply(sandbox, lines)
        return applied if applied.failure or not (harm := harmed(sandbox)) else Applied(failure=harm)


def harmed(sandbox: Sandbox) -> str:
    """The problem of the worker; empty if it and its herder answer, and none of its threads ran out of memory."""
    log = sandbox.status()[1].log
    if "java.lang.OutOfMemoryError" in log.read_text(encoding="utf-8", errors="replace"):
        return "the worker ran out of memory"
    try:
        for path in ("/", f"/connectors/{_NAME}/config"):
            requests.get(sandbox.worker_urls[0] + path, timeout=_TIMEOUT).raise_for_status()
    except requests.RequestException as error:
        return f"the worker does not answer: {error}"
    return ""


def in_chunks(entries: int) -> Apply:
    """PATCHes of this many entries each, one after another."""

    def apply(sandbox: Sandbox, lines: Path) -> Applied:
        url = f"{sandbox.worker_urls[0]}/connectors"
        aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
        config = {"connector.class": _MIRROR, "tasks.max": "1", "topics": "t-.*", **aliases}
        body = {"name": _NAME, "config": config, "initial_state": "STOPPED"}
        began = time.monotonic()
        try:
            requests.post(url, json=body, timeout=_TIMEOUT).raise_for_status()
            with lines.open("rb") as stream:
                while chunk := list(itertools.islice(stream, entries)):
                    _patch(f"{url}/{_NAME}/offsets", b'{"offsets":[' + b",".join(chunk) + b"]}")
            sent = time.monotonic() - began
            _read_back(f"{url}/{_NAME}/offsets", lines.stat().st_size)
        except (requests.RequestException, _Unread) as error:
            return Applied(failure=str(error))
        return Applied(time.monotonic() - began, sent)

    return apply


def apply_with(worker_heap: str) -> Apply:
    """`gitops-connect apply` on a new repository with this manifest and a new ledger."""

    def apply(sandbox: Sandbox, lines: Path) -> Applied:
        directory = _repository(sandbox, lines, worker_heap)
        began = time.monotonic()
        done = _command(directory, "apply", "--yes")
        elapsed = time.monotonic() - began
        if done.returncode:
            return Applied(failure=_last_line(done))
        return Applied(sum(map(float, _STEP.findall(done.stdout + done.stderr))), whole=elapsed)

    return apply


class _Unread(Exception):
    """The current offsets are not those that were sent."""


def _patch(url: str, body: bytes) -> None:
    """Send it until the connector is STOPPED. Raises HTTPError for any other answer."""
    while True:
        answer = requests.patch(url, data=body, headers={"Content-Type": "application/json"}, timeout=_TIMEOUT)
        if answer.status_code not in _NOT_YET:
            break
        time.sleep(0.1)
    if not answer.ok:
        raise requests.HTTPError(f"{answer.status_code} {answer.text[:120]}")


def _read_back(url: str, size: int) -> None:
    """Read all offsets. Raises _Unread if there are not about as many bytes as were sent, or no answer.

    Right after a large PATCH the worker may answer 500: it still adds to the set from which it makes the answer.
    """
    until = time.monotonic() + _TIMEOUT
    while True:
        with requests.get(url, stream=True, timeout=_TIMEOUT) as answer:
            read = sum(len(piece) for piece in answer.iter_content(1 << 20))
        if size * 0.9 < read < size * 1.1:
            return
        if time.monotonic() > until:
            raise _Unread(f"{answer.status_code}, and {read:,} bytes were read back of {size:,}")
        time.sleep(0.5)


def _figures(what: str, applied: Applied) -> Iterator[Figure]:
    if applied.failure:
        yield Figure(what, 0, "s", note=f"failed: {applied.failure}")
        return
    if applied.sent is not None:
        yield Figure(f"{what}: sent", applied.sent, "s")
    yield Figure(f"{what}: sent and read back", applied.read_back, "s")
    if applied.whole is not None:
        yield Figure(f"{what}: the whole process", applied.whole, "s")


def _too_small(directory: Path, lines: Path) -> Iterator[Figure]:
    with worker(directory / "sandbox", SMALL_HEAP, exactly_once=ExpectedSupport.DISABLED) as sandbox:
        place = _repository(sandbox, lines, "1GiB")
        refused = _command(place, "apply", "--yes")
        said = refused.returncode != 0 and BLOCKED_BY in refused.stdout + refused.stderr
        yield Figure("1 GiB: not blocked before the first request", 0 if said else 1, limit=0)
        _settings(place, sandbox, "0")
        failed = _command(place, "apply", "--yes")
        yield Figure(
            "1 GiB, without the limit: no clear failure", int(not _last_line(failed)), limit=0, note=_last_line(failed)
        )
        sandbox.kill_worker(1)
        Sandbox.up(SandboxOptions(directory=sandbox.directory, heap=DEFAULT.heap))
        began = time.monotonic()
        again = _command(place, "apply", "--yes")
        note = "" if again.returncode == 0 else f"failed: {_last_line(again)}"
        yield Figure("continued after a restart with 2 GiB", time.monotonic() - began, "s", note=note)


def _repository(sandbox: Sandbox, lines: Path, worker_heap: str) -> Path:
    directory = sandbox.directory.parent / f"applied-{time.monotonic_ns()}"
    repository = directory / "repository"
    repository.mkdir(parents=True)
    (repository / "large.yaml").write_text(_DOCUMENT, encoding="utf-8")
    os.link(lines, repository / "offsets.jsonl")
    author = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org")
    for words in (("init", "--quiet", "--initial-branch=main"), ("add", "--all"), ("commit", "--quiet", "-m", "large")):
        subprocess.run(["git", *author, *words], cwd=repository, check=True)
    _settings(directory, sandbox, worker_heap)
    return directory


def _settings(directory: Path, sandbox: Sandbox, worker_heap: str) -> None:
    (directory / "gitops-connect.toml").write_text(
        f'[repository]\nurl = "{directory / "repository"}"\n'
        f'[clusters.local]\nurl = ["{sandbox.worker_urls[0]}"]\nworker_heap = "{worker_heap}"\n'
        "task_shutdown_timeout = 0\n",
        encoding="utf-8",
    )


def _command(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "--config", str(directory / "gitops-connect.toml"), *words]
    environment = {**os.environ, "GITOPS_CONNECT_CACHE": str(directory.parent / "cache")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The end of the output of a command that failed; empty if it did not fail."""
    if done.returncode == 0:
        return ""
    said = re.sub(r"\s+", " ", (done.stderr.strip() or done.stdout.strip())[-300:])
    return f"{done.returncode}: {said}"
