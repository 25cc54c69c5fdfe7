"""The files of converted connectors. Each document is read again, as the file of a repository, before it is written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitops_connect.checks import document_schemas
from gitops_connect.documents import desired_state
from gitops_connect.documents.fields import TASKS
from gitops_connect.documents.load import read_file
from gitops_connect.exchange.connector_documents import Converted, file_stems, problems_of
from gitops_connect.exchange.declarations import ConnectorDeclaration, TargetFormat
from gitops_connect.exchange.document_text import problem_of_resource, text_of, with_references
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.documents import Blob, Documents
from gitops_connect.model.names import ClusterName, ConnectorName, first_refused, unaddressable
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.report.printable import shortened
from gitops_connect.safe_files import refuse_old, write_new
from gitops_connect.strimzi.translation import TranslationCache, translate

_CHANGED = "the file cannot have these config keys:"
SCHEMA_FILE = ".gitops-connect/documents.schema.json"
"""The schema of documents in a repository, for editors. Directories whose names begin with a dot are not read."""
_DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_REFUSED = re.compile(r"[^A-Za-z0-9._-]")


def lossy(
    converted: Iterable[Converted], target: TargetFormat, strimzi: StrimziOptions, *, strictly: bool = False
) -> Mapping[ConnectorName, str]:
    """The connectors of a cluster that the format cannot express without loss, each with the reason.

    `strictly`: keys that only the reading of a resource adds have changed, too. JSON is not read. Without `tasks.max`,
    a worker, Strimzi and a document have one task.
    """
    documents, strictly = [one.document for one in converted], strictly and target is TargetFormat.STRIMZI
    reasons = {one.name: problem for one in documents if (problem := _problem_of(one, target))}
    expected = {
        one.name: (one, {TASKS: "1", **(with_references(one, target) if strictly else one).config})
        for one in documents
        if one.name not in reasons and target is not TargetFormat.JSON
    }
    found, problems = _read([one for one, _ in expected.values()], target, strimzi)
    for name, config in found.items():
        declared = expected[name][1] if name in expected else {}
        keys = config.keys() | declared.keys() if strictly else declared.keys()
        if changed := sorted(key for key in keys if config.get(key) != declared.get(key)):
            what = "a KafkaConnector cannot declare its config keys" if strictly else _CHANGED
            reasons[name] = f"{what} {', '.join(changed)}"
    return {**reasons, **problems}


def _problem_of(document: ConnectorDeclaration, target: TargetFormat) -> str:
    """Why no document or resource can have the name, the cluster, the state and the tasks of the connector."""
    if target is TargetFormat.JSON:
        return ""
    if why := unaddressable(document.name):
        return f"Connect can create it, but {why}"
    return problem_of_resource(document) if target is TargetFormat.STRIMZI else ""


def _read(
    documents: Sequence[ConnectorDeclaration], target: TargetFormat, strimzi: StrimziOptions
) -> tuple[Mapping[ConnectorName, Mapping[str, str]], Mapping[ConnectorName, str]]:
    """The config of each valid connector, read as a file of a repository, and the first error of each other one."""
    options = replace(strimzi, workers=True)  # placeholders stay
    names = {f"{number:09}": one for number, one in enumerate(documents)}
    read = [read_file(Blob(path, "", text_of(one, target).encode())) for path, one in names.items()]
    parsed = translate(Documents.merged(one for one in read if one is not None), options, TranslationCache())
    cluster = next((one.cluster for one in documents if target is TargetFormat.GITOPS_CONNECT), None)
    states, diagnostics = desired_state.build(parsed, [cluster] if cluster else None, document_schemas.check(parsed))
    return (
        {one.name: one.config for state in states.values() for one in state.connectors},
        {
            names[error.location.file].name: f"its document would be invalid: {error.summary}"
            for error in reversed(diagnostics.errors)
        },
    )


def valid(converted: Iterable[Converted], target: TargetFormat) -> tuple[list[Converted], Diagnostics]:
    """The connectors that can be written, and every problem of the conversion."""
    problems: list[Diagnostic] = []
    good = []
    for cluster, connectors in _by_cluster(converted).items():
        found = [(one, problems_of(one, target)) for one in connectors]
        problems += (item for _, items in found for item in items)
        sound = [one for one, items in found if not any(item.severity is Severity.ERROR for item in items)]
        if cluster is None or _DIRECTORY.fullmatch(cluster):
            failed = lossy(sound, target, StrimziOptions())
        else:
            refused = first_refused(_REFUSED, cluster) or "it begins with a dot or a dash"
            failed = {
                one.source.name: f"{cluster!r} is no name of a cluster: {refused}; use --cluster" for one in sound
            }
        for one in sound:
            if one.source.name in failed:
                summary = f"connector {shortened(one.source.name)}: {failed[one.source.name]}"
                where = one.source.location
                problems.append(Diagnostic(Severity.ERROR, "convert/target", summary, where, "", one.source.name))
            else:
                good.append(one)
    return good, Diagnostics.of(problems)


def _by_cluster(converted: Iterable[Converted]) -> Mapping[ClusterName | None, list[Converted]]:
    found = defaultdict[ClusterName | None, list[Converted]](list)
    for one in converted:
        found[one.source.cluster].append(one)
    return found


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The files of connectors: `clusters/NAME/` in the directory that the user named, if the cluster has a name."""

    root: Path
    target: TargetFormat
    force: bool

    def paths(
        self, converted: Sequence[Converted], occupied: Collection[str] = (), own: Mapping[ConnectorName, Path] = {}
    ) -> list[Path]:
        """The file of each connector, in the same order: that in `own`, or a new one.

        No new file gets a name of `occupied`, which have no suffixes.
        """
        stems = {
            cluster: file_stems({one.source.name for one in same}, occupied)
            for cluster, same in _by_cluster(converted).items()
        }
        return [
            own.get(one.source.name)
            or self.directory(one.source.cluster) / f"{stems[one.source.cluster][one.source.name]}{self.target.suffix}"
            for one in converted
        ]

    def directory(self, cluster: ClusterName | None) -> Path:
        return self.root / f"clusters/{cluster}" if cluster else self.root

    def write(self, converted: Sequence[Converted], paths: Sequence[Path], *, with_offsets: bool = False) -> None:
        """Write every connector. No file is written if one exists, or one with its offsets if they are written, too.

        Raises UsageError if a file exists, unless `force`, and if one cannot be written.
        """
        for path in paths:
            for one in (path, *([offsets_path(path)] if with_offsets else [])):
                refuse_old(one, force=self.force)
        has_schema = self.target is TargetFormat.GITOPS_CONNECT and (self.root / SCHEMA_FILE).is_file()
        for each, path in zip(converted, paths, strict=True):
            head = schema_line(self.root, path) if has_schema else ""
            write_new(path, head + text_of(each.document, self.target), force=self.force, root=self.root)


def schema_line(root: Path, path: Path) -> str:
    """The first line of a document, with which the YAML language server of editors finds the schema."""
    up = "../" * (len(path.relative_to(root).parts) - 1)
    return f"# yaml-language-server: $schema={up}{SCHEMA_FILE}\n"


def offsets_path(path: Path) -> Path:
    """The file with the offsets of the connector whose file this is."""
    return path.parent / "offsets" / path.with_suffix(".jsonl").name
