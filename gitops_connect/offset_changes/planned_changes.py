"""What `apply` needs to know about the offset changes of a plan, once their connectors are STOPPED."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.apply.ports import LargeChange
from gitops_connect.errors import GitopsConnectError, SourceRefused
from gitops_connect.ledger.operation_store import Operations
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.differences import Review
from gitops_connect.model.manifests import SavedOffsets
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import Operation, OperationKind
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.observe import MAX_HELD
from gitops_connect.offset_changes.listed_offsets import write_to_branch, write_to_directory
from gitops_connect.offset_changes.manifest_source import ManifestSource, context_of, read_own_schemas
from gitops_connect.offset_changes.planner_inputs import workspace
from gitops_connect.offsets.context import LargeManifest
from gitops_connect.plan.offset_review import review, review_unfinished
from gitops_connect.plan.situation import Situation
from gitops_connect.runtime import Runtime, open_output_branch
from gitops_connect.settings.own import own_files
from gitops_connect.source.checkout import Checkout


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """The `OffsetChanges` of one plan. `operations` are the ledger's, under the lease of the cluster."""

    runtime: Runtime
    checkout: Checkout
    situation: Situation
    operations: Operations

    def is_begun(self, operation: Operation) -> bool:
        """Whether the operation was in progress in the ledger when this plan was made."""
        return operation.name in self.situation.offsets.unfinished

    def review(self, operation: Operation, current: Offsets) -> Review:
        """Review the operation as the plan does, with the current offsets."""
        shape = self.situation.offsets.shapes.get(operation.connector)
        if self.is_begun(operation) and operation.kind is not OperationKind.CLEAR:
            before = self.situation.offsets.unfinished[operation.name].before
            return review_unfinished(operation, before, current, shape)
        return review(operation, current, shape, self.situation.policy.max_skip)

    def has_too_many_offsets(self, operation: Operation) -> bool:
        """Read the current offsets. Returns whether they exceed memory; False if they could not be read."""
        client = self.runtime.clients[self.situation.desired.cluster]
        with workspace(self.runtime.spark.directory) as directory, suppress(GitopsConnectError):
            current = client.save_offsets(operation.connector, directory / "current.jsonl", MAX_HELD)
            return isinstance(current, SavedOffsets)
        return False

    def write_listing(self, listing: RequestedListing, offsets: Offsets) -> str:
        """Write the current offsets to the directory of the settings, or to the branch."""
        settings = self.runtime.settings.strimzi
        if settings.output is not None:
            return write_to_directory(settings.output, listing, offsets)
        return write_to_branch(open_output_branch(self.runtime.settings), listing, offsets)

    @contextmanager
    def large(self, operation: Operation) -> Iterator[LargeChange]:
        """The large change: from its manifest, or from the ledger if an earlier reconciliation began it."""
        from gitops_connect.offset_changes import large_change  # noqa: PLC0415 - small changes do not need it

        with workspace(self.runtime.spark.directory) as directory:
            context = large_change.ChangeContext(self.runtime, self.situation, self.operations, directory)
            # An interrupted deletion is repeated, with any offsets.
            if self.is_begun(operation) and operation.kind is not OperationKind.CLEAR:
                yield large_change.LargeOffsetChange(operation, context, is_begun=True)
            else:
                yield large_change.LargeOffsetChange(
                    operation, context, self._manifest(operation, directory / "manifest")
                )

    def _manifest(self, operation: Operation, path: Path) -> LargeManifest | None:
        """The declared manifest, to be checked again; None if all offsets are removed."""
        from gitops_connect.offset_changes.staged_files import large_manifest  # noqa: PLC0415 - see `large`

        if operation.kind is OperationKind.CLEAR:
            return None
        declared = self.situation.desired.operations_of(operation.connector)
        desired = next(one for one in declared if one.name == operation.name)
        own = own_files(self.runtime.settings)
        manifest = ManifestSource(self.checkout, self.runtime.spark, self.runtime.say, own).manifest(desired)
        if isinstance(manifest, Diagnostic):
            raise SourceRefused(manifest.summary)
        if manifest is None:
            return None
        connector = self.situation.desired.by_name[operation.connector]
        families = self.runtime.families.with_schemas(read_own_schemas(self.checkout).schemas)
        context = context_of(connector, families, operation.acknowledged)
        return large_manifest(desired, manifest, context, path)
