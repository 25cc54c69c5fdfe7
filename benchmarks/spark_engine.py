"""What the large engine takes: a program of its own, told the manifest, what stands, a cache directory, and a master.

It asks as a cycle does, twice: once from its own start, once on the session that is then up. With `ready` it asks a
third time, for what is to be sent as well.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import closing
from pathlib import Path

START = time.perf_counter()

from gitops_connect.model.diagnostics import Location  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.large_manifests import LargeFile, LargeManifest  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.manifests import ManifestContext  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.names import ConnectorName  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.operations import OperationKind  # noqa: E402 - imports are part of the measured time
from gitops_connect.offset_changes.large.spark_checks import SparkChecks  # noqa: E402 - imports are part of the measured time
from gitops_connect.offset_changes.workspace import workspace  # noqa: E402 - imports are part of the measured time
from gitops_connect.settings.sections import SparkSettings  # noqa: E402 - imports are part of the measured time
from gitops_connect.spark.session import SharedSession  # noqa: E402 - importing is part of what is measured

CONFIG = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "source.cluster.alias": "source"}


def main(manifest: str, saved: str, cache: str, master: str = "local[*]", ready: str = "") -> None:
    """Print what was found and how long it took, as JSON."""
    context = ManifestContext(ConnectorName("orders"), CONFIG)
    current = LargeFile("the current offsets", saved)
    files = (LargeFile(manifest, manifest),)
    request = LargeManifest(Location(manifest), files, context, OperationKind.ALTER, current)
    seconds = []
    with closing(SharedSession(SparkSettings(master), os.environ, Path(cache))) as sessions:
        spark = SparkChecks(sessions, lambda _: None)
        for asked in ("cold", "warm", *([ready] if ready else [])):
            begun = START if asked == "cold" else time.perf_counter()
            with workspace(sessions.directory) as directory:
                (verdict,) = spark.check([request], ready=directory / "ready" if asked == "ready" else None)
                seconds.append(time.perf_counter() - begun)
    moves = verdict.difference.counts if verdict.difference is not None else {}
    found = {
        "rules": dict(verdict.counts),
        "difference": sorted([direction.value, count] for direction, count in moves.items() if count),
        "cold": seconds[0],
        "warm": seconds[1],
        "ready": seconds[2] if ready else None,
        "sent": verdict.patch.entries if verdict.patch is not None else 0,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
