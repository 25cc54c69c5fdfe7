from __future__ import annotations

import pytest
from support.files.mirror_resources import expanded, new_shape, resource
from support.files.tables import rows

from gitops_connect.strimzi.placeholders import substitute, substitute_config
from gitops_connect.strimzi.resources import Problems

MAPPING = {
    "strimzienv:": "env:",
    "strimzisecrets:kafka/": "dir:/etc/secrets/",
    "strimzisecrets:kafka/special:": "file:/etc/special.properties:",
    "strimzidir:": "strimzidir:",
    "mine:": "vault:",
}


@pytest.mark.parametrize(("text", "expected"), rows(__file__, "placeholders_are_replaced"))
def test_placeholders_are_replaced(text: str, expected: str) -> None:
    assert substitute(text, MAPPING) == (expected, ())


def test_placeholders_of_strimzi_that_are_not_mapped_are_missing() -> None:
    text = "${strimzifile:/a:b} ${strimzisecrets:other/s:k} ${file:/a:b} ${file:/tmp/strimzi-connect.properties:c}"
    missing = ("${strimzifile:/a:b}", "${strimzisecrets:other/s:k}", "${file:/tmp/strimzi-connect.properties:c}")
    assert substitute(text, MAPPING) == (text, missing)


def test_the_error_names_placeholder_line_and_setting() -> None:
    secret = {"secretName": "s", "password": "f"}
    source = {"authentication": {"type": "plain", "username": "me", "passwordSecret": secret}}
    document = resource(new_shape({"sourceConnector": {"config": {"offset.lag.max": 5}}}, source=source))
    (connector,) = expanded(document).connectors
    problems = Problems(document, connector.name)
    unchanged = substitute_config(connector, {}, problems)
    (error,) = problems.found
    assert unchanged.config == connector.config
    assert error.rule == "strimzi/placeholder"
    assert "source.cluster.sasl.jaas.config has the placeholder ${strimzisecrets:kafka/s:f}" in error.summary
    assert 'map "strimzisecrets:" in [strimzi.placeholders] of the settings' in error.hint
    assert error.location == document.locate(("spec", "mirrors", 0, "source", "authentication"))
    assert error.connector == connector.name
    changed = substitute_config(connector, {"strimzisecrets:kafka/s:": "env:"}, problems)
    assert list(problems.found) == [error]
    assert 'password="${env:f}"' in changed.config["source.cluster.sasl.jaas.config"]
    assert changed.config["offset.lag.max"] == 5
