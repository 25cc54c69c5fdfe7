"""SIGHUP: which settings take effect at once, which need a restart, and that a step in progress goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import AsProcess, InThread

from gitops_connect.daemon.daemon import differences, in_effect
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings

FOR_EVER = 10**9
CURRENT = """
[repository]
url = "repository"
[clusters.local]
url = ["http://127.0.0.1:8083"]
"""


class TestWhichSettings:
    def read(self, directory: Path, text: str) -> Settings:
        (directory / "gitops-connect.toml").write_text(text)
        return load_settings(directory / "gitops-connect.toml", {})

    @pytest.mark.parametrize(
        ("more", "changed"),
        [
            ("prune = true", ["[clusters.local] prune"]),
            ("[secrets]\nenv = ['A_*']", ["[secrets] env"]),
            ("[daemon]\njitter = '1s'\nshutdown_timeout = '9s'", ["[daemon] jitter", "[daemon] shutdown_timeout"]),
        ],
    )
    def test_change_at_once(self, tmp_path: Path, more: str, changed: list[str]) -> None:
        current, read = self.read(tmp_path, CURRENT), self.read(tmp_path, CURRENT + more)
        now = in_effect(current, read)
        assert list(differences(current, now)) == changed
        assert now == read

    @pytest.mark.parametrize(
        ("more", "needed"),
        [
            ("[state]\nurl = 'sqlite:///other.db'", ["[state] url"]),
            ("[spark]\nmaster = 'local[1]'", ["[spark] master"]),
            ("[daemon]\nlog_format = 'text'", ["[daemon] log_format"]),
            ("[clusters.new]\nurl = ['http://127.0.0.1:8084']", ["[clusters.new]"]),
        ],
    )
    def test_need_a_restart(self, tmp_path: Path, more: str, needed: list[str]) -> None:
        current, read = self.read(tmp_path, CURRENT), self.read(tmp_path, CURRENT + more)
        now = in_effect(current, read)
        assert now == current
        assert list(differences(now, read)) == needed

    def test_a_removed_cluster_keeps_its_settings(self, tmp_path: Path) -> None:
        both = CURRENT + "[clusters.old]\nurl = ['http://127.0.0.1:8084']"
        current, read = self.read(tmp_path, both), self.read(tmp_path, CURRENT + "prune = true")
        now = in_effect(current, read)
        assert now.clusters.keys() == {"local", "old"}
        assert list(differences(current, now)) == ["[clusters.local] prune"]

    def test_the_interval_changes_at_once_and_the_address_does_not(self, tmp_path: Path) -> None:
        current = self.read(tmp_path, CURRENT)
        read = self.read(tmp_path, CURRENT.replace('"repository"', '"other"\ninterval = "7s"'))
        now = in_effect(current, read)
        assert (now.repository.url, now.repository.interval) == ("repository", 7)
        assert list(differences(now, read)) == ["[repository] url"]


@pytest.mark.slow
def test_new_settings_take_effect_and_those_with_an_error_do_not(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    with InThread(at) as daemon:
        daemon.wait("reconciliation_finished", applied=1)
        at.settings('mode = "observe"\ntimeout = "50s"', '[state]\nurl = "sqlite:///other.db"')
        daemon.daemon.reload()
        assert daemon.wait("settings_reloaded")["changed"] == ["[clusters.local] mode", "[clusters.local] timeout"]
        assert daemon.wait("settings_need_restart", level="WARNING")["settings"] == ["[state] url"]
        at.settings("mode = 7")
        daemon.daemon.reload()
        assert "mode" in daemon.wait("settings_rejected", level="ERROR")["message"]
        at.by_hand("pause", "orders")
        daemon.wait("drift_detected")
        at.settings()
        daemon.daemon.reload()
        daemon.wait("step_applied", action="resume")
    assert not (at.directory / "other.db").exists()


@pytest.mark.slow
def test_a_shorter_interval_does_not_wait_for_the_longer_one(at: Workplace) -> None:
    with InThread(at, GITOPS_CONNECT_REPOSITORY__INTERVAL="1h") as daemon:
        daemon.wait("reconciliation_finished")
        at.commit("orders.yaml", at.source("orders"))
        daemon.daemon.reload()
        daemon.wait("step_applied", action="create")


@pytest.mark.slow
def test_a_signal_does_not_interrupt_the_step_in_progress(at: Workplace, standin: StandIn) -> None:
    standin.cluster.lag = FOR_EVER
    at.commit("orders.yaml", at.source("orders"))
    with AsProcess(at) as daemon:
        at.await_that(lambda: standin.count("POST"), bool)
        at.settings('timeout = "50s"')
        os.kill(daemon.process.pid, signal.SIGHUP)
        assert daemon.wait("settings_reloaded")["changed"] == ["[clusters.local] timeout"]
        assert daemon.steps() == []
        with standin.cluster.lock:
            standin.cluster.lag = 0
            for connector in standin.cluster.connectors.values():
                connector.due = 0
        daemon.wait("step_applied", action="create")
        daemon.send(signal.SIGTERM)
        assert daemon.code() == 0
    assert standin.count("POST") == 1
