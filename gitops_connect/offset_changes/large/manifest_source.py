"""The manifest of an operation: parsed if it is small, else as files that Spark can open."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gitops_connect.desired import manifests
from gitops_connect.model.desired import DesiredOperation, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.large_manifests import LargeFile
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.names import ConnectorName
from gitops_connect.offset_changes.large.spark_checks import SparkChecks
from gitops_connect.offset_changes.staging import store
from gitops_connect.offset_changes.staging.reading import read_staged
from gitops_connect.offset_changes.staging.uris import UNREAD, plain_uri, stage_uri
from gitops_connect.source.checkout import Checkout

Supplied = Manifest | tuple[LargeFile, ...]
_TOO_LARGE = "manifest/too-large"


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The source of manifests. Staged files are kept in Spark's directory from one reconciliation to the next."""

    checkout: Checkout
    spark: SparkChecks

    def manifest(self, operation: DesiredOperation) -> Supplied | Diagnostic | None:
        """None for an operation without a manifest; a diagnostic if the manifest cannot be read.

        Raises what reading the repository raises, and OSError.
        """
        match operation.manifest:
            case ManifestFile() as named:
                read = self._read(named)
                return read if read is not None else _as_small(self._staged(named))
            case ManifestUri() as named:
                return self._fetched(named, operation.connector)
            case Manifest() | None as inline:
                return inline

    def _read(self, named: ManifestFile) -> Manifest | None:
        """None if the manifest is too large for this process."""
        if sum(entry.size or 0 for entry in named.entries) > manifests.MAX_SIZE:
            return None
        read = manifests.parse_all(self.checkout.blobs(named.entries, manifests.MAX_SIZE + 1))
        return None if any(fault.rule == _TOO_LARGE for fault in read.faults) else read

    def _staged(self, named: ManifestFile) -> tuple[LargeFile, ...]:
        with store.opened(staged_in(self.spark)) as kept:
            return tuple(kept.blob(entry, self.checkout.stream(entry)) for entry in named.entries)

    def _fetched(self, named: ManifestUri, connector: ConnectorName) -> Supplied | Diagnostic:
        if not any(fnmatchcase(plain_uri(named), pattern) for pattern in self.spark.sessions.settings.uris):
            return _not_allowed(named, connector)
        with store.opened(staged_in(self.spark)) as kept:
            found = stage_uri(kept, named, connector, self.spark.copy)
        return found if isinstance(found, Diagnostic) else _as_small(found)


def _as_small(files: tuple[LargeFile, ...]) -> Supplied:
    """Read the staged files if their content is small: a file may be large due to whitespace or unreadable parts."""
    read = read_staged(files)
    return read if read is not None else files


def _not_allowed(named: ManifestUri, connector: ConnectorName) -> Diagnostic:
    summary = f"the settings do not allow reading {named.uri}"
    hint = 'ask the administrator to allow it with [spark] uris = ["…"], a list of URI patterns'
    return Diagnostic(Severity.ERROR, UNREAD, summary, named.location, hint, connector)


def staged_in(spark: SparkChecks) -> Path:
    """The directory of the staged files."""
    return spark.sessions.folder / "manifests"
