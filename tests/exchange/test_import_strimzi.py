"""`gitops-connect import --format strimzi`: resources that are read back as the same connectors."""

from __future__ import annotations

import pytest
from acceptance.workplace import Workplace
from exchange.test_import import create, imported, require_adopted
from exchange.writers import HOSTILE
from standin.connect import StandIn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cluster", ["", 'strimzi = ["here/kc", "my-connect"]'])
def test_the_plan_of_imported_resources_only_adopts(at: Workplace, standin: StandIn, cluster: str) -> None:
    at.settings(cluster)
    create(standin, "orders", **{f"x.{number}": text for number, text in enumerate(HOSTILE)})
    create(standin, "paused.orders", "PAUSED")
    create(standin, "stopped", "STOPPED", **{"connector.plugin.version": "4.3.0"})
    imported(at, "--format", "strimzi").expect(0, out="")
    text = (at.repository / "clusters" / "local" / "stopped.yaml").read_text()
    assert f"strimzi.io/cluster: {'my-connect' if cluster else 'local'}\n" in text
    assert "  state: stopped\n  version: " in text
    require_adopted(at, "orders", "paused.orders", "stopped")


def test_secrets_become_references_that_the_workers_of_strimzi_have(at: Workplace, standin: StandIn) -> None:
    create(standin, "orders", **{"my.password": "hunter22"})
    ran = imported(at, "--format", "strimzi")
    assert (ran.code, ran.out) == (0, "${strimzienv:ORDERS_MY_PASSWORD}  # orders: my.password\n")
    text = (at.repository / "clusters" / "local" / "orders.yaml").read_text()
    assert 'my.password: "${strimzienv:ORDERS_MY_PASSWORD}"' in text
    assert "hunter22" not in text + ran.out + ran.err


def test_what_cannot_be_a_resource_is_named(at: Workplace, standin: StandIn) -> None:
    create(standin, "orders")
    create(standin, "Orders_2")
    create(standin, "capitals", **{"Tasks.Max": "3"})
    create(standin, "tasks", **{"tasks.max": "04"})
    create(standin, "spaces", **{"a key": "x"})
    ran = imported(at, "--format", "strimzi").expect(1)
    assert [file.name for file in (at.repository / "clusters" / "local").iterdir()] == ["orders.yaml"]
    assert "error: connector Orders_2: the name of a Kubernetes resource has lower case letters" in ran.err
    assert "error: connector capitals: a KafkaConnector cannot declare its config keys Tasks.Max" in ran.err
    assert "error: connector tasks: Strimzi's tasksMax is a number" in ran.err
    assert "error: connector spaces: its document would be invalid" in ran.err
