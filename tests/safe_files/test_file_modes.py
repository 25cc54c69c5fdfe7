"""What the program writes is private, whatever the umask and what existed before, except outputs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import zstandard
from acceptance.workplace import Workplace
from standin.fixtures import standin
from support.daemon_log import PROGRAM, QUICK
from support.workplaces import at

from gitops_connect.safe_files import make_private

__all__ = ["at", "standin"]
USERS = ("repository", "gitops-connect.toml", "in.")
"""What the user made. In the directory `outputs` is what the user named; the ledger there is private nevertheless."""
COMMANDS = (
    "plan --out {out}/plan.json",
    "apply --yes",
    "ledger export {out}/ledger.json",
    "import --cluster local --with-offsets --out {out}/imported",
    "convert {out}/imported/clusters/local/{name}.yaml --to json --out {out}/converted",
    "offsets get {name} --save {out}/offsets.jsonl",
    "run --once",
)


def run(at: Workplace, command: str, umask: int, *codes: int) -> None:
    words = command.format(out=at.directory / "outputs", name=at.name("orders")).split()
    places = {"HOME": at.directory, "XDG_CACHE_HOME": at.directory / "cache", "TMPDIR": at.directory}
    environment = {**os.environ, **QUICK, **{name: str(path) for name, path in places.items()}}
    del environment["GITOPS_CONNECT_CACHE"]
    done = subprocess.run(
        [*PROGRAM, *words], check=False, cwd=at.directory, env=environment, umask=umask, capture_output=True
    )
    assert done.returncode in (0, *codes), (command, done.stdout, done.stderr)


def wrong(at: Workplace, umask: int) -> dict[str, str]:
    """What has another mode than it should have: all except what the user made."""
    found = {}
    for path in at.directory.rglob("*"):
        name, mode = str(path.relative_to(at.directory)), path.lstat()
        if name.startswith(USERS) or name in ("outputs", "cache"):
            continue
        wanted = 0o777 if path.is_dir() else 0o666
        is_private = not name.startswith("outputs/") or name == "outputs/ledger.json"
        wanted &= ~0o077 if is_private else ~umask
        # Git makes its objects read-only.
        if stat.S_IMODE(mode.st_mode) not in (wanted, wanted & ~0o222 if is_private else wanted):
            found[name] = oct(mode.st_mode)
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("umask", [0o000, pytest.param(0o022, marks=pytest.mark.thorough)])
def test_every_command(at: Workplace, umask: int) -> None:
    at.commit("orders.yaml", at.source("orders"))
    (at.directory / "outputs").mkdir()
    for command in COMMANDS:
        run(at, command, umask)
    assert wrong(at, umask) == {}
    written = {path.name for path in at.directory.rglob("*")}
    assert {"state.db", "state.db.key", "clones", "HEAD", "plan.json", "imported", "converted"} <= written
    for path in at.directory.rglob("*"):
        if not str(path.relative_to(at.directory)).startswith(USERS) and path.name != "state.db.key":
            path.chmod(0o755 if path.is_dir() else 0o644)
    for command in ("plan", "ledger export {out}/ledger.json"):
        run(at, command, umask)
    (at.directory / "outputs").rename(at.directory / "repository" / "outputs")
    assert wrong(at, umask) == {}


@pytest.mark.thorough
def test_what_spark_writes(at: Workplace) -> None:
    at.commit("orders.yaml", at.source("orders"))
    lines = [f'{{"partition": {{"filename": "/{number}"}}, "offset": {{"position": 1}}}}\n' for number in range(9)]
    (at.directory / "in.jsonl.zst").write_bytes(zstandard.compress("".join(lines).encode()))
    (at.directory / "outputs").mkdir()
    run(at, "offsets check {name} in.jsonl.zst --offline --report {out}/report", 0o022, 4)
    assert wrong(at, 0o022) == {}
    assert (at.directory / "outputs" / "report" / "index.html").exists()


def test_what_others_can_use_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    outside = tmp_path / "outside"
    outside.touch(0o644)
    (tmp_path / "a" / "link").symlink_to(outside)
    for path in (tmp_path / "a", *(tmp_path / "a").rglob("b*")):
        path.chmod(0o777)
    make_private(tmp_path / "a", tmp_path / "missing")
    found = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/file", "outside")]
    assert found == [0o700, 0o700, 0o600, 0o644]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files of another user")
def test_files_of_another_user() -> None:
    """The group keeps its permissions, as on a volume with `fsGroup`; if everybody has them, that is an error."""
    script = "import os, sys, pathlib; from gitops_connect.safe_files import make_private; os.seteuid(10001)\n"
    script += "make_private(pathlib.Path(sys.argv[1]))"
    with tempfile.TemporaryDirectory() as directory:  # pytest's directories are private
        Path(directory).chmod(0o755)
        file = Path(directory, "file")
        file.touch()
        for mode, code in ((0o660, 0), (0o664, 1)):
            file.chmod(mode)
            command = [sys.executable, "-c", script, str(file)]
            ran = subprocess.run(command, check=False, capture_output=True, text=True)
            assert (ran.returncode, "every user of this machine has access to" in ran.stderr) == (code, bool(code))
            assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.slow
def test_a_push_to_a_local_repository_gives_its_files_the_users_mode(tmp_path: Path) -> None:
    """Other users of that repository read what is pushed to it."""
    script = """
import sys, pathlib
from gitops_connect.safe_files import create_private_files
from gitops_connect.settings.sections import RepositorySettings
from gitops_connect.source.output_branch import OutputBranch
create_private_files()
branch = OutputBranch(RepositorySettings(url=sys.argv[1]), pathlib.Path(sys.argv[2]), "offsets")
branch.write("a.yaml", lambda before: b"a: 1", "message")
"""
    subprocess.run(["git", "init", "--quiet", "--bare", "theirs"], cwd=tmp_path, check=True, umask=0o022)
    command = [sys.executable, "-c", script, str(tmp_path / "theirs"), str(tmp_path / "ours" / "clone")]
    subprocess.run(command, check=True, umask=0o022)
    for directory, umask in (("theirs", 0o022), ("ours", 0o077)):
        found = {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / directory / ".").rglob("*")}
        assert found <= {0o777 & ~umask, 0o666 & ~umask, 0o444 & ~umask}, directory
