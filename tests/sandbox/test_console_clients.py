"""The command lines of Kafka's console tools, and the meaning of what they log. They run in tests/cli."""

from pathlib import Path

import pytest
from support.files.tables import rows, table

from gitops_connect.errors import SandboxFailed
from gitops_connect.sandbox.console_clients import (
    ConsumeOptions,
    check_result,
    check_topic,
    consume_arguments,
    java_command,
    produce_arguments,
)
from gitops_connect.sandbox.launch import choose_port
from gitops_connect.sandbox.sandbox_state import SandboxPart, State

STATE = State("id", "4.3.1", 512, broker=SandboxPart(0, 9092))


CLIENT = ("--bootstrap-server", "127.0.0.1:9092")


def test_a_producer_sends_at_once_reads_null_and_parses_keys_if_there_is_a_separator() -> None:
    without_keys = (
        *("org.apache.kafka.tools.ConsoleProducer", *CLIENT, "--topic=--orders"),
        *("--timeout", "0", "--reader-property", "null.marker=<null>"),
    )
    assert produce_arguments(STATE, "--orders", None) == without_keys
    keys = ("--reader-property", "parse.key=true", "--reader-property", "key.separator==")
    assert produce_arguments(STATE, "--orders", "=") == (*without_keys, *keys)


def test_a_consumer_names_no_group_and_prints_values_within_limits() -> None:
    command = ("org.apache.kafka.tools.consumer.ConsoleConsumer", *CLIENT, "--topic=orders")
    values = ("--formatter-property", "null.literal=<null>")
    assert consume_arguments(STATE, "orders", ConsumeOptions()) == (*command, *values)
    options = ConsumeOptions(from_beginning=True, max_messages=3, timeout_ms=2000, offsets=True, keys=True)
    limits = ("--from-beginning", "--max-messages", "3", "--timeout-ms", "2000")
    printed = (f"print.{name}=true" for name in ("partition", "offset", "key"))
    more = (word for one in printed for word in ("--formatter-property", one))
    assert consume_arguments(STATE, "orders", options) == (*command, *limits, *values, *more)


def test_a_broker_that_does_not_answer_is_an_error_before_java_is_looked_for(tmp_path: Path) -> None:
    state = State("id", "4.3.1", 512, broker=SandboxPart(0, choose_port((), ())))
    with pytest.raises(SandboxFailed, match=f"broker of the sandbox in {tmp_path} does not answer; start it with"):
        java_command(tmp_path, state, {}, lambda *_: None)


def test_a_topic_that_does_not_exist_is_an_error_with_those_that_do(tmp_path: Path) -> None:
    for name in ("__consumer_offsets-0", "orders-0", "orders-1", "a-b-0", "gone-0.5f3-delete"):
        (tmp_path / "data" / name).mkdir(parents=True)
    check_topic(tmp_path, "orders")
    check_topic(tmp_path, "a-b")
    with pytest.raises(SandboxFailed, match="the topic gone does not exist in the sandbox; existing topics: a-b, ord"):
        check_topic(tmp_path, "gone")
    with pytest.raises(SandboxFailed, match="existing topics: none"):
        check_topic(tmp_path / "empty", "orders")


@pytest.mark.parametrize(("code", "stderr", "reason"), rows(__file__, "errors"))
def test_an_error_is_found_in_the_log_or_in_the_stack_trace(code: int, stderr: str, reason: str) -> None:
    with pytest.raises(SandboxFailed, match=f"Kafka's console producer failed for topic orders: .*{reason}$"):
        check_result("producer", "orders", code, stderr)


def test_hints_and_the_end_of_an_idle_consumer_are_no_errors() -> None:
    check_result("consumer", "orders", 0, table(__file__, "idle"))
