from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import psutil

from gitops_connect.ledger.leases import Process


def test_this_process_has_not_ended() -> None:
    current = Process.current()
    assert current.pid == os.getpid()
    assert not current.has_ended()


def test_a_process_that_ended_and_was_not_waited_for_has_ended() -> None:
    """A zombie still has its process id."""
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as child:
        theirs = replace(Process.current(), pid=child.pid, started=psutil.Process(child.pid).create_time())
        assert child.stdout
        child.stdout.read()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert theirs.has_ended()


def test_what_runs_elsewhere_cannot_be_said_to_have_ended() -> None:
    gone = replace(Process.current(), pid=2**22 + 1)
    assert gone.has_ended()
    assert not replace(gone, host="far-away").has_ended()
    assert not replace(gone, place="another container").has_ended()
