"""Whether a worker has loaded the plugins from Maven that it was started with.

Connect starts without a plugin that it cannot load, and only logs the reason.
"""

from __future__ import annotations

import http.client
import json
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.sandbox_state import HOST

_KAFKA = "org.apache.kafka"
"""Plugins of other groups may contain Kafka's converters, which the worker has anyway."""
_TIMEOUT = 60.0
"""Seconds for the list of plugins."""


def check_loaded(artifacts: Iterable[Path], port: int, log: Path) -> None:
    """Raise SandboxFailed if the worker at `port` has no plugin of one of the artifacts, with the reason in its log.

    An artifact is a directory `GROUP_ARTIFACT_VERSION`, which contains a directory with all its jars.
    """
    wanted = list(artifacts)
    if not wanted:
        return
    loaded = _loaded(port)
    foreign = {one for one in loaded if not one.startswith(f"{_KAFKA}.")}
    for artifact in wanted:
        possible = loaded if artifact.name.startswith(f"{_KAFKA}_") else foreign
        if not any(_contains(jar, possible) for jar in artifact.glob("*/*.jar")):
            reason = _reason(artifact, log)
            raise SandboxFailed(f"the worker has loaded no plugin of the artifact {artifact.name}: {reason}")


def _loaded(port: int) -> Collection[str]:
    """The classes of all plugins of the worker, with transforms, predicates and converters."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/connector-plugins?connectorsOnly=false")
        return {one["class"] for one in json.loads(connection.getresponse().read())}
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SandboxFailed(f"the worker at port {port} does not list its plugins: {error}") from error
    finally:
        connection.close()


def _contains(jar: Path, classes: Iterable[str]) -> bool:
    try:
        with zipfile.ZipFile(jar) as content:
            names = set(content.namelist())
    except zipfile.BadZipFile as error:
        raise SandboxFailed(f"{jar} is not a jar: {error}") from error
    return any(f"{one.replace('.', '/')}.class" in names for one in classes)


def _reason(artifact: Path, log: Path) -> str:
    """What the worker logged about it: the first exception."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if "Failed to discover" in line and artifact.name in line:
                what = line[line.index("Failed to discover") :].partition(" (org.apache.kafka")[0].strip()
                return f"{what}: {next(lines, '').strip()} (log: {log})"
    return f"its jars contain no plugin of Connect (log: {log})"
