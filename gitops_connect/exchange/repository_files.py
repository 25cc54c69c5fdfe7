"""What the files of a repository declare already, so that `import` declares no connector twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitops_connect.documents.desired_state import place
from gitops_connect.documents.fields import secret_references
from gitops_connect.documents.load import ParseCache, load
from gitops_connect.exchange.connector_documents import file_stems
from gitops_connect.model.desired import SecretSource
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.strimzi.translation import TranslationCache, translate

_VARIABLE = re.compile(r"\$\{(?:strimzi)?env:(\w+)\}")
_ELSEWHERE = "connector/unknown-cluster"


@dataclass(frozen=True, slots=True)
class RepositoryFiles:
    """The files of the connectors of one cluster, and the documents of all files, also those with errors.

    `complete` is False if it is not known what some file declares.
    """

    files: Mapping[ConnectorName, Sequence[Path]] = field(default_factory=dict)
    documents: Sequence[tuple[Path, Document]] = ()
    complete: bool = True

    def own(self, directory: Path, suffix: str) -> Mapping[ConnectorName, Path]:
        """The connectors whose only file has the name that `import` gives it, and declares nothing else."""
        contents = Counter(path for path, _ in self.documents)
        found = {}
        for name, paths in self.files.items():
            stem = re.escape(file_stems([name])[name])
            is_own = re.fullmatch(rf"{stem}(-\d{{1,9}})?{re.escape(suffix)}", paths[0].name)
            if len(paths) == 1 and paths[0].parent == directory and is_own and contents[paths[0]] == 1:
                found[name] = paths[0]
        return found

    def occupied(self, directory: Path) -> Collection[str]:
        """The names of the directory's files that declare something, without suffix."""
        return {path.stem for path, _ in self.documents if path.parent == directory}

    def variables(self, but: Collection[Path]) -> Collection[str]:
        """The environment variables that documents name, without those of some files."""
        found = set[str]()
        for path, one in self.documents:
            if path not in but:
                found |= {ref.name for ref in secret_references(one).values() if ref.source is SecretSource.ENV}
                config = one.section("spec").get("config")
                values = config.values() if isinstance(config, Mapping) else ()
                found.update(*(_VARIABLE.findall(str(value)) for value in values))
        return found


def read_repository(
    root: Path, cluster: ClusterName, clusters: Collection[ClusterName], strimzi: StrimziOptions
) -> RepositoryFiles:
    """Read the files of the directory; nothing if it does not exist. `clusters` are those of the settings.

    A document that does not name its cluster may be for this one. Raises the errors of `WorkingTree.fetch`.
    """
    if not root.exists():
        return RepositoryFiles()
    strimzi = replace(strimzi, workers=True)  # placeholders stay in the configs
    read = translate(load(WorkingTree(root).fetch(), ParseCache()), strimzi, TranslationCache())
    documents = [(root / one.location.file, one) for one in (*read.documents, *read.broken)]
    files: dict[ConnectorName, list[Path]] = {}
    for path, one in documents:
        where = None if one.is_offset_change else place(one, clusters)
        is_here = where == cluster or (isinstance(where, Diagnostic) and where.rule != _ELSEWHERE)
        if one.connector is not None and is_here:
            files.setdefault(one.connector, []).append(path)
    return RepositoryFiles(files, documents, read.complete)
