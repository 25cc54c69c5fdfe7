"""What the product promises, and whether it keeps it: checked at each request, after each event, and at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import select
from standin.cluster import Connector, Target

from gitops_connect.ledger.leases import LEASE_SECONDS, Lease
from gitops_connect.ledger.tables import LEASES
from gitops_connect.model.desired import OnManualPause
from gitops_connect.model.hold import HoldKind
from gitops_connect.model.names import ClusterName, ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChangeKind, OffsetChangeState, seed_name
from gitops_connect.model.plans import Action, ConnectorPlan, OffsetChangeStatus, Plan
from gitops_connect.plan.situation import Policy
from simulation.coverage import Feature
from simulation.declared import REJECTED, SUSPEND, Declared

if TYPE_CHECKING:
    from simulation.world import Replica, World

LOCAL = ClusterName("local")
FOREIGN = ConnectorName("foreign")
"""A connector that no document declares and that gitops-connect never managed."""
_FEATURES = {
    "alter_offsets": Feature.OFFSET_CHANGE,
    "alter_offsets_with": Feature.OFFSET_CHANGE,
    "reset_offsets": Feature.OFFSET_CHANGE,
    "restart": Feature.RESTART,
    "restart_part": Feature.RESTART,
    "delete": Feature.PRUNE,
    "reset_active_topics": Feature.ANNOTATION,
}
_FINISHES = ("stop", "alter_offsets", "alter_offsets_with", "reset_offsets", "resume", "pause")
"""Requests by which an offset change is finished that was begun."""
_SEEN = 20.0
"""Seconds in which a daemon without faults has seen a failure."""
_STABLE = Policy().stable_after.total_seconds()
"""Seconds after which the restarts of a connector that does not fail any more are no longer counted."""
_TOUCHES = 400
"""Requests and transactions of one reconciliation at most: an endless loop has more."""


@dataclass
class _Trial:
    """A config of a document that was sent to a connector that worked before."""

    version: str
    since: float
    instance: Connector
    has_healthy: bool
    """Whether the ledger knows a config with which the connector worked."""
    revision: Revision
    """Which commit has declared it."""
    has_worked: bool = False
    has_failed: bool = False
    failed: float = inf
    """When."""
    must_roll_back: bool = False
    """It has failed early enough for the daemon to see it before the trial is over."""


@dataclass(eq=False)
class Promises:
    """Each method raises AssertionError if a promise is broken."""

    world: World
    commits: dict[Revision, Mapping[str, Declared]] = field(default_factory=dict)
    """What each commit declares."""
    latest: Mapping[str, Declared] = field(default_factory=dict)
    """What the branch declares now."""
    changes: dict[OffsetChangeName, str] = field(default_factory=dict)
    """The connector of each declared offset change."""
    paused: dict[str, float] = field(default_factory=dict)
    """When Connect first said that someone has paused or stopped a connector that ran, unless it was taken back."""
    suspended: dict[str, float] = field(default_factory=dict)
    changed_at: dict[str, float] = field(default_factory=dict)
    """When the cluster has reported another state of each connector for the last time."""
    unreadable: dict[str, float] = field(default_factory=dict)
    """Since when no worker can say what a connector is."""
    continued: set[Revision] = field(default_factory=set)
    """The rollouts about which someone has decided."""
    _changed: dict[str, Revision] = field(default_factory=dict)
    """The last commit that changed the document of a connector."""
    _trials: dict[str, _Trial] = field(default_factory=dict)
    was_paused: set[str] = field(default_factory=set)
    """The connectors that someone has paused or stopped at any time."""
    _failed: dict[str, set[str]] = field(default_factory=dict)
    """The versions of the config with which a connector has failed."""
    _proven: dict[str, set[str]] = field(default_factory=dict)
    """The versions of the config with which a connector has worked."""
    moments: list[tuple[float, Feature]] = field(default_factory=list)
    """When a feature acted on the cluster, or people used it."""
    _restarts: dict[str, tuple[float, Plan]] = field(default_factory=dict)
    """The last automatic restart of a connector with this config. Documents allow one."""
    _restarted: Counter[str] = field(default_factory=Counter)
    """How often each connector was restarted automatically."""
    _new: set[str] = field(default_factory=set)
    """The connectors that a replica creates with initial offsets, and that nobody has started yet."""

    def committed(self, revision: Revision, declared: Mapping[str, Declared]) -> None:
        """People have committed these documents. A changed document ends a manual pause."""
        before = self.latest
        self.commits[revision] = self.latest = {name: copy(one) for name, one in declared.items()}
        for name in [name for name, one in self.latest.items() if before.get(name) != one]:
            self._changed[name] = revision
            self.paused.pop(name, None)

    def _declared(self, revision: Revision) -> Mapping[str, Declared]:
        """What is declared at that commit: the merge of a pull request may be several commits."""
        return self.commits[max(one for one in self.commits if one <= revision)]

    def requested(
        self, replica: Replica, verb: str, name: ConnectorName, rest: Sequence[Any], permit: Callable[[], float] | None
    ) -> None:
        """A replica sends a request with an effect now."""
        assert name in self.latest, f"{verb} changes a connector that is not managed"
        assert permit is not None, f"{verb} without a lease"
        lease = cast(Lease, permit.__self__)  # type: ignore[attr-defined]
        query = select(LEASES.c.number).where(LEASES.c.name == lease.name)
        newest = self.world.connection.execute(query).scalar_one()
        assert lease.number == newest, f"{replica.life.name} acts with lease {lease.number} after lease {newest}"
        plan = replica.view.plan
        assert plan is not None, f"{verb} without a plan"
        declared, account = self._declared(plan.revision)[name], self.world.accounts.of(name)
        if verb in ("create", "resume"):
            instance = self.world.cluster.rules.connectors.get(name)
            is_stopped = instance is not None and instance.target is Target.STOPPED  # or someone has paused it
            assert not (verb == "resume" and account.must_settle and is_stopped), (
                f"{name} is resumed before its offset change is settled"
            )
            assert declared.is_there, f"{verb} {name}, which is not declared"
            assert verb == "create" or declared.state == "running", f"{name} is declared {declared.state}: {verb}"
        self._require_initial_offsets(verb, name, declared)
        if verb == "delete":
            begun = self.world.accounts.of(name).begun.values()
            is_finished = any(one.kind is OffsetChangeKind.CLEAR for one, _ in begun)  # it is created again
            assert not declared.is_there or is_finished, f"{name} is deleted, and is declared"
        if verb in ("create", "configure"):
            self._require_config(name, declared, rest[0])
            if self.world.cluster_settings.get("connect_validate"):
                assert REJECTED not in rest[0], f"{name} gets a config that Connect rejects"
        self._require_hold_respected(replica, verb, name, has_begun=account.is_open)
        if declared.is_left:
            may_be = _FINISHES if account.is_open else ("resume", "pause")
            is_allowed = declared.hold == SUSPEND and verb in may_be
            assert is_allowed, f"{verb} {name}, whose document says {declared.hold}"

    def took_effect(self, replica: Replica, verb: str, name: ConnectorName, rest: Sequence[Any]) -> None:
        """The cluster has accepted a request."""
        plan = replica.view.plan
        assert plan is not None
        self._met(verb, [step.action for step in plan.steps if step.connector == name], plan)
        at, earlier = self._restarts.get(name, (0.0, plan))  # a step is sent again if its answer was lost
        is_long_ago = verb == "resume" and (self.world.timeline.now - at >= _STABLE or self.world.clock_set >= at)
        if is_long_ago or verb in ("create", "configure", "delete"):
            self._restarts.pop(name, None)
        if verb == "delete":  # that ends a suspension
            self.suspended.pop(name, None)
            self.unreadable.pop(name, None)
        if verb == "resume":  # of a plan that did not know of the pause, or it would have been refused
            self.paused.pop(name, None)
        for step in plan.steps:
            if verb == "restart" and step.connector == name and step.restart is not None and not step.restart.request:
                assert plan is earlier, f"{name} is restarted again, and its document allows one restart"
                self._restarts[name] = (self.world.timeline.now, plan)
                self._restarted[name] += 1
        declared = self._declared(plan.revision)[name]
        if verb == "configure" and rest[0].get("version") == str(declared.version):
            self._require_rollout_goes_on(name, replica.observed)
            self._begin_trial(replica, name, rest[0]["version"])

    def met(self, *features: Feature) -> None:
        self.moments += [(self.world.timeline.now, one) for one in features]

    def _met(self, verb: str, actions: Sequence[Action], plan: Plan) -> None:
        if verb == "configure":
            self.met(Feature.ROLLBACK if Action.ROLL_BACK in actions else Feature.CONFIG_CHANGE)
            kinds = {hold.kind for one in plan.connectors for hold in one.holds}
            self.met(*([Feature.ROLLOUT] if kinds & {HoldKind.ROLLOUT, HoldKind.STOPPED_ROLLOUT} else []))
        elif verb in _FEATURES:
            self.met(_FEATURES[verb])

    def _require_config(self, name: str, declared: Declared, config: Mapping[str, str]) -> None:
        """Only the declared config is sent, or one that was declared before and works."""
        assert not declared.broken, f"{name}, whose document is broken, gets a config"
        config = {key: value for key, value in config.items() if key != "password"}
        earlier = [one[name].config for one in self.commits.values() if not one[name].fails]
        assert config == declared.config or config in earlier, f"{name} gets a config that nobody declared: {config}"

    def _require_initial_offsets(self, verb: str, name: ConnectorName, declared: Declared) -> None:
        """A new connector is not started before they are set."""
        if verb == "resume" and name in self._new and declared.is_seeded:
            record = self.world.ledger.offset_changes.records(LOCAL).get(seed_name(name))
            is_set = record is not None and record.state is OffsetChangeState.SETTLED
            assert is_set, f"{name} is started without its initial offsets"
        if verb in ("resume", "pause", "delete"):
            self._new.discard(name)
        elif verb == "create" and declared.is_seeded:
            self._new.add(name)

    def _require_hold_respected(self, replica: Replica, verb: str, name: str, *, has_begun: bool) -> None:
        observed = replica.observed
        if name in self.suspended and self.suspended[name] < observed:
            may_be = _FINISHES if has_begun else ("resume", "pause")
            assert verb in may_be, f"{verb} {name}, which is suspended"
        assert self.unreadable.get(name, inf) >= observed, f"{verb} {name}, which nobody can read"
        if self.paused.get(name, inf) <= observed and self._respects_pauses:
            assert verb not in ("resume", "restart", "restart_part"), f"{verb} {name}, which someone has paused"

    @property
    def _respects_pauses(self) -> bool:
        return self.world.cluster_settings.get("on_manual_pause") is OnManualPause.RESPECT

    def by_hand(self, verb: str, name: str) -> None:
        """Someone sends a request to a worker now. A pause counts if the connector runs as it is declared."""
        self._new.discard(name)
        if verb not in ("restart", "alter"):
            self.paused.pop(name, None)
        if verb == "delete":
            self.unreadable.pop(name, None)
        if name in self._trials:  # the daemon may never see that it has failed
            self._trials[name].failed = inf
        instance = self.world.cluster.rules.connectors.get(name)
        self.was_paused |= {name} if verb in ("pause", "stop") else set()
        if verb in ("pause", "stop") and instance is not None and instance.reported is not None:
            self.met(Feature.MANUAL_PAUSE)
            is_running = instance.target is Target.STARTED and instance.reported.state == "RUNNING"
            is_declared = instance.config == {**self.latest[name].config, "name": name}
            if is_running and is_declared and self._is_applied(name):
                self.paused[name] = inf

    def _is_applied(self, name: str) -> bool:
        """Whether the ledger knows that the document is applied, so that someone else has caused any difference."""
        record = self.world.ledger.ownership(LOCAL).get(ConnectorName(name))
        if name in self.world.ledger.stopped.of(LOCAL):  # for an offset change
            return False
        if record is None or record.desired is None:
            return False
        return self._declared(record.revision)[name] == self.latest[name]

    def was_suspended(self, name: str) -> None:
        rules = self.world.cluster.rules
        self.met(Feature.SUSPEND)
        if name in rules.connectors and name not in rules.leaving:  # the end of a deletion ends the suspension, too
            self.suspended[name] = self.world.timeline.now

    # At most `rollout_size` connectors run with a new config that has not proved itself, and those that have failed.

    def _require_rollout_goes_on(self, name: str, observed: float) -> None:
        """After a failure with its commit, no other connector gets its config, unless someone decides otherwise."""
        revision = self._changed[name]
        if self.world.cluster_settings.get("rollout_max_failures") and not self.continued:
            for other, trial in self._trials.items():
                is_same = trial.revision == revision == self._changed[other]
                has_failed = trial.must_roll_back and trial.failed < observed
                assert other == name or not (is_same and has_failed), f"{name} gets a config with which {other} failed"

    def _begin_trial(self, replica: Replica, name: str, version: str) -> None:
        size, instance = self.world.cluster_settings.get("rollout_size", 0), self.world.cluster.rules.connectors[name]
        others, reported = [one for one in [*self._trials] if one != name and self._is_on_trial(one)], instance.reported
        earlier = self._trials.pop(name, None)
        if version in self._proven.get(name, {"1"}):
            return
        assert not size or len(others) < size or earlier is not None, (
            f"{name} gets a new config during trials of {others}"
        )
        plan = replica.view.plan
        was_healthy = plan is None or name not in {one.name for one in plan.unhealthy}  # it may work again meanwhile
        if was_healthy and reported is not None and [state for state, _ in reported.tasks] == ["RUNNING"]:
            history = self.world.ledger.configs.of(LOCAL).get(ConnectorName(name))
            now, has_healthy = self.world.timeline.now, history is not None and history.healthy is not None
            recorded = now if history is None or history.trial is None else self.world.seconds_of(history.trial.since)
            if earlier is not None and earlier.version == version and recorded <= earlier.since:
                self._trials[name] = earlier  # the correction of drift begins no trial
                return
            was_frozen = replica.life.frozen_until > recorded
            since = recorded if was_frozen or now - LEASE_SECONDS <= recorded else now
            self._trials[name] = _Trial(version, since, instance, has_healthy, self._declared_by(replica, name))

    def _declared_by(self, replica: Replica, name: str) -> Revision:
        """The commit that has declared what the plan of the replica applies; a newer one may have changed it since."""
        plan = replica.view.plan
        assert plan is not None
        is_latest = self._declared(plan.revision)[name] == self.latest[name]
        return self._changed[name] if is_latest else plan.revision

    def _is_on_trial(self, name: str) -> bool:
        world, trial = self.world, self._trials[name]
        instance, watch = world.cluster.rules.connectors.get(name), world.cluster_settings.get("rollback_watch", 0)
        if instance is not trial.instance or name in world.cluster.rules.leaving:
            return False
        if not self.latest[name].is_there or self.latest[name].state != "running":
            return False
        self.state_changed(name)
        is_over = world.timeline.now + 0.01 >= trial.since + watch or world.clock_set >= trial.since
        if trial.has_worked and is_over:
            self._proven.setdefault(name, {"1"}).add(trial.version)
            del self._trials[name]
            return False
        return instance.config.get("version") == trial.version and not trial.has_failed

    def state_changed(self, name: str) -> None:
        """The cluster may report another state of a connector."""
        self.changed_at[name] = self.world.timeline.now
        instance, trial = self.world.cluster.rules.connectors.get(name), self._trials.get(name)
        if instance is None or (reported := instance.reported) is None:
            return
        if reported.state in ("PAUSED", "STOPPED") and name in self.paused:
            self.paused[name] = min(self.paused[name], self.world.timeline.now)
        states = {reported.state, *(state for state, _ in reported.tasks)}
        if "FAILED" in states:
            self._failed.setdefault(name, set()).add(instance.config.get("version", ""))
        if trial is not None:
            trial.has_worked |= states == {"RUNNING"}
            trial.has_failed |= "FAILED" in states or instance.target is not Target.STARTED  # a stop ends it, too
            watch, now = self.world.cluster_settings.get("rollback_watch", 0), self.world.timeline.now
            if "FAILED" in states:
                is_early = now < trial.since + watch - _SEEN and self.world.clock_set < trial.since
                trial.failed = min(trial.failed, now)
                trial.must_roll_back |= trial.has_healthy and is_early

    def job_ended(self, replica: Replica, name: str, touches: int) -> None:
        """A job of a replica has ended, after so many requests and transactions."""
        assert touches <= _TOUCHES, f"{name} of {replica.life.name} needed {touches} requests and transactions"
        self.world.creations.job_ended(replica)

    def lost(self, told: Set[str]) -> Iterator[str]:
        """The offset changes that are not applied without a reason that the leader tells."""
        records = self.world.ledger.offset_changes.records(LOCAL)
        for change, connector in self.changes.items():
            record = records.get(change)
            is_settled = record is not None and record.state is not OffsetChangeState.OPEN
            is_rejected = self.latest[connector].rejected  # its steps fail, and the journal says why
            if not is_settled and not is_rejected and not {change, connector} & told:
                yield f"{change} is not applied"

    def _is_justified(self, planned: ConnectorPlan) -> bool:
        """Whether the leader says a reason why the connector is not as declared, and that reason is true."""
        kinds = {one.kind for one in planned.holds} - {HoldKind.MANUAL_PAUSE}
        if planned.name in self.was_paused and len(kinds) < len({one.kind for one in planned.holds}):
            return True
        name = planned.name
        if name not in self.latest:
            return False
        has_failed = str(self.latest[name].version) in self._failed.get(name, ()) or self.world.clock_set >= 0
        is_rolled_back = planned.out_of_sync and has_failed  # a clock that is set lets a start seem to last for hours
        return bool(kinds) or is_rolled_back

    def not_rolled_back(self, told: Set[str]) -> Iterator[str]:
        """The connectors that have failed on trial, and still have that config although they worked with another."""
        for name, trial in self._trials.items():
            instance = self.world.cluster.rules.connectors.get(name)
            if instance is None or instance is not trial.instance or name in self._left(told):
                continue
            reported, is_same = instance.reported, instance.config.get("version") == trial.version
            is_failed = reported is not None and reported.state == "FAILED" and trial.must_roll_back
            declared = self.latest[name]
            is_wanted = declared.is_there and not declared.broken and declared.state == "running"
            if declared.rejected and not self.world.cluster_settings.get("connect_validate"):
                continue  # the config that nobody has validated is tried first, again and again
            if is_same and is_failed and is_wanted:
                yield f"{name} has failed with version {trial.version}, and is not rolled back"

    def _left(self, told: Set[str]) -> Set[str]:
        """The connectors that gitops-connect leaves as they are, for a reason that it tells or people have given."""
        return {*told, *self.suspended, *(name for name, one in self.latest.items() if one.is_left)}

    def untold(self, told: Set[str]) -> Iterator[str]:
        """The connectors that are not restarted any more, and of which the leader has not told people once."""
        for replica in self.world.living:
            for name, (at, _) in self._restarts.items():
                instance, is_old = self.world.cluster.rules.connectors.get(name), self.world.timeline.now > at + 25
                if not replica.daemon.leadership.is_leader or not is_old or instance is None:
                    continue
                if name in self._left(told):
                    continue
                reported, count = instance.reported, replica.alarms.count("given up", name)
                is_failed = reported is not None and reported.state == "FAILED"
                declared = self.latest[name]
                if declared.state == "running" and not declared.broken and is_failed and not count:
                    yield f"nobody was told that {name} is given up"
                most = self._restarted[name] + replica.alarms.count("recovered", name)
                assert count <= most, f"{name} was given up {count} times"

    def told(self) -> Set[str]:
        """The connectors and offset changes of which the leader says why the cluster is not as they declare."""
        names = set[str]()
        for replica in self.world.living:
            if replica.daemon.leadership.is_leader and (plan := replica.view.plan) is not None:
                names |= {one.name for one in plan.connectors if self._is_justified(one)}
                names |= {one.name for one in plan.offset_changes if one.status is OffsetChangeStatus.WAITING}
                names |= {one.connector for one in replica.view.diagnostics.errors if one.connector}
        return names
