"""The daemon while the clock of its machine is set back or forward: no wait becomes longer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from support.daemon_log import AsProcess

HOUR = 3600
# libfaketime changes sleeps by the monotonic clock, too; a clock that is set does not.
SHIFTED_CLOCK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, id, time);
    FILE *file = id == CLOCK_REALTIME ? fopen(getenv("CLOCK_OFFSET"), "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) == 1) time->tv_sec += seconds;
        fclose(file);
    }
    return result;
}
"""
pytestmark = pytest.mark.slow


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler: install Debian's package gcc")
@pytest.mark.parametrize("seconds", [-HOUR, HOUR], ids=["back", "forward"])
def test_commits_are_applied_after_the_clock_was_set(at: Workplace, tmp_path: Path, seconds: int) -> None:
    library, offset = tmp_path / "clock.so", tmp_path / "offset"
    compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(compiler, input=SHIFTED_CLOCK.encode(), check=True)
    offset.write_text("0")
    at.commit("orders.yaml", at.source("orders"))
    with AsProcess(at, environment={"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}) as daemon:
        before = daemon.wait("reconciliation_finished", applied=1)
        offset.write_text(str(seconds))
        for stem in ("payments", "customers"):
            at.commit(f"{stem}.yaml", at.source(stem))
            after = daemon.wait("step_applied", connector=at.name(stem))
        assert (after["time"] > before["time"]) == (seconds > 0), "the clock was set"
        assert daemon.end() == 0
    assert daemon.all("bug") == daemon.all("reconciliation_failed") == []
