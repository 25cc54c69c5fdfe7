"""Writes current offsets to a ConfigMap in the directory or the branch that the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.documents.yaml import parse
from gitops_connect.errors import UsageError
from gitops_connect.model.documents import Blob
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.strimzi import RequestedListing
from gitops_connect.report.change_document import config_map_text
from gitops_connect.safe_files import output_directory
from gitops_connect.source.output_branch import OutputBranch

_WRITING = Lock()
"""Connectors are changed in parallel, and several of them may share a ConfigMap."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def config_map_path(listing: RequestedListing) -> str:
    """The path of the ConfigMap: `NAMESPACE/NAME.yaml`, or `NAME.yaml` without a namespace.

    Raises UsageError if one of the names is not valid in Kubernetes, so that no file outside the directory is written.
    """
    parts = [part for part in (listing.namespace, listing.config_map) if part]
    for part in parts:
        if not _NAME.fullmatch(part):
            raise UsageError(f"{listing.location}: {part!r} is not a valid name in Kubernetes, so nothing is written")
    return "/".join(parts) + ".yaml"


def updated(before: bytes | None, path: str, listing: RequestedListing, offsets: Offsets) -> bytes:
    """The new content of the file. Raises UsageError if the existing file is not one ConfigMap of this name."""
    return config_map_text(_config_map(before, path, listing), listing, offsets).encode()


def _config_map(before: bytes | None, path: str, listing: RequestedListing) -> Mapping[str, Any] | None:
    if before is None:
        return None
    documents = parse(Blob(path, "", before)).documents if len(before) <= MAX_SIZE else ()
    found = documents[0].value if len(documents) == 1 else {}
    metadata = found.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if found.get("kind") != "ConfigMap" or name != listing.config_map:
        what = f"{path} exists, and is not the ConfigMap {listing.config_map} alone"
        raise UsageError(f"{what}: move the file away, or name another ConfigMap in listOffsets")
    return found


def write_to_branch(branch: OutputBranch, listing: RequestedListing, offsets: Offsets) -> str:
    """Commit the ConfigMap to the branch, and push. Returns the branch and the path. Raises what the branch raises."""
    path = config_map_path(listing)

    def update(before: bytes | None) -> bytes:
        return updated(before, f"{path} of the branch", listing, offsets)

    return branch.write(path, update, f"List the offsets of {listing.connector}")


def write_to_directory(directory: Path, listing: RequestedListing, offsets: Offsets) -> str:
    """Write the ConfigMap to a file, and replace the file in one step. Returns its path.

    Raises UsageError if the file or the directory cannot be written, or is a symbolic link.
    """
    file = directory / config_map_path(listing)
    try:
        with _WRITING, output_directory(directory, file.parent) as output:
            output.replace(file.name, [updated(output.read(file.name), str(file), listing, offsets)])
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}: check [strimzi] output") from error
    return str(file)
