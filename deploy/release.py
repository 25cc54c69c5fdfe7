"""Checks that a release can be made, or builds its wheels and its source archive in dist/, twice and with equal bytes.

python deploy/release.py check
python deploy/release.py build
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lean_project import NAME

from gitops_connect import __version__

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def problems() -> Iterator[str]:
    """What has to be done before the release."""
    chart = (ROOT / "deploy" / "helm" / "Chart.yaml").read_text()
    for name in ("version", "appVersion"):
        if not re.search(rf'^{name}: "?{re.escape(__version__)}"?$', chart, re.MULTILINE):
            yield f"deploy/helm/Chart.yaml: {name} is not {__version__}, the version in gitops_connect/__init__.py"
    if not re.search(
        rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M
    ):
        yield f"CHANGELOG.md: no section '## [{__version__}] - YYYY-MM-DD'"
    if _git("status", "--porcelain"):
        yield "the work tree has changes that are not committed"
    if _git("tag", "--list", f"v{__version__}"):
        yield f"the tag v{__version__} exists: set a new version in gitops_connect/__init__.py"


def build(target: Path) -> list[Path]:
    """The source archive, the wheel, and the lean wheel. The times in them are those of the commit."""
    with tempfile.TemporaryDirectory() as directory:
        _build(ROOT, target)
        with tarfile.open(target / f"{NAME.replace('-', '_')}-{__version__}.tar.gz") as archive:
            archive.extractall(directory, filter="data")
        (copy,) = Path(directory).iterdir()
        subprocess.run([sys.executable, ROOT / "deploy" / "lean_project.py", copy], check=True)
        _build(copy, target, "--wheel")
    return sorted(target.iterdir())


def _build(project: Path, target: Path, *options: str) -> None:
    times = {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", target, *options, project]
    subprocess.run(command, check=True, env=os.environ | times, stdout=subprocess.DEVNULL)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main(task: str) -> None:
    """Check, or build."""
    if task == "check":
        sys.exit("\n".join(problems()) or None)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        files = build(Path(first))
        build(Path(second))
        if different := [one.name for one in files if one.read_bytes() != (Path(second) / one.name).read_bytes()]:
            sys.exit(f"two builds differ: {', '.join(different)}")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(first, DIST)
        DIST.chmod(0o755)  # a temporary directory is private


if __name__ == "__main__":
    main(sys.argv[1])
