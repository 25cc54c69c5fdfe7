"""Manifests and current offsets that are in memory, as files that Spark can open."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

from gitops_connect.desired.manifests.streams import Line
from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.field_places import is_json
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LineFault, SavedOffsets
from gitops_connect.model.manifests import Manifest, ManifestContext, ManifestEntry, ManifestFault
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.unreadable import Place
from gitops_connect.offset_changes.staging.files import write_lines


def large_manifest(
    operation: DesiredOperation, manifest: Manifest | tuple[LargeFile, ...], context: ManifestContext, path: Path
) -> LargeManifest:
    """The manifest of an operation, without current offsets.

    `path` is the beginning of the names of the files that are written. Raises OSError.
    """
    if not isinstance(manifest, Manifest):
        return LargeManifest(operation.locate("manifest"), manifest, context, operation.kind)
    everything: list[ManifestEntry | ManifestFault] = [*manifest.entries, *manifest.faults]
    everything.sort(key=lambda one: one.location.file)
    by_file = groupby(everything, key=lambda one: one.location.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    files = (_written(name, list(found), f"{path}.{number}") for number, (name, found) in enumerate(by_file))
    return LargeManifest(manifest.location, tuple(files), context, operation.kind)


def offsets_file(live: Offsets | SavedOffsets, path: Path) -> LargeFile:
    """The file of the current offsets; `path` is written if they are in memory. Raises OSError."""
    if isinstance(live, SavedOffsets):
        return live.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(f'{{"partition":{one},"offset":{offset}}}\n' for one, offset in live.items())
    return LargeFile("the current offsets", str(path))


def _written(name: str, found: list[ManifestEntry | ManifestFault], path: str) -> LargeFile:
    text, places = Path(f"{path}.jsonl"), Path(f"{path}.places")
    with text.open("wb") as lines, places.open("wb") as positions:
        write_lines((_line(one) for one in found if isinstance(one, ManifestEntry)), lines, positions)
    faults = (one for one in found if isinstance(one, ManifestFault))
    located = tuple(LineFault(one.rule, one.found, one.location.line, one.location.column) for one in faults)
    return LargeFile(name, str(text), str(places), located)


def _line(entry: ManifestEntry) -> Line:
    place = Place(entry.location.line, entry.location.column)
    if entry.places is not None:
        return entry.places.line(place, entry.value), place
    # Leading whitespace marks a line of a JSON file whose fields have other places in that file.
    return f"{' ' if is_json(entry.location.file) else ''}{json.dumps(entry.value)}", place
