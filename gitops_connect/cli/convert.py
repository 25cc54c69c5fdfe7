"""`gitops-connect convert`: connectors of other tools as documents, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_connect.cli.console import echo
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Force
from gitops_connect.model.file_formats import FileFormat, TargetFormat

if TYPE_CHECKING:
    from gitops_connect.cli.converted_connectors import Converted
    from gitops_connect.model.diagnostics import Diagnostics


def convert(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, and directories with files; - is stdin.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The directory for the files. [default: stdout]")
    ] = None,
    to: Annotated[TargetFormat, typer.Option("--to", help="The format to write.")] = TargetFormat.GITOPS_CONNECT,
    from_: Annotated[
        FileFormat | None, typer.Option("--from", help="The format of all files. [default: detected]")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="The cluster of all connectors.")
    ] = None,
    force: Force = False,
) -> int:
    """Convert connectors from and to the formats of other tools.

    Reads documents of gitops-connect, Strimzi resources, JSON of Connect's REST API, properties files of standalone
    workers, and files of Jikkou, Terraform and ksqlDB. Secrets are not written: the files name environment variables
    for them, which the command lists. No cluster is contacted. Exits with 4 if something was not converted.
    """
    from gitops_connect.cli.connector_files import read_all
    from gitops_connect.cli.converted_connectors import convert_all
    from gitops_connect.cli.converted_files import Output, valid
    from gitops_connect.model.names import ClusterName

    declared = read_all(paths, from_, ClusterName(cluster) if cluster else None, out)
    converted, problems = valid(convert_all(declared.connectors, to), to)
    output = Output(out, to, force)
    files = output.write(converted)
    diagnostics = declared.diagnostics + problems
    _report(converted, files, diagnostics, declared.files)
    output.list_secrets(converted)
    return ExitCode.INVALID if diagnostics.errors else ExitCode.DONE


def _report(converted: Sequence[Converted], files: Sequence[Path], diagnostics: Diagnostics, read: int) -> None:
    """What was converted from what, and then what was not understood or left out."""
    from gitops_connect.report.problems import problem_lines, summary_line
    from gitops_connect.report.table import table
    from gitops_connect.report.words import plural

    rows = [
        (one.source.name, one.source.format.value, f"{one.source.location.file}:{one.source.location.line}", str(file))
        for one, file in zip(converted, files, strict=True)
    ]
    if rows:
        echo(table(("CONNECTOR", "FROM", "FILE", "WRITTEN TO"), rows).rstrip("\n"))
    if diagnostics:
        echo(problem_lines(diagnostics).rstrip("\n"))
    echo(f"Converted {plural(len(converted), 'connector')} of {plural(read, 'file')}: {summary_line(diagnostics)}.")
