"""`gitops-connect ledger show|resolve|export|import`: list, correct and move the recorded offset changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitops_connect.cli import cluster_commands
from gitops_connect.cli.clusters import chosen_in, each_cluster, settings_of, worst
from gitops_connect.cli.console import approved, echo, echo_note, emit
from gitops_connect.cli.exit_codes import ExitCode
from gitops_connect.cli.options import Clusters, ListOutput, TableOutput, argument, flag, group, in_format, listing
from gitops_connect.cli.progress import progress
from gitops_connect.cli.suspend import add_to_history
from gitops_connect.errors import UsageError
from gitops_connect.ledger.archive import read_archive, write_archive
from gitops_connect.ledger.tables import OffsetsPart
from gitops_connect.model.command_lines import command_line
from gitops_connect.model.names import ClusterName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeRecord
from gitops_connect.model.offsets import OffsetPatch, offset_text, partition_text, to_json
from gitops_connect.model.outcomes import ManualAction
from gitops_connect.model.revisions import short
from gitops_connect.offset_changes import recorded_changes
from gitops_connect.offset_changes.recorded_changes import MOST_CHANGES, Candidate, large_value, view_value
from gitops_connect.report.printable import output
from gitops_connect.report.table import outline, table
from gitops_connect.report.words import plural
from gitops_connect.runtime import Runtime, SystemClock, open_ledger
from gitops_connect.safe_files import output_directory, read_text, writing

if TYPE_CHECKING:
    from gitops_connect.declare import Declared

app = group()

HEADERS = ("CLUSTER", "NAME", "CONNECTOR", "KIND", "STATE", "SINCE", "COMMIT", "MESSAGE")
_RESOLVED_HEADERS = ("CLUSTER", "NAME", "CONNECTOR", "KIND", "STATE", "NEW STATE")
_WORDS = {"nextStep": "Next step", "digestBefore": "Digest before", "digestAfter": "Digest after"}
_MOST_OFFSETS = 20
"""So many offsets of a change are shown as text; `-o json` shows all."""


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str | None, argument("NAME", "Show this offset change in full.")] = None,
    cluster: Clusters = None,
    output: ListOutput = TableOutput.TABLE,
) -> int:
    """List the recorded offset changes, newest first.

    A table has the last 100, JSON and YAML have all of them.
    """
    with cluster_commands.opened(context) as runtime:
        clusters, changes = chosen_in(runtime.settings, cluster), runtime.ledger.offset_changes
        if name is not None:
            return _show_one(runtime, recorded_changes.find(changes, clusters, name), name, output)
        most = MOST_CHANGES if output is TableOutput.TABLE else None
        with progress("Reading", "the recorded offset changes"):
            known = recorded_changes.latest(changes, clusters, most=most)
            rows, values = [_row(*one) for one in known], [_value(*one) for one in known]
            text = listing(HEADERS, rows, values, output)
        emit(text)
        recorded_changes.tell_of_older(changes, clusters, None, len(known), echo_note)
    return ExitCode.DONE


def _row(cluster: ClusterName, record: OffsetChangeRecord) -> list[str]:
    view = recorded_changes.recorded_view(cluster, record)
    what = [cluster, record.name, record.connector, record.kind.value, view.state.value]
    return [*what, f"{record.since:%Y-%m-%dT%H:%M:%SZ}", short(record.revision), view.cause or "-"]


def _value(cluster: ClusterName, record: OffsetChangeRecord) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "name": record.name,
        "connector": record.connector,
        "kind": record.kind.value,
        **view_value(recorded_changes.recorded_view(cluster, record)),
        "since": record.since.isoformat(timespec="seconds"),
        "commit": record.revision,
        "digest": record.digest,
        **large_value(record),
        "failures": record.failures,
        "final": record.final,
        "message": record.message,
        "warning": record.warning,
    }


def _show_one(
    runtime: Runtime, found: list[tuple[ClusterName, OffsetChangeRecord]], name: str, output: TableOutput
) -> ExitCode:
    if not found:
        echo(f"error: the ledger has no offset change {name!r}; run `gitops-connect ledger show` to list all")
        return ExitCode.FAILED
    text = output is TableOutput.TABLE
    values = [_in_full(runtime, cluster, record, text=text) for cluster, record in found]
    emit(in_format(output, values, lambda: "\n".join(outline(value) for value in values)))
    return ExitCode.DONE


def _in_full(runtime: Runtime, cluster: ClusterName, record: OffsetChangeRecord, *, text: bool) -> dict[str, Any]:
    name: OffsetChangeName = record.name
    offset_changes = runtime.ledger.offset_changes
    declared, before = offset_changes.declared(cluster, name), offset_changes.snapshot(cluster, name)
    has_pieces = record.entries is not None and record.before is not None and text
    large = {part: _first_lines(offset_changes.pieces(cluster, name, part)) for part in OffsetsPart if has_pieces}
    receipt = recorded_changes.receipt(runtime.ledger, cluster, record)
    offsets = {
        "declared": large.get(OffsetsPart.DECLARED) or _offsets(declared, text=text),
        "before": large.get(OffsetsPart.BEFORE) or _offsets(before, text=text),
    }
    digests = {"digestBefore": record.before, "digestAfter": record.after}
    value = _value(cluster, record)
    if not text:
        return {**value, **offsets, **digests, "receipt": receipt.value()}
    is_listed = receipt.difference is not None and bool(receipt.difference.moves) and not has_pieces
    left_out = {one for one in ("cause", "nextStep") if not value[one]}
    left_out |= set() if "\n" in record.message else {"message", "warning"}  # the cause has them, on one line
    shown = {**value, **({} if is_listed else offsets), **digests}
    named = {_WORDS.get(key, key[0].upper() + key[1:]): item for key, item in shown.items() if key not in left_out}
    return {**named, **(receipt.outline(_MOST_OFFSETS) if receipt.stages or receipt.difference else {})}


def _first_lines(blocks: Iterator[bytes]) -> list[str]:
    """The first lines of a large change, whose offsets are never in memory as a whole."""
    lines = next(blocks, b"").splitlines()
    entries = [json.loads(line) for line in lines[:_MOST_OFFSETS]]
    shown = [
        f"{partition_text(one['partition'])} -> {offset_text(one['offset']) if one['offset'] is not None else 'null'}"
        for one in entries
    ]
    more = ["and more: run `gitops-connect ledger export` to get all"] if len(lines) > _MOST_OFFSETS else []
    return [*shown, *more]


def _offsets(offsets: OffsetPatch | None, *, text: bool) -> Any:
    """The offsets as the body of Connect's REST API, or a line for each partition; None if no offsets are saved."""
    if offsets is None:
        return None
    if not text:
        return list(to_json(offsets))
    first = sorted(offsets.items())[:_MOST_OFFSETS]
    rest = len(offsets) - len(first)
    more = [f"and {rest} more: use -o json to show all"] if rest else []
    return [*(f"{partition} -> {offset or 'null'}" for partition, offset in first), *more]


Applied = Annotated[
    bool | None,
    typer.Option(
        "--applied/--not-applied",
        help="Whether the offset changes were applied: one of the two is required. Changes that were not applied are"
        " planned again.",
    ),
]


@app.command()
def resolve(
    context: typer.Context,
    names: Annotated[
        list[str] | None, argument("NAME", "Names of offset changes, or --all; `ledger show` lists the names.")
    ] = None,
    everything: Annotated[
        bool, flag("--all", "Mark all offset changes whose state is unknown or that cannot be finished.")
    ] = False,
    cluster: Clusters = None,
    applied: Applied = None,
    yes: Annotated[bool, flag("--yes", "Do not ask for approval.")] = False,
) -> int:
    """Mark offset changes as applied or not applied."""
    if applied is None:
        raise UsageError("give --applied if the offset changes were applied, or --not-applied if they were not")
    if bool(names) == everything:
        raise UsageError("name the offset changes, or give --all for all that are unknown or cannot be finished")
    with cluster_commands.opened(context) as runtime:
        clusters = chosen_in(runtime.settings, cluster)
        # A change that was not applied needs no digest, and therefore no repository.
        declared = cluster_commands.declared_in(runtime.settings, None) if applied else None
        states, revision = (declared.states, declared.revision) if declared else ({}, Revision(""))
        searched = [OffsetChangeName(one) for one in names or ()]
        candidates = [
            one
            for name in clusters
            for one in recorded_changes.find_candidates(runtime, name, states.get(name), revision, searched)
        ]
        if names:
            chosen = recorded_changes.named(candidates, names, _place(clusters, declared))
        else:
            chosen = recorded_changes.waiting(runtime, candidates, clusters, echo_note)
        chosen = recorded_changes.unsettled(chosen, echo_note) if applied else recorded_changes.unseen(chosen)
        if not chosen:
            echo("There is nothing to resolve.")
            return ExitCode.DONE
        emit(table(_RESOLVED_HEADERS, [one.row("applied" if applied else "planned") for one in chosen]))
        if not (yes or _is_approved(applied=applied)):
            return ExitCode.FAILED

        def write(name: ClusterName) -> int:
            mine = [one for one in chosen if one.cluster == name]
            return _resolve(runtime, name, mine, applied=applied)

        done, failures = each_cluster(sorted({one.cluster for one in chosen}), write)
    if done:
        echo(f"Marked {plural(sum(done), 'offset change')} as {'applied' if applied else 'not applied'}.")
    return worst(failures)


def _resolve(runtime: Runtime, cluster: ClusterName, chosen: Sequence[Candidate], *, applied: bool) -> int:
    count = recorded_changes.resolve(runtime, cluster, chosen, applied=applied)
    action = ManualAction.MARK_APPLIED if applied else ManualAction.MARK_NOT_APPLIED
    for record in (one.record for one in chosen):
        add_to_history(runtime.ledger, cluster, record.connector, action, offset_change=record.name)
    return count


def _is_approved(*, applied: bool) -> bool:
    meaning = "applied? They are not applied again." if applied else "not applied? They are planned again."
    question = f"Do you want to mark these offset changes as {meaning}"
    return approved(question, "review the list above, then add --yes", "Cancelled.")


def _place(clusters: Sequence[ClusterName], declared: Declared | None) -> str:
    """Where the names were searched, and why a name may be missing there."""
    of = f" of {', '.join(clusters)}"
    if declared is None:
        return f"the ledger{of} (the next apply applies all other offset changes, or records them as unknown)"
    errors = plural(len(declared.diagnostics.errors), "error")
    broken = f" ({errors} in the documents; run `gitops-connect validate`)" if declared.diagnostics.errors else ""
    return f"the ledger or the repository{of}{broken}"


@app.command()
def export(
    context: typer.Context,
    file: Annotated[Path | None, argument("FILE", "The file to write. [default: stdout]")] = None,
) -> int:
    """Write the ledger as one JSON document, without its key."""
    with progress("Exporting", "reading the ledger"), closing(open_ledger(settings_of(context))) as ledger:
        text = output(write_archive(ledger.export()))
    if file is None:
        emit(text)
        return ExitCode.DONE
    with writing(file), output_directory(file.parent) as directory:
        directory.replace(file.name, [text.encode()], private=True)
    echo(f"Exported the ledger to {file}. To import it elsewhere: {command_line('ledger import', str(file))}")
    return ExitCode.DONE


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, argument("FILE", "A file from `ledger export`.")],
    replace: Annotated[bool, flag("--replace", "Replace the content of the ledger if it differs.")] = False,
) -> int:
    """Import an exported ledger into an empty ledger."""
    settings = settings_of(context)
    with progress("Importing", f"reading the ledger and {file}") as say, closing(open_ledger(settings)) as ledger:
        archive = read_archive(_read(file), str(file))
        say("writing the ledger")
        restored = ledger.restore(archive, SystemClock().now(), replace=replace)
    counts = ", ".join(f"{name}: {count}" for name, count in restored.rows.items())
    echo(
        f"Nothing to import: the ledger has the same content ({counts})."
        if restored.unchanged
        else f"Imported ({counts})."
    )
    if restored.without_digests:
        echo(
            "note: this ledger has a different key, so the last applied configs of"
            f" {restored.without_digests} connectors were not imported. Until each of them is applied again,"
            " drift cannot be distinguished from a change in Git, and a masked secret counts as unchanged"
        )
    return ExitCode.DONE


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {file}: {error}") from error
