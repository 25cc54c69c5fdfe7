"""`gitops-connect sandbox produce | consume`: send and print records of the sandbox's broker."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from gitops_connect.cli.console import echo
from gitops_connect.cli.interrupts import interruptible
from gitops_connect.errors import UsageError

if TYPE_CHECKING:
    from gitops_connect.sandbox.state import State

Directory = Annotated[Path, typer.Option("--dir", metavar="DIR", help="The directory for data, logs and state.")]


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to send to.")],
    key_separator: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Each line is a key, this separator and a value. [default: no keys]"),
    ] = None,
    directory: Directory = Path(".sandbox"),
) -> None:
    """Send each line of stdin as a record to a topic of the sandbox.

    The broker creates a topic that does not exist. `<null>` is read as a null key or value.
    """
    from gitops_connect.sandbox.console_clients import produce_arguments

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


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start with the first record. [default: only new records]")
    ] = False,
    max_messages: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after this many records. [default: no limit]")
    ] = None,
    timeout_ms: Annotated[
        int | None,
        typer.Option(
            min=1000, metavar="MS", help="End if no record arrives within this many milliseconds. [default: wait]"
        ),
    ] = None,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Print the partition and the offset before each record.")
    ] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Print the key and a tab before each value.")] = False,
    directory: Directory = Path(".sandbox"),
) -> None:
    """Print the values of the records of a topic until Ctrl-C.

    A null key or value is printed as `<null>`. No offsets are committed.
    """
    from gitops_connect.sandbox.console_clients import ConsumeOptions, check_topic, consume_arguments

    options = ConsumeOptions(from_beginning, max_messages, timeout_ms, offsets, keys)

    def arguments(state: State) -> tuple[str, ...]:
        check_topic(directory, topic)
        return consume_arguments(state, topic, options)

    with _tool("consumer", topic, directory, arguments):
        if sys.stderr.isatty() and max_messages is None and timeout_ms is None:
            echo("End with Ctrl-C.")


@contextmanager
def _tool(tool: str, topic: str, directory: Path, arguments: Callable[[State], tuple[str, ...]]) -> Iterator[IO[bytes]]:
    """Run one of Kafka's tools until it ends; yield its stdin, which is closed after the block.

    Its stderr is kept for the error of this program: the tools also print hints there.
    """
    from gitops_connect.cli.progress import progress
    from gitops_connect.sandbox.cluster import Sandbox
    from gitops_connect.sandbox.console_clients import check_result, java_command
    from gitops_connect.sandbox.launch import java_environment

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
            with interruptible(_interrupt):
                with suppress(BrokenPipeError):
                    yield cast("IO[bytes]", process.stdin)  # None only without PIPE
                process.communicate()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        stderr.seek(0)
        check_result(tool, topic, process.returncode, stderr.read().decode(errors="replace"))


def _interrupt() -> None:
    raise KeyboardInterrupt


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
