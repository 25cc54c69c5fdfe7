"""The manifest of an operation: parsed if it is small, else as files that Spark can open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitops_connect.desired import manifests
from gitops_connect.model.desired import DesiredOperation, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.large_manifests import LargeFile
from gitops_connect.model.manifests import Manifest
from gitops_connect.model.unreadable import TOO_LARGE
from gitops_connect.source.checkout import Checkout
from gitops_connect.spark.shared_session import Say, SharedSession


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The source of manifests. Staged files are kept in Spark's directory from one reconciliation to the next.

    A small manifest in the repository needs nothing of `large` and `staging`, which are not imported for it.
    """

    checkout: Checkout
    sessions: SharedSession
    say: Say

    def manifest(self, operation: DesiredOperation) -> Manifest | tuple[LargeFile, ...] | Diagnostic | None:
        """None for an operation without a manifest; a diagnostic if the manifest cannot be read.

        Raises what reading the repository raises, and OSError.
        """
        match operation.manifest:
            case ManifestFile() as file:
                return self._parsed(file) or self._staged(file)
            case ManifestUri() as uri:
                return self._copied(uri, operation)
            case Manifest() | None as inline:
                return inline

    def _parsed(self, file: ManifestFile) -> Manifest | None:
        """None if the manifest is too large for this process."""
        if sum(entry.size or 0 for entry in file.entries) > manifests.MAX_SIZE:
            return None
        manifest = manifests.parse_all(self.checkout.blobs(file.entries, manifests.MAX_SIZE + 1))
        return None if any(fault.rule == TOO_LARGE for fault in manifest.faults) else manifest

    def _staged(self, file: ManifestFile) -> Manifest | tuple[LargeFile, ...]:
        """A file may be large due to whitespace or unreadable parts, and have few entries."""
        from gitops_connect.offset_changes.staging import files, store  # noqa: PLC0415 - a small manifest needs none

        with store.opened(staging_directory(self.sessions)) as kept:
            staged = tuple(kept.blob(entry, self.checkout.stream(entry)) for entry in file.entries)
        return files.read_small(staged) or staged

    def _copied(self, uri: ManifestUri, operation: DesiredOperation) -> Manifest | tuple[LargeFile, ...] | Diagnostic:
        from gitops_connect.offset_changes.large.spark_checks import SparkChecks  # noqa: PLC0415 - see `_staged`
        from gitops_connect.offset_changes.staging import files, store, uris  # noqa: PLC0415 - see `_staged`

        try:
            uris.require_allowed(uri, self.sessions.settings.uris)
            with store.opened(staging_directory(self.sessions)) as kept:
                staged = uris.stage_uri(kept, uri, SparkChecks(self.sessions, self.say).copy)
        except uris.UriRefused as error:
            return Diagnostic(Severity.ERROR, error.rule, str(error), uri.location, error.hint, operation.connector)
        return files.read_small(staged) or staged


def staging_directory(sessions: SharedSession) -> Path:
    """The directory of the staged files."""
    return sessions.folder / "manifests"
