"""What is checked: the connector of an offset manifest, and a manifest that is too large for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.families.shapes import Shape
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.manifests import LargeFile, OffsetSchema
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import Offsets


@dataclass(frozen=True, slots=True)
class ManifestContext:
    """The data with which a manifest is compared: its connector's config and current offsets. None: not known.

    `shape` is what is known of the connector's partitions and offsets, `schema` the repository's schema for its class,
    if there is one. `acknowledged` are the effects that the document of the manifest acknowledges.
    """

    connector: ConnectorName
    config: Mapping[str, str] | None = field(default=None, repr=False)
    current: Offsets | None = field(default=None, repr=False)
    schema: OffsetSchema | None = None
    acknowledged: frozenset[Acknowledgement] = frozenset()
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class LargeManifest:
    """One manifest, in one file or several, and the data with which it is compared.

    `current` is a file with the current offsets, one entry a line; it replaces `context.current`, and is None if the
    current offsets are unknown. `is_checked` is False for files that Connect or gitops-connect has written: they are
    only compared.
    """

    location: Location
    files: tuple[LargeFile, ...]
    context: ManifestContext
    kind: OffsetChangeKind
    current: LargeFile | None = None
    is_checked: bool = True

    @property
    def all_files(self) -> tuple[LargeFile, ...]:
        """The files, and the one with the current offsets."""
        return self.files if self.current is None else (*self.files, self.current)
