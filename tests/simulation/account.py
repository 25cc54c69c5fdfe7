"""Records which offset change changed which offsets, during which stop of the connector, and asserts the invariants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_connect.model.names import OffsetChangeName
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChange, OffsetChangeKind
from gitops_connect.model.offsets import OffsetPatch, Offsets, PartitionText, merged

MAX_SKIP = 50
_ALL = (OffsetChangeKind.RESET, OffsetChangeKind.CLEAR)


def positions(offsets: OffsetPatch) -> dict[str, int]:
    """The position of each stream or topic in these offsets."""
    known = ((json.loads(one), json.loads(offset)) for one, offset in offsets.items() if offset is not None)
    return {one.get("s") or one["kafka_topic"]: max(offset.values()) for one, offset in known}


@dataclass(frozen=True)
class Effect:
    """One change of offsets that took effect; `standstill` numbers the periods in which the connector is stopped."""

    before: Offsets
    after: Offsets
    standstill: int


class Account:
    """Follows the writes to the ledger and the changes on the cluster, of one connector."""

    def __init__(self) -> None:
        self.standstill = 0
        """The number of the current or the next period in which the connector is stopped."""
        self._altered: set[int] = set()
        """The periods in which someone else has altered the offsets."""
        self._in_progress: OffsetChange | None = None
        self.begun: dict[OffsetChangeName, tuple[OffsetChange, Effect]] = {}
        """What was begun, and the offsets before it as the ledger has saved them (an effect that changes nothing)."""
        self.effects: dict[OffsetChangeName, list[Effect]] = {}
        self.settled: set[OffsetChangeName] = set()
        self._accepted: set[PartitionText] = set()
        """What the cluster has accepted of the large offset change in progress."""

    def began(self, offset_change: OffsetChange, before: Offsets) -> None:
        self._in_progress = offset_change
        if offset_change.name not in self.begun:
            self.begun[offset_change.name] = (offset_change, Effect(before, before, self.standstill))
            self._accepted = set()

    def sent(self, name: OffsetChangeName, entries: int) -> None:
        """Assert that the first entries of a large offset change were accepted, before that is recorded."""
        left = {*[*self.begun[name][0].offsets][:entries]} - self._accepted
        assert not left, f"{name} is recorded as sent in part, and these were not accepted: {left}"

    def by_hand(self) -> None:
        """Someone else has altered the offsets: Connect cannot prevent that between a read and a request."""
        self._altered.add(self.standstill)

    def forget(self, name: OffsetChangeName) -> None:
        """Treat the offset change as one that was never applied."""
        self.settled.discard(name)
        self.begun.pop(name, None)
        self.effects.pop(name, None)

    @property
    def is_open(self) -> bool:
        """Whether an offset change was begun and is not finished."""
        return not self.begun.keys() <= self.settled

    @property
    def must_settle(self) -> bool:
        """Whether an offset change was begun and is not finished, and nobody has started the connector since.

        If someone else has altered the offsets since, they are theirs.
        """
        begun = (saved for name, (_, saved) in self.begun.items() if name not in self.settled)
        return self.standstill not in self._altered and any(saved.standstill == self.standstill for saved in begun)

    def is_complete(self, name: OffsetChangeName) -> bool:
        """Whether all of it took effect."""
        effects = self.effects.get(name)
        return bool(effects) and effects[-1].after == self._expected(name)

    def _expected(self, name: OffsetChangeName) -> Offsets:
        """The offsets after it took effect."""
        offset_change, saved = self.begun[name]
        declared = offset_change.offsets
        match offset_change.kind:
            case OffsetChangeKind.RESET | OffsetChangeKind.CLEAR:
                return {}
            case OffsetChangeKind.REPLACE if not offset_change.is_large:
                return merged({}, declared)
            case _:
                return merged(saved.before, declared)

    def failed(self, offset_change: OffsetChange) -> None:
        """Assert that a failed offset change has no effect: nothing was sent, or the offsets were restored."""
        if effects := self.effects.get(offset_change.name):
            assert effects[-1].after == effects[0].before, f"{offset_change.name} is said to have failed: {effects}"
        self.forget(offset_change.name)

    def settle(self, name: OffsetChangeName, current_offsets: Offsets) -> None:
        offset_change, saved = self.begun[name]
        effects = self.effects.get(name, [])
        once = len({effect.standstill for effect in effects}) <= 1
        # A CLEAR precedes a deletion: if someone starts the connector meanwhile, its new offsets are removed too. The
        # ledger keeps the offsets from before it was begun.
        assert once or offset_change.kind is OffsetChangeKind.CLEAR, f"{name} took effect twice: {effects}"
        was_started = bool(effects) and effects[0].standstill != saved.standstill
        is_exact = not effects or effects[0].before == saved.before or effects[0].standstill in self._altered
        assert is_exact or (offset_change.kind is OffsetChangeKind.CLEAR and was_started), (
            f"{name}: {saved}, but {effects}"
        )
        expected, seen = self._expected(name), current_offsets
        if offset_change.kind in (OffsetChangeKind.ALTER, OffsetChangeKind.SEED):
            expected = {one: expected.get(one) for one in offset_change.offsets}
            seen = {one: seen.get(one) for one in offset_change.offsets}
        assert seen == expected, f"{name} was applied, but {seen} is not {expected}"
        self.settled.add(name)

    def changed(self, before: Offsets, after: Offsets) -> None:
        offset_change = self._in_progress
        assert offset_change is not None, "offsets were changed before the ledger knew of it"
        assert offset_change.name not in self.settled, f"{offset_change.name} was settled, and is sent again"
        effects = self.effects.setdefault(offset_change.name, [])
        is_large, sent = offset_change.is_large, offset_change.offsets
        self._accepted |= {one for one in sent if after.get(one) == sent[one]}
        is_again = bool(effects) and before == after and not is_large  # a chunk is, if its answer was lost
        assert not is_again, f"{offset_change.name} is in effect, and is sent again"
        earlier = effects[0].before if effects else before
        missing = _needed(offset_change, positions(earlier), positions(after)) - offset_change.acknowledged
        is_known = earlier == after or self.standstill in self._altered
        assert not missing or is_known, f"{offset_change.name} did {missing}: {earlier} became {after}"
        effects.append(Effect(before, after, self.standstill))


def _needed(offset_change: OffsetChange, before: Mapping[str, int], after: Mapping[str, int]) -> set[Acknowledgement]:
    if offset_change.kind in _ALL:
        return {Acknowledgement.RESET} if offset_change.kind is OffsetChangeKind.RESET else set()
    both = before.keys() & after.keys()
    needed = {Acknowledgement.REWIND} if any(after[one] < before[one] for one in both) else set()
    if before.keys() - after.keys():
        needed.add(Acknowledgement.TOMBSTONE)
    if sum(max(0, after[one] - before[one]) for one in both) > MAX_SKIP:
        needed.add(Acknowledgement.SKIP)
    return needed
