"""From a file with a `KafkaMirrorMaker2` to the desired connectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.files.document_files import LOCAL
from support.files.mirror_resources import PLAINTEXT, new_shape, old_shape
from support.files.strimzi_resources import read

from gitops_connect.model.desired import DesiredState, TargetState
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.strimzi import StrimziOptions, StrimziVersion

NAME = ConnectorName("a->b.MirrorSourceConnector")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CONVERTERS = dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES)
SCRAM = {"type": "scram-sha-512", "username": "me", "passwordSecret": {"secretName": "s", "password": "p"}}
JAAS = "source.cluster.sasl.jaas.config"


def declared(
    spec: Mapping[str, Any], api: str = "v1", clusters: str = "mm2", **options: Any
) -> tuple[DesiredState, Diagnostics]:
    metadata = {"name": "mm2", "namespace": "kafka"}
    value = {"apiVersion": f"kafka.strimzi.io/{api}", "kind": "KafkaMirrorMaker2", "metadata": metadata, "spec": spec}
    return read(json.dumps(value, indent=1), StrimziOptions(clusters={clusters: LOCAL}, **options))


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


def test_workers_of_strimzi_have_converters_and_providers() -> None:
    state, diagnostics = declared(new_shape(source={"authentication": SCRAM}), workers=True)
    assert list(diagnostics) == []
    config = state.connectors[0].config
    assert not CONVERTERS.keys() & config.keys()
    assert 'password="${strimzisecrets:kafka/s:p}"' in config[JAAS]


def test_placeholders_are_mapped_and_without_a_mapping_the_connector_is_blocked() -> None:
    spec = new_shape(source={"authentication": SCRAM})
    state, diagnostics = declared(spec, placeholders={"strimzisecrets:kafka/s:": "env:"})
    assert list(diagnostics) == []
    assert 'password="${env:p}"' in state.connectors[0].config[JAAS]
    state, diagnostics = declared(spec)
    assert [item.rule for item in diagnostics.errors] == ["strimzi/placeholder"]
    assert state.connectors == ()
    assert NAME in state.held


def test_the_version_of_the_settings_selects_the_rules() -> None:
    mirror = {"sourceConnector": {}, "topicsBlacklistPattern": "x"}
    state, _ = declared(old_shape(mirror), "v1beta2", version=StrimziVersion(0, 23))
    assert state.connectors[0].config["topics.blacklist"] == "x"


def test_an_error_in_the_resource_blocks_its_connectors_and_no_others() -> None:
    state, diagnostics = declared(new_shape({"sourceConnector": {"tasksMax": "x"}}))
    assert [item.rule for item in diagnostics.errors] == ["strimzi/invalid-field"]
    assert state.connectors == ()
    assert NAME in state.held
    assert state.complete
    state, _ = declared(new_shape(source={"alias": None}))
    assert not state.complete


def test_an_error_in_the_config_of_a_cluster_names_its_line() -> None:
    spec = new_shape({"sourceConnector": {}, "checkpointConnector": {}}, target={"config": {"retries": [1]}})
    _, diagnostics = declared(spec)
    line = next(at for at, text in enumerate(json.dumps({"spec": spec}, indent=1).splitlines(), 1) if "retries" in text)
    head = 6  # lines for apiVersion, kind and metadata
    assert {(item.rule, item.location.line) for item in diagnostics} == {("strimzi/config-value", line + head)}
    assert {item.connector for item in diagnostics} == {NAME, "a->b.MirrorCheckpointConnector"}
