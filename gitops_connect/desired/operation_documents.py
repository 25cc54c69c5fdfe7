"""Builds operations from `OffsetChange` documents and `spec.initialOffsets` that passed their schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_connect.desired.manifest_files import ManifestFiles, NoManifest
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredOperation, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer
from gitops_connect.model.field_places import PointerPlaces
from gitops_connect.model.manifests import Manifest, ManifestEntry
from gitops_connect.model.names import ConnectorName, Digest, OperationName
from gitops_connect.model.operations import Acknowledgement, OperationKind, seed_name

_SEED: Pointer = ("spec", "initialOffsets")
_CHANGE: Pointer = ("spec",)


def change(document: Document, files: ManifestFiles) -> DesiredOperation | Diagnostic:
    """The operation of an `OffsetChange`, or the error why it has none."""
    spec = document.value["spec"]
    name, connector = OperationName(document.value["metadata"]["name"]), ConnectorName(spec["connector"])
    return _Draft(document, _CHANGE, spec, connector).operation(name, OperationKind(spec["operation"]), files)


def seed(document: Document, files: ManifestFiles) -> DesiredOperation | Diagnostic | None:
    """The operation of a connector's `initialOffsets`, or the error why it has none; None without that field."""
    section = document.value["spec"].get("initialOffsets")
    if section is None:
        return None
    connector = ConnectorName(document.value["metadata"]["name"])
    return _Draft(document, _SEED, section, connector).operation(seed_name(connector), OperationKind.SEED, files)


@dataclass(frozen=True, slots=True)
class _Draft:
    """One declaration: `section` is the value at the pointer."""

    document: Document
    pointer: Pointer
    section: Mapping[str, Any]
    connector: ConnectorName

    def operation(
        self, name: OperationName, kind: OperationKind, files: ManifestFiles
    ) -> DesiredOperation | Diagnostic:
        manifest = self._manifest(files)
        if isinstance(manifest, Diagnostic):
            return manifest
        return DesiredOperation(
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

    def _content(self, manifest: ManifestFile | ManifestUri | Manifest | None) -> object:
        """The content that defines the offsets: the digests of files or of a URI, or the list in the document."""
        match manifest:
            case ManifestFile(entries=(only,)):
                return only.blob_id
            case ManifestFile():
                return [entry.blob_id for entry in manifest.entries]
            case ManifestUri():
                return manifest.sha256
            case _:
                return self.section.get("offsets")

    def _manifest(self, files: ManifestFiles) -> ManifestFile | ManifestUri | Manifest | Diagnostic | None:
        if "manifest" in self.section:
            return self._uri() if "uri" in self.section["manifest"] else self._file(files)
        if "offsets" in self.section:
            return self._inline()
        return None

    def _file(self, files: ManifestFiles) -> ManifestFile | Diagnostic:
        location = self.document.locate((*self.pointer, "manifest", "path"))
        found = files.find(self.section["manifest"]["path"], self.document.location.file, self.connector)
        if isinstance(found, NoManifest):
            return Diagnostic(Severity.ERROR, found.rule, found.summary, location, found.hint, self.connector)
        return ManifestFile(found, location)

    def _uri(self) -> ManifestUri:
        named = self.section["manifest"]
        location = self.document.locate((*self.pointer, "manifest", "uri"))
        return ManifestUri(named["uri"], named["sha256"].lower(), location)

    def _inline(self) -> Manifest:
        pointer = (*self.pointer, "offsets")
        places = PointerPlaces(self.document.positions, pointer)
        entries = (
            ManifestEntry(value, self.document.locate((*pointer, index)), places)
            for index, value in enumerate(self.section["offsets"])
        )
        return Manifest(self.document.locate(pointer), tuple(entries))


def _digest(connector: ConnectorName, kind: OperationKind, source: object) -> Digest:
    """`source` is the digest of a content, or the list of offsets, which may not be representable as JSON."""
    try:
        return digest([connector, kind.value, source])
    except (TypeError, ValueError):
        return digest([connector, kind.value, ascii(source)])


def _one_line(text: str) -> str:
    """The text as plans and tables show it: without line breaks, and without control characters for a terminal."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
