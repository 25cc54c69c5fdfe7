"""From a file with a `KafkaMirrorMaker2` to the desired connectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.files.document_files import LOCAL
from support.files.mirror_resources import PLAINTEXT, new_shape, old_shape, resource_text
from support.files.strimzi_resources import read
from support.files.tables import rows

from gitops_connect.model.desired import DesiredState, TargetState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import StrimziOptions, parse_strimzi_version

NAME = ConnectorName("a->b.MirrorSourceConnector")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CONVERTERS = dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES)


def declared(
    spec: Mapping[str, Any], api: str = "v1", clusters: str = "mm2", **options: Any
) -> tuple[DesiredState, Diagnostics]:
    return read(resource_text(spec, api), StrimziOptions(clusters={clusters: LOCAL}, **options))


@pytest.mark.parametrize("name", ["mm2", "kafka/mm2"])
def test_connectors_are_on_the_cluster_that_the_name_of_the_resource_means(name: str) -> None:
    connector = {"tasksMax": 4, "state": "paused", "version": "4.3.1", "config": {"refresh": 600, "sync": False}}
    state, diagnostics = declared(new_shape({"sourceConnector": connector}), clusters=name)
    assert list(diagnostics) == []
    (found,) = state.connectors
    assert found.name == NAME
    assert found.state is TargetState.PAUSED
    assert found.config == {
        **PLAINTEXT,
        **CONVERTERS,
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "connector.plugin.version": "4.3.1",
        "tasks.max": "4",
        "refresh": "600",
        "sync": "false",
    }


@pytest.mark.parametrize("row", rows(__file__, "resources"), ids=lambda row: row["case"])
def test_the_options_and_the_errors_of_a_resource(row: dict[str, Any]) -> None:
    options = {**row.get("options", {})}
    if "version" in options:
        options["version"] = parse_strimzi_version(options["version"])
    shape, api = (old_shape, "v1beta2") if row.get("old") else (new_shape, "v1")
    state, diagnostics = declared(shape(**row["spec"]), api, **options)
    assert [item.rule for item in diagnostics.errors] == row.get("errors", [])
    assert [NAME] * (NAME in state.held) == row.get("held", [])
    assert state.complete is row.get("complete", True)
    assert len(state.connectors) == ("config" in row)
    for connector in state.connectors:
        assert {key: connector.config.get(key) for key in row["config"]} == row["config"]


def test_an_error_in_the_config_of_a_cluster_names_its_line() -> None:
    spec = new_shape({"sourceConnector": {}, "checkpointConnector": {}}, target={"config": {"retries": [1]}})
    _, diagnostics = declared(spec)
    line = next(at for at, text in enumerate(json.dumps({"spec": spec}, indent=1).splitlines(), 1) if "retries" in text)
    head = 6  # lines for apiVersion, kind and metadata
    assert {(item.rule, item.location.line) for item in diagnostics} == {("strimzi/config-value", line + head)}
    assert {item.connector for item in diagnostics} == {NAME, "a->b.MirrorCheckpointConnector"}


@pytest.mark.parametrize(("support", "severity"), [("required", "error"), ("requested", "warning")])
def test_the_isolation_of_an_exactly_once_mirror_is_checked(support: str, severity: str) -> None:
    config = {"exactly.once.support": support}
    state, (found,) = declared(new_shape({"sourceConnector": {"config": config}}))
    assert (found.severity.value, found.rule, found.connector) == (severity, "connector/mirror-isolation", NAME)
    assert (NAME in state.held) is (severity == "error")
    config["source.consumer.isolation.level"] = "read_committed"
    assert not declared(new_shape({"sourceConnector": {"config": config}}))[1].items


def test_an_annotation_acknowledges_a_weaker_delivery_of_each_connector() -> None:
    spec = new_shape({"sourceConnector": {}, "checkpointConnector": {}})
    for text, known in (("delivery", True), ("rewind", False)):
        resource = resource_text(spec, annotations={"gitops-connect/acknowledge": text})
        state, found = read(resource, StrimziOptions(clusters={"mm2": LOCAL}))
        assert [one.acknowledges_delivery for one in state.connectors] == [True, True] * known
        assert {one.rule for one in found} == (set() if known else {"schema/enum"})
