"""`gitops-connect offsets rewind|skip|to`: writes an offset change with a target, and shows what it would do."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_connect.checks import document_schemas
from gitops_connect.cli.clusters import settings_of
from gitops_connect.cli.console import coloured, echo, echo_styled, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.offset_commands import app, read_subject
from gitops_connect.cli.options import Cluster, Connector, Force, argument, flag, option
from gitops_connect.cli.progress import progress
from gitops_connect.documents import offset_change_fields
from gitops_connect.documents.load import read_file
from gitops_connect.documents.offset_change_fields import ManifestFiles
from gitops_connect.errors import ConnectRefused, KafkaUnavailable, UsageError
from gitops_connect.model.desired import DesiredOffsetChange
from gitops_connect.model.diagnostics import Diagnostic
from gitops_connect.model.documents import Blob
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeKind, plain_name
from gitops_connect.model.offset_targets import OffsetTargets
from gitops_connect.offset_changes.kafka_positions import KafkaReads, NoLog
from gitops_connect.offset_changes.manifest_checks import difference_of, needed
from gitops_connect.offset_changes.offset_files import temporary_directory
from gitops_connect.offset_changes.subject import ManifestSubject
from gitops_connect.offset_changes.undo import UndoTarget
from gitops_connect.plan.offset_review import described
from gitops_connect.plan.target_resolution import words
from gitops_connect.report import change_document
from gitops_connect.report.change_document import ChangeDocument
from gitops_connect.report.offset_lines import MOST_MOVES, Line, difference_lines
from gitops_connect.report.text import TextReport
from gitops_connect.runtime import SystemClock
from gitops_connect.safe_files import write_new
from gitops_connect.settings.sections import Settings

Topics = Annotated[str | None, option("--topics", "GLOB", "Only these topics. [default: all that it reads]")]
Partitions = Annotated[str | None, option("--partitions", "N,N", "Only these partitions of the topic.")]
Name = Annotated[
    str | None, typer.Option("--name", help="The name of the offset change. [default: date and connector]")
]
Reason = Annotated[str | None, typer.Option("--reason", help="The reason, for reviewers and for the history.")]
Out = Annotated[Path | None, option("--out", "FILE", "The file to write. [default: stdout]")]


@app.command()
def rewind(
    context: typer.Context,
    connector: Connector,
    ago: Annotated[str | None, option("--ago", "DURATION", "Back to this time ago: 1h30m.")] = None,
    by: Annotated[int | None, typer.Option("--by", min=1, metavar="N", help="Back by so many offsets.")] = None,
    earliest: Annotated[bool, flag("--earliest", "Back to the first record that still exists.")] = False,
    topics: Topics = None,
    partitions: Partitions = None,
    name: Name = None,
    reason: Reason = None,
    cluster: Cluster = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Write a document that rewinds a sink or a mirror.

    Nothing is changed on the cluster.
    """
    targets = {"ago": ago, "shift": None if by is None else -by, "position": "earliest" if earliest else None}
    given = _one_of(targets, "--ago, --by and --earliest")
    request = _Request(ConnectorName(connector), cluster, "rewind", _scoped(given, topics, partitions), name, reason)
    return _write(settings_of(context), request, UndoTarget(out, force))


@app.command()
def skip(
    context: typer.Context,
    connector: Connector,
    by: Annotated[int | None, typer.Option("--by", min=1, metavar="N", help="Skip so many offsets.")] = None,
    latest: Annotated[bool, flag("--latest", "Skip all existing records.")] = False,
    topics: Topics = None,
    partitions: Partitions = None,
    name: Name = None,
    reason: Reason = None,
    cluster: Cluster = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Write a document that lets a sink or a mirror skip records.

    Nothing is changed on the cluster.
    """
    given = _one_of({"shift": by, "position": "latest" if latest else None}, "--by and --latest")
    request = _Request(ConnectorName(connector), cluster, "skip", _scoped(given, topics, partitions), name, reason)
    return _write(settings_of(context), request, UndoTarget(out, force))


@app.command("to")
def move_to(
    context: typer.Context,
    connector: Connector,
    target: Annotated[str, argument("TARGET", "earliest, latest, a time as in 2026-11-23T10:00:00Z, or an offset.")],
    topics: Topics = None,
    partitions: Partitions = None,
    name: Name = None,
    reason: Reason = None,
    cluster: Cluster = None,
    out: Out = None,
    force: Force = False,
) -> int:
    """Write a document that moves a sink or a mirror to a position.

    Nothing is changed on the cluster.
    """
    if target in ("earliest", "latest"):
        given: Mapping[str, Any] = {"position": target}
    else:
        given = {"offset": int(target)} if target.isascii() and target.isdigit() else {"time": target}
    request = _Request(ConnectorName(connector), cluster, "move", _scoped(given, topics, partitions), name, reason)
    return _write(settings_of(context), request, UndoTarget(out, force))


def _one_of(targets: Mapping[str, str | int | None], options: str) -> Mapping[str, Any]:
    given = {field: value for field, value in targets.items() if value is not None}
    if len(given) != 1:
        raise UsageError(f"give exactly one of {options}")
    return given


def _scoped(target: Mapping[str, Any], topics: str | None, partitions: str | None) -> str | Mapping[str, Any]:
    """The value of `to`. Raises UsageError."""
    if partitions is not None:
        if topics is None:
            raise UsageError("--partitions needs --topics, with the name of the topic")
        numbers = [one.strip() for one in partitions.split(",")]
        if not all(one.isascii() and one.isdigit() for one in numbers):
            raise UsageError(f"--partitions: expected numbers such as 0,3, found {partitions!r}")
        return {"topics": topics, "partitions": list(map(int, numbers)), **target}
    if topics is not None:
        return {"topics": topics, **target}
    position: str | None = target.get("position")
    return position or target


@dataclass(frozen=True, slots=True)
class _Request:
    connector: ConnectorName
    cluster: str | None
    verb: str
    to: str | Mapping[str, Any]
    name: str | None
    reason: str | None


def _write(settings: Settings, request: _Request, target: UndoTarget) -> ExitCode:
    """Write the document, and print what it would do. Raises UsageError, NotFound, and what Connect and Kafka raise."""
    with temporary_directory(None) as directory, progress("Offsets", f"reading the offsets of {request.connector}"):
        subject = read_subject(settings, request.connector, directory, cluster=request.cluster)
        document, lines = _planned(settings, request, subject)
    text = change_document.render(document)
    if target.path is None:
        emit(text)
    else:
        write_new(target.path, text, force=target.force)
    echo_styled(TextReport(coloured=coloured(sys.stderr)).offsets(lines).rstrip("\n"))
    where = f"Wrote {target.path}" if target.path is not None else "Printed the document"
    todo = "remove the # before acknowledge if the effect is intended, commit" if document.needed else "commit"
    echo(f"{where}. Nothing was changed on the cluster.")
    echo(f"Next: {todo} the document, and review it with `gitops-connect plan`.")
    return ExitCode.DONE


def _planned(settings: Settings, request: _Request, subject: ManifestSubject) -> tuple[ChangeDocument, list[Line]]:
    """The document, and what it would do to the current offsets."""
    name, now = request.connector, SystemClock().now()
    if subject.cluster is None or subject.context.current is None or subject.context.config is None:
        raise ConnectRefused(f"the current offsets of {name} are unknown: {subject.unread or 'they are too many'}")
    document = ChangeDocument(
        OffsetChangeName(request.name or f"{now:%Y-%m-%d}-{request.verb}-{plain_name(name)}"),
        subject.cluster,
        name,
        OffsetChangeKind.ALTER,
        request.reason or "",
        to=request.to,
    )
    targets, current, shape = _targets_of(document), subject.context.current, subject.context.shape
    try:
        log = KafkaReads(settings.clusters[subject.cluster]).log(shape, subject.context.config, current)
    except NoLog as error:
        kind = KafkaUnavailable if error.is_configured else UsageError
        raise kind(f"{error}; {error.hint}" if not error.is_configured else str(error)) from error
    resolution = log.resolve(targets, current, now)
    for problem in resolution.problems[:1]:
        raise UsageError(f"{problem.summary}; {problem.hint}")
    offsets = log.offsets(resolution, current)
    difference = difference_of(subject, OffsetChangeKind.ALTER, offsets)
    known = replace(subject, context=replace(subject.context, shape=log.shape_for(difference.moves)))
    difference = described(difference, known.context.shape)
    document = replace(document, needed=needed(known, OffsetChangeKind.ALTER, difference, settings, ()))
    lines = [Line(f"to: {one}") for one in words(targets, now, is_committed=False)]
    lines += [Line(f"note: {one}") for one in resolution.notes]
    return document, [*lines, *difference_lines(difference, MOST_MOVES, "commit it, and run plan --all-offsets")]


def _targets_of(document: ChangeDocument) -> OffsetTargets:
    """The targets of the document, read as a reconciliation reads them. Raises UsageError."""
    file = read_file(Blob("document", "", change_document.render(document).encode()))
    if file is None:
        raise AssertionError("a document of an offset change is none")
    found = [*file.diagnostics.errors, *document_schemas.check(file).errors]
    if not found:
        change = offset_change_fields.change(file.documents[0], ManifestFiles(()))
        if isinstance(change, DesiredOffsetChange) and isinstance(change.manifest, OffsetTargets):
            return change.manifest
        found = [change] if isinstance(change, Diagnostic) else []
    raise UsageError("; ".join(f"{one.summary}: {one.hint}" if one.hint else one.summary for one in found))
