"""What a server changes in the configs that it shows is no difference: each test plans twice without a change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from acceptance.workplace import Workplace
from standin.cluster import Cluster
from standin.connect import StandIn
from support.workplaces import at

__all__ = ["at"]

pytestmark = pytest.mark.slow

MASKS = ["********", "\u2022" * 8, "[hidden]"]
NO_CHANGES = "No changes. Your connectors match the configuration."


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn(Cluster(masks_passwords=True)) as standin:
        yield standin


def effects(standin: StandIn) -> int:
    return standin.count("POST|PUT|DELETE|PATCH") - standin.count("PUT", ".*/validate")


def nothing_to_do(at: Workplace, standin: StandIn) -> None:
    """Plan twice and apply: no step, no note, no request."""
    before = effects(standin)
    for _ in range(2):
        planned = at.run("plan", "--detailed-exitcode")
        assert (planned.code, "note:" in planned.out) == (0, False), planned.out
    assert NO_CHANGES in at.apply().out
    assert effects(standin) == before


def with_password(at: Workplace, value: str, spec: str = "state: stopped") -> str:
    return at.mirror("orders", spec, **{"ssl.key.password": value})


@pytest.mark.parametrize("mask", MASKS)
def test_a_masked_value_is_sent_once_for_each_new_value(at: Workplace, standin: StandIn, mask: str) -> None:
    standin.cluster.mask = mask
    at.deploy("orders.yaml", with_password(at, "one"))
    nothing_to_do(at, standin)
    at.commit("orders.yaml", with_password(at, "two"))
    change = "~ ssl.key.password: *** (before) -> *** (after)"
    at.run("plan").expect(out=("~ configure        the secret changed", change))
    at.apply()
    assert standin.cluster.connectors[at.name("orders")].config["ssl.key.password"] == "two"
    nothing_to_do(at, standin)


def test_a_masked_value_of_an_adopted_connector_gets_one_note(at: Workplace, standin: StandIn) -> None:
    """Nobody knows the value on the cluster. To adopt the connector must not restart it, so it counts as equal once."""
    at.commit("orders.yaml", with_password(at, "one"))
    config = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "tasks.max": "1"}
    config |= {"source.cluster.alias": "a", "target.cluster.alias": "b", "ssl.key.password": "one"}
    standin.cluster.create(at.name("orders"), config, "STOPPED")
    planned = at.run("plan").expect(out="note: assumed to be equal, because Connect masks the values")
    assert [line.split()[2] for line in planned.out.splitlines() if line.startswith("      1 ")] == ["adopt"]
    at.apply()
    nothing_to_do(at, standin)
    at.deploy("orders.yaml", with_password(at, "two"))
    assert standin.cluster.connectors[at.name("orders")].config["ssl.key.password"] == "two"
    nothing_to_do(at, standin)


def test_a_key_that_a_proxy_adds_is_ignored_if_the_document_says_so(at: Workplace, standin: StandIn) -> None:
    standin.cluster.adds = {"cloud.environment": "prod"}
    at.deploy("orders.yaml", at.source("orders", "ignore: [cloud.*]"))
    before = effects(standin)
    for _ in range(2):
        note = "note: keys that differ and are ignored: cloud.environment"
        at.run("plan", "--detailed-exitcode").expect(0, out=note)
    at.apply()
    assert effects(standin) == before


def test_a_key_that_a_proxy_adds_again_is_named_with_the_way_out(at: Workplace, standin: StandIn) -> None:
    at.settings(cluster='settle_timeout = "1s"')
    at.deploy("orders.yaml", at.source("orders"))
    standin.cluster.adds = {"cloud.environment": "prod"}
    way_out = "(keys that differ: cloud.environment); if the server sets them itself, list them in spec.ignore"
    at.run("apply", "--yes").expect(1, err=way_out)


def test_an_invalid_config_does_not_prevent_a_stop_and_its_secret_is_sent_later(
    at: Workplace, standin: StandIn
) -> None:
    works = {"source.cluster.bootstrap.servers": "127.0.0.1:1"}
    at.deploy("orders.yaml", at.mirror("orders", **works, **{"ssl.key.password": "one"}))
    invalid = {"ssl.key.password": "two", "errors.retry.timeout": "bogus"}
    at.commit("orders.yaml", at.mirror("orders", "state: stopped", **works, **invalid))
    stopped = at.run("apply", "--yes")
    assert stopped.code != 0
    assert at.states() == {"orders": "STOPPED"}
    at.deploy("orders.yaml", at.mirror("orders", "state: stopped", **works, **{"ssl.key.password": "two"}))
    assert standin.cluster.connectors[at.name("orders")].config["ssl.key.password"] == "two"
    nothing_to_do(at, standin)
