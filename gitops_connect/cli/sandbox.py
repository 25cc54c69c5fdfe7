"""`gitops-connect sandbox up | status | produce | consume | down`: a real Kafka and Connect on this machine."""

from __future__ import annotations

import json
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_connect.cli import sandbox_records

if TYPE_CHECKING:
    from gitops_connect.cli.progress import Update
    from gitops_connect.sandbox.cluster import PartStatus, Sandbox

app = typer.Typer(name="sandbox", help="Run a local one-node Kafka with Connect workers.", no_args_is_help=True)

Directory = Annotated[Path, typer.Option("--dir", metavar="DIR", help="The directory for data, logs and state.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR|maven:GROUP:ARTIFACT:VERSION",
        help="More connector plugins: a directory with a jar or a directory for each plugin, or an artifact from"
        " Maven Central; may be repeated. [default: as before]",
    ),
]
_COLUMNS = ("PART", "STATE", "ADDRESS", "PID", "LOG")


class Output(StrEnum):
    """How the status is written."""

    TABLE = "table"
    JSON = "json"


@app.command()
def up(
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of Connect workers. [default: as before, or 1]"),
    ] = None,
    kafka_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Kafka release of the workers, such as 4.3.1. [default: as before, or 4.3.1]"
        ),
    ] = None,
    directory: Directory = Path(".sandbox"),
    heap: Annotated[
        int | None,
        typer.Option(min=256, metavar="MIB", help="Heap of each worker in MiB. [default: as before, or 2048]"),
    ] = None,
    plugin: Plugins = None,
    exactly_once: Annotated[
        bool | None,
        typer.Option(
            "--exactly-once/--at-least-once",
            help="Whether the workers support exactly-once sources. [default: as before, or on]",
        ),
    ] = None,
) -> None:
    """Start Kafka and Connect, and wait until they are ready.

    Processes that already run are left running. The first start downloads Kafka (57 MB).
    """
    from gitops_connect.cli.progress import progress
    from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

    with progress("sandbox up") as update:
        options = SandboxOptions(
            directory=directory,
            workers=workers,
            release=kafka_version,
            heap=heap,
            plugin_path=_plugin_path(plugin, directory, update) if plugin else None,
            exactly_once=exactly_once,
            usual_ports=True,
        )
        sandbox = Sandbox.up(options, update)
    typer.echo(_next_steps(sandbox, directory), err=True)


@app.command()
def status(
    directory: Directory = Path(".sandbox"),
    output: Annotated[Output, typer.Option("--output", "-o", help="Output format.")] = Output.TABLE,
) -> None:
    """Show the state of each process.

    Exits with 1 if a process does not answer.
    """
    from gitops_connect.sandbox.cluster import Sandbox

    parts = Sandbox.load(directory).status()
    typer.echo(_table(parts) if output is Output.TABLE else _json(parts))
    if not all(part.answers for part in parts):
        raise typer.Exit(1)


app.command()(sandbox_records.produce)
app.command()(sandbox_records.consume)


@app.command()
def down(
    directory: Directory = Path(".sandbox"),
    *,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also remove the directory, with all topics and offsets.")
    ] = False,
) -> None:
    """Stop all processes of the sandbox.

    The data is kept for the next `up`, unless --purge is given.
    """
    from gitops_connect.cli.progress import progress
    from gitops_connect.sandbox.cluster import Sandbox
    from gitops_connect.sandbox.state import read_state

    if read_state(directory) is None:
        typer.echo(f"There is no sandbox in {directory}.", err=True)
        return
    with progress("sandbox down") as update:
        Sandbox.load(directory).down(update, purge=purge)


def _plugin_path(plugins: list[str], directory: Path, update: Update) -> tuple[Path, ...]:
    from gitops_connect.sandbox.jars import JarSet, fetch_jars
    from gitops_connect.sandbox.java import find_java
    from gitops_connect.sandbox.plugins import plugin_path

    def fetch(jars: JarSet) -> Path:
        return fetch_jars(jars, find_java(os.environ), os.environ, update)

    return plugin_path(plugins, directory, fetch)


def _next_steps(sandbox: Sandbox, directory: Path) -> str:
    urls = sandbox.worker_urls
    option = "" if directory == Path(".sandbox") else f" --dir {directory}"
    return "\n".join(
        (
            f"Kafka is running at {sandbox.bootstrap}, Connect at {', '.join(urls)}.",
            "",
            "Add this to gitops-connect.toml:",
            "",
            "    [clusters.local]",
            f"    url = {json.dumps(urls)}",
            "",
            f"To stop the sandbox: gitops-connect sandbox down{option}",
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
