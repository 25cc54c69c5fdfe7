"""A real Gitea for the tests: built once from its Go module into the user's cache, and started on 127.0.0.1.

`make gitea` builds it. It needs Go and a C compiler, which SQLite is compiled with. The build takes three minutes
on two cores that have nothing else to do.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import pytest
import requests
from support.go_programs import BuildImpossible, built_once, go_variables, output_of

from gitops_connect.sandbox.jars import cache_directory
from gitops_connect.sandbox.launch import choose_port

VERSION = "1.23.8"
MODULE = f"code.gitea.io/gitea@v{VERSION}"
_NEEDED = ("options", "public", "templates")
"""Directories of the module that the program reads when it runs."""
_GUARD = Path(__file__).parents[1] / "live" / "guard.py"
_DEADLINE = 60.0
"""Seconds that the server has to start."""
PASSWORD = "a-password-of-the-tests"
_ADMINISTRATOR = "administrator"


class GiteaMissing(Exception):
    """Why there is no Gitea."""


GITEA = pytest.StashKey[Path | GiteaMissing]()
"""In the configuration of pytest: the directory of Gitea, or why there is none."""


def find_gitea(cache: Path) -> Path | GiteaMissing:
    """The directory of Gitea. It is not built here: that takes longer than all other tests leave."""
    directory = cache / f"gitea-{VERSION}"
    return directory if directory.is_dir() else GiteaMissing("Gitea is not built; build it once: make gitea")


def build_gitea(cache: Path, environment: Mapping[str, str]) -> Path:
    """The directory with the program and its files, in the cache. Raises BuildImpossible if it cannot be built."""
    return built_once(cache / f"gitea-{VERSION}", partial(_build, environment))


def _build(environment: Mapping[str, str], go: str, scratch: Path) -> Path:
    target = scratch / "gitea"
    target.mkdir()
    variables = {**go_variables(environment, scratch), "CGO_ENABLED": "1"}
    found = json.loads(output_of([go, "mod", "download", "-json", MODULE], target, variables))
    flags = ["-trimpath", "-tags", "sqlite sqlite_unlock_notify", "-ldflags", f"-s -w -X main.Version={VERSION}"]
    output_of([go, "build", *flags, "-o", str(target / "gitea"), "."], Path(found["Dir"]), variables)
    for name in _NEEDED:
        shutil.copytree(Path(found["Dir"]) / name, target / name)
    return target


@dataclass
class GiteaServer:
    """A server that runs. `ask` is its API, as the administrator or as another user."""

    url: str
    directory: Path
    token: str = field(default="", repr=False)

    def ask(self, method: str, path: str, body: object = None, *, user: str | None = None) -> Any:
        """The JSON of the answer; None if it has no body. The administrator may act for every user."""
        response = self.send(method, path, body, user=user)
        assert response.ok, (method, path, response.status_code, response.text)
        return response.json() if response.content else None

    def send(self, method: str, path: str, body: object = None, *, user: str | None = None) -> requests.Response:
        """The answer, which can be a rejection."""
        headers = {"Authorization": f"Bearer {self.token}", **({"Sudo": user} if user else {})}
        return requests.request(method, f"{self.url}/api/v1{path}", json=body, headers=headers, timeout=60)

    def add_user(self, name: str, *scopes: str) -> str:
        """Create a user. Returns an access token with these scopes."""
        account = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        self.ask("POST", "/admin/users", {**account, "must_change_password": False})
        content = {"name": "test", "scopes": list(scopes) or ["all"]}
        url = f"{self.url}/api/v1/users/{name}/tokens"
        response = requests.post(url, json=content, auth=(name, PASSWORD), timeout=60)
        assert response.ok, response.text
        return str(response.json()["sha1"])

    def write_file(self, repository: str, path: str, text: str, **where: str) -> str:
        """Commit a new file, by default to `main`: `branch`, `new_branch`. Returns the commit."""
        content = {"content": b64encode(text.encode()).decode(), "message": f"Add {path}", "branch": "main", **where}
        return str(self.ask("POST", f"/repos/{repository}/contents/{path}", content)["commit"]["sha"])


@contextmanager
def gitea_server(program: Path, directory: Path) -> Iterator[GiteaServer]:
    """Run Gitea with an empty database, until the block ends or this process is gone."""
    port = choose_port((), ())
    server = GiteaServer(f"http://127.0.0.1:{port}", directory)
    config = directory / "app.ini"
    values = {"user": pwd.getpwuid(os.geteuid()).pw_name, "program": program, "directory": directory, "port": port}
    config.write_text(Template(Path(__file__).with_name("gitea.ini").read_text()).substitute(values))
    command = [str(program / "gitea"), "--config", str(config), "--work-path", str(directory)]
    guard = [sys.executable, str(_GUARD), "", str(directory), *command, "web"]
    with subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True) as running:
        try:
            until = time.monotonic() + _DEADLINE
            while not _answers(server.url):
                is_starting = running.poll() is None and time.monotonic() < until
                assert is_starting, (directory / "server.log").read_text()
                time.sleep(0.05)
            account = (
                f"--username {_ADMINISTRATOR} --password {PASSWORD} --email administrator@example.org --admin".split()
            )
            create = [*command, "admin", "user", "create", *account, "--must-change-password=false", "--access-token"]
            done = subprocess.run(create, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            server.token = re.findall(r"[0-9a-f]{40}", done.stdout)[0]
            yield server
        finally:
            running.terminate()


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/api/healthz", timeout=10).ok
    except requests.RequestException:
        return False


if __name__ == "__main__":
    try:
        build_gitea(cache_directory(os.environ), os.environ)
    except BuildImpossible as missing:
        sys.exit(str(missing))
