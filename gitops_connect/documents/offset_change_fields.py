"""Builds offset changes from documents that passed their schema, and finds the manifests that they name."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from gitops_connect.documents.manifest_paths import SUFFIXES, Glob, directory_of, is_glob, is_hidden, is_manifest
from gitops_connect.model.canonical import digest
from gitops_connect.model.clock import parse_duration
from gitops_connect.model.desired import DesiredOffsetChange, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import Document, Entry, Pointer
from gitops_connect.model.manifests import Manifest, ManifestEntry, Place
from gitops_connect.model.names import ConnectorName, Digest, OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind, plain_name, seed_name
from gitops_connect.model.offset_targets import OffsetTarget, OffsetTargets, PositionKind
from gitops_connect.model.suggestions import Vocabulary

_SEED: Pointer = ("spec", "initialOffsets")
_CHANGE: Pointer = ("spec",)


def for_each_connector(document: Document) -> Iterator[Document]:
    """The `OffsetChange` of each of `spec.connectors`, under the name NAME.CONNECTOR; or the document without it."""
    spec, metadata = document.section("spec"), document.section("metadata")
    listed = spec.get("connectors")
    if not isinstance(listed, list):
        yield document
        return
    others = {key: value for key, value in spec.items() if key != "connectors"}
    for index, connector in enumerate(listed):
        if isinstance(connector, str) and connector and connector not in listed[:index]:
            name = f"{metadata.get('name')}.{plain_name(connector)}"
            place = document.locate(("spec", "connectors", index))
            yield replace(
                document,
                value={
                    **document.value,
                    "metadata": {**metadata, "name": name},
                    "spec": {**others, "connector": connector},
                },
                positions={**document.positions, ("spec", "connector"): (place.line, place.column)},
            )


def change(document: Document, files: ManifestFiles) -> DesiredOffsetChange | Diagnostic:
    spec = document.value["spec"]
    name, connector = OffsetChangeName(document.value["metadata"]["name"]), ConnectorName(spec["connector"])
    return _Draft(document, _CHANGE, spec, connector).offset_change(name, OffsetChangeKind(spec["operation"]), files)


def seed(document: Document, files: ManifestFiles) -> DesiredOffsetChange | Diagnostic | None:
    """The offset change of a connector's `initialOffsets`, or the error why it has none; None without that field."""
    section = document.value["spec"].get("initialOffsets")
    if section is None:
        return None
    connector = ConnectorName(document.value["metadata"]["name"])
    return _Draft(document, _SEED, section, connector).offset_change(seed_name(connector), OffsetChangeKind.SEED, files)


@dataclass(frozen=True, slots=True)
class _Draft:
    """One declaration: `section` is the value at the pointer."""

    document: Document
    pointer: Pointer
    section: Mapping[str, Any]
    connector: ConnectorName

    def offset_change(
        self, name: OffsetChangeName, kind: OffsetChangeKind, files: ManifestFiles
    ) -> DesiredOffsetChange | Diagnostic:
        manifest = self._targets() if "to" in self.section else self._manifest(files)
        if isinstance(manifest, Diagnostic):
            return manifest
        return DesiredOffsetChange(
            name=name,
            connector=self.connector,
            kind=kind,
            digest=_digest(self.connector, kind, self._content(manifest)),
            document=self.document,
            pointer=self.pointer,
            manifest=manifest,
            acknowledged=frozenset(map(Acknowledgement, self.section.get("acknowledge", ()))),
            reason=_one_line(self.section.get("reason", "")),
        )

    def _content(self, manifest: ManifestFile | ManifestUri | Manifest | OffsetTargets | None) -> object:
        """The content that defines the offsets: targets, the digests of files or of a URI, or the list in the
        document."""
        match manifest:
            case ManifestFile(entries=(only,)):
                return only.blob_id
            case ManifestFile():
                return [entry.blob_id for entry in manifest.entries]
            case ManifestUri():
                return manifest.sha256
            case OffsetTargets():
                return {"to": manifest.value}
            case _:
                return self.section.get("offsets")

    def _manifest(self, files: ManifestFiles) -> ManifestFile | ManifestUri | Manifest | Diagnostic | None:
        named = self.section.get("manifest")
        if named is None:
            return self._inline() if "offsets" in self.section else None
        if "uri" in named:
            location = self.document.locate((*self.pointer, "manifest", "uri"))
            return ManifestUri(named["uri"], named["sha256"].lower(), location)
        location = self.document.locate((*self.pointer, "manifest", "path"))
        found = files.find(named["path"], self.document.location.file, self.connector)
        if isinstance(found, NoManifest):
            return Diagnostic(Severity.ERROR, found.rule, found.summary, location, found.hint, self.connector)
        return ManifestFile(found, location)

    def _targets(self) -> OffsetTargets | Diagnostic:
        pointer, declared = (*self.pointer, "to"), self.section["to"]
        listed = declared if isinstance(declared, list) else [declared]
        places = [(*pointer, index) if isinstance(declared, list) else pointer for index in range(len(listed))]
        targets = []
        for value, place in zip(listed, places, strict=True):
            try:
                targets.append(_target(value, self.document.locate(place)))
            except ValueError as error:
                where = self.document.locate((*place, "time"))
                hint = "write a date and a time that exist, as in 2026-11-23T10:00:00Z"
                return Diagnostic(Severity.ERROR, "offsets/target", str(error), where, hint, self.connector)
        return OffsetTargets(tuple(targets), self.document.locate(pointer))

    def _inline(self) -> Manifest:
        pointer = (*self.pointer, "offsets")
        places = PointerPlaces(self.document.positions, pointer)
        entries = (
            ManifestEntry(value, self.document.locate((*pointer, index)), places)
            for index, value in enumerate(self.section["offsets"])
        )
        return Manifest(self.document.locate(pointer), tuple(entries))


def _target(value: str | Mapping[str, Any], location: Location) -> OffsetTarget:
    """The target of a value that passed the schema. Raises ValueError for a time that does not exist."""
    if isinstance(value, str):
        return OffsetTarget(PositionKind(value), location)
    topics, partitions = value.get("topics", ""), frozenset(value.get("partitions", ()))
    if "position" in value:
        return OffsetTarget(PositionKind(value["position"]), location, 0, topics, partitions)
    kind = next(kind for kind in PositionKind if kind.value in value)
    number = value[kind.value]
    if kind is PositionKind.TIME:
        number = round(datetime.fromisoformat(number.upper()).timestamp() * 1000)
    if kind is PositionKind.AGO:
        number = round(parse_duration(number) * 1000)
    return OffsetTarget(kind, location, number, topics, partitions)


def _digest(connector: ConnectorName, kind: OffsetChangeKind, source: object) -> Digest:
    """`source` is the digest of a content, or the list of offsets, which may not be representable as JSON."""
    try:
        return digest([connector, kind.value, source])
    except (TypeError, ValueError):
        return digest([connector, kind.value, ascii(source)])


def _one_line(text: str) -> str:
    """The text as plans and tables show it: without line breaks, and without control characters for a terminal."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


# Finds the files of the repository that the path of a manifest names.

_NEIGHBOURS = 100
"""Files of one directory that a misspelt name is compared with: each comparison takes time."""
_MOST_SUGGESTIONS = 100
"""Missing files for which similar names are searched."""
_SHOWN = 3
"""Files that are named if a glob matches none."""
_RELATIVE_TO = "a path is relative to the repository root; one that starts with ./ or ../ is relative to the document"


class NoManifest(NamedTuple):
    rule: str
    summary: str
    hint: str


class ManifestFiles:
    """The files of a checkout, by path. Nothing is sorted before the first manifest is searched."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = entries
        self._suggestions = 0

    def find(self, path: str, document: str, connector: ConnectorName) -> tuple[Entry, ...] | NoManifest:
        """The files that `path` in that document names for that connector, sorted by path.

        A path is relative to the repository root, or with `./` or `../` to the document's directory. A directory means
        the file in it that has the connector's name, as in Strimzi's ConfigMaps (Strimzi proposal 083). If no such file
        of any connector is in it, a directory means all manifests in and below it.
        """
        resolved = _resolve(path, document)
        if resolved is None:
            return NoManifest("offsets/path", f"the path {path!r} leads out of the repository", _RELATIVE_TO)
        if resolved in self._by_path and not path.endswith("/"):
            return (self._by_path[resolved],)
        if is_glob(resolved):
            return self._met(resolved)
        if not self._exists(resolved) and (other := self._other_reading(path, document)) is not None:
            summary = f"there is no file {resolved!r} in the repository"
            return NoManifest("offsets/no-file", summary, f"write {other!r} for the existing file; {_RELATIVE_TO}")
        if path.endswith("/") or not resolved or self._is_directory(resolved):
            return self._in_directory(resolved, connector)
        return self._lost(resolved)

    def _other_reading(self, path: str, document: str) -> str | None:
        """The path of an existing file if `path` is resolved the other way: from the document, or from the root."""
        other = path.removeprefix("./") if path.startswith("./") else f"./{path}"
        resolved = _resolve(other, document)
        return other if resolved and self._exists(resolved) else None

    def _exists(self, path: str) -> bool:
        return path in self._by_path or self._is_directory(path)

    def _in_directory(self, directory: str, connector: ConnectorName) -> tuple[Entry, ...] | NoManifest:
        start = f"{directory}/" if directory else ""
        names = [f"{start}{name}.json" for name in (connector.replace("->", "--"), connector)]
        named = next((self._by_path[one] for one in names if one in self._by_path), None)
        if named is not None:
            return (named,)
        if any(path.endswith(".json") and "/" not in path[len(start) :] for path in self._under(start)):
            return self._lost(names[0], f"; to use all files of the directory, write {start}*.json")
        inside = (path for path in self._under(start) if not is_hidden(path[len(start) :]))
        return tuple(self._by_path[path] for path in inside if is_manifest(path)) or self._lost(names[0])

    def _met(self, glob: str) -> tuple[Entry, ...] | NoManifest:
        directory, pattern = directory_of(glob), Glob(glob)
        matching = [path for path in self._under(f"{directory}/" if directory else "") if pattern.matches(path)]
        found = tuple(self._by_path[path] for path in matching if is_manifest(path))
        return found or self._no_match(glob, directory, matching)

    def _no_match(self, glob: str, directory: str, matching: Sequence[str]) -> NoManifest:
        where = f"in {directory!r}" if directory else "in the repository root"
        if matching:
            summary = f"{glob!r} matches no offset manifest, only other files such as {matching[0]!r}"
            return NoManifest("offsets/no-file", summary, f"use one of the suffixes {', '.join(SUFFIXES)}")
        inside = [path.rpartition("/")[2] for path in islice(self._inside(directory), _SHOWN)]
        if inside:
            near = f"{where} are {', '.join(map(repr, inside))}"
        elif directory and not self._is_directory(directory):
            suggestion = self._vocabulary(self._directories).did_you_mean(directory)
            near = f"there is no directory {directory!r}{suggestion}"
        else:
            near = f"{where} are only directories; ** matches any number of them"
        hint = f"{_RELATIVE_TO}; *, ? and [...] match within one name; names that begin with _ or . are skipped"
        return NoManifest("offsets/no-file", f"no file of the repository matches {glob!r}: {near}", hint)

    def _lost(self, path: str, advice: str = "") -> NoManifest:
        nearest = self._nearest(path)
        suggestion = f"; did you mean {nearest!r}?" if nearest is not None else ""
        hint = f"{_RELATIVE_TO}; links out of the repository are not followed{advice}"
        return NoManifest("offsets/no-file", f"there is no file {path!r} in the repository{suggestion}", hint)

    def _nearest(self, path: str) -> str | None:
        """The file of that name in another directory, or a file of the same directory with a similar name."""
        directory, _, name = path.rpartition("/")
        if name in self._by_name:
            return self._by_name[name]
        beside = {other.rpartition("/")[2]: other for other in self._inside(directory)}
        candidate = self._vocabulary(beside).closest(name)
        return beside[candidate] if candidate is not None else None

    def _vocabulary(self, known: Iterable[str]) -> Vocabulary:
        """Names for one suggestion. After many missing files, nothing is suggested: each costs time."""
        self._suggestions += 1
        return Vocabulary(known if self._suggestions <= _MOST_SUGGESTIONS else ())

    def _inside(self, directory: str) -> Iterator[str]:
        start = f"{directory}/" if directory else ""
        return islice((path for path in self._under(start) if "/" not in path[len(start) :]), _NEIGHBOURS)

    def _under(self, start: str) -> Sequence[str]:
        return self._paths[bisect_left(self._paths, start) : bisect_left(self._paths, start + "\U0010ffff")]

    def _is_directory(self, path: str) -> bool:
        index = bisect_left(self._paths, f"{path}/")
        return index < len(self._paths) and self._paths[index].startswith(f"{path}/")

    @cached_property
    def _by_path(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in self._entries}

    @cached_property
    def _paths(self) -> list[str]:
        return sorted(self._by_path)

    @cached_property
    def _directories(self) -> set[str]:
        """The first directories: each comparison takes time."""
        return set(islice(dict.fromkeys(path.rpartition("/")[0] for path in self._paths if "/" in path), _NEIGHBOURS))

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return {path.rpartition("/")[2]: path for path in reversed(self._paths)}


def _resolve(path: str, document: str) -> str | None:
    """The path from the repository root, without dots; None if it leads out of the repository."""
    if path.startswith("/"):
        return None
    steps = path.split("/")
    parts: list[str] = []
    from_document: Sequence[str] = document.split("/")[:-1] if steps[0] in (".", "..") else ()
    for step in (*from_document, *steps):
        if step == "..":
            if not parts:
                return None
            parts.pop()
        elif step not in ("", "."):
            parts.append(step)
    return "/".join(parts)


class PointerPlaces(NamedTuple):
    """Field positions for entries below `pointer` of a document, whose fields have known positions."""

    positions: Mapping[Pointer, Place]
    pointer: Pointer

    def locate(self, entry: Place, field: str) -> Place:
        """Line and column of a field of the entry, else of its partition or offset, else of the entry."""
        index, pointer = 0, (*self.pointer, 0)
        while pointer in self.positions and self.positions[pointer] != entry:
            index += 1
            pointer = (*self.pointer, index)
        half, _, name = field.partition(".")
        places = (self.positions.get(found) for found in ((*pointer, half, name), (*pointer, half)))
        return next((place for place in places if place is not None), entry)

    def line(self, entry: Place, value: Any) -> str:
        return json.dumps(value)
