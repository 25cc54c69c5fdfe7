"""The failures of the JSON Schema engine, as values of known types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from jsonschema.exceptions import ValidationError

from gitops_connect.model.documents import Pointer


class SchemaFailure(NamedTuple):
    """One failure of the engine. The engine's own type is loose: every attribute may be unset."""

    keyword: str
    expected: Any
    found: Any
    pointer: Pointer
    schema: Mapping[str, Any]
    of_key: bool
    """True if not a value, but its key failed (`propertyNames`)."""

    @staticmethod
    def of(error: ValidationError) -> SchemaFailure:
        """Convert an error of the engine."""
        pointer: Pointer = tuple(error.absolute_path)
        schema = cast("Mapping[str, Any]", error.schema)
        of_key = "propertyNames" in error.absolute_schema_path
        return SchemaFailure(str(error.validator), error.validator_value, error.instance, pointer, schema, of_key)

    @property
    def fields(self) -> list[str]:
        """The fields that a closed mapping may have."""
        return list(self.schema["properties"])

    @property
    def unknown(self) -> list[str]:
        """The fields that the mapping has and must not have."""
        return [field for field in self.found if field not in self.schema["properties"]]

    @property
    def description(self) -> str:
        """The schema's description of the field."""
        return str(self.schema.get("description", ""))
