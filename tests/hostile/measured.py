"""Runs a command with a deadline; prints exit status, peak memory (bytes) and whether it was killed, as JSON.

A separate program: on Linux `ru_maxrss` includes the memory of the parent at the fork, and pytest uses far more.
Arguments: seconds, a file for the command's output, one for its error output, the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main() -> None:
    seconds, out, err, *command = sys.argv[1:]
    with Path(out).open("wb") as stdout, Path(err).open("wb") as stderr:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
        )
    ended = threading.Event()

    def end() -> None:
        ended.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(float(seconds), end)
    timer.start()
    os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
    )  # not reaped before the timer ends, so that its process id is not reused
    timer.cancel()
    timer.join()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps({"code": code, "peak": usage.ru_maxrss * 1024, "ended": ended.is_set()}))  # noqa: T201


if __name__ == "__main__":
    main()
