"""What the large engine takes: a program of its own, told the manifest, what stands, and a cache folder.

It checks twice: once from its own start, once on the session that is then up.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

START = time.perf_counter()

from gitops_connect.checks.large.session import start  # noqa: E402 - importing is part of what is measured

CONFIG = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "source.cluster.alias": "source"}


def main(manifest: str, live: str, cache: str) -> None:
    """Print what was found and how long it took, as JSON."""
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(start, "local[*]", os.environ, lambda _: None, Path(cache))
        from gitops_connect.checks.large.check import check  # noqa: PLC0415 - while the JVM starts
        from gitops_connect.checks.large.reading import Reader  # noqa: PLC0415 - likewise
        from gitops_connect.desired.manifests import pieces  # noqa: PLC0415 - likewise
        from gitops_connect.model.diagnostics import Location  # noqa: PLC0415 - likewise
        from gitops_connect.model.large_manifests import LargeFile, LargeManifest  # noqa: PLC0415 - likewise
        from gitops_connect.model.manifests import ManifestContext  # noqa: PLC0415 - likewise
        from gitops_connect.model.names import ConnectorName  # noqa: PLC0415 - likewise
        from gitops_connect.model.operations import OperationKind  # noqa: PLC0415 - likewise

        session = starting.result()
    context = ManifestContext(ConnectorName("orders"), CONFIG)
    files = (LargeFile(manifest, manifest),)
    large = LargeManifest(Location(manifest), files, context, OperationKind.ALTER, LargeFile(live, live))
    reader = Reader(pieces.read_lines, pieces.refuse, pieces.unpack)
    up = time.perf_counter() - START
    seconds = []
    for begins in ("cold", "warm"):
        begun = START if begins == "cold" else time.perf_counter()
        (verdict,) = check(session, [large], reader)
        seconds.append(time.perf_counter() - begun)
    moves = verdict.difference.counts if verdict.difference is not None else {}
    found = {
        "rules": dict(verdict.counts),
        "difference": sorted([direction.value, count] for direction, count in moves.items() if count),
        "up": up,
        "cold": seconds[0],
        "warm": seconds[1],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    session.close()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
