"""`gitops-connect sandbox up | status | down`: a real Kafka and Connect on this machine."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gitops_connect.sandbox.cluster import PartStatus, Sandbox

app = typer.Typer(name="sandbox", help="A real one-node Kafka and Connect on this machine.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--dir", help="The folder that holds its data, logs and state.")]
_COLUMNS = ("PART", "STATE", "ADDRESS", "PID", "LOG")


class Output(StrEnum):
    """How the status is written."""

    TABLE = "table"
    JSON = "json"


@app.command()
def up(
    workers: Annotated[int | None, typer.Option(min=1, help="How many Connect workers; as before, else one.")] = None,
    version: Annotated[str | None, typer.Option(help="The Kafka release of the workers, as in 4.3.1.")] = None,
    folder: Folder = Path(".sandbox"),
    heap: Annotated[int | None, typer.Option(min=256, help="Heap of each worker in MiB; as before, else 2048.")] = None,
    plugin_path: Annotated[
        list[Path] | None, typer.Option(help="A folder of further connectors; may be given several times. As before.")
    ] = None,
    exactly_once: Annotated[
        bool | None, typer.Option("--exactly-once/--at-least-once", help="Exactly-once sources; as before, else on.")
    ] = None,
) -> None:
    """Start what does not run yet, and wait until all of it answers. The first time, Kafka is downloaded (55 MB)."""
    from gitops_connect.cli.progress import progress
    from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

    options = SandboxOptions(
        folder=folder,
        workers=workers,
        release=version,
        heap=heap,
        plugin_path=tuple(plugin_path) if plugin_path else None,
        exactly_once=exactly_once,
        usual_ports=True,
    )
    with progress("sandbox up") as update:
        sandbox = Sandbox.up(options, update)
    typer.echo(_next_steps(sandbox, folder), err=True)


@app.command()
def status(
    folder: Folder = Path(".sandbox"),
    output: Annotated[Output, typer.Option("--output", "-o", help="table or json.")] = Output.TABLE,
) -> None:
    """Show each process, and whether it answers. Exit code 1 where one does not."""
    from gitops_connect.sandbox.cluster import Sandbox

    parts = Sandbox.load(folder).status()
    typer.echo(_table(parts) if output is Output.TABLE else _json(parts))
    if not all(part.answers for part in parts):
        raise typer.Exit(1)


@app.command()
def down(
    folder: Folder = Path(".sandbox"),
    *,
    purge: Annotated[bool, typer.Option("--purge", help="Remove its folder too, with all topics and offsets.")] = False,
) -> None:
    """Stop every process of it. The data stays for the next `up`, unless --purge."""
    from gitops_connect.cli.progress import progress
    from gitops_connect.sandbox.cluster import Sandbox
    from gitops_connect.sandbox.state import read_state

    if read_state(folder) is None:
        typer.echo(f"There is no sandbox in {folder}.", err=True)
        return
    with progress("sandbox down") as update:
        Sandbox.load(folder).down(update, purge=purge)


def _next_steps(sandbox: Sandbox, folder: Path) -> str:
    urls = sandbox.worker_urls
    option = "" if folder == Path(".sandbox") else f" --dir {folder}"
    return "\n".join(
        (
            f"Kafka answers at {sandbox.bootstrap}, Connect at {', '.join(urls)}.",
            "",
            "For gitops-connect.toml:",
            "",
            "    [clusters.local]",
            f"    url = {json.dumps(urls)}",
            "",
            f"Stop it with: gitops-connect sandbox down{option}",
        )
    )


def _state(part: PartStatus) -> str:
    if part.answers:
        return "up"
    return "no answer" if part.running else "down"


def _table(parts: tuple[PartStatus, ...]) -> str:
    rows = [_COLUMNS]
    rows += [(part.name, _state(part), part.address, str(part.pid or "-"), str(part.log)) for part in parts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _json(parts: tuple[PartStatus, ...]) -> str:
    values = [
        {"part": part.name, "state": _state(part), "address": part.address, "pid": part.pid, "log": str(part.log)}
        for part in parts
    ]
    return json.dumps(values, indent=2)
