"""`python -m soak --minutes 10`: change and break everything at random, then check that all is as declared.

Sources that read exactly once are changed by commits and by hand. Meanwhile workers, the broker, the Git server and the
daemon are killed with `kill -9` and started again after some seconds. At the end, everything is started. Then the
desired and the observed state must agree within `AGREEMENT`, and each rewind must have taken effect exactly once: the
topic of a source contains all lines of its file once for the first time, and once more for each rewind.

The exit code is 1 if something is not as declared. The logs are kept then.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from soak.cluster import DAEMON, PARTS, SoakCluster, wait_until
from soak.connectors import Connectors

SOURCES = 6
AGREEMENT = 600.0
"""Seconds. A task that has FAILED is restarted at minute 0, 2 and 6."""
_LONGEST_FAULT = 15.0
"""Seconds that a part is down."""


class Soak:
    """One soak. `seed` determines the order of changes and faults, but not what they meet."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.cluster = SoakCluster(directory)
        self._connectors = Connectors(self.cluster, directory, SOURCES)
        self._random = Random(seed)  # noqa: S311 - no secret
        self._down: dict[str, float] = {}
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()

    def disturb(self, seconds: float) -> None:
        """Change and break everything for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._start_again(time.monotonic())
            chance = self._random.random()
            if chance < 0.15:
                self._say("commit", self._connectors.change(self._random))
            elif chance < 0.22:
                self._say("by hand", self._connectors.by_hand(self._random))
            elif chance < 0.32:
                self._break()
            time.sleep(0.5)

    def _break(self) -> None:
        part = self._random.choice(PARTS)
        if part not in self._down:
            self.cluster.kill(part)
            self._down[part] = time.monotonic() + self._random.uniform(0, _LONGEST_FAULT)
            self._say("kill", part)

    def _start_again(self, now: float) -> None:
        for part in [part for part, due in self._down.items() if due <= now]:
            self.cluster.start(part)
            del self._down[part]
            self._say("start", part)

    def agree(self) -> list[str]:
        """Start everything, and wait until desired and observed state agree. Returns the problems."""
        self._start_again(float("inf"))
        self._connectors.run_all()
        began = time.monotonic()
        if not wait_until(self._is_settled, AGREEMENT):
            return [f"no agreement after {AGREEMENT:g}s", json.dumps(self.cluster.api("status"), indent=1)]
        self._say("agreement", f"after {time.monotonic() - began:.0f}s")
        planned = self.cluster.run("plan", "--detailed-exitcode")
        problems = self._connectors.problems()
        return [planned.stdout + planned.stderr, *problems] if planned.returncode else problems

    def _is_settled(self) -> bool:
        return self._connectors.in_sync() and all(map(self._connectors.is_read, self._connectors.sources))

    def _say(self, kind: str, text: str) -> None:
        if text:
            self.counts[kind if kind != "kill" else f"kill {text}"] += 1
            print(f"{time.monotonic() - self._began:6.1f}s {kind}: {text}", flush=True)

    def log_events(self) -> Counter[str]:
        """How often the daemon logged each event."""
        lines = (self.cluster.logs / f"{DAEMON}.log").read_text().splitlines()
        return Counter(json.loads(line)["event"] for line in lines if line.endswith("}"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long to change and break things (10)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000, help="the seed of the random choices")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all processes are ended
    directory = Path(tempfile.mkdtemp(prefix="soak-"))
    print(f"seed {options.seed}, directory {directory}", flush=True)
    soak = Soak(directory, options.seed)
    try:
        soak.disturb(options.minutes * 60)
        problems = soak.agree()
        events = soak.log_events()
    finally:
        soak.cluster.close()
    problems += ["the daemon logged a bug"] if events["bug"] else []
    print(f"\n{dict(sorted(soak.counts.items()))}\nlog: {dict(sorted(events.items()))}")
    print(*problems, sep="\n")
    print(f"FAILED; the logs are in {directory}" if problems else "all is as declared")
    if not problems:
        shutil.rmtree(directory)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
