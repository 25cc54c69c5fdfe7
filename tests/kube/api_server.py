"""A real Kubernetes API server with etcd, on free ports of 127.0.0.1. There is no kubelet and no controller."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests
from live import guard

from gitops_connect.sandbox.launch import choose_port

_TOKEN = "a-token-of-the-tests"
_DEADLINE = 90.0
"""Seconds that each server has to start."""


class KubectlFailed(Exception):
    """What kubectl or helm printed."""


class ApiServer:
    """A server that runs, and kubectl for it."""

    def __init__(self, tools: Path, url: str, directory: Path) -> None:
        self._kubectl = [str(tools / "kubectl"), f"--server={url}", f"--token={_TOKEN}", "--insecure-skip-tls-verify"]
        self._kubectl += [f"--cache-dir={directory / 'kubectl'}"]
        self._helm = [str(tools / "helm"), f"--kube-apiserver={url}", f"--kube-token={_TOKEN}"]
        self._helm += ["--kube-insecure-skip-tls-verify"]

    def kubectl(self, *arguments: str, manifests: str | None = None) -> str:
        """What kubectl prints. Raises KubectlFailed."""
        return _output([*self._kubectl, *arguments, *(["--filename=-"] if manifests is not None else [])], manifests)

    def helm(self, *arguments: str) -> str:
        """What helm prints. Raises KubectlFailed."""
        return _output([*self._helm, *arguments])

    def apply(self, manifests: str, *options: str) -> str:
        """Server-side apply, with all fields checked."""
        return self.kubectl("apply", "--server-side", "--validate=strict", *options, manifests=manifests)

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", "--output=json", *arguments))


def _output(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KubectlFailed(done.stdout + done.stderr)
    return done.stdout


@contextmanager
def api_server(tools: Path, directory: Path) -> Iterator[ApiServer]:
    """Run both servers with an empty database, until the block ends or this process is gone."""
    client, peer, port = (choose_port((), ()) for _ in range(3))
    key = directory / "service-accounts.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (directory / "tokens.csv").write_text(f"{_TOKEN},administrator,administrator,system:masters\n")
    etcd_url, url = f"http://127.0.0.1:{client}", f"https://127.0.0.1:{port}"
    etcd = [str(tools / "etcd"), "--data-dir=data", "--unsafe-no-fsync"]
    etcd += [f"--{name}-client-urls={etcd_url}" for name in ("listen", "advertise")]
    etcd += [f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}"]
    etcd += [f"--initial-cluster=default=http://127.0.0.1:{peer}"]
    server = [str(tools / "kube-apiserver"), f"--etcd-servers={etcd_url}", "--bind-address=127.0.0.1"]
    server += [f"--secure-port={port}", "--cert-dir=certificates", f"--token-auth-file={directory / 'tokens.csv'}"]
    server += ["--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}"]
    server += [
        f"--service-account-signing-key-file={key}",
        "--authorization-mode=RBAC",
        "--advertise-address=127.0.0.1",
    ]
    running = ApiServer(tools, url, directory)
    with ExitStack() as stack:
        for name, command, is_ready in (
            ("etcd", etcd, lambda: requests.get(f"{etcd_url}/health", timeout=10).ok),
            ("server", server, lambda: running.kubectl("get", "--raw=/readyz") == "ok"),
        ):
            (directory / name).mkdir()
            stack.enter_context(_running(command, directory / name, is_ready))
        yield running


@contextmanager
def _running(command: list[str], directory: Path, is_ready: Callable[[], bool]) -> Iterator[None]:
    guarded = [sys.executable, guard.__file__, "", str(directory), *command]
    with subprocess.Popen(guarded, stdin=subprocess.PIPE, start_new_session=True) as running:
        try:
            until = time.monotonic() + _DEADLINE
            while not _answers(is_ready):
                is_starting = running.poll() is None and time.monotonic() < until
                assert is_starting, (directory / "server.log").read_text()[-4000:]
                time.sleep(0.1)
            yield
        finally:
            running.terminate()


def _answers(is_ready: Callable[[], bool]) -> bool:
    try:
        return is_ready()
    except (requests.RequestException, KubectlFailed):
        return False
