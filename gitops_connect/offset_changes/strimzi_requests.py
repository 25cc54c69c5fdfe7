"""Requests of Strimzi's annotations: the commits that added them, and the ConfigMaps with the listed offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock

from gitops_connect.documents.load import MAX_SIZE, read_file
from gitops_connect.documents.yaml import parse
from gitops_connect.errors import UsageError
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredOffsetChange, DesiredState
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeRecord, OffsetChangeState
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.strimzi import RequestedListing, split_name
from gitops_connect.report.change_document import config_map_text
from gitops_connect.safe_files import output_directory
from gitops_connect.source.checkout import History
from gitops_connect.source.output_branch import OutputBranch
from gitops_connect.strimzi.annotations import Additions, AnnotatedResource, AnnotationKey

_MAY_HAVE_EFFECT = (OffsetChangeState.SETTLED, OffsetChangeState.OPEN, OffsetChangeState.UNKNOWN)
_ID = 12
"""Hex digits of an id: enough to name one commit of a repository."""


def find_additions(history: History | None, annotated: Iterable[AnnotatedResource]) -> Additions:
    """What identifies each addition: the commit that added the annotation, or without Git the annotation itself.

    Without Git, an annotation acts once for each of its values. Raises what the source raises.
    """
    return {
        request.key: _addition(history, one.resource.location.file, request.key)
        for one in annotated
        for request in one.requests
    }


def _addition(history: History | None, path: str, key: AnnotationKey) -> str | None:
    if history is None:
        names = [key.kind, key.namespace, key.resource, [list(pair) for pair in key.pairs]]
        return f"content-{digest(names)[:_ID]}"
    commit = history.added(path, key, partial(_is_in, key))
    return None if commit is None else commit[:_ID]


def _is_in(key: AnnotationKey, blob: Blob) -> bool:
    """Whether a version of a file has the annotation. A version that cannot be read has none."""
    file = read_file(blob)
    return file is not None and any(map(key.is_in, (*file.strimzi, *file.broken_strimzi)))


def find_replaced(
    history: History | None, desired: DesiredState, records: Mapping[OffsetChangeName, OffsetChangeRecord]
) -> Mapping[OffsetChangeName, OffsetChangeName]:
    """The recorded name of the same change, for each requested change without a record.

    The annotation was added once more if the earlier commit is in the history of its commit. Otherwise, a force-push, a
    rebase or a squash has replaced the earlier commit, or the documents are read from a directory: the change must not
    be applied a second time. Raises what the source raises.
    """
    replaced = {}
    for offset_change in desired.offset_changes:
        if offset_change.annotation is None or offset_change.name in records:
            continue
        earlier = (one for one in records.values() if _is_same(one, offset_change))
        other = next((one.name for one in earlier if not _is_older(history, one.name, offset_change.name)), None)
        if other is not None:
            replaced[offset_change.name] = other
    return replaced


def _is_same(record: OffsetChangeRecord, offset_change: DesiredOffsetChange) -> bool:
    """Whether both are the same action on the same connector with the same offsets, by different commits."""
    same_name = split_name(record.name)[0] == split_name(offset_change.name)[0]
    same_content = record.digest in (None, offset_change.digest)
    return same_name and same_content and record.state in _MAY_HAVE_EFFECT


def _is_older(history: History | None, earlier: OffsetChangeName, later: OffsetChangeName) -> bool:
    commits = split_name(earlier)[1], split_name(later)[1]
    return history is not None and history.contains(commits[0], Revision(commits[1]))


# Writes current offsets to a ConfigMap in the directory or the branch that the settings name.

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


def _updated(before: bytes | None, path: str, listing: RequestedListing, offsets: Offsets) -> bytes:
    """The new content of the file. Raises UsageError if the existing file is not one ConfigMap of this name."""
    if before is None:
        return config_map_text(None, listing, offsets).encode()
    documents = parse(Blob(path, "", before)).documents if len(before) <= MAX_SIZE else ()
    found = documents[0].value if len(documents) == 1 else {}
    metadata = found.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if found.get("kind") != "ConfigMap" or name != listing.config_map:
        what = f"{path} exists, and is not the ConfigMap {listing.config_map} alone"
        raise UsageError(f"{what}: move the file away, or name another ConfigMap in listOffsets")
    return config_map_text(found, listing, offsets).encode()


def write_to_branch(branch: OutputBranch, listing: RequestedListing, offsets: Offsets) -> str:
    """Commit the ConfigMap to the branch, and push. Returns the branch and the path. Raises what the branch raises."""
    path = config_map_path(listing)
    update = partial(_updated, path=f"{path} of the branch", listing=listing, offsets=offsets)
    return branch.write(path, update, f"List the offsets of {listing.connector}")


def write_to_directory(directory: Path, listing: RequestedListing, offsets: Offsets) -> str:
    """Write the ConfigMap to a file, and replace the file in one step. Returns its path.

    Raises UsageError if the file or the directory cannot be written, or is a symbolic link.
    """
    file = directory / config_map_path(listing)
    try:
        with _WRITING, output_directory(directory, file.parent) as output:
            output.replace(file.name, [_updated(output.read(file.name), str(file), listing, offsets)])
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}: check [strimzi] output") from error
    return str(file)
