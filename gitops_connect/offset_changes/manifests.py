"""Reads and checks the manifests of one reconciliation.

Small ones are parsed and checked in this process. Large ones become files, and one job on Spark checks all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gitops_connect.checks import own_schemas, small
from gitops_connect.checks.own_schemas import OwnSchemas
from gitops_connect.checks.schema_limits import MAX_BYTES
from gitops_connect.desired import manifests
from gitops_connect.errors import SparkUnusable, UsageError
from gitops_connect.model.desired import DesiredConnector, DesiredOperation, ManifestFile, ManifestUri
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity, contained
from gitops_connect.model.large_manifests import LargeFile, LargeManifest, LargeVerdict, SavedOffsets
from gitops_connect.model.manifests import Manifest, ManifestContext, OffsetSchema
from gitops_connect.model.names import OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.model.operations import Acknowledgement
from gitops_connect.model.shapes import schema_of
from gitops_connect.model.unreadable import TOO_LARGE
from gitops_connect.source.checkout import Checkout
from gitops_connect.spark.session import Say, SharedSession

Schemas = Mapping[str, OffsetSchema]
"""Schemas by full class name."""


def read_own_schemas(checkout: Checkout) -> OwnSchemas:
    """The repository's schemas for the offsets of its own connector classes."""
    entries = [entry for entry in checkout.entries if own_schemas.is_offset_schema(entry.path)]
    return own_schemas.load((blob.path, blob.content) for blob in checkout.blobs(entries, MAX_BYTES + 1))


def context_of(
    connector: DesiredConnector, schemas: Schemas, acknowledged: frozenset[Acknowledgement] = frozenset()
) -> ManifestContext:
    """The context in which a manifest of that connector is checked. `schemas` are those of the repository."""
    schema = schema_of(connector.config, schemas)
    return ManifestContext(connector.name, connector.config, None, schema, acknowledged)


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The source of manifests. Staged files are kept in Spark's directory from one reconciliation to the next.

    A small manifest in the repository needs nothing of `large` and `staging`, which are not imported for it. No
    document may name one of `own_files`.
    """

    checkout: Checkout
    sessions: SharedSession
    say: Say
    own_files: frozenset[Path]

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
            local = uris.LocalFiles(self.sessions.settings.uris, self.own_files)
            with store.opened(staging_directory(self.sessions)) as kept:
                staged = uris.stage_uri(kept, uri, SparkChecks(self.sessions, self.say).copy, local)
        except uris.UriRefused as error:
            return Diagnostic(Severity.ERROR, error.rule, str(error), uri.location, error.hint, operation.connector)
        return files.read_small(staged) or staged


def staging_directory(sessions: SharedSession) -> Path:
    """The directory of the staged files."""
    return sessions.directory / "manifests"


class ManifestVerdicts:
    """Add all operations, then check the large manifests. Files for Spark are written to the directory.

    `offsets` are those of small manifests, None if a manifest has errors; `large` are the verdicts on large manifests.
    """

    def __init__(self, source: ManifestSource, directory: Path) -> None:
        self._source = source
        self._directory = directory
        self._unchecked: dict[OperationName, LargeManifest] = {}
        self.offsets: dict[OperationName, OffsetPatch | None] = {}
        self.large: dict[OperationName, LargeVerdict] = {}
        self.diagnostics = Diagnostics()

    def add(
        self,
        operation: DesiredOperation,
        context: ManifestContext,
        current: Offsets | SavedOffsets | None,
        *,
        is_absent: bool = False,
    ) -> None:
        """Add an operation with the current offsets (None: unknown). Without a manifest there is nothing to check.

        `is_absent`: its connector does not exist yet, and the plan of a large change compares it with no offsets.
        A bug is a diagnostic, and the manifest has errors then. Raises what reading the repository raises.
        """
        work = partial(self._add, operation, context, current, is_absent=is_absent)
        bug = contained(work, operation.document.locate(operation.pointer), operation.connector)
        if bug is not None:
            self.offsets[operation.name] = None
            self.diagnostics += Diagnostics.of([bug])

    def _add(
        self,
        operation: DesiredOperation,
        context: ManifestContext,
        current: Offsets | SavedOffsets | None,
        *,
        is_absent: bool,
    ) -> None:
        manifest = self._source.manifest(operation)
        if isinstance(manifest, Diagnostic):
            self.offsets[operation.name] = None
            self.diagnostics += Diagnostics.of([manifest])
        elif isinstance(manifest, Manifest) and not isinstance(current, SavedOffsets):
            verdict = small.check(manifest, replace(context, current=current), operation.kind)
            self.offsets[operation.name] = verdict.offsets
            self.diagnostics += verdict.diagnostics
        elif manifest is not None:
            from gitops_connect.offset_changes.staging import files  # noqa: PLC0415 - see `ManifestSource`

            path = self._directory / f"{len(self._unchecked)}"
            large = files.large_manifest(operation, manifest, context, path)
            compared = {} if is_absent else current
            if compared is not None:
                large = replace(large, current=files.offsets_file(compared, path.with_suffix(".current")))
            self._unchecked[operation.name] = large

    def check_large(self) -> None:
        """Check all large manifests at once.

        If Spark lacks something that it needs, each of these manifests gets that error, and nothing else is blocked.
        Raises SparkFailed and OSError.
        """
        if not self._unchecked:
            return
        from gitops_connect.offset_changes.large.spark_checks import SparkChecks  # noqa: PLC0415 - see `ManifestSource`

        try:
            checks = SparkChecks(self._source.sessions, self._source.say)
            verdicts = checks.check(list(self._unchecked.values()))
        except (SparkUnusable, UsageError) as error:
            for name, one in self._unchecked.items():
                self.offsets[name] = None
                connector, place = one.context.connector, one.location
                problem = Diagnostic(Severity.ERROR, "offsets/spark", str(error), place, connector=connector)
                self.diagnostics += Diagnostics.of([problem])
        else:
            self.large = dict(zip(self._unchecked, verdicts, strict=True))
            self.diagnostics += Diagnostics.of(one for verdict in verdicts for one in verdict.diagnostics)
