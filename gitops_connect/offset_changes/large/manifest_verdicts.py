"""Checks the manifests of one reconciliation: small ones in this process, all large ones in one job on Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitops_connect.checks import small
from gitops_connect.errors import SparkUnusable, UsageError
from gitops_connect.model.desired import DesiredOperation
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.large_manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.manifests import Manifest, ManifestContext
from gitops_connect.model.names import OperationName
from gitops_connect.model.offsets import OffsetPatch, Offsets
from gitops_connect.offset_changes.large.check_request import CheckRequest
from gitops_connect.offset_changes.large.manifest_source import ManifestSource, Supplied
from gitops_connect.offset_changes.large.spark_checks import SparkChecks


class ManifestVerdicts:
    """Add all operations, then ask. `offsets` are those of small manifests, None if a manifest has errors."""

    def __init__(self, supply: ManifestSource) -> None:
        self._supply = supply
        self._questions: dict[OperationName, CheckRequest] = {}
        self.offsets: dict[OperationName, OffsetPatch | None] = {}
        self.large: dict[OperationName, LargeVerdict] = {}
        self.diagnostics = Diagnostics()

    def add(
        self,
        operation: DesiredOperation,
        context: ManifestContext,
        live: Offsets | SavedOffsets | None,
        *,
        is_absent: bool = False,
    ) -> None:
        """Add an operation with the current offsets (None: unknown). Without a manifest there is nothing to check.

        `is_absent`: its connector does not exist yet, and the plan of a large change compares it with no offsets.
        Raises what reading the repository raises, and OSError.
        """
        given = self._supply.manifest(operation)
        if isinstance(given, Diagnostic):
            self.offsets[operation.name] = None
            self.diagnostics += Diagnostics.of([given])
        elif isinstance(given, Manifest) and not isinstance(live, SavedOffsets):
            verdict = small.check(given, replace(context, live=live), operation.kind)
            self.offsets[operation.name] = verdict.offsets
            self.diagnostics += verdict.diagnostics
        elif given is not None:
            stands = {} if is_absent else live
            self._questions[operation.name] = check_request(operation, given, context, stands)

    def ask(self, spark: SparkChecks, folder: Path) -> None:
        """Check all large manifests at once; this writes files to the directory.

        If Spark lacks something that it needs, each of these manifests gets that error, and nothing else is blocked.
        Raises SparkFailed and OSError.
        """
        if not self._questions:
            return
        try:
            verdicts = spark.ask(list(self._questions.values()), folder)
        except (SparkUnusable, UsageError) as error:
            self._cannot(str(error))
            return
        self.large = dict(zip(self._questions, verdicts, strict=True))
        self.diagnostics += Diagnostics.of(one for verdict in verdicts for one in verdict.diagnostics)

    def _cannot(self, why: str) -> None:
        for name, one in self._questions.items():
            self.offsets[name] = None
            problem = Diagnostic(Severity.ERROR, "offsets/spark", why, one.location, "", one.context.connector)
            self.diagnostics += Diagnostics.of([problem])


def check_request(
    operation: DesiredOperation, given: Supplied, context: ManifestContext, live: Offsets | SavedOffsets | None
) -> CheckRequest:
    """The request to check the manifest of an operation on Spark."""
    location = given.location if isinstance(given, Manifest) else operation.locate("manifest")
    return CheckRequest(location, given, context, operation.kind, live)
