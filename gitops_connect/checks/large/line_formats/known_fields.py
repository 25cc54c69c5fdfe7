"""Facts about the fields of the entries from the class and config of a connector, before an entry is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_connect.checks.large.line_formats.layouts import Admits, Member
from gitops_connect.checks.ties import ties_of
from gitops_connect.model.manifests import ManifestContext
from gitops_connect.model.shape_fields import FieldType, Shape
from gitops_connect.model.shapes import shape_of

BY_TYPE = {str: FieldType.TEXT, int: FieldType.SIGNED, bool: FieldType.FLAG}
"""The type of an example, if the class says nothing about its field."""


@dataclass(frozen=True, slots=True)
class Known:
    """The facts about the fields of an entry: their types, and which strings are right in fields of the partition.

    A field without a type may have the type that it has in an example. Nothing is certain about the `closed` fields of
    an offset, whose values are a closed set, nor about an offset that has both fields of one of the `pairs`. `counted`
    is the field that alone decides the move of an offset; see `counted_field`. `admits` says for each field of the
    partition that the config limits whether the connector reads a string. Those in `fixed` have the same string in all
    lines of a form. The fields in `wrong` (`offset.lsn`) have any string, none of which is right.
    """

    partition: Mapping[str, FieldType] = field(default_factory=dict)
    offset: Mapping[str, FieldType] = field(default_factory=dict)
    admits: Mapping[str, Admits] = field(default_factory=dict)
    counted: str = ""
    closed: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    fixed: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()

    def kind(self, half: str, member: Member) -> FieldType | None:
        """The type of a field; None if nothing is certain about it."""
        if half == "offset" and member.name in self.closed:
            return None
        kind = (self.partition if half == "partition" else self.offset).get(member.name, FieldType.ANY)
        return BY_TYPE.get(type(member.value)) if kind is FieldType.ANY else kind


def counted_field(shape: Shape | None) -> str:
    """The only field of an offset, if it is a number of 0 or more that decides the direction of a move; else empty."""
    if shape is None or shape.unit is None or shape.offset.optional or len(shape.offset.required) != 1:
        return ""
    ((name, kind),) = shape.offset.required.items()
    decides = shape.position == (name,) == shape.measured and not shape.frame
    return name if decides and kind is FieldType.NUMBER else ""


def known_of(context: ManifestContext) -> Known | None:
    """The facts from the connector's class and config; None if each entry must be checked singly."""
    if context.schema is not None:
        return None
    shape = shape_of(context.config or {})
    if shape is None or not shape.partitions:
        return Known(counted=counted_field(shape))
    ties = ties_of(shape, context.config)
    if ties.filters:
        return None
    admits: dict[str, Admits] = {one.field: one.admits for one in ties.expectations}
    if ties.topics is not None:
        admits[ties.topics.field] = ties.topics.reads
    types = {name: kind for part in shape.partitions for name, kind in part.types.items()}
    closed = frozenset(shape.offset.choices)
    pairs = frozenset((one.changed, one.kept) for one in shape.contradictions)
    fixed = frozenset(one.field for one in ties.expectations if len(one.values) == 1)
    return Known(types, shape.offset.types, admits, counted_field(shape), closed, pairs, fixed)
