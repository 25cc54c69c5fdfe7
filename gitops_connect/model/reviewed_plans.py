"""What a reviewer saw of a plan, as a value that the ledger stores: the steps and the destructive effects.

The distance of a rewind is not part of it, because it grows while the connector runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from gitops_connect.model.canonical import digest
from gitops_connect.model.names import ClusterName, ConnectorName, Digest, OffsetChangeName, Revision
from gitops_connect.model.offsets import PartitionText


class ReviewMode(Enum):
    AUTO = "auto"
    """None."""
    REVIEWED = "reviewed"
    """Destructive changes: their pull request has shown them, or someone has approved them."""
    MANUAL = "manual"
    """Every change that a commit makes: someone has approved it."""


class PlanPurpose(Enum):
    """Why a pull request shows a plan. It shows one of each at most."""

    REVIEW = "review"
    """What merging it would do. Who merges it has seen the plan."""
    APPROVAL = "approval"
    """What is blocked after the merge. Nothing of it is covered until someone approves it."""


class DestructiveKind(Enum):
    """How a plan loses data, reprocesses or skips records, or allows duplicates; the worst first."""

    DELETE = "delete"
    RESET = "reset"
    REWIND = "rewind"
    CHANGED = "changed"
    REMOVED = "removed"
    SKIP = "skip"
    UNCERTAIN = "uncertain"
    """An offset change without another effect now, whose connector may have other offsets when it is sent."""
    DELIVERY = "weaker delivery"


def tolerated(distance: int) -> int:
    """How much further than shown a change with targets may go: targets and current offsets move with the records."""
    return max(1000, distance // 10)


@dataclass(frozen=True, slots=True)
class DestructiveEffect:
    """One destructive effect on a connector.

    `offset_change` and `digest` are those of the offset change, None for a deletion and a weaker delivery. `count`
    partitions are concerned; `partitions` are their texts, None if not all are known or if there are too many to store.
    `distance` is how far a skip goes in the unit of the connector's class, None if that is unknown; `far` is the same
    in words. A change with targets also has it for a rewind, and may go further by `tolerance`.
    """

    kind: DestructiveKind
    offset_change: OffsetChangeName | None = None
    digest: Digest | None = None
    count: int = 0
    partitions: tuple[PartitionText, ...] | None = None
    distance: int | None = None
    far: str = ""
    tolerance: int = 0

    def covers(self, planned: DestructiveEffect) -> bool:
        """Whether a reviewer who saw this effect has seen the planned one: it is the same change, and not more."""
        if (self.offset_change, self.digest) != (planned.offset_change, planned.digest):
            return False
        if planned.kind is DestructiveKind.UNCERTAIN:  # it is the same change
            return True
        if self.kind is DestructiveKind.RESET:
            return planned.kind in (DestructiveKind.RESET, DestructiveKind.REMOVED)
        if self.kind is not planned.kind or not self._covers_distance(planned):
            return False
        if self.partitions is None or planned.partitions is None:
            return planned.count <= self.count
        return set(planned.partitions) <= set(self.partitions)

    def _covers_distance(self, planned: DestructiveEffect) -> bool:
        """A skip that goes further loses records that nobody saw."""
        if self.distance is None:
            return True
        return planned.distance is not None and planned.distance <= self.distance + self.tolerance

    @property
    def words(self) -> str:
        """As in `rewind of 2 partitions (offset change back)`."""
        source = f" (offset change {self.offset_change})" if self.offset_change else ""
        partitions = f" of {self.count:,} partition{'s' if self.count > 1 else ''}" if self.count else ""
        return f"{self.kind.value}{partitions}{f' by {self.far}' if self.far else ''}{source}"


@dataclass(frozen=True, slots=True)
class ReviewedConnector:
    """The digests of the steps that a reviewer saw for one connector, and their destructive effects."""

    steps: tuple[Digest, ...] = ()
    effects: tuple[DestructiveEffect, ...] = ()


ReviewedConnectors = Mapping[ClusterName, Mapping[ConnectorName, ReviewedConnector]]


@dataclass(frozen=True, slots=True)
class ReviewedPlan:
    """The plan of a pull request as it was shown. `head` is the commit that was planned; `digest` is in the comment."""

    pull_request: int
    head: Revision
    digest: Digest
    connectors: ReviewedConnectors = field(default_factory=dict)

    def value(self) -> dict[str, Any]:
        return {
            "pull_request": self.pull_request,
            "head": self.head,
            "digest": self.digest,
            "clusters": connectors_value(self.connectors),
        }


@dataclass(frozen=True, slots=True)
class Approval:
    """Someone has approved the plan with this digest; `place` is the URL of the comment."""

    pull_request: int
    digest: Digest
    who: str
    at: datetime
    place: str


@dataclass(frozen=True, slots=True)
class UnreviewedChange:
    """A change of a merged plan that nobody has reviewed.

    `reviewed` and `planned` say what only the reviewed plan does to the connector, and what only the plan does now. The
    first is empty if the reviewed plan does nothing else. `asked` is what an approval covers.
    """

    cluster: ClusterName
    connector: ConnectorName
    reviewed: tuple[str, ...]
    planned: tuple[str, ...]
    asked: ReviewedConnector = ReviewedConnector()


@dataclass(frozen=True, slots=True)
class Reviews:
    """What was reviewed of the changes that a revision makes.

    `merged` are the plans that the comments on its pull requests showed before they were merged, `approved` those that
    someone with write access has approved. `pull_request` is where changes that nobody reviewed can be approved; None
    if no pull request is known.
    """

    mode: ReviewMode = ReviewMode.AUTO
    merged: tuple[ReviewedPlan, ...] = ()
    approved: tuple[ReviewedPlan, ...] = ()
    pull_request: int | None = None


NO_REVIEWS = Reviews()


def connectors_digest(connectors: ReviewedConnectors) -> Digest:
    """A digest of everything that a reviewer saw, without distances: those change while the connectors run."""
    same_distance = {
        cluster: {name: replace(one, effects=tuple(map(_without_distance, one.effects))) for name, one in found.items()}
        for cluster, found in connectors.items()
    }
    return digest(connectors_value(same_distance))


def _without_distance(effect: DestructiveEffect) -> DestructiveEffect:
    return replace(effect, distance=None, far="", tolerance=0)


def connectors_value(connectors: ReviewedConnectors) -> dict[str, Any]:
    """The connectors of each cluster as a value for JSON."""
    return {
        cluster: {
            name: {"steps": list(one.steps), "effects": list(map(_effect_value, one.effects))}
            for name, one in found.items()
        }
        for cluster, found in connectors.items()
    }


def _effect_value(effect: DestructiveEffect) -> dict[str, Any]:
    return {
        "kind": effect.kind.value,
        "operation": effect.offset_change,
        "digest": effect.digest,
        "count": effect.count,
        "partitions": effect.partitions,
        "distance": effect.distance,
        "far": effect.far,
        **({"tolerance": effect.tolerance} if effect.tolerance else {}),
    }


def read_reviewed_plan(value: Any) -> ReviewedPlan:
    """The plan that `ReviewedPlan.value` has written. Raises ValueError for anything else."""
    try:
        return ReviewedPlan(
            _number(value["pull_request"]),
            Revision(_text(value["head"])),
            Digest(_text(value["digest"])),
            {
                ClusterName(cluster): {ConnectorName(name): _read_connector(one) for name, one in found.items()}
                for cluster, found in value["clusters"].items()
            },
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a reviewed plan: {error}") from error


def _read_connector(value: Any) -> ReviewedConnector:
    steps = tuple(Digest(_text(one)) for one in value["steps"])
    return ReviewedConnector(steps, tuple(_read_effect(one) for one in value["effects"]))


def _read_effect(value: Any) -> DestructiveEffect:
    offset_change, declared = value["operation"], value["digest"]
    partitions, distance = value["partitions"], value["distance"]
    return DestructiveEffect(
        DestructiveKind(value["kind"]),
        None if offset_change is None else OffsetChangeName(_text(offset_change)),
        None if declared is None else Digest(_text(declared)),
        _number(value["count"]),
        None if partitions is None else tuple(PartitionText(_text(one)) for one in partitions),
        None if distance is None else _number(distance),
        _text(value["far"]),
        _number(value.get("tolerance", 0)),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {value!r}")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, found {value!r}")
    return value
