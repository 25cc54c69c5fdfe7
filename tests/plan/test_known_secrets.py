"""Before a merge, no secret is read: its value is assumed from what was applied last."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.planner.situations import CLUSTER, KEY, NOW, REVISION, seen, situation, wanted

from gitops_connect.model.canonical import keyed_digest
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.ownership import Origin, Ownership
from gitops_connect.plan.known_secrets import UNREAD, assume_secrets

ORDERS = ConnectorName("orders")
APPLIED = "env:PASSWORD"


@pytest.mark.parametrize(
    ("reference", "on_cluster", "assumed"),
    [
        (APPLIED, "old", "old"),
        (APPLIED, "changed by hand", UNREAD),
        ("env:OTHER", "old", UNREAD),
        (None, "old", "old"),
        (APPLIED, None, UNREAD),
    ],
)
def test_the_current_value_is_assumed_if_the_same_secret_was_applied_or_none_is_known(
    reference: str | None, on_cluster: str | None, assumed: str
) -> None:
    config = {} if on_cluster is None else {"password": on_cluster}
    given = situation([wanted("orders", secrets=["password"])], [seen("orders", config=config)])
    applied = {"password": keyed_digest(KEY, [ORDERS, "password", "old"])}
    references = {} if reference is None else {"password": reference}
    owned = Ownership(CLUSTER, ORDERS, Origin.CREATED, REVISION, NOW, applied=applied, references=references)
    desired = assume_secrets(given.desired, given.observed, {ORDERS: owned}, KEY)
    assert desired.by_name[ORDERS].config["password"] == assumed


def test_a_situation_does_not_show_its_secrets() -> None:
    given = replace(situation([wanted("orders")], []), secrets=frozenset({"hunter2"}), key=b"the key")
    assert "hunter2" not in repr(given)
    assert "the key" not in repr(given)
