"""Finds what is known of a connector by its config: its class, or else that it is a sink, or else an offset schema."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from gitops_connect.errors import UsageError
from gitops_connect.families import (
    debezium,
    file_stream,
    hdfs,
    iceberg,
    jdbc,
    mirror_maker_2,
    object_stores,
    sinks,
    snowflake,
)
from gitops_connect.families.family import Config, ConnectorClass, Family, Section, class_names
from gitops_connect.families.family_files import read_family
from gitops_connect.families.shapes import Shape, ShapeFields
from gitops_connect.model.manifests import OffsetSchema
from gitops_connect.model.units import DEFAULT_SKIP_LIMITS, Unit

_CLASS = "connector.class"
_UNKNOWN = ConnectorClass()


@dataclass(frozen=True)
class Registry:
    """The known families, and the `schemas` of a repository. A simple name that two classes have means neither."""

    families: tuple[Family, ...]
    schemas: Mapping[str, OffsetSchema] = field(default_factory=dict)

    def with_family(self, family: Family, origin: str) -> Registry:
        """With a family from elsewhere. `origin` names its package in errors.

        Raises UsageError if the family cannot be used together with the others, or not on Spark.
        """
        try:
            pickle.dumps(family)
        except Exception as error:
            hint = "Spark sends it to other processes: use functions of a module, not lambdas or inner functions"
            raise UsageError(f"{origin} cannot be pickled ({error}); {hint}") from error
        for one in self.families:
            if both := sorted(one.classes.keys() & family.classes.keys()):
                raise UsageError(f"{origin} has the class {both[0]}, which is already in the family {one.name!r}")
            if units := sorted({unit.key for unit in one.units} & {unit.key for unit in family.units}):
                raise UsageError(f"{origin} has the unit {units[0]!r}, which is already in the family {one.name!r}")
        if wrong := [name for name, found in family.classes.items() if not isinstance(found, ConnectorClass)]:
            raise UsageError(f"{origin} has the class {wrong[0]}, which is not a ConnectorClass")
        for unit in family.units:
            if unit.limit not in DEFAULT_SKIP_LIMITS:
                known = f"expected one of {', '.join(DEFAULT_SKIP_LIMITS)}"
                raise UsageError(f"{origin} has the unit {unit.key!r}, whose limit is {unit.limit!r}, {known}")
        return replace(self, families=(*self.families, family))

    def with_schemas(self, schemas: Mapping[str, OffsetSchema]) -> Registry:
        """With the schemas of a repository, which define classes that no family has."""
        return replace(self, schemas=schemas)

    @cached_property
    def classes(self) -> Mapping[str, ConnectorClass]:
        return MappingProxyType({name: one for family in self.families for name, one in family.classes.items()})

    def of(self, config: Config) -> ConnectorClass:
        known = self._with_shape.get(config.get(_CLASS, ""))
        if known is not None:
            return known
        if sinks.is_sink(config):
            return sinks.ANY_SINK
        schema = self.schema(config)
        return _UNKNOWN if schema is None else self._of_schema(schema)

    def shape(self, config: Config) -> Shape | None:
        return self.of(config).shape_for(config)

    def is_sink(self, config: Config) -> bool:
        """Whether the connector has the offsets of a consumer group."""
        shape = self.of(config).shape
        return shape is not None and shape.has_form_of(sinks.SINK)

    def schema(self, config: Config) -> OffsetSchema | None:
        """The schema for the connector's class. None if no schema or more than one has the name in the config."""
        name = config.get(_CLASS, "")
        if name in self.schemas:
            return self.schemas[name]
        meant = [schema for full, schema in sorted(self.schemas.items()) if name in class_names(full)]
        return meant[0] if len(meant) == 1 else None

    def named(self, name: str) -> tuple[ConnectorClass, ...]:
        """Every class of that name, for facts that do not concern offsets. A simple name may mean several."""
        return self._by_name.get(name, ())

    def undefined_keys(self, class_name: str) -> Iterator[str]:
        """Patterns of config keys that connectors of the class read although no validation defines them."""
        for known in self.named(class_name):
            for patterns in known.undefined.values():
                yield from patterns

    def sections(self, class_name: str) -> tuple[Section, ...]:
        """The sections of the config that connectors of the class read although no validation defines their keys."""
        return tuple(dict.fromkeys(one for known in self.named(class_name) for one in known.sections))

    def transform_keys(self, class_name: str) -> Iterator[str]:
        """Keys that transforms of the class read without defining them."""
        for family in self.families:
            for full, keys in family.transforms.items():
                if class_name in class_names(full):
                    yield from keys

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[ConnectorClass, ...]]:
        found: dict[str, tuple[ConnectorClass, ...]] = {}
        for full, known in self.classes.items():
            for name in dict.fromkeys(class_names(full)):
                found[name] = (*found.get(name, ()), known)
        return found

    @cached_property
    def _with_shape(self) -> Mapping[str, ConnectorClass]:
        known = {full: one for full, one in self.classes.items() if one.shape is not None}
        by_alias: dict[str, list[ConnectorClass]] = {}
        for full, one in known.items():
            for name in class_names(full)[1:] if one.has_aliases else ():
                by_alias.setdefault(name, []).append(one)
        clear = {name: some[0] for name, some in by_alias.items() if all(map(some[0].has_offsets_of, some))}
        return {**clear, **known}

    def _of_schema(self, schema: OffsetSchema) -> ConnectorClass:
        """The class that a schema of the repository describes: its position and unit, and nothing else."""
        if not schema.position:
            return _UNKNOWN
        measured = schema.position if len(schema.position) == 1 else ()
        shape = Shape(schema.class_name, (), ShapeFields(), schema.position, self._unit(schema.unit), measured)
        return ConnectorClass(shape)

    def _unit(self, word: str) -> Unit | None:
        """The unit of a schema's `x-unit`: one of a family if the word is its key, else a new one."""
        known = {unit.key: unit for family in self.families for unit in family.units}
        return known.get(word, Unit(word, word, word)) if word else None


BUILT_IN = Registry(
    (
        read_family("MirrorMaker 2", mirror_maker_2),
        read_family("FileStream", file_stream),
        read_family("Debezium", debezium),
        read_family("JDBC", jdbc),
        read_family("object stores", object_stores),
        read_family("HDFS", hdfs),
        read_family("Iceberg", iceberg),
        read_family("Snowflake", snowflake),
        Family(1, "sinks", {}, units=(sinks.RECORDS,)),
    )
)
