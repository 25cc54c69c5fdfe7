"""Runs one database server and ends it when standard input ends: `guard.py USER DIRECTORY COMMAND...`.

The program that starts this one has the other end of the pipe. The kernel closes that end however that program ends,
so a test run that is killed leaves neither a server nor its data behind. SIGTERM ends the server and keeps its data.
An empty USER means the user of this program.
"""

from __future__ import annotations

import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

STOP_TIMEOUT = 20.0
"""Seconds that the server has to shut down, before it is killed."""
_POLL = 0.2
"""Seconds between two checks of the server, which may end by itself."""


def run(user: str, directory: Path, command: list[str]) -> int:
    """Run the server until it ends or standard input does; its exit code."""
    account = {"user": user, "group": user, "extra_groups": []} if user else {}
    with (directory / "server.log").open("ab") as log:
        server = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **account,  # type: ignore[call-overload]
        )
    remove = False
    try:
        while server.poll() is None and not remove:
            remove = bool(select.select([sys.stdin], [], [], _POLL)[0])
    finally:
        _stop(server)
        if remove:
            shutil.rmtree(directory)
    return server.returncode


def _stop(server: subprocess.Popen[bytes]) -> None:
    """SIGTERM lets MariaDB shut down; PostgreSQL would wait for its clients, and SIGINT disconnects them."""
    server.send_signal(signal.SIGINT if Path(str(server.args[0])).name == "postgres" else signal.SIGTERM)  # type: ignore[index]
    try:
        server.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(run(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
