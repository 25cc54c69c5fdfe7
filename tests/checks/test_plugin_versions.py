"""Versions of plugins (KIP-891). The messages of Connect are from real workers."""

from __future__ import annotations

import pytest
from support.planner.situations import parse_version, wanted

from gitops_connect.checks.plugin_validation import cannot_load, config_errors, not_loaded, unsupported
from gitops_connect.connect.validation import ConfigVerdict

VERSION = "connector.plugin.version"
KEYS = (
    *(VERSION, "key.converter.plugin.version", "transforms.a.plugin.version", "predicates.p.plugin.version"),
    *("value.converter.plugin.version", "header.converter.plugin.version"),
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("version", "count"), [("4.0.1", 1), ("3.9.1", 1), ("4.1.0", 0), ("4.3.1", 0)])
def test_a_version_is_an_error_for_workers_that_ignore_it(key: str, version: str, count: int) -> None:
    found = unsupported([wanted("orders", config={key: "1.0"}), wanted("other")], parse_version(version))
    summary = (
        f"Kafka Connect {version} cannot choose the version of a plugin (4.1 and later can), and would ignore {key}"
    )
    assert [(one.connector, one.rule, one.summary) for one in found] == [("orders", "connect/too-old", summary)] * count


@pytest.mark.parametrize("key", ["plugin.version", "database.plugin.version", "transforms"])
def test_a_key_of_the_plugin_itself_is_no_version(key: str) -> None:
    assert not len(unsupported([wanted("orders", config={key: "1.0"})], parse_version("3.9.1")))


def test_a_connector_that_is_declared_absent_needs_no_version() -> None:
    assert not len(unsupported([wanted("orders", "absent", config={VERSION: "1"})], parse_version("3.9.1")))


@pytest.mark.parametrize(
    ("searched", "shown"), [("[9,9]", "version 9"), ("[3,)", "version in the range [3,)"), ("[,]", "version ")]
)
def test_a_version_that_is_not_installed_is_one_error_with_those_that_are(searched: str, shown: str) -> None:
    plugin = "Plugin org.example.Orders not found that matches the version range"
    message = f"{plugin} {searched}, available versions: [1.0.0, 2.0.0]"
    connector = wanted("orders", config={VERSION: "9"})
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
    found = not_loaded(wanted("orders", config={VERSION: "9"}), ("1.0.0", "2.0.0"))
    assert (found.rule, found.hint) == (
        "connect/version-not-installed",
        "installed versions of the class: 1.0.0, 2.0.0; use one of them, or install the version",
    )
