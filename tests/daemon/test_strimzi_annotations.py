"""The daemon and annotations of Strimzi: each addition acts once, also after a restart, and a warning lasts."""

from __future__ import annotations

import json

import pytest
from acceptance.test_strimzi_annotations import ALTER, OFFSETS, Resource, warnings
from acceptance.workplace import Workplace
from standin.connect import StandIn
from support.daemon_log import InThread

pytestmark = pytest.mark.slow


def test_a_warning_is_a_condition_until_the_annotation_is_fixed(at: Workplace, standin: StandIn) -> None:
    resource = Resource(at)
    resource.offsets(4)
    resource.commit({OFFSETS: "reset"}, "state: running")
    why = f"Failed to reset the connector offsets for {resource.name} due to the connector not being stopped"
    with InThread(at) as daemon:
        logged = daemon.wait("diagnostic", rule="strimzi/annotation")
        assert logged["message"].startswith(why)
        daemon.wait("reconciliation_finished")

        def described() -> str:
            return at.run("describe", "connector", resource.name, "-o", "json").out

        (shown,) = json.loads(at.await_that(described, lambda out: "Warning" in out))
        (warning,) = shown["Warnings"]
        assert warning["Reason"] == "ResetOffsets"
        assert warning["Message"].startswith(why)
        resource.commit({OFFSETS: "reset"})
        daemon.wait("step_applied", action="reset")
        at.await_that(described, lambda out: "Warning" not in out)
    assert resource.position is None


def test_an_answer_of_connect_is_a_condition_in_the_same_reconciliation(at: Workplace, standin: StandIn) -> None:
    """Also of `apply`, which no daemon follows."""
    resource = Resource(at)
    resource.offsets(4)
    resource.commit({})
    at.apply()
    resource.commit(ALTER)
    standin.refuse("PATCH", ".*/offsets", 400, "no such file")
    at.run("apply", "--yes").expect(1)
    ((reason, message),) = warnings(at, resource.name)
    assert reason == "AlterOffsets"
    assert message.startswith(f'Failed to alter the connector offsets for {resource.name} due to "')
    assert "no such file" in message
    at.run("plan").expect(said=message)
    at.apply()
    assert (resource.position, warnings(at, resource.name)) == (4, [])
