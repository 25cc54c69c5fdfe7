"""Leaves out the files that Kustomize builds: `convert` reads the output of `kustomize build` instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gitops_connect.documents.kustomize import built_files, built_words, is_kustomization, named_paths
from gitops_connect.documents.load import MAX_SIZE
from gitops_connect.documents.recognition import may_declare
from gitops_connect.model.diagnostics import Diagnostic, Location, Severity
from gitops_connect.model.documents import Blob
from gitops_connect.safe_files import open_regular

_HINT = "convert the output of `kustomize build`, as in `kustomize build DIR | gitops-connect convert -`"


def without_built(root: Path, files: Sequence[Path]) -> tuple[Sequence[Path], list[Diagnostic]]:
    """The files of a directory without those that Kustomize builds, and an error for each kustomization."""
    parents = {file.parent for file in files}
    directories = {one for parent in parents for one in (parent, *parent.parents) if one.is_relative_to(root)}
    here = [one for directory in directories for one in directory.iterdir() if is_kustomization(one.name)]
    if not here:
        return files, []
    named = {blob.path: named_paths(blob) for blob in _blobs(root, here)}
    declaring = [blob.path for blob in _blobs(root, files) if may_declare(blob.content)]
    built = built_files(named, declaring, (file.relative_to(root).as_posix() for file in files))
    errors = [
        Diagnostic(Severity.ERROR, "convert/kustomize", built_words(count), Location((root / path).as_posix()), _HINT)
        for path, count in sorted(Counter(built.values()).items())
    ]
    return [file for file in files if file.relative_to(root).as_posix() not in built], errors


def _blobs(root: Path, files: Iterable[Path]) -> Iterator[Blob]:
    """The content of each file that can be read. Others are reported when they are converted."""
    for file in files:
        with suppress(OSError), open_regular(file) as stream:
            yield Blob(file.relative_to(root).as_posix(), "", stream.read(MAX_SIZE))
