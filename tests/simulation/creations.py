"""Who has created each connector: one that someone else has created is not managed until it is adopted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet
from standin.cluster import Connector

from gitops_connect.model.names import ConnectorName
from gitops_connect.model.offset_changes import OffsetChangeKind
from gitops_connect.model.ownership import Origin, Ownership
from simulation.promises import LOCAL

if TYPE_CHECKING:
    from simulation.world import Replica, World


@dataclass(eq=False)
class Creations:
    """Each method raises AssertionError if a promise is broken.

    A process records that a connector is managed before it sends the request to create it, and withdraws that if it
    certainly did not create it. If it dies before, or if it cannot write to the ledger, the connector stays managed.
    """

    world: World
    preceded: set[ConnectorName] = field(default_factory=set)
    """The connectors that someone else has created directly before the request of a replica."""
    _doubtful: dict[ConnectorName, greenlet] = field(default_factory=dict)
    """The last job one of whose requests may have created the connector."""
    _withdrawn: dict[ConnectorName, greenlet] = field(default_factory=dict)
    """The job that has to withdraw its record, as long as none of its requests may have created the connector."""
    _of_others: dict[ConnectorName, Connector] = field(default_factory=dict)
    """The connectors that someone else has created directly before a request, unless they were managed before."""

    def recorded(self, *records: Ownership) -> None:
        """These connectors are recorded as managed now."""
        job = getcurrent()
        for one in [one for one in records if one.origin is Origin.CREATED]:
            self._withdrawn.pop(one.connector, None)
            if one.desired is None and self._doubtful.get(one.connector) is not job:  # it is only to be created
                self._withdrawn[one.connector] = job

    def requested(self, replica: Replica, verb: str, name: ConnectorName) -> None:
        """A replica sends a request with an effect now."""
        plan = replica.view.plan
        if verb != "create" and plan is not None and self._is_of_others(name):
            record = self.world.ledger.ownership(LOCAL).get(name)
            is_adopted = record is not None and record.origin is Origin.ADOPTED
            assert is_adopted, f"{verb} {name}, which someone else has created"
            changes = [one.offset_change for one in plan.steps if one.connector == name and one.offset_change]
            is_seeded = any(one.kind is OffsetChangeKind.SEED for one in changes)
            assert not is_seeded, f"{verb} {name} for its initial offsets, and someone else has created it"

    def may_be_ours(self, name: ConnectorName) -> None:
        """The request of a replica has created the connector, or may have: it was not answered."""
        self._doubtful[name] = getcurrent()
        self._withdrawn.pop(name, None)

    def was_preceded(self, name: ConnectorName) -> None:
        """Someone else has created the connector, and the request of a replica arrives now."""
        self.preceded.add(name)
        self.world.promises.by_hand("create", name)
        if self._withdrawn.get(name) is getcurrent():
            self._of_others[name] = self.world.cluster.rules.connectors[name]

    def job_ended(self, replica: Replica) -> None:
        """A job of a replica has ended. If its reconciliation failed, the ledger could not be written."""
        for name in [one for one, job in self._withdrawn.items() if job is getcurrent()]:
            del self._withdrawn[name]
            record = self.world.ledger.ownership(LOCAL).get(name)
            if replica.view.error:
                self._of_others.pop(name, None)
            else:
                is_withdrawn = record is None or record.origin is Origin.ADOPTED
                assert is_withdrawn, f"{name} is recorded as created, and no request has created it"

    def _is_of_others(self, name: ConnectorName) -> bool:
        """Whether someone else has created the connector that exists now, and a process knows that."""
        rules = self.world.cluster.rules
        is_there = name in self._of_others and rules.connectors.get(name) is self._of_others[name]
        return is_there and name not in rules.leaving and name not in self._withdrawn

    def is_left(self, name: ConnectorName) -> bool:
        """Whether nobody manages the connector, because someone else has created it."""
        return self._is_of_others(name) and name not in self.world.ledger.ownership(LOCAL)
