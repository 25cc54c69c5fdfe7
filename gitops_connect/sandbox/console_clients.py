"""Kafka's console producer and console consumer for the topics of a running sandbox: command lines and errors.

Both tools end with 0 after most errors and only log them. So the log goes to stderr, and is read when a tool has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.jars import BROKER_RELEASE, Progress, fetch_jars, kafka
from gitops_connect.sandbox.java import find_java
from gitops_connect.sandbox.launch import JAVA_OPTIONS, broker_answers, template_text
from gitops_connect.sandbox.sandbox_state import State

NULL = "<null>"
"""The marker for a null key or value: printed by the consumer, read by the producer."""

_HEAP = 256
_ERROR = "ERROR "
"""What begins an error in the log, by `properties/console.properties`."""
_IDLE = "terminating consumer process: org.apache.kafka.common.errors.TimeoutException"
"""What the consumer logs when no record arrived within --timeout-ms."""


@dataclass(frozen=True, slots=True)
class ConsumeOptions:
    """Which records are printed, and whether with the partition and offset, and with the key, before each value."""

    from_beginning: bool = False
    max_messages: int | None = None
    timeout_ms: int | None = None
    offsets: bool = False
    keys: bool = False


def java_command(directory: Path, state: State, environment: Mapping[str, str], progress: Progress) -> tuple[str, ...]:
    """A Java with Kafka's tools on its class path. Raises SandboxFailed if the broker does not answer."""
    if not broker_answers(state.broker.port):
        raise SandboxFailed(
            f"the broker of the sandbox in {directory} does not answer; start it with `gitops-connect sandbox up`"
        )
    java = find_java(environment)
    jars = fetch_jars(kafka(BROKER_RELEASE), environment, progress)
    configuration = directory / "conf" / "console"
    configuration.mkdir(exist_ok=True)
    # Without a configuration, Log4j writes its errors to stdout, between the records.
    (configuration / "log4j2.properties").write_text(template_text("console"), encoding="ascii")
    return (str(java.path), f"-Xmx{_HEAP}m", *JAVA_OPTIONS, "-cp", f"{configuration}:{jars}/*")


def produce_arguments(state: State, topic: str, key_separator: str | None) -> tuple[str, ...]:
    """Send each line of stdin as a record."""
    properties = [f"null.marker={NULL}"]
    if key_separator is not None:
        properties += ["parse.key=true", f"key.separator={key_separator}"]
    # A line that is typed is sent at once: the tool's default for linger.ms (--timeout) is one second.
    return (
        *("org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", state.broker.address, f"--topic={topic}"),
        *("--timeout", "0", *(word for one in properties for word in ("--reader-property", one))),
    )


def consume_arguments(state: State, topic: str, options: ConsumeOptions) -> tuple[str, ...]:
    """Print the records of the topic to stdout, in a consumer group with a random name that commits no offsets."""
    properties = [f"null.literal={NULL}"]
    properties += ["print.partition=true", "print.offset=true"] if options.offsets else []
    properties += ["print.key=true"] if options.keys else []
    limits = (("--max-messages", options.max_messages), ("--timeout-ms", options.timeout_ms))
    return (
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", state.broker.address),
        *(f"--topic={topic}", *(["--from-beginning"] if options.from_beginning else [])),
        *(argument for name, value in limits if value is not None for argument in (name, str(value))),
        *(word for one in properties for word in ("--formatter-property", one)),
    )


def check_topic(directory: Path, topic: str) -> None:
    """Raise SandboxFailed for a missing topic, which has no directory `TOPIC-0`: the consumer would create it."""
    names = (path.name.rpartition("-") for path in (directory / "data").glob("*-*"))
    topics = {name for name, _, partition in names if partition.isdecimal()}
    if topic not in topics:
        others = ", ".join(sorted(name for name in topics if not name.startswith("__")))
        raise SandboxFailed(f"the topic {topic} does not exist in the sandbox; existing topics: {others or 'none'}")


def check_result(tool: str, topic: str, code: int, stderr: str) -> None:
    """Raise SandboxFailed with the first error of a tool that has ended: one that it logged, or its stack trace."""
    logged = [line.removeprefix(_ERROR) for line in stderr.splitlines() if line.startswith(_ERROR)]
    errors = [line for line in logged if not line.endswith(_IDLE)] or (stderr.splitlines() if code else [])
    if errors or code:
        reason = errors[0].strip() if errors else f"exit code {code}"
        raise SandboxFailed(f"Kafka's console {tool} failed for topic {topic}: {reason}")
