"""The answers of Connect if its principal lacks an ACL. docs/reference/permissions.md lists the ACLs.

The broker has Kafka's authorizer and no authentication: all clients are `ANONYMOUS`, and may use every resource that
has no ACL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.guarded import Guarded
from contract.under_test import TOPIC, Contract, sink_entry
from gitops_connect.connect.client import ConnectClient
from gitops_connect.errors import ConnectUnavailable, OffsetsNotChanged
from gitops_connect.model.names import ClusterName
from gitops_connect.runtime import SystemClock
from gitops_connect.sandbox.sandbox_state import HOST
from gitops_connect.settings.sections import ClusterSettings

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

HINT = "an AuthorizationException there means a missing ACL"
ALL_ALLOWED = "allow.everyone.if.no.acl.found=true\n"
AT_LEAST_ONCE = "exactly.once.source.support=disabled\n"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path)
    with guarded.broker_up(ALL_ALLOWED), guarded.worker_up(AT_LEAST_ONCE):
        yield guarded


def test_what_is_answered_if_an_acl_is_missing(guarded: Guarded, tmp_path: Path) -> None:
    url = f"http://{HOST}:{guarded.worker}"
    with ConnectClient(ClusterSettings(ClusterName("guarded"), (url,)), SystemClock()) as client:
        contract = Contract(client, url, tmp_path)
        other = contract.topic("1")
        name, closed = (contract.stopped(text, contract.sink(topics=TOPIC)) for text in ("read", "closed"))
        current = {**sink_entry(TOPIC, 1), **sink_entry(other, 1)}
        for sink in (name, closed):
            client.alter_offsets(sink, current)

        guarded.allow("ANONYMOUS", "Read", "--group", f"connect-{name}")
        with pytest.raises(OffsetsNotChanged, match=f"Failed to reset consumer group offsets .*{HINT}"):
            client.reset_offsets(name)
        assert client.offsets(name) == current
        with pytest.raises(OffsetsNotChanged, match=f"Failed to alter consumer group offsets .*{HINT}"):
            client.alter_offsets(name, {**sink_entry(TOPIC, 0), **sink_entry(other, None)})
        assert client.offsets(name) == {**sink_entry(TOPIC, 0), **sink_entry(other, 1)}, "half of it was done"

        guarded.allow("someone", "Read", "--group", f"connect-{closed}", "--topic", other)
        with pytest.raises(ConnectUnavailable, match=f"Failed to retrieve consumer group offsets .*{HINT}"):
            client.offsets(closed)
        assert client.offsets(name) == sink_entry(TOPIC, 0), "the others are left out, and nothing says so"

        guarded.allow("ANONYMOUS", "Delete", "--group", "connect-", "--resource-pattern-type", "prefixed")
        client.reset_offsets(name)
        client.reset_offsets(closed)
        assert client.offsets(name) == client.offsets(closed) == {}
