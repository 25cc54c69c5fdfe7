"""Which configs Connect validates before a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from support.cluster.manual_clock import ManualClock
from support.cluster.memory_cluster import MemoryCluster
from support.planner.situations import CLUSTER, seen, situation, wanted

from gitops_connect.connect.validation import ConfigKey, ConfigVerdict, KeyType
from gitops_connect.families.registry import BUILT_IN
from gitops_connect.model.diagnostics import Diagnostics
from gitops_connect.plan.planner import plan
from gitops_connect.plan.situation import Policy
from gitops_connect.propose import Proposal, _validated
from gitops_connect.settings.sections import ClusterSettings


class Worker(MemoryCluster):
    """It accepts the configs without `bad`."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.validated: list[str] = []

    def validate(self, _: str, config: Mapping[str, str], **_more: Any) -> ConfigVerdict:
        self.validated.append(config["name"])
        return ConfigVerdict({"bad": ("no such key",)} if "bad" in config else {}, frozenset(), frozenset(config))

    def definition(self, *_: str) -> Mapping[str, ConfigKey]:
        return {"bad": ConfigKey(KeyType.STRING, False)}


def test_the_configs_that_follow_an_invalid_one_in_a_rollout_are_validated_too() -> None:
    """Found by seed 15299: the next connector got a config that Connect rejects."""
    changed = {"a": {"bad": "1"}, "b": {"bad": "1"}, "c": {"topic": "new"}, "d": {"topic": "new"}}
    desired = [wanted(name, config=config) for name, config in changed.items()]
    given = situation(desired, map(seen, changed), owned=changed, policy=Policy(rollout_size=1))
    worker = Worker()
    runtime = SimpleNamespace(
        clients={CLUSTER: worker},
        cluster=lambda _: ClusterSettings(CLUSTER, ("http://127.0.0.1:1",)),
        clock=worker.clock,
        say=lambda _: None,
        families=BUILT_IN,
    )
    made = _validated(cast(Any, runtime), Proposal(given, plan(given), Diagnostics()))
    assert worker.validated == ["a", "b", "c", "d"]
    assert [step.connector for step in made.plan.steps] == ["c"]
    assert [one.connector for one in made.diagnostics.errors] == ["a", "b"]
