"""What is wrong with the repository, as values: every problem at once, each with its place.

A diagnostic is not an exception (that would stop at the first), and it is not about the world (that is an error).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from gitops_connect.model.names import ConnectorName


class Severity(Enum):
    """How serious a diagnostic is. Only an error blocks its connector."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """For information: whether it is a problem depends on something that is not known."""


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in the repository: path from its root, line and column counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def under(self, folder: str) -> Location:
        """The same place, seen from outside `folder` (empty: from where it is)."""
        return replace(self, file=f"{folder.rstrip('/')}/{self.file}") if folder else self


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: a rule, what is wrong, and what to do (`hint`, possibly empty).

    `connector` is the connector that the problem holds up, or None where that cannot be told.
    """

    severity: Severity
    rule: str
    summary: str
    location: Location
    hint: str = ""
    connector: ConnectorName | None = None

    def sort_key(self) -> tuple[str, int, int, str, str]:
        """By place, then rule; the order in which people mend a file."""
        return (
            self.location.file,
            self.location.line,
            self.location.column,
            self.rule,
            self.summary,
        )


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """A sorted, immutable collection without repeats. Build it with `Diagnostics.of`."""

    items: tuple[Diagnostic, ...] = ()

    @staticmethod
    def of(items: Iterable[Diagnostic]) -> Diagnostics:
        """Sort by place and drop repeats."""
        return Diagnostics(tuple(sorted(set(items), key=Diagnostic.sort_key)))

    def __add__(self, other: Diagnostics) -> Diagnostics:
        return Diagnostics.of((*self.items, *other.items))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def under(self, folder: str) -> Diagnostics:
        """The same problems, with `folder` before every path: where the documents' folder is seen from."""
        return Diagnostics.of(replace(item, location=item.location.under(folder)) for item in self.items)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Those that hold something up."""
        return tuple(item for item in self.items if item.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Those that are only shown."""
        return tuple(item for item in self.items if item.severity is Severity.WARNING)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        """Those that may need no action."""
        return tuple(item for item in self.items if item.severity is Severity.NOTE)
