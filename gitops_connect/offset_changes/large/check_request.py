"""What is asked about a large manifest, as a value."""

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
    """A manifest, and what it is to be held against. `context.live` is not looked at; `live` None: not known.

    `is_judged` is False for offsets that Connect or this program has written: these are only compared.
    """

    location: Location
    files: Sequence[LargeFile] | Manifest
    context: ManifestContext
    kind: OperationKind
    live: Offsets | SavedOffsets | None
    is_judged: bool = True
