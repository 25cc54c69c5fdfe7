"""The answers of Connect about plugins and configs, tested on the stand-in and on a real Connect."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.files.tables import rows
from support.planner.situations import wanted

from contract.under_test import MIRROR, SINK, SOURCE, Contract
from gitops_connect.checks.unknown_keys import FRAMEWORK, unknown_keys
from gitops_connect.checks.unmerged import verdict
from gitops_connect.connect.plugin_definitions import observe_definitions
from gitops_connect.errors import NotFound, Rejected
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ConnectorType

pytestmark = pytest.mark.slow


def test_plugins_are_listed_with_type_and_version(contract: Contract) -> None:
    plugins = {plugin.class_name: plugin for plugin in contract.client.plugins()}
    assert plugins.keys() >= {SOURCE, SINK, MIRROR}
    assert plugins[SOURCE].type is ConnectorType.SOURCE
    assert plugins[SINK].type is ConnectorType.SINK
    assert plugins[SOURCE].version == contract.client.info().reported


def test_password_keys_of_a_class_by_any_of_its_names(contract: Contract) -> None:
    for class_name in (MIRROR, "MirrorSourceConnector", "MirrorSource"):
        assert contract.client.sensitive_keys(class_name) >= {"sasl.jaas.config", "ssl.key.password"}
    assert contract.client.sensitive_keys(SOURCE) == frozenset()
    with pytest.raises(NotFound, match="Unknown plugin Nope"):
        contract.client.sensitive_keys("Nope")


def test_the_version_of_a_plugin_that_runs(contract: Contract) -> None:
    name = contract.running("versioned", contract.source())
    version = contract.client.info().reported
    assert contract.client.connectors()[0][name].version == version
    assert contract.client.sensitive_keys(MIRROR, version) >= {"sasl.jaas.config", "ssl.key.password"}
    with pytest.raises(NotFound, match=rf"available versions: \[{version}\]"):
        contract.client.sensitive_keys(MIRROR, "9")


@pytest.mark.parametrize("changed", rows(__file__, "changes"), ids=str)
def test_a_definition_shows_the_same_errors_as_the_validation(
    contract: Contract, changed: dict[str, str | None]
) -> None:
    config = {key: value for key, value in {**contract.source(), **changed}.items() if value is not None}
    name, client = ConnectorName("x"), contract.client
    definition = observe_definitions(client, client.info().version, {name: (config, "")})[name]
    local = verdict(replace(wanted("x"), config=config), definition)
    remote = client.validate(config["connector.class"], {**config, "name": name})
    assert {key: texts[0] for key, texts in local.errors.items()} == {
        key: texts[0] for key, texts in remote.errors.items()
    }
    assert local.defined >= remote.defined - {"name"}


def test_transforms_predicates_and_converters_are_described(contract: Contract) -> None:
    insert = "org.apache.kafka.connect.transforms.InsertField$Value"
    if insert not in {one.class_name for one in contract.client.all_plugins()}:
        pytest.skip("the stand-in has no transforms")
    matches = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    parts = {
        "transforms": "t",
        "transforms.t.type": insert,
        "predicates": "p",
        "predicates.p.type": matches,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    }
    name, client = ConnectorName("x"), contract.client
    config = {**contract.source(), **parts}
    definition = observe_definitions(client, client.info().version, {name: (config, "")})[name]
    assert definition.undescribed == frozenset()
    assert {"transforms.t.static.field", "predicates.p.pattern", "value.converter.schemas.enable"} <= set(
        definition.keys
    )
    (missing,) = verdict(replace(wanted("x"), config=config), definition).errors
    assert missing == "predicates.p.pattern"


@pytest.mark.parametrize("class_name", [SOURCE, "FileStreamSourceConnector", "FileStreamSource"])
def test_all_keys_that_a_plugin_defines_are_returned(contract: Contract, class_name: str) -> None:
    config = contract.source(**{"connector.class": class_name, "name": "x", "extra": "1"})
    verdict = contract.client.validate(class_name, config)
    sink = contract.client.validate(SINK, {**contract.sink(), "name": "x"}).defined
    assert verdict.errors == {}
    assert verdict.defined - FRAMEWORK == {"file", "topic", "batch.size"}
    assert sink - FRAMEWORK == {"file"}
    assert verdict.defined | sink == FRAMEWORK | {"file", "topic", "batch.size"}


def test_usual_configs_have_no_unknown_key(contract: Contract) -> None:
    usual = {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
    }
    client = {"source.cluster.bootstrap.servers": "a:1", "source.consumer.isolation.level": "read_committed"}
    creation = {"topic.creation.default.partitions": "1", "topic.creation.default.cleanup.policy": "compact"}
    for config in (contract.source(**usual, **creation), contract.sink(**usual), contract.mirror(**usual, **client)):
        verdict = contract.client.validate(config["connector.class"], {**config, "name": "x"})
        assert list(unknown_keys(wanted("x", config=config), verdict, BUILT_IN)) == []


def test_a_misspelt_key_is_found_among_those_of_the_plugin(contract: Contract) -> None:
    config = contract.source(**{"batch.sizes": "10", "errors.tolerence": "all"})
    verdict = contract.client.validate(SOURCE, {**config, "name": "x"})
    hints = [item.hint.split("?")[0] for item in unknown_keys(wanted("x", config=config), verdict, BUILT_IN)]
    assert hints == ["did you mean 'batch.size'", "did you mean 'errors.tolerance'"]


def test_misspelt_keys_of_transforms_and_predicates_are_found(contract: Contract) -> None:
    transforms = "org.apache.kafka.connect.transforms"
    if f"{transforms}.Filter" not in {one.class_name for one in contract.client.all_plugins()}:
        pytest.skip("the stand-in has no transforms")
    parts = {
        "transforms": "drop",
        "transforms.drop.type": f"{transforms}.Filter",
        "transforms.drop.predicat": "old",
        "transforms.drop.anything": "1",
        "predicates": "old",
        "predicates.old.type": f"{transforms}.predicates.TopicNameMatches",
        "predicates.old.pattern": "a",
        "predicates.old.patern": "a",
    }
    config = contract.source(**parts)
    verdict = contract.client.validate(SOURCE, {**config, "name": "x"})
    found = {
        item.summary.split("'")[1]: item.hint for item in unknown_keys(wanted("x", config=config), verdict, BUILT_IN)
    }
    assert found.keys() == {"predicates.old.patern", "transforms.drop.anything", "transforms.drop.predicat"}
    assert found["transforms.drop.predicat"].startswith("did you mean 'transforms.drop.predicate'? ")
    definition = observe_definitions(
        contract.client, contract.client.info().version, {ConnectorName("x"): (config, "")}
    )
    local = replace(verdict, defined=frozenset(definition[ConnectorName("x")].keys))
    again = unknown_keys(wanted("x", config={**config, "transforms.drop.negate": "true"}), local, BUILT_IN)
    assert {item.summary.split("'")[1] for item in again} == found.keys()


def test_a_plugin_that_is_given_keys_of_its_own(contract: Contract) -> None:
    config = contract.numbers(streams="a,b", stream="c")
    verdict = contract.client.validate(config["connector.class"], {**config, "name": "x"})
    [warning] = unknown_keys(wanted("x", config=config), verdict, BUILT_IN)
    assert "'stream'" in warning.summary


@pytest.mark.parametrize(("config", "errors"), rows(__file__, "invalid"))
def test_every_error_has_its_key(contract: Contract, config: dict[str, str], errors: dict[str, list[str]]) -> None:
    found = contract.client.validate(config["connector.class"], config).errors
    assert found == {key: tuple(texts) for key, texts in errors.items()}


def test_password_keys_are_reported_and_their_values_hidden(contract: Contract) -> None:
    config = {**contract.mirror(), "name": "x", "sasl.jaas.config": "hunter2"}
    verdict = contract.client.validate(MIRROR, config)
    assert verdict.sensitive >= {"sasl.jaas.config", "ssl.key.password"}
    status, body = contract.json("PUT", f"/connector-plugins/{MIRROR}/config/validate", config)
    values = {item["value"]["name"]: item["value"]["value"] for item in body["configs"]}
    assert (status, values["sasl.jaas.config"], values["ssl.key.password"]) == (200, "[hidden]", None)


def test_a_class_that_does_not_exist_or_is_not_the_one_of_the_config(contract: Contract) -> None:
    with pytest.raises(Rejected, match=r"Failed to find any class that implements Connector .* matches Nope \("):
        contract.client.validate("Nope", {"connector.class": "Nope", "name": "x"})
    with pytest.raises(Rejected, match=r"Included connector type .* does not match request type"):
        contract.client.validate(SOURCE, {"connector.class": SINK, "topics": "t", "name": "x"})
    with pytest.raises(Rejected, match="contains no connector type") as caught:
        contract.client.validate(SOURCE, {"database.password": "hunter2"})
    assert "hunter2" not in str(caught.value)


def test_the_shape_of_a_verdict(contract: Contract) -> None:
    config = {"connector.class": SOURCE, "name": "x"}
    _, body = contract.json("PUT", f"/connector-plugins/{SOURCE}/config/validate", config)
    assert body.keys() == {"name", "error_count", "groups", "configs"}
    assert (body["name"], body["error_count"]) == (SOURCE, 1)
    item = next(item for item in body["configs"] if item["value"]["name"] == "topic")
    assert item.keys() == {"definition", "value"}
    assert item["value"].keys() == {"name", "value", "recommended_values", "errors", "visible"}
    assert item["definition"].keys() >= {"name", "type", "required", "default_value", "importance", "documentation"}
    _, definitions = contract.json("GET", f"/connector-plugins/{SOURCE}/config")
    assert definitions[0].keys() == item["definition"].keys()
