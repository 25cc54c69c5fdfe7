"""A ledger with very many old offset changes: neither a page nor a plan reads all of them."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from support.ledger.many_changes import CONNECTORS, OLD, fill, watched
from support.planner.situations import CLUSTER
from support.server.made_up import PROD, World

from gitops_connect.ledger.database import Database
from gitops_connect.model.names import ConnectorName, OffsetChangeName
from gitops_connect.server.fleet import encoded_key
from gitops_connect.server.served import MOST

pytestmark = pytest.mark.slow


@pytest.fixture
def database(made: World) -> Database:
    """That of the ledger, with many old changes."""
    now = made.clock.now()
    found = Database(f"sqlite:///{made.ledger.place}", made.served.settings.directory)
    fill(found, CLUSTER, now)
    with found.write() as connection:
        connection.exec_driver_sql("ANALYZE")  # a database that knows its tables chooses other ways
    return found


AFTER = encoded_key(("2026-01-01T00:00:00+00:00", CLUSTER, "old-7"))
PATHS = (
    "/",
    "/offset-changes",
    f"/clusters/{CLUSTER}",
    f"/clusters/{CLUSTER}/connectors/orders",
    f"/clusters/{CLUSTER}/operations/old-7",
    "/api/v1/operations?limit=50",
    f"/api/v1/operations?limit=50&after={AFTER}",
    f"/api/v1/operations?connector=c1&state=applied&after={AFTER}",
    f"/api/v1/operations?cluster={CLUSTER}&connector=c1",
    "/api/v1/operations?state=failed",
    f"/api/v1/clusters/{CLUSTER}/connectors/orders",
    f"/api/v1/clusters/{CLUSTER}/operations/old-7",
    "/metrics",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_request_reads_all_changes(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with watched(monkeypatch) as statements:
        answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert all("USING" in step and "INDEX" in step for step in statements.plans(database))
    assert statements.rows <= 2 * MOST + 200


def test_the_last_changes_are_listed_and_counted(client: TestClient, made: World, database: Database) -> None:
    found = client.get(f"/api/v1/operations?cluster={CLUSTER}&connector=c1&limit=3").json()
    assert found["total"] == OLD / CONNECTORS
    assert [one["name"] for one in found["operations"]] == ["old-1", "old-5", "old-9"]
    assert client.get("/api/v1/operations?state=none").json() == {"total": 0, "operations": [], "next": None}
    failed = client.get("/api/v1/operations?state=failed").json()
    assert {one["name"] for one in failed["operations"]} == {"rewind-too-far"}
    assert made.ledger.offset_changes.find(PROD, OffsetChangeName("old-1")) is None


def test_a_plan_reads_what_is_declared_what_is_not_applied_and_new_connectors(
    made: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, names = made.ledger.offset_changes, [OffsetChangeName(f"old-{number}") for number in range(1200)]
    with watched(monkeypatch) as statements:
        found = store.of_plan(CLUSTER, [*names, OffsetChangeName("not-known")])
        of_connector = store.of_connectors(CLUSTER, [ConnectorName("orders"), ConnectorName("nobody")])
    assert {*found} == {*names, "skip-poison-pill", "rewind-too-far"}
    assert list(found) == sorted(found)
    assert {*of_connector} == {"skip-poison-pill", "rewind-too-far", "rewind-in-may"}
    assert found["old-7"] == store.records(CLUSTER)[OffsetChangeName("old-7")]
    assert all("USING" in step and "INDEX" in step for step in statements.plans(database))
    assert statements.rows == len(found) + len(of_connector)
