"""Checks one entry of a manifest with the rules: a pure function, prepared once for each manifest, then fast."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gitops_connect.families.shapes import Demand
from gitops_connect.families.ties import Ties
from gitops_connect.model.diagnostics import Severity
from gitops_connect.model.findings import Finding, LazyWords, describe, show
from gitops_connect.model.offset_changes import Acknowledgement, OffsetChangeKind
from gitops_connect.model.offsets import OffsetText, PartitionText, offset_text, partition_text
from gitops_connect.offsets.context import ManifestContext
from gitops_connect.offsets.rules.part_shapes import CURRENT_TYPE, CurrentTypes, PartShape
from gitops_connect.offsets.rules.rules import severity_of, summary_of

if TYPE_CHECKING:
    from gitops_connect.offsets.rules.own_schemas import SchemaCheck

_KEYS = frozenset({"partition", "offset"})
_NOTHING_TO_REMOVE = "manifest/nothing-to-remove"
_OF_FORMAT = frozenset(f"manifest/{rule}" for rule in ("shape", "type", "negative", "range", "choice"))
"""The rules that compare an entry with the format that the class is known to have."""
_NULLS = {
    OffsetChangeKind.REPLACE: (
        "operation: replace",
        "remove the entry: a replace removes every offset that is not declared",
    ),
    OffsetChangeKind.SEED: ("initialOffsets", "remove the entry: the connector has no offsets yet"),
}


class CheckedEntry(NamedTuple):
    """The findings of one entry.

    `partition` is None if the entry has no canonical form; `offset` is also None for a tombstone.
    """

    findings: tuple[Finding, ...]
    partition: PartitionText | None = None
    offset: OffsetText | None = None


class EntryChecker:
    """Checks the entries of one manifest; everything that does not depend on the entry is computed once."""

    def __init__(self, context: ManifestContext, kind: OffsetChangeKind) -> None:
        known = context.shape if context.shape is not None and context.shape.partitions else None
        self._kind = kind
        self._shape = known
        rules, types = (known.contradictions, known.offset.types) if known is not None else ((), {})
        self._contradictions = tuple(one for one in rules if one.applies(context.config or {}))
        notations = {name: kind.notation.read for name, kind in types.items() if kind.notation is not None}
        self._notations = {name: read for name, read in notations.items() if read is not None}
        self._current = context.current or {}
        self._current_is_known = context.current is not None
        self._types = CurrentTypes(self._current)
        self._ties = known.ties(context.config) if known is not None else Ties()
        self._other_format = Acknowledgement.SHAPE in context.acknowledged and known is not None and not known.lenient
        self._schema: SchemaCheck | None = None
        if context.schema is not None:
            from gitops_connect.offsets.rules.own_schemas import SchemaCheck  # noqa: PLC0415 - executors of Spark may have no jsonschema

            self._schema = SchemaCheck(context.schema)
        if known is None:
            self._partition, self._offset = PartShape("partition", self._types), PartShape("offset", self._types)
        else:
            name, lenient = known.name, known.lenient
            self._partition = PartShape("partition", self._types, name, known.partitions, lenient, known.demand)
            self._offset = PartShape("offset", self._types, name, (known.offset,), lenient)

    def check(self, value: Any) -> CheckedEntry:
        """All findings of the entry, and both its halves in canonical form if they have one."""
        checked = self.check_alone(value)
        current = None if checked.partition is None else self._current.get(checked.partition)
        if current is None or (not checked.findings and self._offset.fits(value["offset"])):
            return checked
        return self.with_current(checked, current)

    def check_alone(self, value: Any) -> CheckedEntry:
        """The result if the partition of the entry has no current offset."""
        if self._fits(value) and (checked := self._by_config(value)) is not None:
            return checked
        if not isinstance(value, Mapping):
            return CheckedEntry((Finding("manifest/entry", "", {"found": describe(value)}),))
        value = self._with_numbers(value)
        faults = [*self._faults(value)]
        if faults:
            return CheckedEntry((*_unknown_keys(value), *faults))
        partition, offset = value["partition"], value["offset"]
        name = partition_text(self._partition.kept(partition))
        text = None if offset is None else offset_text(self._offset.kept(offset))
        findings = [*self._findings(partition, offset)]
        if self._other_format:
            findings = [_eased(one) if one.rule in _OF_FORMAT else one for one in findings]
        if any(map(_is_refused, findings)):
            findings = [finding._replace(unread=False) if finding.unread else finding for finding in findings]
        return CheckedEntry((*_unknown_keys(value), *findings), name, text)

    def with_current(self, checked: CheckedEntry, current: OffsetText) -> CheckedEntry:
        """The result of `check_alone` for an entry whose partition has that current offset: it may be set again.

        An entry with the same offset is accepted whatever is wrong with it, unless Connect refuses it.
        """
        findings, _, text = checked
        if text is None:
            return checked._replace(findings=tuple(one for one in findings if one.rule != _NOTHING_TO_REMOVE))
        if self._types.are_mixed:
            others = [one for one in findings if one.rule != CURRENT_TYPE or not one.field.startswith("offset.")]
            findings = (*others, *self._types.findings("offset", self._offset.loose(json.loads(text)), current))
        if not any(map(_is_refused, findings)):
            is_accepted = current == text and self._partition.demand is Demand.NOTHING
            findings = tuple(one for one in findings if not one.unread and not (is_accepted and _is_error(one)))
            if self._shape is not None and self._contradictions and current != text:
                findings += tuple(self._shape.contradicted(self._contradictions, current, json.loads(text)))
        return checked._replace(findings=findings)

    def _with_numbers(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry with each second notation replaced by its number, which Connect stores."""
        if not self._notations:
            return value
        offset = value.get("offset")
        if not isinstance(offset, Mapping):
            return value
        found = {name: read(offset.get(name)) for name, read in self._notations.items()}
        numbers = {name: number for name, number in found.items() if number is not None}
        return {**value, "offset": {**offset, **numbers}}

    def needs_current(self, value: Any, findings: Collection[Finding]) -> bool:
        """Whether the current offset of the entry's partition may change the findings."""
        if self._types.are_mixed or any(map(self._may_vanish, findings)):
            return True
        offset = value.get("offset") if self._contradictions and isinstance(value, Mapping) else None
        if not isinstance(offset, Mapping):
            return False
        return any(one.changed in offset and one.kept in offset for one in self._contradictions)

    def _fits(self, value: Any) -> bool:
        """True if only the config can make the entry wrong, as for nearly all entries."""
        return (
            self._schema is None
            and type(value) is dict
            and value.keys() == _KEYS
            and self._partition.fits(value["partition"])
            and self._offset.fits(value["offset"])
        )

    def _may_vanish(self, finding: Finding) -> bool:
        """Whether the finding may not hold if the partition has a current offset: see `with_current`."""
        may_be_accepted = self._partition.demand is Demand.NOTHING and _is_error(finding)
        return finding.unread or may_be_accepted or finding.rule == _NOTHING_TO_REMOVE

    def _by_config(self, value: Mapping[str, Any]) -> CheckedEntry | None:
        """The verdict on an entry that fits.

        None if a string contains half of a surrogate pair: the complete check finds the field.
        """
        partition = value["partition"]
        try:
            name, text = partition_text(partition), offset_text(value["offset"])
        except ValueError:
            return None
        return CheckedEntry(() if self._ties.hold(partition) else tuple(self._ties.findings(partition)), name, text)

    def _faults(self, value: Mapping[str, Any]) -> Iterator[Finding]:
        if value.get("partition") is None:
            yield Finding("manifest/no-partition", "partition", {})
        else:
            yield from self._partition.faults(value["partition"])
        if "offset" not in value:
            yield Finding("manifest/no-offset", "offset", {})
        elif value["offset"] is not None:
            yield from self._offset.faults(value["offset"])

    def _findings(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> Iterator[Finding]:
        if offset is None:
            yield from self._of_tombstone(partition)
            return
        yield from self._partition.findings(partition)
        yield from self._ties.findings(partition)
        yield from self._offset.findings(offset)
        if self._shape is not None and self._shape.check is not None:
            yield from self._shape.check(offset)
        if self._current:
            yield from self._types.findings("partition", self._partition.loose(partition), None)
            yield from self._types.findings("offset", self._offset.loose(offset), None)
        if self._schema is not None:
            yield from self._schema.findings({"partition": partition, "offset": offset})

    def _of_tombstone(self, partition: Mapping[str, Any]) -> Iterator[Finding]:
        """The findings for a tombstone.

        A source accepts it for any partition: so a partition that nothing reads is removed.
        """
        if self._kind in _NULLS:
            kind, hint = _NULLS[self._kind]
            yield Finding("manifest/tombstone", "offset", {"kind": kind, "hint": hint})
        elif self._partition.lenient:
            yield from self._partition.findings(partition)
        if self._kind not in _NULLS and self._current_is_known:
            yield Finding(_NOTHING_TO_REMOVE, "partition", {})


def _eased(finding: Finding) -> Finding:
    """The finding as a warning: the document acknowledges that the class has another format than the known one."""
    return Finding("manifest/other-format", finding.field, LazyWords(lambda: {"found": summary_of(finding)}))


def _is_error(finding: Finding) -> bool:
    return severity_of(finding) is Severity.ERROR


def _is_refused(finding: Finding) -> bool:
    """Whether Connect refuses the entry because of an error in its partition: this cannot be acknowledged."""
    return finding.field.split(".", 1)[0] == "partition" and not finding.unread and _is_error(finding)


def _unknown_keys(value: Mapping[str, Any]) -> Iterator[Finding]:
    for name in sorted(map(show, value.keys() - _KEYS)):
        yield Finding("manifest/unknown-field", name, {"shape": "an entry", "hint": "remove the field: it is ignored"})
