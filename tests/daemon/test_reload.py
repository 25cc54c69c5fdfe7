"""SIGHUP: which settings take effect at once, which need a restart, and that a step in progress goes on."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import requests
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import FOR_EVER, AsProcess, InThread, release
from support.files.kubelet_volume import KubeletVolume
from support.files.tables import rows

from gitops_connect.daemon.daemon import differences, in_effect
from gitops_connect.model.names import ClusterName
from gitops_connect.settings.sections import Settings
from gitops_connect.settings.settings_file import load_settings

LOCAL = ClusterName("local")
CURRENT = "[clusters.local]\nurl = ['http://127.0.0.1:8083']\n"


def read(directory: Path, text: str) -> Settings:
    (directory / "gitops-connect.toml").write_text(text)
    return load_settings(directory / "gitops-connect.toml", {})


@pytest.mark.parametrize(("before", "after", "changed", "needed"), rows(__file__, "settings"))
def test_which_settings_change_at_once_and_which_need_a_restart(
    tmp_path: Path, before: str, after: str, changed: list[str], needed: list[str]
) -> None:
    current, found = read(tmp_path, CURRENT + before), read(tmp_path, CURRENT + after)
    now = in_effect(current, found)
    assert (list(differences(current, now)), list(differences(now, found))) == (changed, needed)


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
        number = daemon.daemon.reconcile_now([LOCAL])  # one that began before has the earlier settings
        at.await_that(lambda: daemon.daemon.reconciliations.result(LOCAL, number), bool)
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
    standin.cluster.delay = FOR_EVER
    at.commit("orders.yaml", at.source("orders"))
    with AsProcess(at) as daemon:
        at.await_that(lambda: standin.count("POST"), bool)
        at.settings('timeout = "50s"')
        os.kill(daemon.process.pid, signal.SIGHUP)
        assert daemon.wait("settings_reloaded")["changed"] == ["[clusters.local] timeout"]
        assert daemon.steps() == []
        release(standin)
        daemon.wait("step_applied", action="create")
        assert daemon.end() == 0
    assert standin.count("POST") == 1


@pytest.mark.slow
def test_a_changed_configmap_and_secret_are_used_without_a_restart(at: Workplace) -> None:
    """By one process: the settings, the token of its server, and the password of a connector."""
    file, passwords = at.directory / "gitops-connect.toml", ("horse-1", "horse-2")
    tokens = ("token-" + "1" * 16, "token-" + "2" * 16)
    secrets = [{"orders": password, "read-token": token} for password, token in zip(passwords, tokens, strict=True)]
    secret = KubeletVolume(at.directory / "secret", secrets[0])
    server = f'[server]\nlisten = "127.0.0.1:0"\nread_token = {{file = "{secret.directory}/read-token"}}'
    at.settings(more=f'[secrets]\nfiles = ["{secret.directory}"]\n{server}')
    text = file.read_text()
    settings = KubeletVolume(at.directory / "settings", {file.name: text})
    file.unlink()
    file.symlink_to(settings.directory / file.name)
    at.commit("orders.yaml", at.source("orders", f"secrets: {{my.password: {{file: {secret.directory}/orders}}}}"))
    with AsProcess(at, "--watch-settings") as daemon:
        url = daemon.wait("server_started")["url"]
        daemon.wait("step_applied", action="create")
        assert at.config("orders")["my.password"] == passwords[0]
        assert [status(url, token) for token in tokens] == [200, 401]
        secret.update(secrets[1])
        assert [status(url, token) for token in tokens] == [401, 200]
        daemon.wait("step_applied", action="configure")
        assert at.config("orders")["my.password"] == passwords[1]
        settings.update({file.name: text.replace("[clusters.local]", '[clusters.local]\ntimeout = "50s"')})
        assert daemon.wait("settings_reloaded")["changed"] == ["[clusters.local] timeout"]
        assert daemon.end() == 0
    assert not any(secret in json.dumps(daemon.lines) for secret in passwords + tokens)


def status(url: str, token: str) -> int:
    """The answer of the server to this token."""
    return requests.get(f"{url}/api/v1/status", auth=("x", token), timeout=10).status_code
