"""Loads the documents of a revision; only files that are new since the last revision are read and parsed.

Of each file, gitops-connect documents and resources of Strimzi are kept. Everything else is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from gitops_connect.documents import recognition
from gitops_connect.documents.fields import INSIDE_DOCUMENTS
from gitops_connect.documents.kustomize import built_files, built_words, is_kustomization, named_paths
from gitops_connect.documents.recognition import Membership, is_hidden, is_visible, names_config_maps
from gitops_connect.documents.yaml import parse
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Location, Severity, contained_or
from gitops_connect.model.documents import Blob, Document, Documents, Entry

MAX_SIZE = 10 * 1024 * 1024
"""Bytes. Nobody reviews a document of that size; it is something else, or an attack on the parser's memory."""
CONFIG_MAPS = Documents()
"""For a file with ConfigMaps that is not parsed until a resource of Strimzi names a ConfigMap."""


def read_file(blob: Blob, groups: Collection[str] = ()) -> Documents | None:
    """The file's documents; None if none declares anything. A manifest may be larger than any document.

    Resources of the API groups `groups` are read as Strimzi's.
    """
    content = blob.content
    if len(content) > MAX_SIZE:
        is_ours = recognition.says_ours(content) or recognition.says_strimzi(content, groups)
        return _too_large(blob.path) if is_ours else None
    if recognition.may_declare(content, groups):
        return _sort_out(blob, _unpacked(parse(blob), groups), groups)
    return CONFIG_MAPS if recognition.may_be_config_map(content) else None


def read_config_maps(blob: Blob) -> Documents | None:
    """The ConfigMaps of a file without other documents that matter, or None. Its errors are not reported."""
    found = _those(_unpacked(parse(blob), ()).documents, recognition.classify_resource, Membership.CONFIG_MAP)
    return Documents(strimzi=found) if found else None


def _unpacked(file: Documents, groups: Collection[str]) -> Documents:
    documents, broken = (
        tuple(recognition.as_strimzi(one, groups) for one in recognition.unpacked(some))
        for some in (file.documents, file.broken)
    )
    return replace(file, documents=documents, broken=broken)


def _sort_out(blob: Blob, file: Documents, groups: Collection[str]) -> Documents | None:
    """Keep our documents and Strimzi's resources, and report mistaken ones. Errors of templates are not reported."""
    ours, theirs = recognition.says_ours(blob.content), recognition.says_strimzi(blob.content, groups)
    if theirs and _is_template(blob, file):
        warning = recognition.template_file(blob.path, blob.content)
        return Documents(diagnostics=Diagnostics.of([warning]), complete=False)
    every = (*file.documents, *file.broken)
    is_own = partial(recognition.classify, among_ours=ours)
    mistaken = _those(every, is_own, Membership.MISTAKEN)
    mistaken_resources = _those(every, recognition.classify_resource, Membership.MISTAKEN)
    mistakes = [*map(recognition.mistake, mistaken), *map(recognition.resource_mistake, mistaken_resources)]
    templates = _found(recognition.template_object(one, groups) for one in every)
    warnings = [*_found(recognition.look_alike(one) for one in every), *templates]
    if not (ours or theirs or mistakes):
        return Documents(diagnostics=Diagnostics.of(warnings), complete=not templates) if warnings else None
    broken = (*_those(file.broken, is_own, Membership.MEMBER), *mistaken)
    resources = (*_those(file.broken, recognition.classify_resource, Membership.MEMBER), *mistaken_resources)
    return Documents(
        documents=_those(file.documents, is_own, Membership.MEMBER),
        broken=broken,
        diagnostics=Diagnostics.of((*_relevant(file, (*broken, *resources)), *mistakes, *warnings)),
        complete=file.complete and not templates,
        strimzi=_those(file.documents, recognition.classify_resource, Membership.MEMBER, Membership.CONFIG_MAP),
        broken_strimzi=resources,
    )


def _those(
    documents: Iterable[Document], classify: Callable[[Document], Membership], *wanted: Membership
) -> tuple[Document, ...]:
    return tuple(one for one in documents if classify(one) in wanted)


def _is_template(blob: Blob, file: Documents) -> bool:
    """Whether a file with resources of Strimzi has to be rendered first: it has actions, and errors because of them."""
    if not recognition.has_actions(blob.content):
        return False
    resources = _those(file.documents, recognition.classify_resource, Membership.MEMBER)
    unnamed = any("{" in str(one.section("metadata").get("name")) for one in resources)
    broken = _those(file.broken, recognition.classify_resource, Membership.MEMBER)
    return unnamed or not file.complete or bool(broken)


def _relevant(file: Documents, kept: Collection[Document]) -> list[Diagnostic]:
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


def _too_large(path: str) -> Documents:
    hint, size = "split it; move long lists of offsets to an offset manifest", f"{MAX_SIZE // 1024**2} MiB"
    summary = f"the file contains a gitops-connect document and is larger than {size}; it is not read"
    problem = Diagnostic(Severity.ERROR, "document/too-large", summary, Location(path), hint)
    return Documents(diagnostics=Diagnostics.of([problem]), complete=False)


# The files of a revision.

Key = tuple[str, str]


class Files(Protocol):
    """The files of a revision, as in `source.checkout.Checkout`: names are known, content is read on demand."""

    @property
    def entries(self) -> Collection[Entry]:
        """Every file."""

    @property
    def diagnostics(self) -> Diagnostics:
        """The files that were left out, and why."""

    @property
    def complete(self) -> bool:
        """False if a file was left out."""

    def blobs(self, entries: Iterable[Entry], at_most: int | None = None) -> Iterator[Blob]:
        """The content of these in this order, one in memory at a time; at most the first `at_most` bytes of each."""


class ParseCache:
    """The parsed files of the last revision, by path and blob id; deleted files are removed.

    A file that contains no document that declares something is None. A kustomization has the paths that it names. The
    same file gives the same `Document` objects, so that results about them can be cached by object.
    """

    def __init__(self) -> None:
        self.files: Mapping[Key, Documents | None] = {}
        self.kustomizations: Mapping[Key, frozenset[str]] = {}


def load(files: Files, cache: ParseCache, groups: Collection[str] = ()) -> Documents:
    """All documents of a revision. Files that the cache lacks are read together; errors of reading are passed on.

    Resources of the API groups `groups` are read as Strimzi's.
    """
    read = partial(read_file, groups=groups)
    visible = sorted((entry for entry in files.entries if is_visible(entry.path)), key=lambda entry: entry.path)
    parsed = {_key(entry): cache.files[_key(entry)] for entry in visible if _key(entry) in cache.files}
    parsed |= _parsed(files, [entry for entry in visible if _key(entry) not in parsed], read)
    built = _built_files(files, cache, visible, parsed)
    visible = [entry for entry in visible if entry.path not in built] if built else visible
    kept = (file for entry in visible if (file := parsed[_key(entry)]) is not None)
    if any(names_config_maps(resource) for file in kept for resource in file.strimzi):
        deferred = [entry for entry in visible if parsed[_key(entry)] is CONFIG_MAPS]
        parsed |= _parsed(files, deferred, read_config_maps)
    cache.files = parsed
    found = [file for entry in visible if (file := parsed[_key(entry)]) is not None and file is not CONFIG_MAPS]
    left_out = [Documents(diagnostics=files.diagnostics, complete=files.complete), _not_built(built)]
    return replace(Documents.merged([*left_out, *found]), ignored=len(visible) - len(found))


def _declares(file: Documents | None) -> bool:
    """Whether a file declares something, or may do so."""
    if file is None:
        return False
    resources = (one for one in file.strimzi if one.value.get("kind") != recognition.CONFIG_MAP)
    return bool(file.documents or file.broken or file.broken_strimzi or not file.complete or any(resources))


def _built_files(
    files: Files, cache: ParseCache, visible: Iterable[Entry], parsed: Mapping[Key, Documents | None]
) -> Mapping[str, str]:
    """The files that Kustomize builds, each with its kustomization."""
    entries = [entry for entry in files.entries if is_kustomization(entry.path) and not is_hidden(entry.path)]
    if not entries:
        return {}
    named = {key: one for entry in entries if (one := cache.kustomizations.get(key := _key(entry))) is not None}
    for blob in files.blobs([entry for entry in entries if _key(entry) not in named], MAX_SIZE):
        named[_key(blob)] = contained_or(_names_nothing, partial(named_paths, blob), Location(blob.path))
    cache.kustomizations = named
    declaring = [entry.path for entry in visible if _declares(parsed[_key(entry)])]
    return built_files({path: one for (path, _), one in named.items()}, declaring, (one.path for one in files.entries))


def _names_nothing(_bug: Diagnostic) -> frozenset[str]:
    """Without the paths that it names, a kustomization builds its directory."""
    return frozenset()


def _not_built(built: Mapping[str, str]) -> Documents:
    """A warning for each kustomization whose output is missing: what it declares is unknown."""
    hint = "commit the output of `kustomize build`, or move the directory out of [repository] path"
    unknown = "no connector is pruned while its connectors are unknown"
    warnings = [
        Diagnostic(Severity.WARNING, "document/kustomize", f"{built_words(count)}; {unknown}", Location(path), hint)
        for path, count in Counter(built.values()).items()
    ]
    return Documents(diagnostics=Diagnostics.of(warnings), complete=not warnings)


def _key(entry: Entry | Blob) -> Key:
    return entry.path, entry.blob_id


def _parsed(
    files: Files, entries: Collection[Entry], read: Callable[[Blob], Documents | None]
) -> dict[Key, Documents | None]:
    """The content of the files: of each, one byte more than the limit, to detect files that are too large."""
    blobs = files.blobs(entries, MAX_SIZE + 1)
    return {_key(blob): contained_or(_unknown, partial(read, blob), Location(blob.path)) for blob in blobs}


def _unknown(bug: Diagnostic) -> Documents:
    return Documents(diagnostics=Diagnostics.of([bug]), complete=False)
