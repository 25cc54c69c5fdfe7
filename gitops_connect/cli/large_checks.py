"""A manifest that is too large for this process: checked on Spark, where `[spark] master` says."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_connect.cli.progress import progress
from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitops_connect.cli.subject import Subject
    from gitops_connect.model.large_manifests import LargeManifest, LargeVerdict
    from gitops_connect.model.offsets import Offsets
    from gitops_connect.model.operations import OperationKind
    from gitops_connect.settings.sections import Settings

_LINES = (".jsonl", ".ndjson")
_PACKED = (".gz", ".zst")


def is_lines(file: Path) -> bool:
    """Whether it is JSON Lines, the one format that is read on Spark."""
    name = file.name.lower()
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name.endswith(_LINES)


def check_large(file: Path, subject: Subject, kind: OperationKind, settings: Settings) -> LargeVerdict:
    """All rules over all lines, and what they would change.

    Raises SparkFailed, or UsageError where a part is not installed.
    """
    try:
        from gitops_connect.checks.large.check import check
        from gitops_connect.checks.large.reading import Reader
        from gitops_connect.checks.large.session import start
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{file} is checked on Spark, which needs {error.name}: pip install 'gitops-connect[spark]'"
        ) from error
    from gitops_connect.desired.manifests import pieces

    reader = Reader(pieces.read_lines, pieces.refuse, pieces.unpack)
    with progress("Checking") as update, _prepared(file, subject, kind) as manifest:
        session = start(settings.spark.master, os.environ, update, None)
        try:
            update("checking on Spark")
            (verdict,) = check(session, [manifest], reader)
        finally:
            session.close()
    return verdict


@contextmanager
def _prepared(file: Path, subject: Subject, kind: OperationKind) -> Iterator[LargeManifest]:
    """The manifest and the offsets that stand, as files."""
    from gitops_connect.model.diagnostics import Location
    from gitops_connect.model.large_manifests import LargeFile, LargeManifest

    context, shown = subject.context, file.as_posix()
    large = LargeManifest(Location(shown), (LargeFile(shown, str(file.absolute())),), replace(context, live=None), kind)
    if context.live is None:
        yield large
        return
    with tempfile.TemporaryDirectory(prefix="gitops-connect-") as folder:
        live = Path(folder) / "live.jsonl"
        _write(context.live, live)
        yield replace(large, live=LargeFile(live.name, str(live)))


def _write(offsets: Offsets, file: Path) -> None:
    from gitops_connect.model.offsets import to_json

    with file.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in to_json(offsets))
