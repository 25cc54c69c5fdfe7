"""Checks large manifests on Spark, in one job for all of them. Importing this imports numpy and Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from gitops_connect.checks.large.check import check_prepared
from gitops_connect.checks.large.input_splits.splits import ManifestReader
from gitops_connect.checks.large.job import Job
from gitops_connect.checks.large.prepare import prepare
from gitops_connect.desired.manifests import pieces
from gitops_connect.model.field_places import is_json
from gitops_connect.model.large_manifests import (
    LargeFile,
    LargeManifest,
    LargeVerdict,
    LineFault,
    SavedOffsets,
    pack_places,
)
from gitops_connect.model.manifests import Manifest, ManifestEntry, ManifestFault
from gitops_connect.model.offsets import Offsets
from gitops_connect.offset_changes.large.check_request import CheckRequest
from gitops_connect.spark.session import Session

READER = ManifestReader(pieces.read_lines, pieces.refuse, pieces.unpack)
_STANDING = "the current offsets"


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """Everything that can be prepared before a session exists."""

    manifests: Sequence[LargeManifest]
    job: Job

    @staticmethod
    def of(questions: Sequence[CheckRequest], folder: Path) -> PreparedCheck:
        """Prepare the checks; this writes files to the directory. Raises OSError."""
        manifests = [_manifest(one, folder / f"{number}") for number, one in enumerate(questions)]
        return PreparedCheck(manifests, prepare(manifests, READER, 1))

    def answer(self, session: Session, ready: Path | None, violations: Path | None) -> list[LargeVerdict]:
        """The verdicts of the prepared checks, in the order of the requests; see `SparkChecks.ask`."""
        return check_prepared(session, self.manifests, self.job, ready, violations)


def _manifest(question: CheckRequest, path: Path) -> LargeManifest:
    files = question.files
    return LargeManifest(
        question.location,
        tuple(_files(files, path)) if isinstance(files, Manifest) else tuple(files),
        replace(question.context, live=None),
        question.kind,
        None if question.live is None else _current(question.live, path.with_suffix(".live")),
        question.is_judged,
    )


def _current(live: Offsets | SavedOffsets, path: Path) -> LargeFile:
    if isinstance(live, SavedOffsets):
        return LargeFile(_STANDING, live.path)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f'{{"partition":{one},"offset":{offset}}}\n' for one, offset in live.items())
    return LargeFile(_STANDING, str(path))


def _line(entry: ManifestEntry) -> str:
    if entry.places is not None:
        return entry.places.line((entry.location.line, entry.location.column), entry.value)
    # Leading whitespace marks a line of a JSON file whose fields have other places in that file.
    return f" {json.dumps(entry.value)}" if is_json(entry.location.file) else json.dumps(entry.value)


def _files(manifest: Manifest, path: Path) -> Iterator[LargeFile]:
    """A manifest that was already read, as files of lines with their places."""
    everything: list[ManifestEntry | ManifestFault] = [*manifest.entries, *manifest.faults]
    in_files = groupby(sorted(everything, key=lambda one: one.location.file), key=lambda one: one.location.file)
    for number, (name, entries) in enumerate(in_files):
        lines, places = path.with_suffix(f".{number}.jsonl"), path.with_suffix(f".{number}.places")
        faults = []
        with lines.open("w", encoding="utf-8") as stream, places.open("wb") as positions:
            for one in entries:
                position = one.location.line, one.location.column
                if isinstance(one, ManifestFault):
                    faults.append(LineFault(one.rule, one.found, *position))
                else:
                    stream.write(f"{_line(one)}\n")
                    positions.write(pack_places([position]))
        yield LargeFile(name, str(lines), str(places), tuple(faults))
