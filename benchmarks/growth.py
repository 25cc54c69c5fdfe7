"""How the processor time of one step grows with what it works on: 100, 1,000 and 10,000 of it.

Ten times as many may take a little more than ten times as long, because some steps sort. Each case takes its input as
the planner does, without files and without a cluster.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processor_time import spent_here
from gitops_connect.cli.main import GC_THRESHOLDS
from gitops_connect.model.desired import DesiredConnector
from gitops_connect.model.differences import Difference, Direction
from gitops_connect.model.manifests import LargeVerdict
from gitops_connect.model.names import ConnectorName
from gitops_connect.model.observed_state import ObservedConnector
from gitops_connect.plan.planner import plan
from gitops_connect.plan.restarts import find_unhealthy
from gitops_connect.plan.situation import OffsetSituation, Policy, Situation
from gitops_connect.report.connector_status import StatusFindings, connector_statuses

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.planner.situations import change, current_offsets, offsets_to, seen, situation, wanted

TITLE = "How the time of a step grows, processor time"
SIZES = (100, 1_000, 10_000)
LINEAR = 14.0
"""Times as long for ten times as many: n log n, and some noise."""
_LEAST = 0.02
"""Seconds. What takes less cannot be compared."""
Case = Callable[[int], Callable[[], object]]


def measure(_: Path) -> Iterator[Figure]:
    """Each case at each size; the ratio of the largest size to the one before has a target."""
    gc.set_threshold(*GC_THRESHOLDS)  # as in the program
    for words, case in CASES.items():
        before = 0.0
        for size in SIZES:
            work = case(size)
            began = spent_here()
            work()
            spent = spent_here() - began
            yield Figure(f"{words}, {size:,}", spent, "s")
            if size == SIZES[-1]:
                yield Figure(f"{words}, ten times as many", spent / max(before, _LEAST), "times", LINEAR)
            before = spent


def _name(number: int) -> str:
    return f"orders-cdc-{number:06d}-payments-in-region-west"


def _connectors(size: int) -> tuple[list[DesiredConnector], list[ObservedConnector]]:
    configs = [{"file": f"/data/{number}", "topic": f"t-{number}"} for number in range(size)]
    names = [*map(_name, range(size))]
    return (
        [wanted(name, config=config) for name, config in zip(names, configs, strict=True)],
        [seen(name, config=config) for name, config in zip(names, configs, strict=True)],
    )


def _planned(given: Situation) -> Callable[[], object]:
    return lambda: plan(given)


def undeclared(size: int) -> Callable[[], object]:
    """Each offset change names a connector that is not declared, with a name like that of one that is."""
    desired, observed = _connectors(size)
    changes = [change(f"c{number}", _name(number).replace("payments", "paymnets")) for number in range(size)]
    return _planned(situation(desired, observed, owned=[one.name for one in desired], changes=changes))


def renamed(size: int) -> Callable[[], object]:
    """All connectors have another name now."""
    desired, observed = _connectors(size)
    new = [replace(one, name=ConnectorName(f"new-{one.name}")) for one in desired]
    owned = [one.name for one in observed]
    return _planned(situation(new, observed, owned=owned, policy=Policy(prune=True, max_deletions=1.0)))


def due(size: int) -> Callable[[], object]:
    """Each connector has an offset change that is due."""
    desired, observed = _connectors(size)
    changes = [change(f"c{number}", _name(number), acknowledge=["rewind"]) for number in range(size)]
    offsets = OffsetSituation(
        manifests={one.name: offsets_to(a=4) for one in changes},
        current={one.connector: current_offsets(a=20) for one in changes},
    )
    return _planned(situation(desired, observed, owned=[one.name for one in desired], changes=changes, offsets=offsets))


def large(size: int) -> Callable[[], object]:
    """Each connector has a large offset change that waits for an acknowledgement, and some current offsets."""
    desired, observed = _connectors(size)
    changes = [change(f"c{number}", _name(number)) for number in range(size)]
    difference = Difference(counts={Direction.REWIND: 10**6, Direction.NEW: 10**6})
    verdict = LargeVerdict(2 * 10**6, 2 * 10**6, size=2 * 10**8, difference=difference)
    offsets = OffsetSituation(
        large={one.name: verdict for one in changes},
        current={one.connector: current_offsets(**{f"f{number}": 20 for number in range(10)}) for one in changes},
    )
    return _planned(situation(desired, observed, owned=[one.name for one in desired], changes=changes, offsets=offsets))


def statuses(size: int) -> Callable[[], object]:
    """The status of as many unmanaged connectors, and of those that the plan creates: each has a change that waits."""
    desired, observed = _connectors(size)
    unmanaged = [replace(one, name=ConnectorName(f"other-{one.name}")) for one in observed]
    changes = [change(f"c{number}", _name(number)) for number in range(size)]
    offsets = OffsetSituation(manifests={one.name: offsets_to(a=4) for one in changes})
    given = situation(desired, unmanaged, changes=changes, offsets=offsets)
    made, ill = plan(given), find_unhealthy(given)
    findings = StatusFindings(given.now, ill)
    return lambda: connector_statuses(made, given.desired, given.observed, findings)


CASES: Mapping[str, Case] = {
    "offset changes of connectors that are not declared": undeclared,
    "connectors with another name": renamed,
    "offset changes that are due": due,
    "large offset changes that wait": large,
    "the status of each connector": statuses,
}
