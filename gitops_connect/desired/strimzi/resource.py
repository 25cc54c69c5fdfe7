"""Parts of a Strimzi resource that passed the check of its fields, and the problems that are found in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_connect.model.diagnostics import Diagnostic, Severity
from gitops_connect.model.documents import Document, Pointer


@dataclass(frozen=True, slots=True)
class Section:
    """An object of the resource, and the path to it."""

    value: Mapping[str, Any] = field(repr=False)
    pointer: Pointer

    def get(self, key: str) -> Any:
        """The value of a field; None if the field is absent."""
        return self.value.get(key)

    def at(self, key: str) -> Pointer:
        """The path to a field."""
        return (*self.pointer, key)

    def section(self, key: str) -> Section | None:
        """The object in a field; None if the field is absent. `{}` is present."""
        value = self.value.get(key)
        return None if value is None else Section(value, self.at(key))

    def sections(self, key: str) -> tuple[Section, ...]:
        """The objects of the array in a field."""
        return tuple(Section(item, (*self.at(key), index)) for index, item in enumerate(self.value.get(key) or ()))


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """The value of a config key, and the field of the resource that it comes from."""

    value: Any = field(repr=False)
    place: Pointer


Layer = Mapping[str, PlacedValue]
"""Some keys of a connector's config."""


def layer(values: Mapping[str, Any], place: Pointer) -> dict[str, PlacedValue]:
    """Keys that all come from one field."""
    return {key: PlacedValue(value, place) for key, value in values.items()}


def written(section: Section, prefix: str = "", without: Iterable[str] = ()) -> dict[str, PlacedValue]:
    """The entries of an object as config keys with a prefix, except for some. Each one comes from its own field."""
    left_out = frozenset(without)
    entries = section.value.items()
    return {f"{prefix}{key}": PlacedValue(one, section.at(key)) for key, one in entries if key not in left_out}


class Problems:
    """The problems of one resource, in the order in which they are found."""

    def __init__(self, resource: Document) -> None:
        self._resource = resource
        self._found: list[Diagnostic] = []

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """Everything found until now."""
        return tuple(self._found)

    @property
    def has_errors(self) -> bool:
        """Whether an error was found: then no connector of the resource may be changed."""
        return any(item.severity is Severity.ERROR for item in self._found)

    def add(self, items: Iterable[Diagnostic]) -> None:
        """Add problems that were found elsewhere."""
        self._found.extend(items)

    def error(self, rule: str, place: Pointer, summary: str, hint: str = "") -> None:
        """Add an error about the field at `place`."""
        self._found.append(Diagnostic(Severity.ERROR, rule, summary, self._resource.locate(place), hint))

    def warning(self, rule: str, place: Pointer, summary: str, hint: str = "") -> None:
        """Add a warning about the field at `place`."""
        self._found.append(Diagnostic(Severity.WARNING, rule, summary, self._resource.locate(place), hint))
