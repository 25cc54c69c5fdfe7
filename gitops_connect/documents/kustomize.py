"""Finds out which files Kustomize builds: what they declare is known only after `kustomize build`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import Any

from gitops_connect.documents.yaml import parse
from gitops_connect.model.documents import Blob

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LONGEST_PATH = 4096


def is_kustomization(path: str) -> bool:
    return path.endswith(_NAMES) and path.rpartition("/")[2] in _NAMES


def named_paths(blob: Blob) -> frozenset[str]:
    """The paths that a kustomization may name: as resources, bases, components, patches, or files of generators."""
    file, directory = parse(blob), dirname(blob.path)
    texts = (text for one in (*file.documents, *file.broken) for text in _texts(one.value))
    paths = (text.rpartition("=")[2] for text in texts if len(text) <= _LONGEST_PATH)
    return frozenset(normpath(join(directory, path)) for path in paths if path)


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text:
                yield text
            case list() as items:
                pending += items
            case Mapping() as fields:
                pending += fields.values()
            case _:
                pass


def built_files(
    named: Mapping[str, Collection[str]], declaring: Collection[str], paths: Iterable[str]
) -> dict[str, str]:
    """The files that Kustomize builds, of those that declare something, each with its kustomization.

    `named` has the paths that each kustomization names, `paths` are all files. A kustomization builds its directory
    with all directories below, and what it names elsewhere, unless all that it names declares nothing.
    """
    existing, declared = _with_directories(paths), _with_directories(declaring)
    own, elsewhere = dict[str, str](), dict[str, str]()
    for kustomization, candidates in sorted(named.items()):
        found = existing.intersection(candidates)
        if not found or not found.isdisjoint(declared):
            own.setdefault(dirname(kustomization) or ".", kustomization)
            elsewhere |= dict.fromkeys(found & declared, kustomization)
    built_by = elsewhere | own
    above = {path: [one for one in _above(path) if one in built_by] for path in declaring} if built_by else {}
    return {path: built_by[found[-1]] for path, found in above.items() if found}


def _above(path: str) -> Iterator[str]:
    """The path, and the directories above it. The last one is the root, which is a dot."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "."


def _with_directories(paths: Iterable[str]) -> set[str]:
    found = {"."}
    for one in paths:
        path = one
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return found


def built_words(count: int) -> str:
    files = "a file with connectors" if count == 1 else f"{count:,} files with connectors"
    them = "it is not read" if count == 1 else "they are not read"
    return f"Kustomize builds {files} from this kustomization: {them}"
