"""`gitops-connect sandbox up | status | down | produce | consume`: a real Kafka and Connect on this machine."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, cast

import typer

from gitops_connect.cli.console import echo
from gitops_connect.cli.interrupts import interrupt, interruptible
from gitops_connect.cli.options import argument, flag, option
from gitops_connect.cli.progress import progress
from gitops_connect.errors import UsageError
from gitops_connect.model.exactly_once import ExpectedSupport
from gitops_connect.sandbox.cluster import PartStatus, Sandbox, SandboxOptions
from gitops_connect.sandbox.console_clients import (
    ConsumeOptions,
    check_result,
    check_topic,
    consume_arguments,
    java_command,
    produce_arguments,
)
from gitops_connect.sandbox.jars import JarSet, fetch_jars, plugin_path
from gitops_connect.sandbox.launch import java_environment
from gitops_connect.sandbox.sandbox_state import State, TopicTracking, read_state

app = typer.Typer(name="sandbox", help="Run a local one-node Kafka with Connect workers.", no_args_is_help=True)

Directory = Annotated[Path, option("--dir", "DIR", "The directory for data, logs and state.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR|maven:GROUP:ARTIFACT:VERSION",
        help="More connector plugins: a directory with a jar or a directory for each plugin, or an artifact from"
        " Maven Central; may be repeated. [default: as before]",
    ),
]


class Output(StrEnum):
    """How the status is written."""

    TABLE = "table"
    JSON = "json"


@app.command()
def up(
    workers: Annotated[
        int | None, option("--workers", "N", "Number of Connect workers. [default: as before, or 1]", min=1)
    ] = None,
    kafka_version: Annotated[
        str | None,
        option(
            "--kafka-version", "VERSION", "Kafka release of the workers, such as 4.3.1. [default: as before, or 4.3.1]"
        ),
    ] = None,
    directory: Directory = Path(".sandbox"),
    heap: Annotated[
        int | None, option("--heap", "MIB", "Heap of each worker in MiB. [default: as before, or 2048]", min=256)
    ] = None,
    plugin: Plugins = None,
    exactly_once: Annotated[
        ExpectedSupport | None,
        typer.Option(help="The workers' support for exactly-once sources. [default: as before, or enabled]"),
    ] = None,
    topic_tracking: Annotated[
        TopicTracking | None,
        typer.Option(
            help="Whether the workers record the active topics of connectors, and allow to reset them."
            " [default: as before, or enabled]"
        ),
    ] = None,
) -> None:
    """Start Kafka and Connect, and wait until they are ready.

    Processes that already run are left running. The first start downloads Kafka (57 MB).
    """
    with progress("sandbox up", lines=True) as update:

        def fetch(jars: JarSet) -> Path:
            return fetch_jars(jars, os.environ, update)

        plugins = plugin_path(plugin, directory, fetch) if plugin else None
        more = (exactly_once, topic_tracking)
        options = SandboxOptions(directory, workers, kafka_version, heap, plugins, *more, usual_ports=True)
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
    parts = Sandbox.load(directory).status()
    values = [
        {"part": part.name, "state": _state(part), "address": part.address, "pid": part.pid, "log": str(part.log)}
        for part in parts
    ]
    typer.echo(_table(values) if output is Output.TABLE else json.dumps(values, indent=2))
    if not all(part.answers for part in parts):
        raise typer.Exit(1)


@app.command()
def produce(
    topic: Annotated[str, argument("TOPIC", "The topic to send to.")],
    key_separator: Annotated[
        str | None,
        option("--key-separator", "TEXT", "Each line is a key, this separator and a value. [default: no keys]"),
    ] = None,
    directory: Directory = Path(".sandbox"),
) -> None:
    """Send each line of stdin as a record to a topic of the sandbox.

    The broker creates a topic that does not exist. `<null>` is read as a null key or value.
    """
    if key_separator == "":
        raise UsageError("--key-separator is empty; expected at least one character")
    sent = 0
    with _tool("producer", topic, directory, lambda state: produce_arguments(state, topic, key_separator)) as stdin:
        if sys.stdin.isatty():
            echo("One record per line; end with Ctrl-D.")
        for line in sys.stdin.buffer:
            if key_separator is not None and key_separator.encode() not in line:
                raise UsageError(
                    f"line {sent + 1} of the input does not contain the key separator {key_separator!r};"
                    f" {_records(sent)} sent before it"
                )
            stdin.write(line)
            stdin.flush()
            sent += 1
    echo(f"{_records(sent)} sent to {topic}.")


@app.command()
def consume(
    topic: Annotated[str, argument("TOPIC", "The topic to read.")],
    from_beginning: Annotated[
        bool, flag("--from-beginning", "Start with the first record. [default: only new records]")
    ] = False,
    max_messages: Annotated[
        int | None, option("--max-messages", "N", "End after this many records. [default: no limit]", min=1)
    ] = None,
    timeout_ms: Annotated[
        int | None,
        option(
            "--timeout-ms", "MS", "End if no record arrives within this many milliseconds. [default: wait]", min=1000
        ),
    ] = None,
    offsets: Annotated[bool, flag("--offsets", "Print the partition and the offset before each record.")] = False,
    keys: Annotated[bool, flag("--keys", "Print the key and a tab before each value.")] = False,
    directory: Directory = Path(".sandbox"),
) -> None:
    """Print the values of the records of a topic until Ctrl-C.

    A null key or value is printed as `<null>`. No offsets are committed.
    """
    options = ConsumeOptions(from_beginning, max_messages, timeout_ms, offsets, keys)

    def arguments(state: State) -> tuple[str, ...]:
        check_topic(directory, topic)
        return consume_arguments(state, topic, options)

    with _tool("consumer", topic, directory, arguments):
        if sys.stderr.isatty() and max_messages is None and timeout_ms is None:
            echo("End with Ctrl-C.")


@app.command()
def down(
    directory: Directory = Path(".sandbox"),
    *,
    purge: Annotated[bool, flag("--purge", "Also remove the directory, with all topics and offsets.")] = False,
) -> None:
    """Stop all processes of the sandbox.

    The data is kept for the next `up`, unless --purge is given.
    """
    if read_state(directory) is None:
        typer.echo(f"There is no sandbox in {directory}.", err=True)
        return
    with progress("sandbox down", lines=True) as update:
        Sandbox.load(directory).down(update, purge=purge)


def _next_steps(sandbox: Sandbox, directory: Path) -> str:
    urls = sandbox.worker_urls
    option = "" if directory == Path(".sandbox") else f" --dir {shlex.quote(str(directory))}"
    return f"""Kafka is running at {sandbox.bootstrap}, Connect at {", ".join(urls)}.

Add this to gitops-connect.toml:

    [clusters.local]
    url = {json.dumps(urls)}

To stop the sandbox: gitops-connect sandbox down{option}"""


def _state(part: PartStatus) -> str:
    if part.answers:
        return "up"
    return "no answer" if part.running else "down"


def _table(values: list[dict[str, Any]]) -> str:
    rows = [[key.upper() for key in values[0]], *([str(cell or "-") for cell in value.values()] for value in values)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


@contextmanager
def _tool(tool: str, topic: str, directory: Path, arguments: Callable[[State], tuple[str, ...]]) -> Iterator[IO[bytes]]:
    """Run one of Kafka's tools until it ends; yield its stdin, which is closed after the block.

    Its stderr is kept for the error of this program: the tools also print hints there.
    """
    sandbox = Sandbox.load(directory)
    state = sandbox.state()
    with progress(f"sandbox {tool}") as update:
        java = java_command(sandbox.directory, state, os.environ, update)
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(  # noqa: S603 - our own Java and arguments
            (*java, *arguments(state)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if tool == "producer" else None,  # Kafka prints prompts there on some Javas
            stderr=stderr,
            env=java_environment(os.environ),
        ) as process,
    ):
        try:
            with interruptible(interrupt):
                with suppress(BrokenPipeError):
                    yield cast("IO[bytes]", process.stdin)  # None only without PIPE
                process.communicate()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        stderr.seek(0)
        check_result(tool, topic, process.returncode, stderr.read().decode(errors="replace"))


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
