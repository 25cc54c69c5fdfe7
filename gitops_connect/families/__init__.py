"""What is known of families of connectors: their offsets, where they resume, their config keys and their health.

A package adds a family with an entry point of the group `gitops_connect.families`. The names below are the interface
for it; docs/how-to/add-a-connector-family.md shows how to use them. They change only with the number in `Family.api`.
"""

from __future__ import annotations

from gitops_connect.families.family import ConnectorClass, Family, Section
from gitops_connect.families.field_kinds import (
    ANY,
    FLAG,
    NATURAL_PATTERN,
    NUMBER,
    SIGNED,
    SMALL,
    TEXT,
    TEXT_PATTERN,
    WHOLE_PATTERN,
    FieldKind,
)
from gitops_connect.families.offset_keys import ListKey, OffsetKeys, Start, ValueKey, named_in_partitions
from gitops_connect.families.resume import ALL, FORWARD, NEW, REMOVED, REWIND, ResumeCondition, ResumeRules, one_of
from gitops_connect.families.shapes import Contradiction, Demand, Shape, ShapeFields
from gitops_connect.families.ties import Expectation, Tied, Ties
from gitops_connect.model.findings import Finding
from gitops_connect.model.units import Notation, Unit

ENTRY_POINTS = "gitops_connect.families"

__all__ = [
    "ALL",
    "ANY",
    "ENTRY_POINTS",
    "FLAG",
    "FORWARD",
    "NATURAL_PATTERN",
    "NEW",
    "NUMBER",
    "REMOVED",
    "REWIND",
    "SIGNED",
    "SMALL",
    "TEXT",
    "TEXT_PATTERN",
    "WHOLE_PATTERN",
    "ConnectorClass",
    "Contradiction",
    "Demand",
    "Expectation",
    "Family",
    "FieldKind",
    "Finding",
    "ListKey",
    "Notation",
    "OffsetKeys",
    "ResumeCondition",
    "ResumeRules",
    "Section",
    "Shape",
    "ShapeFields",
    "Start",
    "Tied",
    "Ties",
    "Unit",
    "ValueKey",
    "named_in_partitions",
    "one_of",
]
