"""Measures the Spark engine: a program that gets the manifest, the current offsets, a cache directory, and a master.

It checks the manifest twice, as a reconciliation does: from its own start, and with the session that then runs. With
`ready` it checks it a third time and also prepares the offsets to send. If the master is empty, Spark is not used.
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

from gitops_connect.families.registry import BUILT_IN  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.diagnostics import Location  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.manifests import LargeFile  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.names import ConnectorName  # noqa: E402 - imports are part of the measured time
from gitops_connect.model.offset_changes import OffsetChangeKind  # noqa: E402 - imports are part of the measured time
from gitops_connect.offset_changes.manifest_source import SparkChecks, workspace  # noqa: E402 - see above
from gitops_connect.offsets.context import LargeManifest, ManifestContext  # noqa: E402 - imports are part of the measured time
from gitops_connect.settings.coerce import Size  # noqa: E402 - imports are part of the measured time
from gitops_connect.settings.sections import SparkSettings  # noqa: E402 - imports are part of the measured time
from gitops_connect.spark.session import SharedSession  # noqa: E402 - imports are part of the measured time

CONFIG = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "source.cluster.alias": "source"}


def main(manifest: str, saved: str, cache: str, master: str = "local[*]", ready: str = "") -> None:
    """Print the verdict and the times as JSON."""
    context = ManifestContext(ConnectorName("orders"), CONFIG, shape=BUILT_IN.shape(CONFIG))
    current = LargeFile("the current offsets", saved)
    files = (LargeFile(manifest, manifest),)
    request = LargeManifest(Location(manifest), files, context, OffsetChangeKind.ALTER, current)
    seconds = []
    settings = SparkSettings(master, min_size=Size(0)) if master else SparkSettings(min_size=Size(2**62))
    with closing(SharedSession(settings, os.environ, Path(cache))) as sessions:
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
