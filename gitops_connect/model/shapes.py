"""The shape of a connector's partitions and offsets, found by its config, and the comparison of two offsets.

`shape_fields` defines what a shape is, `families` has the known shapes, `positions` compares offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gitops_connect.model.families import FAMILIES, JDBC, SINK
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.model.positions import compare
from gitops_connect.model.resume_rules import PLAIN_SINK, PLAIN_SINKS, RESUME_RULES
from gitops_connect.model.resume_rules import SINK as SINK_RULES
from gitops_connect.model.shape_fields import FieldType, Shape, ShapeFields, Tie, Tied
from gitops_connect.model.units import Unit, unit_named

__all__ = ["FieldType", "Shape", "ShapeFields", "Tie", "Tied", "class_names", "compare", "schema_of", "shape_of"]

_CLASS = "connector.class"


def class_names(class_name: str) -> tuple[str, ...]:
    """The names by which Connect accepts a class: the full name, the simple name, and that without `Connector`.

    Connect computes them in `PluginUtils.computeAliases`.
    """
    simple = class_name.rpartition(".")[2].rpartition("$")[2]
    return class_name, simple, simple.removesuffix("Connector") or simple


_FULL_NAMES = MappingProxyType({name: full for full in FAMILIES for name in class_names(full)})


def shape_of(config: Mapping[str, str], schema: OffsetSchema | None = None) -> Shape | None:
    """The shape for a connector of that config; None for an unknown class.

    If the repository has a schema for an unknown class, the shape has the schema's position and unit, and nothing else.
    """
    name = config.get(_CLASS, "")
    full_name = _FULL_NAMES.get(name, name)
    known = FAMILIES.get(full_name)
    if known is not None:
        shape = _for_mode(known, config) if known is JDBC else known
        return replace(shape, resume=RESUME_RULES[full_name].of(config))
    if name in PLAIN_SINKS:
        return replace(SINK, resume=PLAIN_SINK)
    if _is_sink(name, config):
        return replace(SINK, resume=SINK_RULES)
    if schema is not None and schema.position:
        measured = schema.position if len(schema.position) == 1 else ()
        unit, noun = unit_named(schema.unit)
        return Shape(schema.class_name, (), ShapeFields(), schema.position, unit=unit, noun=noun, measured=measured)
    return None


def _for_mode(jdbc: Shape, config: Mapping[str, str]) -> Shape:
    """The JDBC source with the unit of its `mode`: time if it reads by timestamps, else ids.

    In the mode `timestamp+incrementing` the id decides only among rows with one timestamp.
    """
    if config.get("mode", "").strip().lower().startswith("timestamp"):
        return replace(jdbc, unit=Unit.TIME, measured=("timestamp",))
    return jdbc


def schema_of(config: Mapping[str, str], schemas: Mapping[str, OffsetSchema]) -> OffsetSchema | None:
    """The schema for the connector's class, among schemas by full class name.

    The config may have any name by which Connect accepts the class. None if no schema or more than one has that name.
    """
    name = config.get(_CLASS, "")
    if name in schemas:
        return schemas[name]
    meant = [schema for full, schema in sorted(schemas.items()) if name in class_names(full)]
    return meant[0] if len(meant) == 1 else None


def _is_sink(name: str, config: Mapping[str, str]) -> bool:
    """Every sink has one of two keys (`SinkConnectorConfig`).

    A source may have such a key too: a class whose name ends like a source is no sink.
    """
    if name.endswith(("SourceConnector", "Source")):
        return False
    return bool(config.get("topics", "").strip() or config.get("topics.regex", "").strip())
