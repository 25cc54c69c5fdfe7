"""1,000,000 offsets into a real worker: requests of a fixed size against `gitops-connect apply`, each on a new worker.

A fixed size is a POST, PATCHes one after another, and a GET of all at the end. Of `apply` the same is compared: its two
steps, as it tells itself how long they took, with everything that it does besides (looking at what stands, saving both
sides in the ledger, comparing what was read back). The whole process plans before that, and starts Spark. The workers
are as Kafka's own scripts start them: 2 GiB of heap, and no support for exactly-once sources, with which each of them
would hold everything three times (docs/contributing/worker-memory.md). Then 1 GiB: the plan must refuse it, and with
the limit lifted `apply` must go on with the same change where the worker got more memory.
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
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

TITLE = "A million offsets, applied on the sandbox"
COUNT = 1_000_000
CHUNKS = (50_000, 100_000, 250_000, COUNT)
RUNS = 5
LIMIT = 1.3
HEAP, SMALL_HEAP = 2048, 1024
REFUSED_FOR = "worker_heap"
"""The setting that a refusal names."""
_PATIENCE = 300
_NAME = "large"
_NOT_YET = (400, 409)
_STEP = re.compile(r" applied after ([0-9.]+) s")
"""What `apply` says of each step."""
_MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
"""Its offsets may be of any topics; each entry of a class with one file of its own would be a finding."""
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
class Applied:
    """How it went: seconds until it was read back, too; of these `sent` until all was accepted, and `whole` with what
    the process did before; why not, where it was not."""

    read_back: float = 0.0
    sent: float | None = None
    whole: float | None = None
    failure: str = ""


Apply = Callable[[Sandbox, Path], Applied]
"""Whatever brings the lines of a file to the worker of a sandbox, in a folder of its own."""


def measure(folder: Path) -> Iterator[Figure]:
    """Raises NotMeasured where no real Connect can be started here."""
    lines = written(folder / "offsets.jsonl")
    fixed: list[Applied] = []
    for chunk in CHUNKS:
        fixed.append(once(folder, lines, in_chunks(chunk)))
        yield from _figures(f"in requests of {chunk:,}", fixed[-1])
    runs = []
    for number in range(RUNS):
        runs.append(once(folder, lines, ours))
        yield from _figures(f"ours, run {number + 1}", runs[-1])
    yield Figure(f"runs of ours that failed, of {RUNS}", sum(bool(one.failure) for one in runs), limit=0)
    good = [one for one in runs if not one.failure]
    best = min((one.read_back for one in fixed if not one.failure), default=0.0)
    if good and best:
        yield median(
            Figure("ours against the best fixed size", 0, "times", LIMIT), [one.read_back / best for one in good]
        )
        whole = [one.whole / best for one in good if one.whole is not None]
        yield median(Figure("the whole process against the best fixed size", 0, "times"), whole)
    yield from _too_small(folder, lines)


def written(path: Path, count: int = COUNT) -> Path:
    """Entries of some 94 bytes, one a line."""
    with path.open("w", encoding="ascii") as stream:
        for number in range(count):
            partition = f'{{"cluster":"a","partition":0,"topic":"t-{number:09}"}}'
            stream.write(f'{{"partition":{partition},"offset":{{"offset":{number + 10_000_000}}}}}\n')
    return path


@contextmanager
def worker(folder: Path, heap: int) -> Iterator[Sandbox]:
    """A broker and one worker that nobody has used. Raises NotMeasured where they cannot be had."""
    try:
        sandbox = Sandbox.up(SandboxOptions(folder=folder, workers=1, heap=heap, exactly_once=False, tied=True))
    except SandboxFailed as error:
        raise NotMeasured(f"no sandbox: {error}") from error
    try:
        yield sandbox
    finally:
        sandbox.down(purge=True)


def once(folder: Path, lines: Path, apply: Apply, heap: int = HEAP) -> Applied:
    """One attempt on a new worker, which must live afterwards."""
    with worker(folder / "sandbox", heap) as sandbox:
        applied = apply(sandbox, lines)
        return applied if applied.failure or not (harm := harmed(sandbox)) else Applied(failure=harm)


def harmed(sandbox: Sandbox) -> str:
    """What is wrong with the worker; empty: it answers, its herder too, and no thread of it ran out of memory."""
    log = sandbox.status()[1].log
    if "java.lang.OutOfMemoryError" in log.read_text(encoding="utf-8", errors="replace"):
        return "the worker ran out of memory"
    try:
        for path in ("/", f"/connectors/{_NAME}/config"):
            requests.get(sandbox.worker_urls[0] + path, timeout=_PATIENCE).raise_for_status()
    except requests.RequestException as error:
        return f"the worker does not answer: {error}"
    return ""


def in_chunks(entries: int) -> Apply:
    """PATCHes of so many entries each, one after another."""

    def apply(sandbox: Sandbox, lines: Path) -> Applied:
        url = f"{sandbox.worker_urls[0]}/connectors"
        aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
        config = {"connector.class": _MIRROR, "tasks.max": "1", "topics": "t-.*", **aliases}
        body = {"name": _NAME, "config": config, "initial_state": "STOPPED"}
        began = time.monotonic()
        try:
            requests.post(url, json=body, timeout=_PATIENCE).raise_for_status()
            with lines.open("rb") as stream:
                while chunk := list(itertools.islice(stream, entries)):
                    _patch(f"{url}/{_NAME}/offsets", b'{"offsets":[' + b",".join(chunk) + b"]}")
            sent = time.monotonic() - began
            _read_back(f"{url}/{_NAME}/offsets", lines.stat().st_size)
        except (requests.RequestException, _Unread) as error:
            return Applied(failure=str(error))
        return Applied(time.monotonic() - began, sent)

    return apply


def ours(sandbox: Sandbox, lines: Path, worker_heap: str = "2GiB") -> Applied:
    """`gitops-connect apply` on a new repository with this manifest and a new ledger."""
    folder = _repository(sandbox, lines, worker_heap)
    began = time.monotonic()
    done = _command(folder, "apply", "--yes")
    elapsed = time.monotonic() - began
    if done.returncode:
        return Applied(failure=_last_line(done))
    return Applied(sum(map(float, _STEP.findall(done.stdout + done.stderr))), whole=elapsed)


class _Unread(Exception):
    """What stands is not what was sent."""


def _patch(url: str, body: bytes) -> None:
    """Send it until the connector stands still. Raises HTTPError for any other answer."""
    while True:
        answer = requests.patch(url, data=body, headers={"Content-Type": "application/json"}, timeout=_PATIENCE)
        if answer.status_code not in _NOT_YET:
            break
        time.sleep(0.1)
    if not answer.ok:
        raise requests.HTTPError(f"{answer.status_code} {answer.text[:120]}")


def _read_back(url: str, size: int) -> None:
    """Ask for all, and hold none. Raises _Unread where it is not about as much as was sent, or does not come.

    Right after a large PATCH the worker answers 500: it still adds to the set that it goes through for the answer.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        with requests.get(url, stream=True, timeout=_PATIENCE) as answer:
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


def _too_small(folder: Path, lines: Path) -> Iterator[Figure]:
    with worker(folder / "sandbox", SMALL_HEAP) as sandbox:
        place = _repository(sandbox, lines, "1GiB")
        refused = _command(place, "apply", "--yes")
        said = refused.returncode != 0 and REFUSED_FOR in refused.stdout + refused.stderr
        yield Figure("1 GiB, not refused beforehand", 0 if said else 1, limit=0)
        _settings(place, sandbox, "0")
        failed = _command(place, "apply", "--yes")
        yield Figure(
            "1 GiB, limit lifted, no clear failure", int(not _last_line(failed)), limit=0, note=_last_line(failed)
        )
        sandbox.kill_worker(1)
        Sandbox.up(SandboxOptions(folder=sandbox.folder, heap=HEAP))
        began = time.monotonic()
        again = _command(place, "apply", "--yes")
        note = "" if again.returncode == 0 else f"failed: {_last_line(again)}"
        yield Figure("gone on with after a restart with 2 GiB", time.monotonic() - began, "s", note=note)


def _repository(sandbox: Sandbox, lines: Path, worker_heap: str) -> Path:
    folder = sandbox.folder.parent / f"applied-{time.monotonic_ns()}"
    repository = folder / "repository"
    repository.mkdir(parents=True)
    (repository / "large.yaml").write_text(_DOCUMENT, encoding="utf-8")
    os.link(lines, repository / "offsets.jsonl")
    author = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.org")
    for words in (("init", "--quiet", "--initial-branch=main"), ("add", "--all"), ("commit", "--quiet", "-m", "large")):
        subprocess.run(["git", *author, *words], cwd=repository, check=True)
    _settings(folder, sandbox, worker_heap)
    return folder


def _settings(folder: Path, sandbox: Sandbox, worker_heap: str) -> None:
    (folder / "gitops-connect.toml").write_text(
        f'[repository]\nurl = "{folder / "repository"}"\n'
        f'[clusters.local]\nurl = ["{sandbox.worker_urls[0]}"]\nworker_heap = "{worker_heap}"\n',
        encoding="utf-8",
    )


def _command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "--config", str(folder / "gitops-connect.toml"), *words]
    environment = {**os.environ, "GITOPS_CONNECT_CACHE": str(folder.parent / "cache")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said last; empty where it did not fail."""
    if done.returncode == 0:
        return ""
    said = re.sub(r"\s+", " ", (done.stderr.strip() or done.stdout.strip())[-300:])
    return f"{done.returncode}: {said}"
