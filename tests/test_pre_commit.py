"""The hooks of `.pre-commit-hooks.yaml`, in a user's repository: pre-commit installs this repository and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.docs.docs_pages import DOCS, ROOT, code

from gitops_connect.sandbox.jars import CACHE_VARIABLE

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.timeout(600)]

INSTALLED = ("gitops_connect", "schemas", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
GOOD = """\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {name: orders-source, cluster: local}
spec:
  class: org.apache.kafka.connect.file.FileStreamSourceConnector
  config: {file: /data/orders.txt, topic: orders}
"""
ENTRY = '{"partition": {"filename": "/data/orders.txt"}, "offset": {"position": 20}}\n'
VALIDATE, CHECK = "gitops-connect validate", "gitops-connect offsets check"


def git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, check=False)


def commit(user: Path, files: dict[str, str]) -> tuple[int, str]:
    """Commit only these files, with the hooks. Returns the exit code and what Git and the hooks print."""
    for name, text in files.items():
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text(text)
    git(user, "add", *files)
    ended = git(user, "commit", "--quiet", "--message", "change")
    if ended.returncode:
        git(user, "reset", "--quiet")
        git(user, "clean", "--quiet", "--force", "-d", "connectors", "README.md")
        git(user, "checkout", "--quiet", ".")
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the hooks of the how-to guide, installed from a copy of this repository."""
    release, user = tmp_path / "release", tmp_path / "user"
    for name in INSTALLED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        release.mkdir(exist_ok=True)
        copy(ROOT / name, release / name)
    git(release, "init", "--quiet")
    git(release, "add", "--all")
    git(release, "commit", "--quiet", "--message", "a release")
    blocks = [one.text for one in code(DOCS / "how-to" / "run-in-ci.md") if ".pre-commit-config.yaml" in one.text]
    config = yaml.safe_load(blocks[0])
    config["repos"][0] |= {"repo": str(release), "rev": git(release, "rev-parse", "HEAD").stdout.strip()}
    user.mkdir()
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(user, "init", "--quiet")
    git(user, "add", "--all")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    monkeypatch.setenv("PIP_CACHE_DIR", f"{os.environ[CACHE_VARIABLE]}/pip")
    git(user, "commit", "--quiet", "--message", "the hooks")
    subprocess.run([sys.executable, "-m", "pre_commit", "install", "--install-hooks"], cwd=user, check=True)
    return user


def test_the_hooks_check_what_is_committed(user: Path) -> None:
    code_, out = commit(user, {"README.md": "Our connectors.\n", "other/x.yaml": "a: 1\n"})
    assert (code_, out.count("(no files to check)Skipped")) == (0, 2), out

    code_, out = commit(user, {"connectors/orders.yaml": GOOD, "connectors/offsets/orders-1.jsonl": ENTRY})
    assert (code_, out.count("Passed")) == (0, 2), out

    code_, out = commit(user, {"connectors/bad.yaml": GOOD.replace("class:", "clas:")})
    assert code_ == 1
    assert "connectors/bad.yaml:5:3: error: unknown field 'clas' in spec" in out
    assert f"{CHECK}" in out
    assert out.count("(no files to check)Skipped") == 1, out

    manifests = {
        "connectors/offsets/orders-2.jsonl": ENTRY,
        "connectors/offsets/orders-3.jsonl": ENTRY.replace("orders.txt", "order.txt"),
        "connectors/offsets/payments.jsonl": "not for this connector",
    }
    code_, out = commit(user, manifests)
    assert code_ == 1
    assert "connectors/offsets/orders-3.jsonl:1:1: error: partition.filename" in out
    assert "orders-2.jsonl for orders-source on local (as declared in the repository): 1 entry" in out
    assert "payments.jsonl" not in out, "no document names it, and it does not match `files`"
    assert f"{VALIDATE}." in out, out
