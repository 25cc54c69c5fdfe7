"""One bad day: what people and faults do to the world, chosen by a seed, and what must be true when it is over."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from standin.cluster import TRACE, Target
from standin.plugins import Refused

from gitops_connect.daemon.state import PullRequestView
from gitops_connect.declare import Caches, declare
from gitops_connect.errors import LedgerBusy, NotFound, UndoImpossible
from gitops_connect.model.names import ConnectorName, OffsetChangeName, Revision
from gitops_connect.model.offset_changes import OffsetChange
from gitops_connect.model.offsets import Offsets
from gitops_connect.model.rollout_decisions import WHOLE_ROLLOUT, RolloutChoice, RolloutDecision
from gitops_connect.model.suspensions import SuspendedBy, Suspension
from gitops_connect.offset_changes.manifest_source import read_own_schemas
from gitops_connect.offset_changes.recorded_changes import find_candidates, resolve
from gitops_connect.offset_changes.subject import DeclaredConnectors
from gitops_connect.offset_changes.undo import Undo, UndoTarget
from gitops_connect.review.pull_request_plans import due_changes
from gitops_connect.review.review_inputs import waits_for_time
from simulation import kafka
from simulation.account import positions
from simulation.agreement import disagreements
from simulation.coverage import Coverage, Feature
from simulation.declared import BY_HAND, CLASS, OBSERVE, RECORDS, SINK, STREAMS, SUSPEND, Declared, entry
from simulation.faults import PRECEDED
from simulation.forge import Files
from simulation.large_changes import patch_of
from simulation.promises import FOREIGN, LOCAL
from simulation.pull_requests import ACTIONS as OF_PULL_REQUESTS
from simulation.pull_requests import PullRequests
from simulation.world import World, counting

NAMES = ("one", "two", "three")
_ACKNOWLEDGEMENTS = ("rewind", "skip", "tombstone", "reset")
BROKEN = "java.lang.IllegalStateException: no database"
SHOWN = 0.05
"""The fraction of days after which pages are rendered: that takes half as long as the day."""
REPEATED = 0.25
"""The fraction of days with pull requests after which all reviews are repeated: this took a fifth of all time."""
AFTER = 11.0
_TARGETS = 0.8
"""The share of the sink's offset changes that have targets."""
"""Seconds: a little more than `[repository] interval`."""
QUIET = 20
"""Polls of the repository after the last fault: until then, the cluster has to agree with the repository."""


@dataclass(frozen=True)
class Happening:
    """One event of a day. `choice` decides its details, and so no other event depends on them."""

    wait: float
    """Seconds since the event before."""
    action: str
    connector: str
    choice: int


@dataclass(eq=False)
class Day:
    world: World
    declared: dict[str, Declared] = field(default_factory=lambda: {name: Declared(name) for name in NAMES})
    random: Random = field(default_factory=Random)
    met: list[tuple[float, str]] = field(default_factory=list)
    """What happened, and when."""
    holds: set[str] = field(default_factory=set)
    """The kinds of holds that a plan had after an event."""
    _changes: int = 0
    _connectors: dict[OffsetChangeName, str] = field(default_factory=dict)
    """Of every offset change that was ever declared."""
    _targets: dict[OffsetChangeName, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The values of `to` that the document of a change has or had."""

    def __post_init__(self) -> None:
        world = self.world
        self.pull_requests: PullRequests | None = None
        if world.forge is not None and world.forge_settings is not None:
            self.pull_requests = PullRequests(self, world.forge, world.forge_settings)

        world.accounts.on_resolve = self._require_resolved

    def begin(self, replicas: int, *, is_new: bool, of_strimzi: Sequence[str] = ()) -> None:
        """Begin with these connectors, or with a new repository and a cluster without them."""
        for name in of_strimzi:
            self.declared[name].is_strimzi = True
        self.declared["two"].resets = True
        self._store(is_new=is_new)
        self._write(*NAMES)
        for name in NAMES:
            if name != SINK:
                self.world.cluster.progress[ConnectorName(name)] = counting
            if not is_new:
                self.world.cluster.rules.create(name, self.declared[name].config, None)
                if self.pull_requests is not None:
                    self.pull_requests.reviewed.versions.add((name, "1"))
        self.world.cluster.rules.create(FOREIGN, {"connector.class": CLASS, "tasks.max": "1"}, None)
        self.world.timeline.run(60)
        for _ in range(replicas):
            self.world.start_replica()

    def _store(self, *, is_new: bool) -> None:
        """What the broker stores before anything happens."""
        stored = self.world.cluster.rules.stored
        for stream in STREAMS:
            stored.topics[stream] = [""] * RECORDS if stream in STREAMS[:2] else []
            if not is_new:
                stored.set_source("three", {"s": stream}, {"n": 20})  # too many for memory

    def _write(self, *names: str) -> None:
        documents = {name: self.declared[name] for name in names}
        self.world.repository.commit({f"{name}.yaml": one.document for name, one in documents.items()})
        self.world.promises.committed(self.world.repository.revision, self.declared)

    def event(self, happening: Happening) -> None:
        """Let one thing happen."""
        self.run(happening.wait)
        self.world.note(f"{happening.action} {happening.connector}")
        self.met.append((self.world.timeline.now, happening.action))
        self.random.seed(happening.choice)
        if self.pull_requests is not None and happening.action in OF_PULL_REQUESTS:
            OF_PULL_REQUESTS[happening.action](self.pull_requests, happening.connector)
        else:
            ACTIONS[happening.action](self, happening.connector)
        if self.pull_requests is not None:
            self.pull_requests.check()
        for replica in self.world.living:
            plan = replica.view.plan
            self.holds |= {hold.kind.value for one in plan.connectors for hold in one.holds} if plan else set()

    def coverage(self) -> Coverage:
        return Coverage.of(
            (action for _, action in self.met),
            (*self.world.faults.met.values(), *(PRECEDED for _ in self.world.creations.preceded)),
            self.holds,
            self.world.promises.moments,
        )

    # What people commit.

    def _config(self, name: str) -> None:
        self.declared[name].version += 1
        self.declared[name].fails = self.declared[name].rejected = False
        self._write(name)

    def _bad_config(self, name: str) -> None:
        """The connector does not start with this one."""
        self.declared[name].version += 1
        self.declared[name].fails = True
        self._write(name)

    def _configs(self, _: str) -> None:
        """One commit changes the configs of all connectors: a rollout, if the settings limit it."""
        for name in NAMES:
            self.declared[name].version += 1
            self.declared[name].rejected = False
            self.declared[name].fails = self.random.random() < 0.3
        self._write(*NAMES)

    def _rejected_config(self, name: str) -> None:
        """Connect does not accept this one."""
        self.declared[name].version += 1
        self.declared[name].rejected = True
        self._write(name)

    def _revert(self, name: str) -> None:
        """Declare an earlier config again."""
        one = self.declared[name]
        one.version, one.fails, one.rejected = max(1, one.version - 1), False, False
        self._write(name)

    def _force_push(self, _: str) -> None:
        """Someone forces the branch back to an earlier commit. Where pull requests are merged, it is protected."""
        if self.pull_requests is not None:
            return
        world = self.world
        revision = self.random.choice(sorted(world.promises.commits))
        world.note(f"a forced push to {revision.lstrip('0')}")
        world.repository.force(revision)
        self.declared |= {name: copy(one) for name, one in world.promises.commits[revision].items()}
        there = {_change_name(path) for path in world.repository.files if path.startswith("changes/")}
        world.promises.changes = {name: self._connectors[name] for name in there & self._connectors.keys()}
        world.promises.committed(revision, self.declared)

    def _state(self, name: str) -> None:
        self.declared[name].state = self.random.choice(("running", "running", "paused", "stopped"))
        self._write(name)

    def _remove_or_restore(self, name: str) -> None:
        """The document of a removed connector is removed, or says so."""
        one = self.declared[name]
        one.is_there, one.says_absent = not one.is_there, self.random.random() < 0.3
        one.resets ^= one.is_there and self.random.random() < 0.3
        self._write(name)

    def _break_document(self, name: str) -> None:
        """Someone commits a document with an error, or corrects it."""
        self.declared[name].broken = "" if self.declared[name].broken else self.random.choice(("[", "5"))
        self._write(name)

    def _hold(self, name: str) -> None:
        """Someone suspends a connector in its document, or lets gitops-connect only observe it; or ends that."""
        one = self.declared[name]
        one.hold = "" if one.hold or one.is_strimzi else self.random.choice((SUSPEND, OBSERVE))
        self._write(name)

    def _restart(self, name: str) -> None:
        self.declared[name].restart += 1
        self._write(name)

    def _annotation(self, name: str) -> None:
        """Request a restart of a Strimzi resource, or a reset of the active topics of another document."""
        self.declared[name].annotation += 1
        self.world.promises.met(Feature.ANNOTATION)
        self._write(name)

    def _offset_change(self, name: str) -> None:
        """One commit declares an offset change, or two."""
        self._declare_changes(name, dict(self.offset_change(name) for _ in range(self.random.choice((1, 1, 2)))))

    def _edit_change(self, name: str) -> None:
        """Someone edits a document of an offset change, renames the change, or withdraws it."""
        known = [path for path in self.world.repository.files if path.startswith("changes/c")]
        if not known:
            return
        path, how = self.random.choice(known), self.random.choice(("edit", "rename", "withdraw"))
        self.world.note(f"{how} {path}")
        if how == "edit":
            self._declare_changes(name, dict([self.offset_change(name, path)]))
            return
        text, connector = self.world.repository.files[path], self.world.promises.changes.pop(_change_name(path), name)
        self._changes += 1
        renamed = f"changes/c{self._changes:03}.yaml"
        after = {renamed: text.replace(_change_name(path), _change_name(renamed))} if how == "rename" else {}
        self._declare_changes(connector, {path: None, **after})

    def offset_change(self, name: str, path: str = "") -> tuple[str, str]:
        """The path of a new document, or of one that is edited, and its text."""
        if not path:
            self._changes += 1
            path = f"changes/c{self._changes:03}.yaml"
        if name == SINK and self.world.cluster_settings.get("kafka") and self.random.random() < _TARGETS:
            return path, self._with_targets(path)
        if (edited := OffsetChangeName(_change_name(path))) in self._targets:
            self._targets[edited].append(None)
        operation = self.random.choice(("alter", "alter", "replace", "reset"))
        removed = 0.2 if operation == "alter" else 0.0
        streams = self.random.sample(STREAMS, self.random.choice((1, 2, 4, 6)))
        numbers = [None if self.random.random() < removed else self._number(name, one) for one in streams]
        entries = [entry(name, *one) for one in zip(streams, numbers, strict=True)]
        offsets = f"  offsets: {json.dumps(entries)}\n" if operation != "reset" else ""
        few = self.random.sample(_ACKNOWLEDGEMENTS, self.random.randrange(4))
        acknowledge = f"[{', '.join(_ACKNOWLEDGEMENTS if self.random.random() < 0.65 else few)}]"
        return path, (
            f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {_change_name(path)}}}\nspec:\n"
            f"  connector: {name}\n  operation: {operation}\n{offsets}  acknowledge: {acknowledge}\n"
        )

    def _with_targets(self, path: str) -> str:
        to = kafka.choose(self.random)
        self._targets[OffsetChangeName(_change_name(path))].append(to)
        return (
            f"apiVersion: gitops-connect/v1\nkind: OffsetChange\nmetadata: {{name: {_change_name(path)}}}\nspec:\n"
            f"  connector: {SINK}\n  operation: alter\n  to: {json.dumps(to)}\n  acknowledge: [rewind, skip]\n"
        )

    def _require_resolved(self, offset_change: OffsetChange, before: Offsets) -> None:
        """A change with targets is begun with what these mean for the records since the sink was stopped."""
        declared = self._targets.get(offset_change.name, ())
        if declared and None not in declared:  # an edit may have declared numbers instead
            ends = self.world.producers.since(self.world.promises.changed_at[SINK])
            may_be, found = [kafka.expected(to, before, one) for to in declared for one in ends], offset_change.offsets
            assert positions(found) in may_be, f"{offset_change.name} is resolved to {found}, expected one of {may_be}"

    def _number(self, name: str, stream: str) -> int:
        """Any offset, or one that the connector will soon have read."""
        now = positions(self.world.cluster.stored.get(ConnectorName(name), {})).get(stream, 0)
        return self.random.choice((self.random.randrange(200), now + 1, now + 1, now + 2, now + 2))

    def _undo(self, name: str) -> None:
        """Commit what `offsets undo` writes for the last offset change of the connector."""
        world, account = self.world, self.world.accounts.of(ConnectorName(name))
        applied = [one for one in account.begun if one in account.settled and not one.startswith("undo-")]
        if not applied:
            return
        declared = declare(world.repository, [LOCAL], Caches())
        read = DeclaredConnectors(declared.states, read_own_schemas(declared.checkout).schemas)
        with suppress(UndoImpossible, NotFound):  # someone has deleted the connector
            undo = Undo(world.runtime, [LOCAL], lambda: read, note=world.note, say=world.note)
            self._changes += 1
            path = world.directory / f"u{self._changes:03}.yaml"
            made, _ = undo.write(applied[-1], UndoTarget(path, force=True))
            manifest = path.with_suffix(".jsonl")
            offsets = patch_of(manifest.read_bytes()) if made.manifest else made.offsets
            assert offsets == account.begun[applied[-1]][1].before, f"{made.name} does not restore the offsets"
            beside = {f"changes/{manifest.name}": manifest.read_text()} if made.manifest else {}
            self._declare_changes(name, {f"changes/{made.name}.yaml": path.read_text(), **beside})

    def _declare_changes(self, name: str, files: Files) -> None:
        self.world.repository.commit(files)
        names = [_change_name(path) for path, text in files.items() if text is not None and path.endswith(".yaml")]
        self.world.promises.changes |= dict.fromkeys(names, name)
        self._connectors |= dict.fromkeys(names, name)
        self.world.promises.committed(self.world.repository.revision, self.declared)

    def _resolve(self, _: str) -> None:
        """An administrator tells the ledger which offset changes of unknown outcome were applied."""
        world = self.world
        candidates = find_candidates(world.runtime, LOCAL, None, Revision(""))
        for one in [one for one in candidates if one.is_waiting]:
            is_applied = world.accounts.of(one.record.connector).is_complete(one.record.name)
            world.note(f"someone marks {one.record.name} as {'applied' if is_applied else 'not applied'}")
            with suppress(LedgerBusy):
                resolve(world.runtime, LOCAL, [one], applied=is_applied)

    # What people do by hand.

    def _by_hand(self, name: str) -> None:
        self._request(self.random.choice(("resume", "delete", "restart")), name)

    def _config_by_hand(self, name: str) -> None:
        found = self.world.cluster.rules.connectors.get(name)
        if found is not None and name not in self.world.cluster.rules.leaving:
            self._request("configure", name, {**found.config, BY_HAND: f"{self.random.random()}"})

    def _offsets_by_hand(self, name: str) -> None:
        """Someone stops the connector, and alters an offset."""
        self._request("stop", name)
        self.run(self.random.uniform(1, 12))
        stream = self.random.choice(STREAMS)
        self._request("alter", name, {"offsets": [entry(name, stream, self._number(name, stream))]})

    def _pause_by_hand(self, name: str) -> None:
        self._request(self.random.choice(("pause", "stop")), name)

    def _request(self, verb: str, name: str, body: Any = None) -> None:
        self.world.cluster.rules.catch_up()
        self.world.note(f"someone sends {verb} to {name}")
        self.world.promises.by_hand(verb, name)
        try:
            self.world.cluster.by_hand(verb, name, body)
            if verb == "alter":
                self.world.accounts.of(ConnectorName(name)).by_hand()
        except Refused as refused:
            self.world.note(refused.message)

    def _suspend_or_resume(self, name: str) -> None:
        connector = ConnectorName(name)
        ledger = self.world.ledger
        self.world.promises.suspended.pop(name, None)
        if not ledger.resume(LOCAL, connector):
            self.world.promises.was_suspended(name)
            since = self.world.cluster.clock.now()
            ledger.suspend(LOCAL, connector, Suspension(SuspendedBy.COMMAND, False, "ann", since, "work"))

    def _decide_rollout(self, name: str) -> None:
        """Someone continues a rollout that waits, or skips a part of it."""
        world = self.world
        histories = world.ledger.configs.of(LOCAL).values()
        for revision in sorted({one.queued.revision for one in histories if one.queued is not None}):
            of = self.random.choice((WHOLE_ROLLOUT, ConnectorName(name)))
            choice = self.random.choice(tuple(RolloutChoice))
            decision = RolloutDecision(choice, "ann", world.cluster.clock.now(), "")
            world.note(f"{choice.value} {revision} {of}")
            world.ledger.rollouts.record(LOCAL, {(revision, of): decision})
            world.promises.continued.add(revision)

    # What breaks.

    def _unreadable(self, name: str) -> None:
        """No worker can say what a connector is, or one can again."""
        connector = ConnectorName(name)
        world, unreadable = self.world, self.world.promises.unreadable
        world.cluster.unreadable ^= {connector}
        unreadable.pop(name, None)
        rules = world.cluster.rules
        if connector in world.cluster.unreadable and name in rules.connectors and name not in rules.leaving:
            unreadable[name] = world.timeline.now

    def _task_fails(self, name: str) -> None:
        rules = self.world.cluster.rules
        rules.catch_up()
        found = rules.connectors.get(name)
        if found is not None and found.reported is not None and found.reported.tasks:
            rules.fail_task(name, 0, TRACE)
            self.world.promises.state_changed(name)

    def _break_or_mend(self, name: str) -> None:
        """The connector fails, also when it is started again, until its database is there again."""
        instance = self.world.cluster.rules.connectors.get(name)
        if instance is not None and instance.failure == BROKEN:
            instance.failure = ""
        elif instance is not None and instance.target is Target.STARTED:
            self.world.cluster.rules.fail(name, BROKEN)
            self.world.promises.state_changed(name)

    def _rebalance(self, _: str) -> None:
        """The group rebalances, and another worker becomes the leader and assigns the connectors differently."""
        group = self.world.cluster.rules.group
        group.workers.reverse()
        group.rebalance(self.random.uniform(1, 12))

    def _worker(self, _: str) -> None:
        """A worker dies, and comes back."""
        group = self.world.cluster.rules.group
        worker = self.random.choice(group.workers)
        if not group.dead:
            self.world.note(f"{worker} is killed")
            group.kill(worker)
            self.world.timeline.at(self.random.uniform(2, 60), self.world.people, lambda: group.start(worker))

    def _kill(self, _: str) -> None:
        living = self.world.living
        if living:
            victim = self.random.choice(living)
            self.world.note(f"{victim.life.name} is killed")
            victim.life.is_dead = True

    def _absence(self, _: str) -> None:
        """Nobody runs the daemon for days or weeks."""
        for one in self.world.living:
            one.life.is_dead = True
        self.run(86400 * self.random.uniform(1, 60))
        self.world.start_replica()

    def _new_replica(self, _: str) -> None:
        self.world.start_replica()

    def _outage(self, _: str) -> None:
        world = self.world
        forge = ("forge_is_down",) if world.forge is not None else ()
        part = self.random.choice(("git_is_down", "connect_is_down", "ledger_is_down", *forge))
        setattr(world, part, True)
        if part == "ledger_is_down" and world.server is not None:
            world.server.restart()
        world.timeline.at(self.random.uniform(5, 90), world.people, lambda: setattr(world, part, False))

    def _clock(self, _: str) -> None:
        """Someone sets the clock of all machines, or with PostgreSQL of one."""
        by, living = self.random.choice((-3600, -60, 60, 3600)), self.world.living
        is_one = self.world.server is not None and living and self.random.random() < 0.5
        self.world.set_clock(by, self.random.choice(living).life if is_one else None)

    # What must be true when it is over.

    def settle(self) -> None:
        """Faults cease. Raises AssertionError if the cluster then does not agree with the repository."""
        world = self.world
        world.faults.are_over, world.git_is_down, world.connect_is_down, world.ledger_is_down = (
            True,
            False,
            False,
            False,
        )
        world.forge_is_down = False
        world.cluster.unreadable.clear()
        world.promises.unreadable.clear()
        world.note("faults cease")
        for _ in range(QUIET):
            if not world.living:
                world.start_replica()
            self.run(AFTER)
            wrong = self.differences()
            if self.pull_requests is not None:
                self.pull_requests.check()
                wrong += self.pull_requests.unfinished()
            if not wrong:
                break
        else:
            raise AssertionError(f"the cluster does not agree with the repository: {wrong}")
        if self.pull_requests is not None:
            for replica in self.world.living:
                self.pull_requests.require_clean(replica.daemon.state.snapshot)
            self._repeat_reviews(self.pull_requests)
        if self.random.random() < SHOWN:
            self._compare_views()

    def _repeat_reviews(self, pull_requests: PullRequests) -> None:
        """What a review shows is also shown if everything is read and planned again, unless a rollout goes on."""
        for _ in range(5 if self.random.random() < REPEATED else 0):
            self.run(2 * AFTER)  # what the steps have changed is reviewed
            reviews = [replica.reviews.inputs for replica in self.world.living]
            if self._goes_on(pull_requests):
                continue
            always_read = self._compares_offsets()  # a connector may come to the offsets that a pull request declares
            before, bases = pull_requests.digests(always_read), [one.basis() for one in reviews]
            self.run(2 * AFTER)
            if pull_requests.digests(always_read) != before:  # such as automatic restarts: these are planned each time
                continue
            for one in reviews:
                one.forget(before)
            self.run(2 * AFTER)
            if [one.basis() for one in reviews] == bases:
                after = pull_requests.digests(always_read)
                assert after == before, f"comments were outdated: they have the digests {after}, and had {before}"
                return

    def _goes_on(self, pull_requests: PullRequests) -> bool:
        """Whether a rollout or a rate limit of the forge has not ended."""
        is_limited = self.world.timeline.now < pull_requests.forge.limited_until + 2 * AFTER
        return is_limited or any(waits_for_time(view.plan.plans) for view in self._reviewed())

    def _compares_offsets(self) -> Set[int]:
        """The pull requests that are planned each time, because their changes depend on the current offsets."""
        return {
            view.pull_request.number
            for view in self._reviewed()
            if due_changes(view.plan.plans) - due_changes(view.plan.branch)
        }

    def _reviewed(self) -> list[PullRequestView]:
        return [view for replica in self.world.living for view in replica.daemon.state.snapshot.pull_requests]

    def _compare_views(self) -> None:
        """Everything is over: after another reconciliation, everything that a leader shows must agree."""
        for _ in range(QUIET):
            self.run(AFTER)
            leaders = [one for one in self.world.living if one.daemon.leadership.is_leader]
            if not (wrong := [each for one in leaders for each in disagreements(one)]):
                return
        raise AssertionError(f"what the leader shows is wrong: {wrong}")

    def run(self, seconds: float) -> None:
        self.world.timeline.run(seconds)
        if self.world.timeline.errors:
            raise self.world.timeline.errors[0]

    def _ill(self) -> Set[ConnectorName]:
        """The connectors of which the leader says that they do not work."""
        leaders = (one for one in self.world.living if one.daemon.leadership.is_leader)
        plans = (one.view.plan for one in leaders)
        return {one.name for plan in plans if plan is not None for one in plan.unhealthy}

    def differences(self) -> list[str]:
        """What differs without a reason that the product tells."""
        self.world.cluster.rules.catch_up()
        present, told = self.world.cluster.present, self.world.promises.told()
        has_broken = any(one.broken for one in self.declared.values())  # it may declare what seems to be removed
        found = [
            f"{name}: {difference}"
            for name, one in self.declared.items()
            if (one.is_there or not has_broken)
            and name not in told
            and (one.is_there or not self.world.creations.is_left(ConnectorName(name)))
            and (difference := one.differs_from(present.get(ConnectorName(name)), self._ill()))
        ]
        foreign = present.get(FOREIGN)
        if foreign is None or foreign.state.value != "RUNNING":
            found.append("the connector of someone else was changed")
        return [
            *found,
            *self.world.promises.lost(told),
            *self.world.promises.untold(told),
            *self.world.promises.not_rolled_back(told),
        ]


def _change_name(path: str) -> OffsetChangeName:
    return OffsetChangeName(path.removeprefix("changes/").removesuffix(".yaml"))


ACTIONS: Mapping[str, Callable[[Day, str], None]] = {
    "config": Day._config,
    "bad config": Day._bad_config,
    "rejected config": Day._rejected_config,
    "hold": Day._hold,
    "rollout decision": Day._decide_rollout,
    "unreadable": Day._unreadable,
    "configs": Day._configs,
    "revert": Day._revert,
    "forced push": Day._force_push,
    "state": Day._state,
    "broken document": Day._break_document,
    "removal": Day._remove_or_restore,
    "restart": Day._restart,
    "annotation": Day._annotation,
    "offset change": Day._offset_change,
    "edited change": Day._edit_change,
    "undo": Day._undo,
    "resolution": Day._resolve,
    "by hand": Day._by_hand,
    "config by hand": Day._config_by_hand,
    "offsets by hand": Day._offsets_by_hand,
    "pause by hand": Day._pause_by_hand,
    "suspension": Day._suspend_or_resume,
    "task failure": Day._task_fails,
    "breakdown": Day._break_or_mend,
    "rebalance": Day._rebalance,
    "worker": Day._worker,
    "kill": Day._kill,
    "absence": Day._absence,
    "new replica": Day._new_replica,
    "outage": Day._outage,
    "clock": Day._clock,
}
FEATURES = (
    "config",
    "bad config",
    "configs",
    "removal",
    "restart",
    "annotation",
    "offset change",
    "pause by hand",
    "suspension",
)
"""Actions that use a feature."""
