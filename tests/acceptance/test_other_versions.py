"""Workers of other versions than that of the shared sandbox: what they can do works, and nothing else is sent.

`GITOPS_CONNECT_RELEASES="3.5.1 4.1.1"` tests these releases too. The first run downloads them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest

from acceptance.test_offsets import LINES, Lines
from acceptance.workplace import Workplace
from gitops_connect.sandbox.cluster import Sandbox, SandboxOptions

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.timeout(900)]
RELEASES = ("3.6.2", "3.9.1", *os.environ.get("GITOPS_CONNECT_RELEASES", "").split())
END = len(LINES)
"""The position of a source that has read the whole file."""
VERSIONS = {(3, 5): 2, (3, 6): 1, (3, 7): 1, (4, 1): 1}
"""How many rows of `doctor` name a feature that was added in a version."""


def since(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")[:2]))


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def urls(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    directory = tmp_path_factory.mktemp("other") / "sandbox"
    with Sandbox.up(SandboxOptions(directory=directory, workers=1, release=release, heap=512, tied=True)) as sandbox:
        yield sandbox.worker_urls


@pytest.fixture
def lines(at: Workplace) -> Lines:
    return Lines(at)


def is_in_sync(place: Workplace) -> bool:
    return place.run("plan", "--detailed-exitcode").code == 0


def test_doctor_lists_what_the_worker_cannot_do(at: Workplace, release: str) -> None:
    ran = at.run("doctor", "-o", "json")
    first, *others = (one for one in json.loads(ran.out) if one["part"] == "cluster local")
    assert (ran.code, first["verdict"]) == (0, "ok")
    assert first["found"].startswith(f"Kafka Connect {release}, ")
    named = [found[1] for one in others if (found := re.search(r"\((\d\.\d) and later can\): ", one["found"]))]
    missing = (added for added, rows in VERSIONS.items() for _ in range(rows) if since(release) < added)
    assert named == [f"{major}.{minor}" for major, minor in missing]
    assert any("KAFKA-9228" in one["found"] for one in others) is (tuple(map(int, release.split("."))) < (3, 7, 1))


@pytest.mark.parametrize("state", ["stopped", "paused"])
def test_a_connector_is_created_at_rest(at: Workplace, release: str, state: str) -> None:
    at.commit("orders.yaml", at.source("orders", f"state: {state}"))
    planned = at.run("plan").expect(out=f"(Kafka Connect {release})")
    at.apply()
    if state == "stopped" and since(release) < (3, 5):
        assert f"Kafka Connect {release} cannot stop connectors (3.5 and later can): no steps" in planned.out
        assert at.states() == {}
        return
    says_so = f"Kafka Connect {release} cannot create connectors paused or stopped (3.7 and later can): it runs briefly"
    assert (says_so in planned.out) is (since(release) < (3, 7))
    assert at.states() == {"orders": state.upper()}
    assert is_in_sync(at)


def test_a_connector_from_its_creation_to_its_deletion(at: Workplace) -> None:
    at.deploy("orders.yaml", at.source("orders"))
    at.deploy("orders.yaml", at.source("orders", "state: paused", **{"batch.size": "5"}))
    assert (at.states(), at.config("orders")["batch.size"]) == ({"orders": "PAUSED"}, "5")
    at.commit("orders.yaml", at.source("orders", 'restart: {id: "1"}', **{"batch.size": "5"}))
    assert "restart" in at.run("plan").out
    at.apply()
    assert at.states() == {"orders": "RUNNING"}
    assert at.run("restart", "connector", at.name("orders")).code == 0
    assert is_in_sync(at)
    described = json.loads(at.run("describe", "connector", at.name("orders"), "-o", "json").out)[0]
    assert described["Config"]["batch.size"] == "5"
    at.deploy("orders.yaml", at.source("orders", "state: absent"))
    assert at.states() == {}


def test_offsets_are_altered_replaced_and_reset(at: Workplace, lines: Lines, release: str) -> None:
    if since(release) < (3, 6):
        pytest.skip("workers before Kafka 3.6 cannot change offsets")
    lines.run()
    at.commit("c1.yaml", lines.alter("rewind", 4, "acknowledge: [rewind]"))
    at.deploy("lines.yaml", lines.document("state: stopped"))
    assert (lines.position(), at.states()) == (4, {"lines": "STOPPED"})
    at.deploy("c2.yaml", lines.change("replace", f"operation: replace\n{lines.offsets(8)}\nacknowledge: [skip]"))
    assert lines.position() == 8
    at.deploy("c3.yaml", lines.change("reset", "operation: reset\nacknowledge: [reset]"))
    assert lines.position() is None
    at.deploy("lines.yaml", lines.document())
    lines.await_position(END)
    assert is_in_sync(at)


def test_a_renamed_source_goes_on_where_the_earlier_one_was(at: Workplace, release: str) -> None:
    if since(release) < (3, 6):
        pytest.skip("workers before Kafka 3.6 cannot change offsets")
    earlier = Lines(at, "earlier")
    earlier.run()
    later = Lines(at, "later")
    earlier.file.write_text(LINES + "four\n")
    entry = {**earlier.entry(END), "partition": {"filename": str(later.file)}}
    seed = f"initialOffsets: {{offsets: {json.dumps([entry])}, acknowledge: [skip]}}"
    at.deploy("lines.yaml", earlier.document("state: absent\nonDelete: {offsets: reset}"), later.document(seed))
    assert at.states() == {"later": "RUNNING"}
    later.await_position(END)
    earlier.file.write_text("")  # before Kafka 3.7, it runs briefly before it is stopped
    at.deploy("lines.yaml", earlier.document("state: stopped"), later.document(seed))
    assert earlier.position() is None
    assert is_in_sync(at)


def test_what_the_worker_cannot_do_with_offsets_is_said_and_not_sent(at: Workplace, lines: Lines, release: str) -> None:
    if since(release) >= (3, 6):
        pytest.skip("this worker can change offsets")
    at.deploy("lines.yaml", lines.document("health: {offsetsMoveWithin: 1h}"))
    at.commit("c.yaml", lines.alter("rewind", 4, "acknowledge: [rewind]"))
    cannot = f"Kafka Connect {release} cannot change or reset offsets (3.6 and later can)"
    planned = at.run("plan").expect(said=f"{cannot} [offsets/too-old]")
    no_health = f"Kafka Connect {release} cannot return offsets (3.5 and later can): spec.health has no effect"
    assert (no_health in planned.out) is (since(release) < (3, 5))
    at.run("apply", "--yes")
    assert at.states() == {"lines": "RUNNING"}
    at.commit("c.yaml")
    at.commit("lines.yaml", lines.document("state: absent\nonDelete: {offsets: reset}"))
    assert f"{cannot}: not deleted" in at.run("plan").out
    at.run("apply", "--yes")
    assert at.states() == {"lines": "RUNNING"}


def test_the_version_of_a_plugin(at: Workplace, release: str) -> None:
    """Workers before Kafka 4.1 accept `connector.plugin.version` and ignore it. FileStream has the worker's version."""
    at.commit("orders.yaml", at.source("orders", f'version: "{release}"'), at.source("more"))
    if since(release) >= (4, 1):
        at.apply()
        assert at.states() == {"orders": "RUNNING", "more": "RUNNING"}
        assert is_in_sync(at)
        return
    planned = at.run("plan")
    cannot = f"Kafka Connect {release} cannot choose the version of a plugin (4.1 and later can)"
    assert f"error: {cannot}, and would ignore connector.plugin.version [connect/too-old]" in planned.out + planned.err
    at.run("apply", "--yes")
    assert at.states() == {"more": "RUNNING"}
    assert "connect/too-old" in at.run("validate").out
