"""The unit of systemd is hardened, and has what the docs say."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from support.docs.docs_pages import ROOT

UNIT = ROOT / "deploy" / "systemd" / "gitops-connect.service"
MOST = 2.0
"""The exposure level that `systemd-analyze security` calls OK ends at 5; 10 is a service without any protection."""


def test_it_is_hardened() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    done = subprocess.run([program, "security", "--offline=true", UNIT], capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    if found is None:
        pytest.skip(f"this systemd-analyze cannot check a file: {done.stderr.strip()}")
    assert float(found[1]) < MOST


def test_the_daemon_sees_the_processes_that_have_a_lease() -> None:
    """Of other users, too: a process that it cannot see looks as if it had ended, and its lease would be taken."""
    assert "\nProtectProc=" not in UNIT.read_text()
    assert "\nProcSubset=" not in UNIT.read_text()


def test_the_daemon_has_more_time_to_stop_than_its_settings_give_it() -> None:
    """`shutdown_timeout` of the page that installs it is 125s."""
    assert "TimeoutStopSec=130\n" in UNIT.read_text()
    assert 'shutdown_timeout = "125s"' in (ROOT / "docs" / "how-to" / "run-as-a-daemon.md").read_text()
