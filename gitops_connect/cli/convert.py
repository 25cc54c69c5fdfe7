"""`gitops-connect convert`: connectors of other tools as documents, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import echo, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Force, argument, option
from gitops_connect.cli.progress import progress
from gitops_connect.exchange.connector_documents import Converted, ConvertOptions, convert_all
from gitops_connect.exchange.declarations import FileFormat, TargetFormat
from gitops_connect.exchange.document_text import json_body, needed_secrets, text_of
from gitops_connect.exchange.from_files import FileConnectors, read_all
from gitops_connect.exchange.written_files import OutputFiles, valid
from gitops_connect.model.diagnostics import Diagnostics, Severity
from gitops_connect.model.names import ClusterName
from gitops_connect.report.printable import escaped
from gitops_connect.report.problems import problem_lines, summary_line
from gitops_connect.report.table import as_json, table
from gitops_connect.report.words import plural
from gitops_connect.settings.own import own_variables
from gitops_connect.settings.sections import Settings

_STDOUT = Path("-")
_MAX_KINDS = 20


def convert(
    context: typer.Context,
    paths: Annotated[list[Path], argument("PATH...", "Files, and directories with files; - is stdin.")],
    out: Annotated[Path | None, option("--out", "DIR", "The directory for the files. [default: stdout]")] = None,
    to: Annotated[TargetFormat, typer.Option("--to", help="The format to write.")] = TargetFormat.GITOPS_CONNECT,
    from_: Annotated[
        FileFormat | None, typer.Option("--from", help="The format of all files. [default: detected]")
    ] = None,
    cluster: Annotated[str | None, option("--cluster", "NAME", "The cluster of all connectors.")] = None,
    force: Force = False,
) -> int:
    """Convert connectors from and to the formats of other tools.

    Reads documents of gitops-connect, resources of Strimzi and of Confluent for Kubernetes, JSON of Connect's REST API,
    properties files of standalone workers, and files of Jikkou, Terraform, ksqlDB, Helm and Ansible, also in shell
    scripts, Compose files and ConfigMaps. Nothing is run. Secrets are not written: the files name environment variables
    for them, which the command lists. No cluster is contacted. Exits with 4 if something was not converted.
    """
    settings = settings_of(context)
    strimzi = replace(settings.strimzi_options, workers=settings.strimzi.workers or to is TargetFormat.STRIMZI)
    with progress("Converting", "reading the files") as say:
        declared = read_all(paths, from_, ClusterName(cluster) if cluster else None, out, strimzi)
        say("converting the connectors")
        converted, problems = valid(convert_all(declared.connectors, convert_options(settings, to)), to)
    if out is None:
        _print(converted, to)
        files = [_STDOUT] * len(converted)
    else:
        output = OutputFiles(out, to, force)
        files = output.paths(converted)
        output.write(converted, files)
    diagnostics = declared.diagnostics + problems
    _report(converted, files, diagnostics, declared)
    if needed := needed_secrets([one.document for one in converted], to):
        echo(secrets_note(to))
        if out is None:
            echo(needed.rstrip("\n"))
        else:
            emit(needed)
    return ExitCode.INVALID if diagnostics.errors else ExitCode.DONE


def convert_options(settings: Settings, target: TargetFormat) -> ConvertOptions:
    """The variables of the settings, and the clusters' names for Strimzi: the first one without a namespace."""
    names = {
        name: ClusterName(next((one for one in cluster.strimzi if "/" not in one), name))
        for name, cluster in settings.clusters.items()
    }
    return ConvertOptions(target, own_variables(settings), names)


def secrets_note(target: TargetFormat) -> str:
    """What the user has to do with the list of variables or references that follows."""
    if target is TargetFormat.GITOPS_CONNECT:
        return "The documents contain no secrets. Allow these variables in the settings, and set their values:"
    return "The files contain no secrets, but these references to environment variables of the workers:"


def _print(converted: Sequence[Converted], target: TargetFormat) -> None:
    if target is TargetFormat.JSON:
        bodies = [json_body(one.document) for one in converted]
        emit(as_json(bodies[0] if len(bodies) == 1 else bodies) if bodies else "")
    else:
        emit("---\n".join(text_of(one.document, target) for one in converted))


def _report(
    converted: Sequence[Converted], files: Sequence[Path], diagnostics: Diagnostics, declared: FileConnectors
) -> None:
    rows = [
        (one.source.name, one.source.format.value, f"{one.source.location.file}:{one.source.location.line}", str(file))
        for one, file in zip(converted, files, strict=True)
    ]
    if rows:
        echo(table(("CONNECTOR", "FROM", "FILE", "WRITTEN TO"), rows).rstrip("\n"))
    if diagnostics:
        echo(problem_lines(diagnostics).rstrip("\n"))
    read = plural(declared.files, "file")
    echo(f"Converted {plural(len(converted), 'connector')} of {read}: {summary_line(diagnostics)}.")
    if declared.files > 1 or declared.skipped:
        warned = {one.connector for one in diagnostics if one.severity is Severity.WARNING}
        warnings = sum(one.source.name in warned for one in converted)
        _count("converted", Counter(one.source.format.value for one in converted), f"; {warnings:,} with warnings")
        _count("without connectors", declared.without)
        _count("skipped", declared.skipped)


def _count(what: str, counts: Counter[str], more: str = "") -> None:
    """One line with the numbers of the most common kinds."""
    kinds = [f"{count:,} {escaped(kind)}" for kind, count in counts.most_common(_MAX_KINDS) if count]
    rest = len(+counts) - len(kinds)
    if kinds:
        echo(f"{what}: {', '.join(kinds)}{f' and {rest} other kinds' if rest else ''}{more}")
