"""One diagnostic for each cause, however many errors Connect reports. The answers are from a real worker."""

from __future__ import annotations

from collections.abc import Mapping

from support.planner.situations import wanted

from gitops_connect.checks.plugin_validation import config_errors
from gitops_connect.connect.validation import ConfigVerdict
from gitops_connect.model.desired import DesiredConnector, TargetState
from gitops_connect.model.diagnostics import Location
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ConnectorName

CONFLICT = "topics and topics.regex are mutually exclusive options, but both are set."
DLQ = "The DLQ topic 't' may not be included in the list of topics ('topics=[t]') consumed by the connector"


def reported(errors: Mapping[str, tuple[str, ...]], config: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    connector = wanted("orders", config=config)
    return [(item.summary, item.hint) for item in config_errors(connector, ConfigVerdict(errors))]


def test_a_message_on_several_keys_is_reported_once() -> None:
    found = reported({"topics": (CONFLICT, DLQ), "topics.regex": (CONFLICT,)}, {"topics": "t", "topics.regex": "x"})
    same = "Connect reports the same error for 1 more key: topics.regex"
    assert found == [(f"topics: {CONFLICT}", same), (f"topics: {DLQ}", "")]


def test_a_message_is_reported_for_the_key_that_the_document_sets() -> None:
    message = "Could not connect to database. FATAL: password authentication failed"
    keys = ("connection.password", "connection.url", "connection.user")
    positions = {("spec", "config", "connection.url"): (7, 5), ("spec",): (3, 1)}
    document = Document(Location("a.yaml"), {}, positions)
    connector = DesiredConnector(ConnectorName("a"), TargetState.RUNNING, {"connection.url": "x"}, document)
    [error] = config_errors(connector, ConfigVerdict(dict.fromkeys(keys, (message,))))
    assert (error.location.line, error.summary) == (7, f"connection.url: {message}")
    assert error.hint == "Connect reports the same error for 2 more keys: connection.password, connection.user"


def test_errors_that_follow_from_an_unreadable_value_are_not_reported() -> None:
    number = "Invalid value many for configuration tasks.max: Not a number of type INT"
    null = "Invalid value null for configuration tasks.max: Value must be non-null"
    assert reported({"tasks.max": (number, null)}) == [(f"tasks.max: {number}", "")]
    missing = 'Missing required configuration "predicates.p.pattern" which has no default value.'
    regex = (
        "Invalid value null for configuration pattern: Invalid regex: Cannot invoke"
        ' "String.isEmpty()" because "this.pattern" is null'
    )
    assert reported({"predicates.p.pattern": (missing, regex)}) == [
        (f"predicates.p.pattern: {missing}", "add 'predicates.p.pattern' to spec.config")
    ]


def test_a_missing_class_of_a_transform_is_reported_once() -> None:
    """Kafka 3.6 reports it three times."""
    key = "transforms.a.type"
    absent = f"Invalid value Nope for configuration {key}: Class Nope could not be found."
    others = (
        f"Invalid value null for configuration {key}: Not a Transformation",
        f"Invalid value null for configuration {key}: Error getting config definition from Transformation: null",
    )
    assert reported({key: (absent, *others)}) == [(f"{key}: {absent}", "")]


def test_an_error_of_null_is_reported_if_it_is_the_only_one() -> None:
    null = "Invalid value null for configuration x: Value must be non-null"
    assert reported({"x": (null,)}) == [(f"x: {null}", "")]


def test_a_repeated_message_is_reported_once() -> None:
    """Debezium checks the type of a field twice."""
    message = "The 'database.port' value is invalid: An integer is expected"
    assert reported({"database.port": (message, message)}) == [(f"database.port: {message}", "")]


def test_two_causes_are_two_errors() -> None:
    absent = "The '{}' value is invalid: A value is required"
    found = reported({key: (absent.format(key),) for key in ("database.hostname", "topic.prefix")})
    assert len(found) == 2
