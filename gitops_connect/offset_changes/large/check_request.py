"""A check of a large manifest, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitops_connect.model.diagnostics import Location
from gitops_connect.model.large_manifests import LargeFile, SavedOffsets
from gitops_connect.model.manifests import Manifest, ManifestContext
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.operations import OperationKind


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A manifest, and what it is compared with. `context.live` is not used; if `live` is None, it is unknown.

    `is_judged` is False for offsets that Connect or gitops-connect has written: these are only compared.
    """

    location: Location
    files: Sequence[LargeFile] | Manifest
    context: ManifestContext
    kind: OperationKind
    live: Offsets | SavedOffsets | None
    is_judged: bool = True
