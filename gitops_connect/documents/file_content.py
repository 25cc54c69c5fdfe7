"""What one file declares: gitops-connect documents, and resources of Strimzi. Everything else is left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from gitops_connect.documents import recognition
from gitops_connect.documents.fields import INSIDE_DOCUMENTS
from gitops_connect.documents.recognition import Membership
from gitops_connect.documents.yaml import ParsedFile, parse
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity
from gitops_connect.model.documents import Blob, Document

MAX_SIZE = 10 * 1024 * 1024
"""Bytes. Nobody reviews a document of that size; it is something else, or an attack on the parser's memory."""
CONFIG_MAPS = ParsedFile()
"""For a file with ConfigMaps that is not parsed until a resource of Strimzi names a ConfigMap."""


def read_file(blob: Blob) -> ParsedFile | None:
    """The file's documents; None if none declares anything. A manifest may be larger than any document."""
    content = blob.content
    if len(content) > MAX_SIZE:
        is_ours = recognition.says_ours(content) or recognition.says_strimzi(content)
        return _too_large(blob.path) if is_ours else None
    if recognition.may_be_ours(content) or recognition.may_be_strimzi(content):
        return _sort_out(blob, _unpacked(parse(blob)))
    return CONFIG_MAPS if recognition.may_be_config_map(content) else None


def read_config_maps(blob: Blob) -> ParsedFile | None:
    """The ConfigMaps of a file without other documents that matter, or None. Its errors are not reported."""
    found = tuple(
        one for one in _unpacked(parse(blob)).documents if recognition.classify_resource(one) is Membership.CONFIG_MAP
    )
    return ParsedFile(strimzi=found) if found else None


def _unpacked(file: ParsedFile) -> ParsedFile:
    documents, broken = tuple(recognition.unpacked(file.documents)), tuple(recognition.unpacked(file.broken))
    return replace(file, documents=documents, broken=broken)


def _sort_out(blob: Blob, file: ParsedFile) -> ParsedFile | None:
    """Keep gitops-connect documents and resources of Strimzi, report documents that are meant to be some.

    A file that only looked like a gitops-connect file may be any template or fixture: its errors are not reported.
    """
    ours, theirs = recognition.says_ours(blob.content), recognition.says_strimzi(blob.content)
    if theirs and _is_template(blob, file):
        warning = recognition.template_file(blob.path, blob.content)
        return ParsedFile(diagnostics=Diagnostics.of([warning]), complete=False)
    own = _sorted(file, partial(recognition.classify, among_ours=ours))
    resources = _sorted(file, recognition.classify_resource)
    mistakes = [*map(recognition.mistake, own.mistaken), *map(recognition.resource_mistake, resources.mistaken)]
    every = (*file.documents, *file.broken)
    templates = _found(recognition.template_object(one) for one in every)
    warnings = [*_found(recognition.look_alike(one) for one in every), *templates]
    if not (ours or theirs or mistakes):
        return ParsedFile(diagnostics=Diagnostics.of(warnings), complete=not templates) if warnings else None
    broken, broken_resources = (*own.broken, *own.mistaken), (*resources.broken, *resources.mistaken)
    problems = _relevant(file, (*broken, *broken_resources))
    return ParsedFile(
        documents=own.sound,
        broken=broken,
        diagnostics=Diagnostics.of((*problems, *mistakes, *warnings)),
        complete=file.complete and not templates,
        strimzi=resources.sound,
        broken_strimzi=broken_resources,
    )


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The documents of a file that belong together: without errors, with errors, and with a wrong kind or version."""

    sound: tuple[Document, ...]
    broken: tuple[Document, ...]
    mistaken: tuple[Document, ...]


def _sorted(file: ParsedFile, classify: Callable[[Document], Membership]) -> _Sorted:
    def of(documents: Iterable[Document], *wanted: Membership) -> tuple[Document, ...]:
        return tuple(one for one in documents if classify(one) in wanted)

    return _Sorted(
        of(file.documents, Membership.MEMBER, Membership.CONFIG_MAP),
        of(file.broken, Membership.MEMBER),
        of((*file.documents, *file.broken), Membership.MISTAKEN),
    )


def _is_template(blob: Blob, file: ParsedFile) -> bool:
    """Whether a file with resources of Strimzi has to be rendered first: it has actions, and errors because of them."""
    if not recognition.is_template(blob.content):
        return False
    unnamed = any(recognition.has_actions(one) for one in file.documents if _is_resource(one))
    return unnamed or not file.complete or any(map(_is_resource, file.broken))


def _is_resource(document: Document) -> bool:
    return recognition.classify_resource(document) is Membership.MEMBER


def _relevant(file: ParsedFile, kept: Collection[Document]) -> list[Diagnostic]:
    """The problems of the file without those inside other documents that could be read: they belong to others."""
    foreign = [one for one in file.broken if not any(one is other for other in kept)]
    every = sorted((*file.documents, *file.broken), key=lambda document: document.location)
    starts = [document.location for document in every]

    def is_foreign(problem: Diagnostic) -> bool:
        index = bisect_right(starts, problem.location)
        return problem.rule in INSIDE_DOCUMENTS and index > 0 and any(every[index - 1] is one for one in foreign)

    return [problem for problem in file.diagnostics if not is_foreign(problem)]


def _found(diagnostics: Iterable[Diagnostic | None]) -> list[Diagnostic]:
    return [one for one in diagnostics if one is not None]


def _too_large(path: str) -> ParsedFile:
    hint = "split it; move long lists of offsets to an offset manifest"
    summary = (
        f"the file contains a gitops-connect document and is larger than {MAX_SIZE // 1024**2} MiB; it is not read"
    )
    problem = Diagnostic(Severity.ERROR, "document/too-large", summary, Location(path), hint)
    return ParsedFile(diagnostics=Diagnostics.of([problem]), complete=False)
