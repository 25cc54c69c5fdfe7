"""Writes converted connectors: into a directory, or to stdout. Each document is read again before it is written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.converted_connectors import Converted, json_body, references, text_of
from gitops_connect.cli.import_names import file_stems
from gitops_connect.cli.imported_connectors import read_back
from gitops_connect.cli.output_files import refuse_old, write_new
from gitops_connect.model.diagnostics import Diagnostic, Diagnostics, Severity
from gitops_connect.model.file_formats import TargetFormat
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.strimzi import StrimziOptions
from gitops_connect.report.printable import shortened
from gitops_connect.report.table import as_json

_STDOUT = Path("-")
_DIRECTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def valid(converted: Iterable[Converted], target: TargetFormat) -> tuple[list[Converted], Diagnostics]:
    """The connectors that can be written, and every problem of the conversion."""
    problems: list[Diagnostic] = []
    good = []
    for cluster, connectors in _by_cluster(converted).items():
        sound = [one for one in connectors if not one.failed]
        problems += (item for one in connectors for item in one.problems)
        failed = _problems(sound, cluster, target)
        for one in sound:
            if one.source.name in failed:
                summary = f"connector {shortened(one.source.name)}: {failed[one.source.name]}"
                where = one.source.location
                problems.append(Diagnostic(Severity.ERROR, "convert/target", summary, where, "", one.source.name))
            else:
                good.append(one)
    return good, Diagnostics.of(problems)


def _problems(
    converted: Sequence[Converted], cluster: ClusterName | None, target: TargetFormat
) -> Mapping[ConnectorName, str]:
    """The connectors of one cluster that cannot be written without loss, each with the reason: each is read again."""
    if cluster is not None and not _DIRECTORY.fullmatch(cluster):
        return {one.source.name: f"{cluster!r} is no name of a cluster; use --cluster" for one in converted}
    if target is TargetFormat.JSON:
        return {}
    texts = {one.source.name: text_of(one, target) for one in converted}
    known = None if target is TargetFormat.STRIMZI else cluster
    read = read_back(texts, known, StrimziOptions(workers=True))
    found = dict(read.problems)
    for one in converted:
        config, expected = read.configs.get(one.source.name), one.document.config
        changed = [key for key in expected if config is not None and config.get(key) != expected[key]]
        if changed:
            found[one.source.name] = f"the file cannot have these config keys: {', '.join(sorted(changed))}"
    return found


def _by_cluster(converted: Iterable[Converted]) -> Mapping[ClusterName | None, list[Converted]]:
    found = defaultdict[ClusterName | None, list[Converted]](list)
    for one in converted:
        found[one.source.cluster].append(one)
    return found


@dataclass(frozen=True, slots=True)
class Output:
    """The directory for the connectors; None for stdout."""

    directory: Path | None
    target: TargetFormat
    force: bool

    def write(self, converted: Sequence[Converted]) -> list[Path]:
        """Write every connector, and return the files in the same order. If a file exists, no file is written.

        Raises UsageError if a file exists, unless `force`, and if one cannot be written.
        """
        if self.directory is None:
            self._print(converted)
            return [_STDOUT] * len(converted)
        files = self._files(self.directory, converted)
        for file in files:
            refuse_old(file, force=self.force)
        for one, file in zip(converted, files, strict=True):
            write_new(file, text_of(one, self.target), force=self.force, root=self.directory)
        return files

    def list_secrets(self, converted: Sequence[Converted]) -> None:
        """Print the variables that the files name: to stdout, unless it has the connectors."""
        found = references(converted, self.target)
        if not found:
            return
        if self.target is TargetFormat.GITOPS_CONNECT:
            echo("The documents contain no secrets. Allow these variables in the settings, and set their values:")
        else:
            echo("The files contain no secrets, but these references to environment variables of the workers:")
        if self.directory is None:
            echo(found.rstrip("\n"))
        else:
            emit(found)

    def _files(self, directory: Path, converted: Sequence[Converted]) -> list[Path]:
        stems = {
            cluster: file_stems([one.source.name for one in all_]) for cluster, all_ in _by_cluster(converted).items()
        }
        return [
            directory
            / (f"clusters/{one.source.cluster}" if one.source.cluster else "")
            / f"{stems[one.source.cluster][one.source.name]}{self.target.suffix}"
            for one in converted
        ]

    def _print(self, converted: Sequence[Converted]) -> None:
        if self.target is TargetFormat.JSON:
            bodies = [json_body(one) for one in converted]
            emit(as_json(bodies[0] if len(bodies) == 1 else bodies) if bodies else "")
        else:
            emit("---\n".join(text_of(one, self.target) for one in converted))
