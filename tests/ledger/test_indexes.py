"""The queries on offset changes use the indexes of a PostgreSQL that knows its tables."""

from __future__ import annotations

from contextlib import closing

import pytest
from live.databases import Server
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool
from support.ledger.ledger_places import postgres_place
from support.ledger.many_changes import fill, watched
from support.planner.offset_change_values import LOCAL, NOON

from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName
from gitops_connect.model.offset_changes import OffsetChangeState

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["postgresql"])
def test_no_query_of_a_plan_a_page_or_a_command_reads_the_whole_table(
    kind: str, postgres: Server, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are three clusters: a query that needs all changes of all clusters is best without an index."""
    place = postgres_place(postgres, tmp_path_factory.mktemp(kind))
    with closing(place.open()) as ledger, closing(place.database()) as database:
        for cluster in (LOCAL, ClusterName("b"), ClusterName("c")):
            fill(database, cluster, NOON)
        with create_engine(place.url, isolation_level="AUTOCOMMIT", poolclass=NullPool).connect() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE operations")
        with watched(monkeypatch) as statements:
            changes, one = ledger.offset_changes, ConnectorName("c1")
            changes.of_plan(LOCAL, [OffsetChangeName(f"old-{number}") for number in range(100)])
            changes.of_connectors(LOCAL, [ConnectorName("nobody")])
            changes.find(LOCAL, OffsetChangeName("old-7"))
            for connector in (None, one):
                for states in ([], [OffsetChangeState.OPEN, OffsetChangeState.UNKNOWN]):
                    changes.latest(LOCAL, connector, states, limit=100)
                    changes.count(LOCAL, connector, states)
            changes.latest(LOCAL, one, [OffsetChangeState.SETTLED], after=NOON, limit=20)
        with database.read() as connection:
            for statement, parameters in statements.executed:
                lines = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars().all()
                assert not any("Seq Scan" in line for line in lines), (statement, lines)
        assert len(statements.executed) == 14
