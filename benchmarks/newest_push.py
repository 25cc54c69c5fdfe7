"""The newest push among 2,000 open pull requests, most of which were not reviewed yet: how soon it has its comment.

Reviews, planner, repository and ledger are those of a daemon, the simulated Connect is another process, and the forge
is in memory: the requests to a real one, about 25 with 2,000 pull requests, come on top. The program
`python -m benchmarks.newest_push SETTINGS` reviews, and writes the seconds that each push waited.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread

from benchmarks.documents import Layout, Workplace, document
from benchmarks.figures import Figure, NotMeasured, median
from benchmarks.server import ROOT, serving

TITLE = "the newest push of 2,000 open pull requests"
CONNECTORS = 100
PULL_REQUESTS = 2000
PUSHES = 5
LIMIT = 30.0
_LONGEST = 300.0
"""Seconds after which a push counts as forgotten."""
_REST = 1.0
"""Seconds before each push, so that it waits: pull requests are listed again after 10 s at the earliest."""


def measure(directory: Path) -> Iterator[Figure]:
    """The time from a push and its webhook until its comment is written."""
    workplace = Workplace(directory / "reviews", CONNECTORS, Layout.FILE_EACH)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    with serving(CONNECTORS) as connect:
        workplace.create(connect.url)
        branches = [_branch(f"pull/{number}/head", number) for number in range(1, PULL_REQUESTS + 1)]
        branches += [_branch(f"pushed/{number}", number + PULL_REQUESTS) for number in range(1, PUSHES + 1)]
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=workplace.repository, input="".join(branches).encode(), check=True
        )
        command = [sys.executable, "-m", "benchmarks.newest_push", str(workplace.settings)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(done.stderr.strip().splitlines()[-1])
    *times, reviewed = map(float, done.stdout.split())
    yield median(Figure("from a push to its comment", 0, "s", LIMIT), times)
    yield Figure("pull requests reviewed meanwhile", reviewed)


def _branch(name: str, number: int) -> str:
    """A branch that declares one more connector, in the format of `git fast-import`."""
    text = document(number, "more")
    return (
        f"commit refs/{name}\ncommitter Benchmark <benchmark@example.org> {number} +0000\ndata 4\nmore\n"
        f"from refs/heads/main\nM 100644 inline more.yaml\ndata {len(text)}\n{text}\n"
    )


def _review(settings_file: Path) -> None:
    from support.forge.memory_forge import PULL_REQUEST, MemoryForge  # noqa: PLC0415 - only this process has the tests

    from gitops_connect.daemon.daemon import Daemon  # noqa: PLC0415 - only this process needs it
    from gitops_connect.review.pull_request_plans import PullRequestPlanner  # noqa: PLC0415
    from gitops_connect.review.reviews import PullRequestReviews, reviewing  # noqa: PLC0415
    from gitops_connect.runtime import open_runtime, open_source  # noqa: PLC0415
    from gitops_connect.settings.settings_file import load_settings  # noqa: PLC0415

    settings = load_settings(settings_file, {})
    heads = _heads(Path(settings.repository.url))
    numbers = range(1, PULL_REQUESTS + 1)
    references = {number: f"refs/pull/{number}/head" for number in numbers}
    forge = MemoryForge(
        open=[replace(PULL_REQUEST, number=one, head=heads[ref], head_ref=ref) for one, ref in references.items()]
    )
    with (
        closing(open_runtime(settings)) as runtime,
        closing(open_source(settings, path=None)) as source,
        closing(PullRequestPlanner.of(runtime)) as planner,
    ):
        daemon = Daemon(runtime, source)
        thread = Thread(target=daemon.run)
        thread.start()
        with reviewing(PullRequestReviews.of(runtime, daemon, forge, planner)) as reviews:
            for number in range(1, PUSHES + 1):  # the oldest ones, whose turn has not come yet
                time.sleep(_REST)
                began, reference = time.perf_counter(), f"refs/pushed/{number}"
                pushed = replace(forge.open[number - 1], head=heads[reference], head_ref=reference)
                forge.open[number - 1] = pushed
                reviews.review_now()
                while not any(pushed.head[:12] in one.body for one in forge.comments(number)):
                    if time.perf_counter() - began > _LONGEST:
                        raise TimeoutError(f"no comment within {_LONGEST:.0f} s")
                    time.sleep(0.01)
                print(time.perf_counter() - began)
        print(len(forge.comments_of))
        daemon.stop()
        thread.join()


def _heads(repository: Path) -> dict[str, str]:
    found = subprocess.run(["git", "show-ref"], cwd=repository, capture_output=True, text=True, check=True).stdout
    return {reference: commit for commit, reference in map(str.split, found.splitlines())}


if __name__ == "__main__":
    _review(Path(sys.argv[1]))
