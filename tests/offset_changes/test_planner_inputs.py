"""A change that Spark has just checked is planned with that verdict, and nothing is read again."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import STOPPED, MemoryCluster, connector
from support.planner.situations import NOW, current_offsets, seen

from gitops_connect.connect.client import ConnectClient
from gitops_connect.connect.wire import parse_version
from gitops_connect.declare import Caches, Declared, declare
from gitops_connect.families import Family, Shape
from gitops_connect.families.registry import BUILT_IN, Registry
from gitops_connect.ledger.ledger import Ledger
from gitops_connect.model.clock import Duration
from gitops_connect.model.diagnostics import INTERNAL_ERROR
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargeVerdict, SavedOffsets
from gitops_connect.model.names import ClusterName, ConnectorName, Digest
from gitops_connect.model.observed_state import ObservedState
from gitops_connect.model.plans import OffsetChangeStatus, Plan
from gitops_connect.observe import observe
from gitops_connect.offset_changes.planner_inputs import CacheKeys
from gitops_connect.offsets.spark.verdict_cache import CachedVerdict
from gitops_connect.plan.situation import Situation
from gitops_connect.propose import propose
from gitops_connect.runtime import Runtime
from gitops_connect.settings.coerce import Size
from gitops_connect.settings.sections import ClusterSettings, Settings, SparkSettings
from gitops_connect.source.working_tree import WorkingTree
from gitops_connect.spark.session import SharedSession

pytestmark = pytest.mark.slow

LOCAL = ClusterName("local")
CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
DOCUMENTS = f"""\
apiVersion: gitops-connect/v1
kind: Connector
metadata: {{name: a}}
spec: {{class: {CLASS}, tasksMax: 1, state: stopped, config: {{file: /data/a, topic: a}}}}
---
apiVersion: gitops-connect/v1
kind: OffsetChange
metadata: {{name: c}}
spec: {{connector: a, operation: alter, manifest: {{path: a.parquet}}}}
"""
SEEN = LargeVerdict(9, 9, size=900, difference=Difference({Direction.NEW: 9}))
BROKEN = replace(SEEN, errors=1, difference=None)
NOTHING, EXISTING = SavedOffsets("gone", 0, 0, Digest("")), SavedOffsets("gone", 5, 500, Digest(""))


@pytest.fixture
def cluster() -> MemoryCluster:
    config = {"connector.class": CLASS, "tasks.max": "1", "file": "/data/a", "topic": "a"}
    found = MemoryCluster(ManualClock())
    found.put(connector("a", STOPPED, config))
    return found


@pytest.fixture
def runtime(tmp_path: Path, cluster: MemoryCluster) -> Iterator[Runtime]:
    settings = ClusterSettings(LOCAL, ("http://127.0.0.1:1",), connect_validate=False, settle_timeout=Duration(20))
    known = Settings(tmp_path, clusters={LOCAL: settings})
    clients = {LOCAL: cast(ConnectClient, cluster)}
    with closing(Ledger.open("sqlite:///state.db", tmp_path, b"k" * 32)) as ledger:
        spark = SharedSession(known.spark, {}, tmp_path / "cache")
        yield Runtime(known, ledger, clients, {}, spark, cluster.clock)


@pytest.fixture
def declared(tmp_path: Path) -> Declared:
    directory = tmp_path / "repo"
    directory.mkdir()
    (directory / "a.yaml").write_text(DOCUMENTS)
    (directory / "a.parquet").write_bytes(b"PAR1")
    return declare(WorkingTree(directory), [LOCAL], Caches())


def planned_by(runtime: Runtime, declared: Declared, verdict: CachedVerdict) -> Plan:
    """A plan with that verdict in the cache."""
    desired = declared.states[LOCAL]
    observed = observe(runtime.clients[LOCAL], ["a"])  # type: ignore[list-item]
    situation = Situation(declared.revision, desired, observed, runtime.clock.now())
    runtime.verdicts.keep(
        CacheKeys(situation, declared.checkout).of(desired.offset_changes[0]), verdict, runtime.clock.monotonic()
    )
    return propose(runtime, declared, LOCAL).plan


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        # A new ledger cannot know whether it was applied before, unless there are no offsets at all.
        (CachedVerdict(SEEN, NOTHING), (OffsetChangeStatus.PLANNED, "")),
        (CachedVerdict(SEEN, EXISTING), (OffsetChangeStatus.UNKNOWN, "the ledger is new")),
        (CachedVerdict(BROKEN, NOTHING), (OffsetChangeStatus.WAITING, "its offsets have errors")),
    ],
)
def test_a_cached_verdict_needs_no_request_and_its_errors_are_reported_again(
    runtime: Runtime, declared: Declared, cluster: MemoryCluster, cached: CachedVerdict, expected: tuple[object, str]
) -> None:
    (shown,) = planned_by(runtime, declared, cached).offset_changes
    assert (shown.name, shown.status, shown.message.partition(",")[0]) == ("c", *expected)
    assert cluster.offset_looks == []


def test_a_bug_in_a_family_blocks_only_its_connectors(runtime: Runtime, declared: Declared) -> None:
    def broken(shape: Shape, config: Mapping[str, str]) -> Shape:
        raise ZeroDivisionError(shape, config)

    known = replace(BUILT_IN.classes[CLASS], shape_of_config=broken)
    families = Registry((Family(1, "broken", {CLASS: known}),))
    proposal = propose(replace(runtime, families=families), declared, LOCAL)
    assert [(one.rule, one.connector) for one in proposal.diagnostics.errors] == [(INTERNAL_ERROR, "a")]
    assert [one.message for one in proposal.plan.offset_changes] == ["its offsets have errors"]


def test_a_spark_with_incomplete_settings_blocks_nothing_else(
    runtime: Runtime, declared: Declared, tmp_path: Path
) -> None:
    elsewhere = replace(runtime, spark=SharedSession(SparkSettings("yarn", min_size=Size(0)), {}, tmp_path / "cache"))
    proposal = propose(elsewhere, declared, LOCAL)
    (error,) = proposal.diagnostics.errors
    assert error.rule == "offsets/spark"
    assert "[spark] directory" in error.summary
    assert {one.name: one.status for one in proposal.plan.offset_changes} == {"c": OffsetChangeStatus.WAITING}


def test_the_current_offsets_are_read_again_after_some_minutes(
    runtime: Runtime, declared: Declared, cluster: MemoryCluster
) -> None:
    cluster.stored["a"] = current_offsets(a=1)  # type: ignore[index]
    planned_by(runtime, declared, CachedVerdict(SEEN, EXISTING))
    cluster.clock.sleep(601)
    plan = propose(runtime, declared, LOCAL).plan
    assert cluster.offset_looks == ["a"]
    assert {one.name: one.status for one in plan.offset_changes} == {"c": OffsetChangeStatus.UNKNOWN}


CHANGED: Mapping[str, tuple[str, str, str]] = {
    "the manifest": ("a.parquet", "PAR1", "PAR2"),
    "the path of the manifest": ("a.yaml", "path: a.parquet", "path: b.parquet"),
    "the line of the change": ("a.yaml", "---\n", "---\n\n"),
    "what it acknowledges": ("a.yaml", "operation: alter", "operation: alter, acknowledge: [rewind]"),
    "the kind": ("a.yaml", "operation: alter", "operation: replace"),
    "the config": ("a.yaml", "file: /data/a", "file: /data/b"),
    "a schema of the repository": ("offset-schemas/x.schema.json", "{}", '{"a": 1}'),
}


@pytest.fixture
def repository(declared: Declared, tmp_path: Path) -> Path:
    (tmp_path / "repo" / "b.parquet").write_text("PAR1")
    (tmp_path / "repo" / "offset-schemas").mkdir()
    (tmp_path / "repo" / "offset-schemas" / "x.schema.json").write_text("{}")
    return tmp_path / "repo"


def key_of(repository: Path, *there: str) -> Hashable:
    found = declare(WorkingTree(repository), [LOCAL], Caches())
    observed = ObservedState(LOCAL, parse_version("4.3.1"), {ConnectorName(one): seen(one) for one in there})
    situation = Situation(found.revision, found.states[LOCAL], observed, NOW)
    return CacheKeys(situation, found.checkout).of(found.states[LOCAL].offset_changes[0])


def test_another_commit_that_does_not_concern_the_change_needs_no_other_check(repository: Path) -> None:
    before = key_of(repository, "a")
    (repository / "z.yaml").write_text(DOCUMENTS.replace("name: a}", "name: z}").split("---")[0])
    assert key_of(repository, "a") == before


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_of_what_the_verdict_depends_on_needs_another_check(repository: Path, what: str) -> None:
    (file, old, new), before = CHANGED[what], key_of(repository, "a")
    text = (repository / file).read_text()
    assert old in text
    (repository / file).write_text(text.replace(old, new))
    assert key_of(repository, "a") != before


def test_whether_the_connector_exists_decides(repository: Path) -> None:
    assert key_of(repository, "a") != key_of(repository)
