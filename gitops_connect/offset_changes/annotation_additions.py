"""Finds which commit added each annotation that requests something of Strimzi's connectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitops_connect.desired.file_content import read_file
from gitops_connect.desired.strimzi.annotated import Additions, AnnotatedResource
from gitops_connect.model.canonical import digest
from gitops_connect.model.documents import Blob
from gitops_connect.model.strimzi_annotations import AnnotationKey
from gitops_connect.source.checkout import History

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
    commit = history.added(path, key, _Presence(key))
    return None if commit is None else commit[:_ID]


@dataclass(frozen=True, slots=True)
class _Presence:
    """Whether a version of a file has the annotation. A version that cannot be read has none."""

    key: AnnotationKey

    def __call__(self, blob: Blob) -> bool:
        file = read_file(blob)
        return file is not None and any(map(self.key.is_in, (*file.strimzi, *file.broken_strimzi)))
