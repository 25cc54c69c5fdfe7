"""The process at the other end of a leash: when its standard input ends, it stops the sandbox."""

from __future__ import annotations

import sys
from pathlib import Path

from gitops_connect.sandbox.cluster import Sandbox
from gitops_connect.sandbox.sandbox_state import read_state


def main(directory: Path) -> None:
    """Wait for the end of standard input; then stop the sandbox if it exists."""
    sys.stdin.buffer.read()
    if read_state(directory) is not None:
        Sandbox.load(directory).down()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
