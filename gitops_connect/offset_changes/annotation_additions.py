"""Finds which commit added each annotation that requests something of Strimzi's connectors, despite force-pushes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from gitops_connect.documents.load import read_file
from gitops_connect.model.canonical import digest
from gitops_connect.model.desired import DesiredOperation, DesiredState
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import OperationName, Revision
from gitops_connect.model.operations import OperationRecord, OperationState
from gitops_connect.model.strimzi import AnnotationKey, split_name
from gitops_connect.source.checkout import History
from gitops_connect.strimzi.annotations import Additions, AnnotatedResource

_MAY_HAVE_EFFECT = (OperationState.SETTLED, OperationState.OPEN, OperationState.UNKNOWN)
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
    history: History | None, desired: DesiredState, records: Mapping[OperationName, OperationRecord]
) -> Mapping[OperationName, OperationName]:
    """The recorded name of the same change, for each requested change without a record.

    The annotation was added once more if the earlier commit is in the history of its commit. Otherwise, a force-push, a
    rebase or a squash has replaced the earlier commit, or the documents are read from a directory: the change must not
    be applied a second time. Raises what the source raises.
    """
    replaced = {}
    for operation in desired.operations:
        if operation.annotation is None or operation.name in records:
            continue
        earlier = (one for one in records.values() if _is_same(one, operation))
        other = next((one.name for one in earlier if not _is_older(history, one.name, operation.name)), None)
        if other is not None:
            replaced[operation.name] = other
    return replaced


def _is_same(record: OperationRecord, operation: DesiredOperation) -> bool:
    """Whether the record is of the same action on the same connector with the same offsets, by another commit."""
    same_name = split_name(record.name)[0] == split_name(operation.name)[0]
    same_content = record.digest in (None, operation.digest)
    return same_name and same_content and record.state in _MAY_HAVE_EFFECT


def _is_older(history: History | None, earlier: OperationName, later: OperationName) -> bool:
    commits = split_name(earlier)[1], split_name(later)[1]
    return history is not None and history.contains(commits[0], Revision(commits[1]))
