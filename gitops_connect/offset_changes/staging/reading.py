"""Reads staged files that turn out to be small, as if they had never been staged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitops_connect.desired import manifests
from gitops_connect.desired.manifests import pieces
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Blob
from gitops_connect.model.field_places import LinePlaces, is_json
from gitops_connect.model.large_manifests import LargeFile, unpack_places
from gitops_connect.model.manifests import Manifest, ManifestEntry, ManifestFault

_TOO_LARGE = "manifest/too-large"


def read_staged(files: Sequence[LargeFile]) -> Manifest | None:
    """The manifest in these files; None if they are too large for this process, or Parquet. Raises OSError."""
    if sum(Path(file.path).stat().st_size for file in files) > manifests.MAX_SIZE:
        return None
    parts = [_rewritten(file) if file.places is not None else _as_it_is(file) for file in files]
    entries = tuple(entry for part in parts for entry in part.entries)
    faults = tuple(fault for part in parts for fault in part.faults)
    if len(entries) > manifests.MAX_ENTRIES or any(fault.rule == _TOO_LARGE for fault in faults):
        return None
    return Manifest(parts[0].location, entries, faults)


def _as_it_is(file: LargeFile) -> Manifest:
    return manifests.parse(Blob(file.name, "", Path(file.path).read_bytes()))


def _rewritten(file: LargeFile) -> Manifest:
    """The manifest in a file of lines, with the place of each line in the original file."""
    places = unpack_places(Path(file.places or "").read_bytes())
    text = Path(file.path).read_bytes().decode()
    read = pieces.read_lines(text)
    fields = LinePlaces(dict(zip(places, text.split("\n"), strict=False))) if is_json(file.name) else None
    entries = tuple(
        ManifestEntry(value, Location(file.name, *places[line - 1]), fields) for value, line, _ in read.entries
    )
    faults = [ManifestFault(one.rule, one.found, Location(file.name, one.line, one.column)) for one in file.faults]
    faults += [ManifestFault(one.rule, one.found, Location(file.name, *places[one.line - 1])) for one in read.faults]
    return Manifest(Location(file.name), entries, tuple(faults))
