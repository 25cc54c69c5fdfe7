"""Fuzzes the readers of foreign data with atheris: python -m fuzz SECONDS [TARGET…]. `make fuzz` installs atheris.

Every target runs in a process of its own for that long. Its corpus is in the user's cache, and grows with each run. An
input that fails is written next to the corpus; add it to the table of the reader's cases.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

from gitops_connect.sandbox.jars import cache_directory

_TARGETS = ("documents", "converters", "manifests", "connect", "forges")
_LARGEST = 4096
"""Bytes of an input."""
_LIMITS = (f"-max_len={_LARGEST}", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0")


def main(seconds: str, *chosen: str) -> int:
    """Run the targets one after the other. Returns the number of those that failed."""
    command = [sys.executable, "-m", "fuzz", "--one"]
    failed = [name for name in chosen or _TARGETS if subprocess.run([*command, name, seconds], check=False).returncode]
    print("failed:" if failed else "no failure", *failed)
    return len(failed)


def fuzz(name: str, seconds: str) -> None:
    """Run one target; the process ends with it."""
    with atheris.instrument_imports(include=["gitops_connect"]):
        from fuzz.targets import TARGETS  # noqa: PLC0415 - imported modules are instrumented

    target = TARGETS[name]
    corpus = cache_directory(os.environ) / "fuzz" / name
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for seed in target.seeds():
            if len(seed) <= _LARGEST:
                (Path(directory) / hashlib.sha256(seed).hexdigest()).write_bytes(seed)
        print(name, len(list(Path(directory).iterdir())), "seeds,", len(list(corpus.iterdir())), "in the corpus")
        atheris.Setup(
            [name, f"-max_total_time={seconds}", *_LIMITS, f"-artifact_prefix={corpus}-", str(corpus), directory],
            target.run,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        fuzz(*sys.argv[2:])
    sys.exit(main(*sys.argv[1:]))
