from __future__ import annotations

from support.files.mirror_resources import expanded, new_shape, resource

from gitops_connect.strimzi.connector_document import with_worker_converters

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_converters_of_bytes_are_added() -> None:
    (connector,) = expanded(resource(new_shape())).connectors
    added = with_worker_converters(connector)
    keys = ("key.converter", "value.converter", "header.converter")
    assert added.config == {**connector.config, **dict.fromkeys(keys, BYTES)}
    assert [added.places[key] for key in keys] == [connector.pointer] * 3


def test_converters_of_the_connector_and_of_the_target_are_kept() -> None:
    mirror = {"sourceConnector": {"config": {"key.converter": "com.example.Mine"}}}
    target = {"config": {"value.converter": JSON, "value.converter.schemas.enable": False, "value.converters": "x"}}
    (connector,) = expanded(resource(new_shape(mirror, target=target))).connectors
    added = with_worker_converters(connector)
    found = {key: value for key, value in added.config.items() if key not in connector.config}
    assert found == {"value.converter": JSON, "value.converter.schemas.enable": False, "header.converter": BYTES}
    assert added.config["key.converter"] == "com.example.Mine"
    assert added.places["value.converter"] == ("spec", "target", "config", "value.converter")
