"""The errors of Connect's own validation, with the lines of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest
from standin.connect import StandIn
from standin.fixtures import MakeClient
from support.cluster.manual_clock import ManualClock
from support.files.tables import rows
from support.planner.situations import wanted as plain

from gitops_connect.checks import plugin_validation
from gitops_connect.checks.plugin_validation import (
    PATIENCE,
    ValidateOptions,
    cannot_load,
    config_errors,
    not_loaded,
    unsupported,
)
from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.validation import ConfigVerdict, ConnectChecks, Plugin
from gitops_connect.connect.wire import parse_version
from gitops_connect.model.desired import DesiredConnector, SecretReference, SecretSource, TargetState
from gitops_connect.model.diagnostics import Location, Severity
from gitops_connect.model.documents import Document
from gitops_connect.model.names import ClusterName, ConnectorName
from gitops_connect.model.observed_state import ConnectorType
from gitops_connect.runtime import SystemClock
from gitops_connect.settings.sections import ClusterSettings

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
LINES = {"name": 3, "spec": 4, "class": 5, "tasksMax": 6, "config": 7, "secrets": 50}


def wanted(name: str, config: Mapping[str, str], secrets: tuple[str, ...] = ()) -> DesiredConnector:
    """A connector whose document has each config key on its own line: from line 8, and secrets from line 51."""
    plain = [key for key in config if key not in ("connector.class", "tasks.max", *secrets)]
    positions: dict[tuple[str | int, ...], tuple[int, int]] = {
        ("metadata", "name"): (LINES["name"], 3),
        ("spec",): (LINES["spec"], 1),
        **{("spec", field): (LINES[field], 3) for field in ("class", "tasksMax", "config", "secrets")},
        **{("spec", "config", key): (LINES["config"] + 1 + number, 5) for number, key in enumerate(plain)},
        **{("spec", "secrets", key): (LINES["secrets"] + 1 + number, 5) for number, key in enumerate(secrets)},
    }
    document = Document(Location(f"{name}.yaml"), {}, positions)
    references = {key: SecretReference(SecretSource.ENV, "X") for key in secrets}
    return DesiredConnector(ConnectorName(name), TargetState.RUNNING, config, document, references)


def validate(
    client: ConnectClient, connectors: Iterable[DesiredConnector], plugins: Sequence[Plugin] | None = None
) -> ConnectChecks:
    """Validate with a clock that does not advance, so that the timeout is never reached."""
    return plugin_validation.validate(client, connectors, ValidateOptions(ManualClock(), 60, lambda _: None), plugins)


def source(name: str = "orders", **more: str) -> DesiredConnector:
    return wanted(name, {"connector.class": SOURCE, "tasks.max": "1", "topic": "t", **more})


def test_each_error_has_its_line(client: ConnectClient) -> None:
    connector = source(**{"tasks.max": "many", "file": "x", "key.converter": "Nope"})
    number = "Invalid value many for configuration tasks.max: Not a number of type INT"
    converter = "Invalid value Nope for configuration key.converter: Class Nope could not be found."
    checks = validate(client, [connector])
    assert [(item.rule, item.location.line, item.summary) for item in checks.diagnostics] == [
        ("connect/invalid-config", 6, f"tasks.max: {number}"),
        ("connect/invalid-config", 10, f"key.converter: {converter}"),
    ]
    assert checks.invalid == {"orders"}


def test_a_required_key_that_is_missing_points_at_the_config(client: ConnectClient) -> None:
    [problem] = validate(client, [wanted("orders", {"connector.class": SOURCE, "file": "x"})]).diagnostics
    assert problem.location == Location("orders.yaml", LINES["config"], 3)
    assert problem.summary == 'topic: Missing required configuration "topic" which has no default value.'
    assert problem.hint == "add 'topic' to spec.config"
    [problem] = validate(client, [wanted("orders", {"connector.class": SOURCE, "topics": "x"})]).diagnostics
    assert problem.hint == "rename 'topics' to 'topic' if the key is misspelt"


@pytest.mark.parametrize(
    ("class_name", "meant"),
    [
        ("org.apache.kafka.connect.file.FileStreamSourceConector", SOURCE),
        ("FileStreamSuorce", "FileStreamSource"),
        ("MirorSourceConnector", "MirrorSourceConnector"),
    ],
)
def test_a_class_that_does_not_exist(client: ConnectClient, class_name: str, meant: str) -> None:
    [problem] = validate(client, [wanted("orders", {"connector.class": class_name})]).diagnostics
    assert (problem.rule, problem.location.line) == ("connect/unknown-plugin", LINES["class"])
    assert problem.summary == f"the worker has no connector class {class_name!r}"
    assert problem.hint.startswith(f"did you mean {meant!r}? use one of the installed classes: ")
    assert "org.apache.kafka.connect.file.FileStreamSink" in problem.hint


def test_plugins_are_fetched_once_and_only_if_they_are_needed(standin: StandIn, client: ConnectClient) -> None:
    validate(client, [source()])
    assert standin.count("GET") == 0
    validate(client, [wanted(name, {"connector.class": "Nope"}) for name in "abc"])
    assert standin.count("GET", "/connector-plugins") == 1


def test_a_class_is_unknown_even_if_the_plugins_cannot_be_listed(standin: StandIn, client: ConnectClient) -> None:
    standin.refuse("GET", "/connector-plugins", 400, "no")
    plugins = [Plugin(SOURCE, ConnectorType.SOURCE, "1")]
    [problem] = validate(client, [wanted("a", {"connector.class": "io.debezium.X"})], plugins).diagnostics
    assert problem.hint == f"use one of the installed classes: {SOURCE}", "nothing far-fetched is suggested"
    [problem] = validate(client, [wanted("a", {"connector.class": "Nope"})]).diagnostics
    assert (problem.rule, problem.hint) == ("connect/unknown-plugin", "install the plugin on every worker")


def test_values_of_secrets_are_in_no_message(standin: StandIn, client: ConnectClient) -> None:
    config = {"connector.class": SOURCE, "topic": "t", "batch.size": "hunter2"}
    connector = wanted("orders", config, secrets=("batch.size",))
    [problem] = validate(client, [connector]).diagnostics
    assert problem.summary == "batch.size: Invalid value *** for configuration batch.size: Not a number of type INT"
    assert problem.location.line == LINES["secrets"] + 1
    standin.refuse("PUT", ".*", 500, "BadRequestException: Connector config {batch.size=hunter2} is odd")
    [problem] = validate(client, [connector]).diagnostics
    assert "hunter2" not in problem.summary
    assert "{batch.size=***} is odd" in problem.summary


def test_sensitive_keys_are_those_of_connect_and_of_the_document(client: ConnectClient) -> None:
    config = {"connector.class": MIRROR, "source.cluster.alias": "a", "own": "x"}
    checks = validate(client, [wanted("mirror", config, secrets=("own",)), source()])
    assert checks.sensitive[ConnectorName("mirror")] >= {"own", "sasl.jaas.config", "ssl.key.password"}
    assert checks.sensitive[ConnectorName("orders")] == frozenset()
    assert "orders" not in checks.invalid


def test_an_unusable_name(client: ConnectClient) -> None:
    [problem] = validate(client, [source("a/b")]).diagnostics
    assert (problem.rule, problem.location.line, problem.severity) == ("connect/unusable-name", 3, Severity.ERROR)


def test_a_cluster_that_does_not_answer_is_not_asked_for_every_config(
    standin: StandIn, make_client: MakeClient
) -> None:
    standin.refuse("PUT", ".*", 500, "Request timed out", times=99)
    client = make_client(standin.url, parallelism=1)
    checks = validate(client, [source(f"c{number}") for number in range(10)])
    assert standin.count("PUT") == PATIENCE
    assert [(item.rule, item.severity) for item in checks.diagnostics] == [
        ("connect/not-validated", Severity.WARNING)
    ] * (PATIENCE + 1)
    assert "Request timed out" in checks.diagnostics.items[0].summary
    assert checks.invalid == frozenset()
    assert checks.diagnostics.items[-1].summary.startswith("Connect did not check this config and 6 more: ")


def test_wrong_credentials_are_tried_once(standin: StandIn, make_client: MakeClient) -> None:
    standin.authorization = "Bearer right"
    checks = validate(make_client(standin.url, parallelism=1), [source(f"c{number}") for number in range(5)])
    assert standin.count("PUT") == 1
    assert checks.invalid == frozenset()


def test_one_bad_connector_does_not_hide_the_others(client: ConnectClient) -> None:
    checks = validate(client, [source("good"), source("bad", **{"tasks.max": "0"}), source("fine")])
    assert checks.invalid == {"bad"}
    assert checks.sensitive.keys() == {"good", "bad", "fine"}


def test_after_the_timeout_the_remaining_configs_are_counted_and_not_validated(
    standin: StandIn, make_client: MakeClient
) -> None:
    clock, messages = ManualClock(), []

    def say(text: str) -> None:
        messages.append(text)
        clock.seconds += 20

    connectors = [source(f"c{number:02}") for number in range(10)]
    client = make_client(standin.url, parallelism=1)
    checks = plugin_validation.validate(client, connectors, ValidateOptions(clock, 60, say))
    assert standin.count("PUT") == 2, "the time was over before the third was sent"
    assert messages == [f"validating configs on Connect: {number} of 10" for number in (1, 2, 3)]
    [problem] = checks.diagnostics
    assert (problem.rule, problem.severity) == ("connect/not-validated", Severity.WARNING)
    assert (problem.connector, checks.invalid) == ("c02", frozenset())
    assert problem.summary == (
        "Connect did not check this config and 7 more: validate_timeout in [clusters.local] (60s) has passed;"
        " raise it, or check fewer connectors at once"
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_requests_in_progress_end_at_the_timeout(standin: StandIn, workers: int) -> None:
    """Each of the two requests in progress would wait for its answer for an hour."""
    standin.hang("PUT", ".*", times=99)
    settings = ClusterSettings(ClusterName("local"), (standin.url,) * workers, timeout=3600, parallelism=2)
    with ConnectClient(settings, SystemClock()) as client:
        options = ValidateOptions(SystemClock(), 0.3, lambda _: None)
        checks = plugin_validation.validate(client, [source(f"c{number}") for number in range(5)], options)
    assert standin.count("PUT") == 2
    [problem] = checks.diagnostics
    assert problem.summary.startswith("Connect did not check this config and 4 more: validate_timeout")


# One diagnostic for each cause, however many errors Connect reports. The answers are from a real worker.


def test_a_message_is_reported_for_the_key_that_the_document_sets() -> None:
    message = "Could not connect to database. FATAL: password authentication failed"
    keys = ("connection.password", "connection.url", "connection.user")
    connector = wanted("a", {"connection.url": "x"})
    [error] = config_errors(connector, ConfigVerdict(dict.fromkeys(keys, (message,))))
    assert (error.location.line, error.summary) == (LINES["config"] + 1, f"connection.url: {message}")
    assert error.hint == "Connect reports the same error for 2 more keys: connection.password, connection.user"


@pytest.mark.parametrize(("errors", "expected"), rows(__file__, "causes"))
def test_one_diagnostic_for_each_cause(errors: dict[str, list[str]], expected: list[list[str]]) -> None:
    verdict = ConfigVerdict({key: tuple(texts) for key, texts in errors.items()})
    found = config_errors(plain("orders", config={}), verdict)
    assert [[item.summary, item.hint] for item in found] == expected


# Versions of plugins (KIP-891). The messages of Connect are from real workers.

VERSION = "connector.plugin.version"
KEYS = (
    *(VERSION, "key.converter.plugin.version", "transforms.a.plugin.version", "predicates.p.plugin.version"),
    *("value.converter.plugin.version", "header.converter.plugin.version"),
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("version", "count"), [("4.0.1", 1), ("3.9.1", 1), ("4.1.0", 0), ("4.3.1", 0)])
def test_a_version_is_an_error_for_workers_that_ignore_it(key: str, version: str, count: int) -> None:
    found = unsupported([plain("orders", config={key: "1.0"}), plain("other")], parse_version(version))
    summary = (
        f"Kafka Connect {version} cannot choose the version of a plugin (4.1 and later can), and would ignore {key}"
    )
    assert [(one.connector, one.rule, one.summary) for one in found] == [("orders", "connect/too-old", summary)] * count


def test_keys_of_the_plugin_itself_and_connectors_that_are_declared_absent_need_no_version() -> None:
    keys = dict.fromkeys(("plugin.version", "database.plugin.version", "transforms"), "1.0")
    connectors = [plain("orders", config=keys), plain("gone", "absent", config={VERSION: "1"})]
    assert not len(unsupported(connectors, parse_version("3.9.1")))


@pytest.mark.parametrize(
    ("searched", "shown"), [("[9,9]", "version 9"), ("[3,)", "version in the range [3,)"), ("[,]", "version ")]
)
def test_a_version_that_is_not_installed_is_one_error_with_those_that_are(searched: str, shown: str) -> None:
    plugin = "Plugin org.example.Orders not found that matches the version range"
    message = f"{plugin} {searched}, available versions: [1.0.0, 2.0.0]"
    connector = plain("orders", config={VERSION: "9"})
    (found,) = config_errors(connector, ConfigVerdict({"connector.class": (message,), VERSION: (message,)}))
    assert (found.rule, found.summary, found.hint) == (
        "connect/version-not-installed",
        f"the worker has no {shown} of org.example.Orders",
        "use one of the installed versions: 1.0.0, 2.0.0",
    )


def test_the_second_answer_of_connect_about_such_a_version_is_the_same_error() -> None:
    java = "org.apache.kafka.connect.runtime.isolation.VersionedPluginLoadingException.availableVersions()"
    assert cannot_load(f'Cannot invoke "java.util.List.stream()" because the return value of "{java}" is null')
    assert not cannot_load("Request timed out")
    found = not_loaded(plain("orders", config={VERSION: "9"}), ("1.0.0", "2.0.0"))
    assert (found.rule, found.hint) == (
        "connect/version-not-installed",
        "installed versions of the class: 1.0.0, 2.0.0; use one of them, or install the version",
    )
